/* Trains the article's next-word model from scratch, shows every matrix of it on the article's
 * sentence, and measures what the article claims of its own. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tapegrad.h>

#include "article/claims.h"
#include "article/live.h"
#include "article/pictures.h"
#include "article/previous.h"
#include "article/printed.h"
#include "article/report.h"
#include "article/summary.h"
#include "article/training.h"
#include "article/walkthrough.h"
#include "common/files.h"
#include "common/options.h"

enum { PATH_SIZE = 4096, WARM_UP = 100 };

/* What the command line says. */
typedef struct settings {
    int64_t seed, steps, save_every;
    double rate;
    const char *recipe, *optimizer, *directory, *resume, *init;
    bool print_recipe, live, report, no_plot, quiet;
    bool seed_given, steps_given, rate_given;
    char resumed_in[PATH_SIZE]; /* the directory of --resume's checkpoint */
} settings;

/* What a run leaves for its end. */
typedef struct outcome {
    double seconds;
    int64_t requests_after_warmup;
    int exit_code;
} outcome;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* The first Ctrl-C lets the step end and saves; a second one ends the program. A shell's "ignore"
 * stays. */
static void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

static int failed(const tg_error *error) {
    fprintf(stderr, "train_example: %s\n", error->message);
    return EXIT_FAILED;
}

/* Without --out a resumed run stays where its checkpoint is. */
static void choose_directory(settings *s) {
    if (s->directory != NULL)
        return;
    s->directory = "runs/article";
    if (s->resume == NULL)
        return;
    const char *slash = strrchr(s->resume, '/');
    int length = slash == s->resume ? 1 : slash != NULL ? (int)(slash - s->resume) : 0;
    snprintf(s->resumed_in, sizeof s->resumed_in, "%.*s", length, s->resume);
    s->directory = length > 0 ? s->resumed_in : ".";
}

static bool read_settings(int argc, char **argv, settings *s, int *exit_code) {
    static const char *const optimizers[] = {"adam", "sgd", NULL}, *const inits[] = {"article",
                                                                                     NULL};
    const cli_option options[] = {
        {"--recipe", "NAME",
         "article (default), solved, plain, or a file as --print-recipe writes it", OPTION_TEXT,
         .value.text = &s->recipe},
        {"--seed", "N",
         "start from this seed (default: one found by a search for the recipe, 818 for a file)",
         OPTION_INTEGER, .value.integer = &s->seed, .given = &s->seed_given},
        {"--steps", "N", "train until this step (default: the recipe's end)", OPTION_INTEGER,
         .value.integer = &s->steps, .given = &s->steps_given},
        {"--lr", "X", "the first learning rate; the recipe's others change alike", OPTION_REAL,
         .value.real = &s->rate, .given = &s->rate_given},
        {"--optimizer", "NAME", "adam, or sgd with momentum 0.9", OPTION_CHOICE,
         .value.text = &s->optimizer, .choices = optimizers},
        {"--init", "NAME", "article: start from the weights that it prints", OPTION_CHOICE,
         .value.text = &s->init, .choices = inits},
        {"--out", "DIR", "write to this directory (default: runs/article, or the checkpoint's)",
         OPTION_TEXT, .value.text = &s->directory},
        {"--resume", "FILE", "go on from this checkpoint, with its recipe", OPTION_TEXT,
         .value.text = &s->resume},
        {"--save-every", "N", "save the checkpoint at every N-th step too", OPTION_INTEGER,
         .value.integer = &s->save_every, .least = 1},
        {"--print-recipe", NULL, "print the recipe as a text to edit, and stop", OPTION_FLAG,
         .value.flag = &s->print_recipe},
        {"--live", NULL, "draw the loss while it trains, in the terminal or a window", OPTION_FLAG,
         .value.flag = &s->live},
        {"--report", NULL, "write the whole run as one page, DIR/report.html", OPTION_FLAG,
         .value.flag = &s->report},
        {"--no-plot", NULL, "draw no pictures", OPTION_FLAG, .value.flag = &s->no_plot},
        {"--quiet", NULL, "print nothing but errors", OPTION_FLAG, .value.flag = &s->quiet},
    };
    static const cli_exit exits[] = {
        {EXIT_NOT_FINITE, "the loss is not a finite number any more; the last checkpoint is kept"},
        {EXIT_INTERRUPTED, "interrupted (Ctrl-C); the state is saved first"},
        {0, NULL}};
    const cli_program program = {
        .name = "train_example",
        .purpose =
            "Trains the article's next-word model from scratch and shows every matrix of it.",
        .arguments = "[options]",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .exits = exits};
    if (!options_read(&program, argc, argv, exit_code))
        return false;
    if (s->rate_given && s->rate >= 1e9) {
        fprintf(stderr, "train_example: --lr: %g is not below 1e9\n", s->rate);
        *exit_code = EXIT_USAGE;
        return false;
    }
    const char *fresh = s->seed_given ? "--seed" : s->init != NULL ? "--init" : "--recipe";
    if (s->resume != NULL && (s->seed_given || s->init != NULL || s->recipe != NULL)) {
        fprintf(stderr, "train_example: %s: a resumed run goes on with what its checkpoint has\n",
                fresh);
        *exit_code = EXIT_USAGE;
        return false;
    }
    choose_directory(s);
    return true;
}

