/* Trains the article's next-word model from scratch, shows every matrix of it on the article's
 * sentence, and measures what the article claims of its own. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tapegrad.h>

#include "article/claims.h"
#include "article/printed.h"
#include "article/summary.h"
#include "article/training.h"
#include "article/walkthrough.h"
#include "common/options.h"

enum { PATH_SIZE = 4096, WARM_UP = 100 };

/* What the command line says; `steps` and the like hold the recipe's values until it says else. */
typedef struct settings {
    int64_t seed, steps, save_every;
    double rate;
    const char *optimizer, *directory, *resume;
    bool no_plot, quiet;
    bool seed_given, steps_given, rate_given, optimizer_given;
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

static int failed(const tg_error *error) {
    fprintf(stderr, "train_example: %s\n", error->message);
    return EXIT_FAILED;
}

static bool read_settings(int argc, char **argv, settings *s, int *exit_code) {
    static const char *const optimizers[] = {"adam", "sgd", NULL};
    const cli_option options[] = {
        {"--seed", "N", "start from this seed (default 834, found by a search)", OPTION_INTEGER,
         .value.integer = &s->seed, .given = &s->seed_given},
        {"--steps", "N", "train until this step (default 500)", OPTION_INTEGER,
         .value.integer = &s->steps, .given = &s->steps_given},
        {"--lr", "X", "the learning rate (default 0.1)", OPTION_REAL, .value.real = &s->rate,
         .given = &s->rate_given},
        {"--optimizer", "NAME", "adam (default), or sgd with momentum 0.9", OPTION_CHOICE,
         .value.text = &s->optimizer, .choices = optimizers, .given = &s->optimizer_given},
        {"--out", "DIR", "write to this directory (default runs/article)", OPTION_TEXT,
         .value.text = &s->directory},
        {"--resume", "FILE", "go on from this checkpoint, with its settings", OPTION_TEXT,
         .value.text = &s->resume},
        {"--save-every", "N", "save the checkpoint at every N-th step too", OPTION_INTEGER,
         .value.integer = &s->save_every, .least = 1},
        {"--no-plot", NULL, "do not draw the loss", OPTION_FLAG, .value.flag = &s->no_plot},
        {"--quiet", NULL, "print nothing but errors", OPTION_FLAG, .value.flag = &s->quiet},
    };
    const cli_program program = {
        "train_example",
        "Trains the article's next-word model from scratch and shows every matrix of it.",
        "[options]", options, sizeof options / sizeof options[0]};
    if (!options_read(&program, argc, argv, exit_code))
        return false;
    if (s->resume != NULL && s->seed_given) {
        fprintf(stderr, "train_example: --seed: a resumed run has the seed of its checkpoint\n");
        *exit_code = EXIT_USAGE;
        return false;
    }
    return true;
}

/* Makes the directory and those above it. */
static tg_status make_directory(const char *path, tg_error *error) {
    char part[PATH_SIZE];
    size_t length = strlen(path);
    if (length >= sizeof part - 32)
        return tg_fail(error, TG_EINVAL, "--out: the path has %zu bytes", length);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return tg_fail(error, TG_EIO, "cannot make the directory %.150s: %s", part,
                           strerror(errno));
    }
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return tg_fail(error, TG_EIO, "%.200s is not a directory", path);
    return TG_OK;
}

static void path_in(const settings *s, const char *name, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/%s", s->directory, name);
}

/* The run at its start, or as the checkpoint of --resume holds it. */
static tg_status start(training *run, settings *s, tg_error *error) {
    article_recipe recipe = recipe_plain;
    recipe.rate = s->rate;
    recipe.optimizer = s->optimizer;
    if (s->resume == NULL)
        return training_init(run, &recipe, s->seed, error);
    tg_archive *archive = tg_archive_open(NULL, s->resume, error);
    if (archive == NULL)
        return error->status;
    tg_error cause = {TG_OK, ""};
    tg_status status = TG_OK;
    if (!s->optimizer_given)
        status = tg_archive_read_text(archive, "optimizer/name", &recipe.optimizer, &cause);
    if (status == TG_OK)
        status = training_init(run, &recipe, 0, &cause);
    if (status == TG_OK)
        status = training_restore(run, archive, &cause);
    if (status == TG_OK && s->rate_given)
        status = tg_optimizer_set_rate(run->optimizer, s->rate, &cause);
    if (status == TG_OK && run->step > s->steps)
        status =
            tg_fail(&cause, TG_EINVAL, "is at step %" PRId64 " already, --steps is only %" PRId64,
                    run->step, s->steps);
    tg_archive_free(archive);
    return status == TG_OK ? TG_OK
                           : tg_fail(error, status, "%.100s: %.140s", s->resume, cause.message);
}

static tg_csv *open_log(const training *run, const settings *s, tg_error *error) {
    static const char *const columns[] = {"loss"};
    char path[PATH_SIZE];
    path_in(s, "loss.csv", path);
    if (run->step == 0)
        return tg_csv_create(run->context, path, columns, 1, error);
    tg_csv *log = tg_csv_resume(run->context, path, columns, 1, run->step, error);
    if (log == NULL && error->status == TG_ENOTFOUND)
        log = tg_csv_create(run->context, path, columns, 1, error);
    return log;
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
    tg_training_state state = training_state(run);
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
                         "the loss at step %" PRId64 " is %g: stopped, nothing saved since the "
                         "last checkpoint",
                         run->step, *loss);
    int64_t before = run->count.requests;
    if (status == TG_OK && s->save_every > 0 && run->step % s->save_every == 0)
        status = save(run, s, error);
    *saving_requests += run->count.requests - before;
    return status;
}

