/* Trains many seeds of a recipe, on all processors, and says how often it gives what the article
 * claims of its model; or searches for a seed that gives all of it. */
#include <inttypes.h>
#include <unistd.h>

#include <tapegrad.h>

#include "article/study.h"
#include "article/study_report.h"
#include "common/files.h"
#include "common/options.h"

/* What the command line says. */
typedef struct settings {
    const char *recipe, *directory;
    int64_t seeds, first, threads;
    bool search, no_plot, quiet;
} settings;

static int failed(const tg_error *error) {
    fprintf(stderr, "seed_study: %s\n", error->message);
    return EXIT_FAILED;
}

/* As many threads as there are processors. */
static int64_t default_threads(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > STUDY_MOST_THREADS ? STUDY_MOST_THREADS : processors;
}

/* Whether a count is at most `most`, and all seeds have numbers; else says so. */
static bool check_ranges(const settings *s) {
    const char *option = "--seeds";
    int64_t value = s->seeds, most = STUDY_MOST_SEEDS;
    if (value <= most) {
        option = "--threads";
        value = s->threads;
        most = STUDY_MOST_THREADS;
    }
    if (value <= most) {
        option = "--first";
        value = s->first;
        most = INT64_MAX - s->seeds;
    }
    if (value > most)
        fprintf(stderr, "seed_study: %s: %" PRId64 " is more than %" PRId64 "\n", option, value,
                most);
    return value <= most;
}

static bool read_settings(int argc, char **argv, settings *s, int *exit_code) {
    const cli_option options[] = {
        {"--recipe", "NAME", "article (default), solved, plain, or a file", OPTION_TEXT,
         .value.text = &s->recipe},
        {"--seeds", "N", "train so many seeds (default 1000)", OPTION_INTEGER,
         .value.integer = &s->seeds, .least = 1},
        {"--first", "N", "the first of them (default 0)", OPTION_INTEGER,
         .value.integer = &s->first},
        {"--threads", "N", "so many at a time (default: one for each processor)", OPTION_INTEGER,
         .value.integer = &s->threads, .least = 1},
        {"--search", NULL, "stop at the first seed that gives everything, and print it",
         OPTION_FLAG, .value.flag = &s->search},
        {"--out", "DIR", "write to this directory (default runs/study)", OPTION_TEXT,
         .value.text = &s->directory},
        {"--no-plot", NULL, "draw no chart", OPTION_FLAG, .value.flag = &s->no_plot},
        {"--quiet", NULL, "print nothing but errors, and the seed of --search", OPTION_FLAG,
         .value.flag = &s->quiet},
    };
    static const cli_exit exits[] = {
        {EXIT_FAILED, "something went wrong, or --search has found no seed"}, {0, NULL}};
    const cli_program program = {"seed_study",
                                 "Trains many seeds of a recipe and counts what they give.",
                                 "[options]",
                                 options,
                                 sizeof options / sizeof options[0],
                                 exits};
    if (!options_read(&program, argc, argv, exit_code))
        return false;
    if (!check_ranges(s)) {
        *exit_code = EXIT_USAGE;
        return false;
    }
    return true;
}

/* Says which seed a search has found; a script gets its number alone. */
static int report_search(const study *made, const settings *s) {
    int64_t last = made->results[made->count - 1].seed;
    if (!made->found) {
        fprintf(stderr,
                "seed_study: of the seeds %" PRId64 " to %" PRId64 " none gives everything\n",
                s->first, last);
        return EXIT_FAILED;
    }
    if (s->quiet)
        printf("%" PRId64 "\n", last);
    else
        printf("seed %" PRId64 " gives everything: loss %.9g; seeds tried: %" PRId64 "\n", last,
               made->results[made->count - 1].loss, made->count);
    return EXIT_DONE;
}

static tg_status report_study(const study *made, const article_recipe *recipe, const settings *s,
                              tg_error *error) {
    tg_plot_outcome drawn = {.result = TG_PLOT_DRAWN};
    if (!s->quiet)
        study_print(made, recipe, stdout);
    tg_status status = study_write(made, recipe, s->directory, error);
    if (status == TG_OK && !s->no_plot)
        status = study_draw(made, recipe, s->directory, &drawn, error);
    if (status != TG_OK || s->quiet)
        return status;
    bool picture = !s->no_plot && drawn.result == TG_PLOT_DRAWN;
    if (drawn.result != TG_PLOT_DRAWN)
        fprintf(stderr, "seed_study: %s\n", drawn.note);
    printf("%s: seeds.csv, curves.csv%s%s\n", s->directory, s->no_plot ? "" : ", study.gp",
           picture ? ", study.svg" : "");
    return TG_OK;
}

static int run(const settings *s) {
    tg_error error = {TG_OK, ""};
    article_recipe recipe = *recipe_at(0);
    if (s->recipe != NULL && recipe_find(s->recipe, &recipe, &error) != TG_OK)
        return failed(&error);
    if (!s->search && make_directory(s->directory, &error) != TG_OK)
        return failed(&error);
    const study_plan plan = {.recipe = &recipe,
                             .first = s->first,
                             .seeds = s->seeds,
                             .threads = s->threads,
                             .search = s->search,
                             .progress = s->quiet ? NULL : stderr};
    study made;
    int exit_code = EXIT_DONE;
    tg_status status = study_run(&plan, &made, &error);
    if (status == TG_OK && s->search)
        exit_code = report_search(&made, s);
    else if (status == TG_OK)
        status = report_study(&made, &recipe, s, &error);
    study_free(&made);
    return status == TG_OK ? exit_code : failed(&error);
}

int main(int argc, char **argv) {
    settings s = {.directory = "runs/study", .seeds = 1000, .threads = default_threads()};
    int exit_code = EXIT_DONE;
    if (!read_settings(argc, argv, &s, &exit_code))
        return exit_code;
    exit_code = run(&s);
    if (exit_code == EXIT_DONE && !options_flush_output("seed_study"))
        exit_code = EXIT_FAILED;
    return exit_code;
}