static void path_in(const settings *s, const char *name, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/%s", s->directory, name);
}

/* The recipe of the settings: the checkpoint's, one of the known, or a file's; with what the command
 * line changes of it. */
static tg_status choose_recipe(const settings *s, const tg_archive *archive, article_recipe *recipe,
                               tg_error *error) {
    const char *text;
    tg_status status = TG_OK;
    if (s->recipe != NULL) {
        status = recipe_find(s->recipe, recipe, error);
    } else if (archive != NULL) {
        status = tg_archive_read_text(archive, "recipe", &text, error);
        if (status == TG_OK)
            status = recipe_parse("checkpoint", text, recipe, error);
    } else {
        *recipe = *recipe_at(0);
    }
    if (status == TG_OK && s->optimizer != NULL)
        recipe->sgd = strcmp(s->optimizer, "sgd") == 0;
    if (status == TG_OK && s->rate_given)
        status = recipe_scale_rate(recipe, s->rate, error);
    return status;
}

static tg_status start_fresh(training *run, const settings *s, const article_recipe *recipe,
                             tg_error *error) {
    tg_status status = training_init(run, recipe, s->seed_given ? s->seed : recipe->seed, error);
    if (status == TG_OK && s->init != NULL)
        status = article_load_printed(run->params, error);
    return status;
}

static tg_status start_from(training *run, settings *s, const tg_archive *archive,
                            const article_recipe *recipe, tg_error *error) {
    tg_status status = training_init(run, recipe, 0, error);
    if (status == TG_OK)
        status = training_restore(run, archive, error);
    if (status == TG_OK && run->step > s->steps)
        status = tg_fail(error, TG_EINVAL, "is at step %" PRId64 ", --steps is only %" PRId64,
                         run->step, s->steps);
    return status;
}

/* Steps behind the recipe's end go on at its last rate, which may be 0. */
static void tell_idle_steps(const training *run, const settings *s) {
    const article_recipe *recipe = &run->recipe;
    int64_t end = recipe_steps(recipe);
    if (s->steps > end && recipe->stages[recipe->stage_count - 1].end_rate == 0)
        fprintf(stderr,
                "train_example: the recipe ends at step %" PRId64 " with a rate of 0: the steps "
                "after it change nothing\n",
                end);
}

/* The run at its start, or as the checkpoint of --resume holds it. */
static tg_status start(training *run, settings *s, tg_error *error) {
    article_recipe recipe;
    tg_archive *archive = NULL;
    if (s->resume != NULL && (archive = tg_archive_open(NULL, s->resume, error)) == NULL)
        return error->status;
    tg_error cause = {TG_OK, ""};
    tg_status status = choose_recipe(s, archive, &recipe, &cause);
    if (status == TG_OK && !s->steps_given)
        s->steps = recipe_steps(&recipe);
    if (status == TG_OK)
        status = archive == NULL ? start_fresh(run, s, &recipe, &cause)
                                 : start_from(run, s, archive, &recipe, &cause);
    tg_archive_free(archive);
    if (status == TG_OK && !s->quiet)
        tell_idle_steps(run, s);
    if (status == TG_OK)
        return TG_OK;
    return s->resume == NULL ? tg_fail(error, status, "%s", cause.message)
                             : tg_fail(error, status, "%.100s: %.140s", s->resume, cause.message);
}