static tg_status train(training *run, const settings *s, tg_csv *log, outcome *result,
                       tg_error *error) {
    tg_progress progress;
    tg_progress_begin(&progress, s->quiet ? NULL : stderr, "train", s->steps);
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
    }
    result->seconds = seconds_now() - begin;
    result->requests_after_warmup = run->step > warm ? run->count.requests - at_warm - saving : 0;
    tg_progress_end(&progress);
    return status;
}

static tg_status draw(const settings *s, tg_error *error) {
    const char *const columns[] = {"loss"};
    const tg_plot_reference references[] = {
        {claims_plateau(), "plateau 32 ln 2 / 88"},
        {claims_floor(), "floor 24 ln 2 / 88"},
    };
    const tg_plot_curve_options options = {.title = "Training the article's model",
                                           .x_label = "step",
                                           .y_label = "loss (nats per word)",
                                           .data = "loss.csv",
                                           .columns = columns,
                                           .column_count = 1,
                                           .references = references,
                                           .reference_count = 2,
                                           .logarithmic = true};
    tg_plot_outcome drawn;
    tg_status status = tg_plot_curve(NULL, s->directory, "loss", &options, &drawn, error);
    if (status == TG_OK && drawn.result != TG_PLOT_DRAWN)
        fprintf(stderr, "train_example: %s\n", drawn.note);
    return status;
}

static void print_results(const training *run, const settings *s, const article_summary *made) {
    printf("What the article claims of its model, measured on this one\n\n");
    claims_print(made->claims, stdout);
    printf("\n%s\n\n", claims_all_hold(made->claims)
                           ? "All of it holds."
                           : "Not all of it holds: few seeds give it (the default one does).");
    printf("seed %" PRId64 ", %s, rate %g, %" PRId64 " steps: loss %.9g, parameters %08" PRIx32
           ", %.3f s\n",
           made->seed, tg_optimizer_name(run->optimizer), tg_optimizer_rate(run->optimizer),
           made->steps, made->final_loss, made->checksum, made->wall_seconds);
    printf("%s: checkpoint.npz, summary.json, loss.csv%s\n", s->directory,
           s->no_plot ? "" : ", loss.gp, loss.svg");
}

/* Measures, writes the summary, draws, and prints. */
static tg_status finish(training *run, const settings *s, const outcome *result, tg_error *error) {
    claim claims[CLAIMS];
    article_summary made = {.recipe = recipe_plain.name,
                            .seed = run->seed,
                            .steps = run->step,
                            .claims = claims,
                            .checksum = training_checksum(run),
                            .wall_seconds = result->seconds,
                            .requests_after_warmup = result->requests_after_warmup};
    char path[PATH_SIZE];
    path_in(s, "summary.json", path);
    tg_status status = training_loss(run, &made.final_loss, error);
    if (status == TG_OK)
        status = claims_measure(&run->model, run->tape, made.final_loss, claims, error);
    if (status == TG_OK)
        status = summary_write(path, &made, error);
    if (status == TG_OK && !s->no_plot)
        status = draw(s, error);
    if (status == TG_OK && !s->quiet)
        status = article_walkthrough(&run->model, article_words, article_sentence, ARTICLE_LENGTH,
                                     stdout, error);
    if (status == TG_OK && !s->quiet)
        print_results(run, s, &made);
    return status;
}

/* From the first step to the last line. */
static int run_to_end(training *run, const settings *s) {
    tg_error error = {TG_OK, ""}, closing = {TG_OK, ""};
    outcome result = {0};
    tg_csv *log = open_log(run, s, &error);
    if (log == NULL)
        return failed(&error);
    tg_status status = train(run, s, log, &result, &error);
    tg_status closed = tg_csv_close(log, &closing);
    if (status == TG_OK && closed != TG_OK)
        return failed(&closing);
    if (status == TG_OK)
        status = save(run, s, &error);
    if (status == TG_OK && interrupted) {
        fprintf(stderr,
                "train_example: interrupted at step %" PRId64 ", saved; to go on: "
                "--resume %s/checkpoint.npz\n",
                run->step, s->directory);
        return EXIT_INTERRUPTED;
    }
    if (status == TG_OK)
        status = finish(run, s, &result, &error);
    if (status != TG_OK)
        failed(&error);
    return status == TG_OK ? EXIT_DONE : status == TG_ENONFINITE ? EXIT_NOT_FINITE : EXIT_FAILED;
}

int main(int argc, char **argv) {
    settings s = {.seed = recipe_plain.seed,
                  .steps = recipe_plain.steps,
                  .rate = recipe_plain.rate,
                  .optimizer = recipe_plain.optimizer,
                  .directory = "runs/article"};
    int exit_code = EXIT_DONE;
    if (!read_settings(argc, argv, &s, &exit_code))
        return exit_code;
    signal(SIGINT, on_interrupt);
    training run = {0};
    tg_error error = {TG_OK, ""};
    if (make_directory(s.directory, &error) != TG_OK || start(&run, &s, &error) != TG_OK)
        exit_code = failed(&error);
    else
        exit_code = run_to_end(&run, &s);
    training_free(&run);
    if (exit_code == EXIT_DONE && fflush(stdout) != 0) {
        fprintf(stderr, "train_example: cannot write the output: %s\n", strerror(errno));
        exit_code = EXIT_FAILED;
    }
    return exit_code;
}