/* Whether the checkpoint that is resumed lies in the run's directory, beside its log. */
static bool resumes_here(const settings *s) {
    char directory[PATH_SIZE];
    struct stat there, here;
    snprintf(directory, sizeof directory, "%s", s->resume);
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory] = '\0';
    return stat(slash != NULL ? directory : ".", &there) == 0 && stat(s->directory, &here) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/* A fresh log, or the one that the resumed run left, up to the checkpoint's step. */
static tg_csv *open_log(const training *run, const settings *s, tg_error *error) {
    static const char *const columns[] = {"loss"};
    char path[PATH_SIZE];
    path_in(s, "loss.csv", path);
    if (run->step == 0 || !resumes_here(s))
        return tg_csv_create(run->context, path, columns, 1, error);
    tg_csv *log = tg_csv_resume(run->context, path, columns, 1, run->step, error);
    if (log == NULL && error->status == TG_ENOTFOUND)
        log = tg_csv_create(run->context, path, columns, 1, error);
    return log;
}

/* What an earlier run made of its weights says nothing of this one's. */
static void remove_results(const settings *s) {
    static const char *const others[] = {"summary.json", "report.html", "loss.svg", "loss.gp"};
    char path[PATH_SIZE], name[64];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        path_in(s, others[i], path);
        unlink(path);
    }
    for (int i = 0; i < 2 * ARTICLE_PICTURES; i++) {
        snprintf(name, sizeof name, "%s%s", article_picture_names[i / 2], i % 2 ? ".gp" : ".svg");
        path_in(s, name, path);
        unlink(path);
    }
}

/* Weights without a finite loss are not worth the place of the last checkpoint. */
static tg_status save(training *run, const settings *s, tg_error *error) {
    char path[PATH_SIZE];
    double loss = 0;
    tg_status status = training_loss(run, &loss, error);
    if (status == TG_OK && !isfinite(loss))
        status = tg_fail(error, TG_ENONFINITE,
                         "after step %" PRId64 " the loss is not finite: stopped, nothing saved "
                         "since the last checkpoint",
                         run->step);
    if (status != TG_OK)
        return status;
    path_in(s, "checkpoint.npz", path);
    char recipe[RECIPE_TEXT];
    recipe_format(&run->recipe, recipe);
    tg_training_state state = training_state(run);
    state.recipe = recipe;
    return tg_checkpoint_save(run->context, path, &state, error);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One step, its row in the log, and the checkpoint where one is due. */
static tg_status step(training *run, const settings *s, tg_csv *log, double *loss,
                      int64_t *saving_requests, tg_error *error) {
    tg_status status = training_step(run, loss, error);
    if (status == TG_OK)
        status = tg_csv_row(log, run->step, loss, error);
    if (status == TG_OK && !isfinite(*loss))
        status = tg_fail(error, TG_ENONFINITE,
                         "the loss at step %" PRId64 " is not finite: stopped, nothing saved "
                         "since the last checkpoint",
                         run->step);
    int64_t before = run->count.requests;
    if (status == TG_OK && s->save_every > 0 && run->step % s->save_every == 0)
        status = save(run, s, error);
    *saving_requests += run->count.requests - before;
    return status;
}

enum { REFERENCES = 2 };

/* The lines that the loss is seen against. */
static void take_references(tg_plot_reference lines[REFERENCES]) {
    lines[0] = (tg_plot_reference){claims_plateau(), "plateau 32 ln 2 / 88"};
    lines[1] = (tg_plot_reference){claims_floor(), "floor 24 ln 2 / 88"};
}

static void begin_live(live *view, const settings *s) {
    char path[PATH_SIZE];
    path_in(s, "loss.csv", path);
    tg_plot_reference lines[REFERENCES];
    take_references(lines);
    const live_options options = {.references = lines, .reference_count = REFERENCES};
    live_begin(view, path, &options, stderr);
}

static tg_status train(training *run, const settings *s, tg_csv *log, outcome *result,
                       tg_error *error) {
    tg_progress progress;
    tg_progress_begin(&progress, s->quiet ? NULL : stderr, "train", s->steps);
    live view;
    if (s->live)
        begin_live(&view, s);
    double begin = seconds_now(), loss = 0;
    int64_t warm = run->step + WARM_UP, at_warm = 0, saving = 0;
    tg_status status = TG_OK;
    while (run->step < s->steps && status == TG_OK && !interrupted) {
        if (run->step == warm) {
            at_warm = run->count.requests;
            saving = 0;
        }
        status = step(run, s, log, &loss, &saving, error);
        tg_progress_update(&progress, run->step, loss);
        if (s->live)
            live_update(&view, run->step);
    }
    result->seconds = seconds_now() - begin;
    result->requests_after_warmup = run->step > warm ? run->count.requests - at_warm - saving : -1;
    if (s->live)
        live_end(&view);
    tg_progress_end(&progress);
    return status;
}

/* The loss, and the matrices; without gnuplot one line says how to draw later. */
static tg_status draw(const training *run, const settings *s, tg_error *error) {
    const char *const columns[] = {"loss"};
    tg_plot_reference lines[REFERENCES];
    take_references(lines);
    char suffix[RECIPE_NAME + 32], title[RECIPE_NAME + 64];
    snprintf(suffix, sizeof suffix, " (recipe %s, seed %" PRId64 ")", run->recipe.name, run->seed);
    snprintf(title, sizeof title, "Loss%s", suffix);
    const tg_plot_curve_options options = {.title = title,
                                           .x_label = "step",
                                           .y_label = "training loss (nats per scored word)",
                                           .data = "loss.csv",
                                           .columns = columns,
                                           .column_count = 1,
                                           .references = lines,
                                           .reference_count = REFERENCES,
                                           .logarithmic = true};
    tg_plot_outcome drawn;
    tg_status status = tg_plot_curve(NULL, s->directory, "loss", &options, &drawn, error);
    bool tells = status == TG_OK && !s->quiet;
    if (tells && drawn.result != TG_PLOT_DRAWN)
        fprintf(stderr, "train_example: %s\n", drawn.note);
    if (status == TG_OK)
        status = article_pictures(&run->model, s->directory, suffix,
                                  tells && drawn.result == TG_PLOT_DRAWN ? stderr : NULL, error);
    return status;
}

static tg_status write_report(const training *run, const settings *s, const article_summary *made,
                              tg_error *error) {
    char path[PATH_SIZE];
    path_in(s, "report.html", path);
    return article_report(path, s->no_plot ? NULL : s->directory, &run->model, &run->recipe, made,
                          error);
}

/* How the run was drawn and trained, as --print-recipe has it. */
static void print_settings(const training *run) {
    char recipe[RECIPE_TEXT];
    recipe_format(&run->recipe, recipe);
    printf("%s\n", recipe);
}

static void print_results(const training *run, const settings *s, const article_summary *made) {
    const char *title = run->recipe.solved
                            ? "What there is to say of a model that predicts the second noun"
                            : "What the article claims of its model, measured on this one";
    printf("%s\n\n", title);
    claims_print(made->measured, stdout);
    int64_t end = recipe_steps(&run->recipe);
    if (claims_all_hold(made->measured))
        printf("\nAll of it holds.\n");
    else if (made->steps < end)
        printf("\nNot all of it holds: the recipe goes on to step %" PRId64 ".\n", end);
    else
        printf("\nNot all of it holds: it depends on the seed.\n");
    printf("%s\n\n", claims_verdict(made->final_loss));
    printf("recipe %s, seed %" PRId64 ", %" PRId64 " steps: loss %.9g, parameters %08" PRIx32
           ", %.3f s\n",
           made->recipe, made->seed, made->steps, made->final_loss, made->checksum,
           made->wall_seconds);
    printf("%s: checkpoint.npz, summary.json, loss.csv%s\n", s->directory,
           s->report ? ", report.html" : "");
    char picture[PATH_SIZE];
    path_in(s, "loss.svg", picture);
    if (!s->no_plot)
        printf("%s: loss, attention, scores, prediction, weights and embedding, %s\n", s->directory,
               access(picture, F_OK) == 0 ? "each .svg and .gp"
                                          : "each .gp: \"gnuplot *.gp\" draws them");
}

/* Measures, writes the summary, draws, and prints. */
static tg_status finish(training *run, const settings *s, const outcome *result, tg_error *error) {
    claims measured;
    article_summary made = {.recipe = run->recipe.name,
                            .seed = run->seed,
                            .steps = run->step,
                            .measured = &measured,
                            .checksum = training_checksum(run),
                            .wall_seconds = result->seconds,
                            .requests_after_warmup = result->requests_after_warmup};
    char path[PATH_SIZE];
    path_in(s, "summary.json", path);
    tg_status status = training_loss(run, &made.final_loss, error);
    if (status == TG_OK)
        status = claims_measure(&run->model, run->tape, made.final_loss, run->recipe.solved,
                                &measured, error);
    if (status == TG_OK)
        status = summary_write(path, &made, error);
    if (status == TG_OK && !s->no_plot)
        status = draw(run, s, error);
    if (status == TG_OK && s->report)
        status = write_report(run, s, &made, error);
    if (status == TG_OK && !s->quiet)
        print_settings(run);
    if (status == TG_OK && !s->quiet)
        status = article_walkthrough(&run->model, article_words, article_sentence, ARTICLE_LENGTH,
                                     stdout, error);
    if (status == TG_OK && !s->quiet)
        print_results(run, s, &made);
    return status;
}

/* Whether what is resumed is the checkpoint that the run will write. */
static bool resumes_itself(const settings *s) {
    char path[PATH_SIZE];
    struct stat there, here;
    path_in(s, "checkpoint.npz", path);
    return s->resume != NULL && stat(s->resume, &there) == 0 && stat(path, &here) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/* Says what is going to be replaced, unless it is what goes on. */
static void tell_previous(const settings *s) {
    char line[256];
    if (!s->quiet && !resumes_itself(s) && previous_describe(s->directory, line, sizeof line))
        fprintf(stderr, "train_example: %s\n", line);
}

/* From the first step to the last line. */
static int run_to_end(training *run, const settings *s) {
    tg_error error = {TG_OK, ""}, closing = {TG_OK, ""};
    outcome result = {0};
    tell_previous(s);
    /* At once, so that the log never stands beside another run's checkpoint, and a place that cannot
     * be written shows before the training and not behind it. */
    tg_status saved = resumes_itself(s) ? TG_OK : save(run, s, &error);
    if (saved != TG_OK) {
        failed(&error);
        return saved == TG_ENONFINITE ? EXIT_NOT_FINITE : EXIT_FAILED;
    }
    tg_csv *log = open_log(run, s, &error);
    if (log == NULL)
        return failed(&error);
    remove_results(s);
    tg_status status = train(run, s, log, &result, &error);
    tg_status closed = tg_csv_close(log, &closing);
    if (status == TG_OK && closed != TG_OK)
        return failed(&closing);
    if (status == TG_OK)
        status = save(run, s, &error);
    if (status == TG_OK && interrupted) {
        fprintf(stderr,
                "train_example: interrupted at step %" PRId64 ", saved; to go on: train_example "
                "--resume %s/checkpoint.npz --steps %" PRId64 "\n",
                run->step, s->directory, s->steps);
        return EXIT_INTERRUPTED;
    }
    if (status == TG_OK)
        status = finish(run, s, &result, &error);
    if (status != TG_OK)
        failed(&error);
    return status == TG_OK ? EXIT_DONE : status == TG_ENONFINITE ? EXIT_NOT_FINITE : EXIT_FAILED;
}

static int print_recipe(const settings *s) {
    article_recipe recipe;
    tg_error error = {TG_OK, ""};
    char text[RECIPE_TEXT];
    if (choose_recipe(s, NULL, &recipe, &error) != TG_OK)
        return failed(&error);
    recipe_format(&recipe, text);
    fputs(text, stdout);
    return EXIT_DONE;
}

int main(int argc, char **argv) {
    settings s = {.directory = NULL};
    int exit_code = EXIT_DONE;
    if (!read_settings(argc, argv, &s, &exit_code))
        return exit_code;
    catch_interrupt();
    signal(SIGPIPE, SIG_IGN); /* who leaves the progress or the output unread ends no training */
    training run = {.step = 0};
    tg_error error = {TG_OK, ""};
    if (s.print_recipe)
        exit_code = print_recipe(&s);
    else if (start(&run, &s, &error) != TG_OK || make_directory(s.directory, &error) != TG_OK)
        exit_code = failed(&error);
    else
        exit_code = run_to_end(&run, &s);
    training_free(&run);
    if (exit_code == EXIT_DONE && !options_flush_output("train_example"))
        exit_code = EXIT_FAILED;
    return exit_code;
}
