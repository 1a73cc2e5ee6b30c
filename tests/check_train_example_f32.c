/* train_example, run as a person runs it: what it prints and writes, how it is stopped and goes on,
 * and what it says when something is wrong. */
#include "support.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tapegrad.h>

#include "article/training.h"
#include "comma_locale.h"
#include "common/options.h"

#define PROGRAM TG_TEST_PROGRAMS "/train_example"
#define ORACLE  TG_TEST_SOURCE "/tests/numpy_forward.py"

enum { NAME_SIZE = 160, PATH_SIZE = 512, LINE_SIZE = 512, WORDS = 32, NEVER = 100000000 };

/* ---- running ---- */

/* The program works in directory/work; its output is beside that. */
static char directory[256];
static char *out, *err;
static int code; /* of its exit; a signal's number and 128 where one ended it */

static const char *path_in(const char *folder, const char *name) {
    static char paths[4][PATH_SIZE];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_SIZE, "%s/%s%s", directory, folder, name);
    return path;
}

static const char *path_of(const char *name) {
    return path_in("", name);
}

static const char *at(const char *name) {
    return path_in("work/", name);
}

static void setup(void) {
    test_directory_make(directory);
    ck_assert_int_eq(mkdir(path_of("work"), 0777), 0);
}

static void teardown(void) {
    free(out);
    free(err);
    test_directory_remove(directory);
}

typedef struct command {
    const char *program;   /* NULL: train_example */
    const char *first;     /* an argument that is taken as it is; NULL: none */
    const char *arguments; /* words between spaces (a tab is none); '' is an empty one */
    const char *settings;  /* of the environment: NAME=value, between spaces */
    const char *output;    /* where stdout goes; NULL: into `out` */
    rlim_t largest_file;   /* 0: no limit */
} command;

/* Cuts the text, in place, into the words between spaces. */
static int split(char *text, char *words[WORDS]) {
    int count = 0;
    for (char *word = strtok(text, " "); word != NULL && count < WORDS - 1;
         word = strtok(NULL, " "))
        words[count++] = strcmp(word, "''") == 0 ? word + 2 : word;
    words[count] = NULL;
    return count;
}

static void become(const command *c) {
    char line[LINE_SIZE], settings[LINE_SIZE], *arguments[WORDS + 2], *assigned[WORDS];
    snprintf(line, sizeof line, "%s", c->arguments != NULL ? c->arguments : "");
    snprintf(settings, sizeof settings, "%s", c->settings != NULL ? c->settings : "");
    arguments[0] = (char *)(c->program != NULL ? c->program : PROGRAM);
    arguments[1] = (char *)c->first;
    split(line, arguments + (c->first != NULL ? 2 : 1));
    const char *output = c->output != NULL ? c->output : path_of("out");
    if (freopen("/dev/null", "r", stdin) == NULL || freopen(output, "w", stdout) == NULL ||
        freopen(path_of("err"), "w", stderr) == NULL || chdir(path_of("work")) != 0)
        _exit(126);
    for (int i = split(settings, assigned); i > 0; i--) {
        char *equals = strchr(assigned[i - 1], '=');
        *equals = '\0';
        setenv(assigned[i - 1], equals + 1, 1);
    }
    signal(SIGINT, SIG_DFL);
    struct rlimit limit = {c->largest_file, c->largest_file};
    if (c->largest_file > 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(126);
    execvp(arguments[0], arguments);
    _exit(127);
}

static pid_t begin(command c) {
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        become(&c);
    return child;
}

static void await(pid_t child) {
    int status = -1;
    size_t size;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    free(err);
    err = test_read_file(path_of("err"), &size);
}

static int run_command(command c) {
    await(begin(c));
    size_t size;
    free(out);
    out = c.output == NULL ? test_read_file(path_of("out"), &size) : NULL;
    return code;
}

static int run(const char *arguments) {
    return run_command((command){.arguments = arguments});
}

/* Runs with the arguments, formatted, and must succeed. */
__attribute__((format(printf, 1, 2))) static void succeed(const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert_msg(run(line) == EXIT_DONE, "%s: exit %d: %s", line, code, err);
}

static bool has_program(const char *name) {
    char arguments[LINE_SIZE];
    snprintf(arguments, sizeof arguments, "command\t-v\t%s", name);
    command c = {.program = "sh", .first = "-c", .arguments = arguments};
    return run_command(c) == 0;
}

/* ---- looking at what is there ---- */

static int count_of(const char *text, char c) {
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == c;
    return count;
}

static bool exists(const char *name) {
    struct stat about;
    return lstat(at(name), &about) == 0;
}

/* One line on stderr, by the program, that has these words. */
static void assert_one_line(const char *words) {
    ck_assert_msg(strncmp(err, "train_example: ", 15) == 0 && count_of(err, '\n') == 1 &&
                      err[strlen(err) - 1] == '\n',
                  "not one line: %s", err);
    ck_assert_msg(strstr(err, words) != NULL, "no \"%s\" in: %s", words, err);
}

/* The last line on stderr has these words. */
static void assert_last_line(const char *words) {
    const char *line = err;
    for (const char *c = err; *c != '\0'; c++)
        if (*c == '\n' && c[1] != '\0')
            line = c + 1;
    ck_assert_msg(strncmp(line, "train_example: ", 15) == 0 && strstr(line, words) != NULL,
                  "no \"%s\" in: %s", words, line);
}

static void assert_same_file(const char *a, const char *b) {
    size_t size_a, size_b;
    char *bytes_a = test_read_file(at(a), &size_a), *bytes_b = test_read_file(at(b), &size_b);
    ck_assert_msg(size_a == size_b && memcmp(bytes_a, bytes_b, size_a) == 0, "%s and %s differ", a,
                  b);
    free(bytes_a);
    free(bytes_b);
}

static int is_no_dot(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* The names of the files in a directory, in order, each with a space behind it. */
static void list(const char *name, char names[LINE_SIZE]) {
    struct dirent **entries;
    int count = scandir(at(name), &entries, is_no_dot, alphasort);
    ck_assert_msg(count >= 0, "no directory %s", name);
    names[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, LINE_SIZE - used, "%s ", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void assert_files(const char *name, const char *expected) {
    char names[LINE_SIZE];
    list(name, names);
    ck_assert_str_eq(names, expected);
}

/* What a directory's files hold, to be compared later. */
static char *contents(const char *name, size_t *size) {
    char names[LINE_SIZE], *words[WORDS], *all = NULL;
    list(name, names);
    *size = 0;
    int count = split(names, words);
    for (int i = 0; i < count; i++) {
        char file[NAME_SIZE];
        snprintf(file, sizeof file, "%s/%s", name, words[i]);
        size_t length;
        char *bytes = test_read_file(at(file), &length);
        all = realloc(all, *size + strlen(file) + length);
        ck_assert_ptr_nonnull(all);
        memcpy(all + *size, file, strlen(file));
        memcpy(all + *size + strlen(file), bytes, length);
        *size += strlen(file) + length;
        free(bytes);
    }
    return all;
}

/* The directory holds what it held; the bytes are freed. */
static void assert_contents(const char *name, char *expected, size_t expected_size) {
    size_t size;
    char *now = contents(name, &size);
    ck_assert_msg(size == expected_size && memcmp(now, expected, size) == 0,
                  "what is in %s has changed", name);
    free(now);
    free(expected);
}

static char *read_summary(const char *name) {
    char file[NAME_SIZE];
    size_t size;
    snprintf(file, sizeof file, "%s/summary.json", name);
    return test_read_file(at(file), &size);
}

/* The text behind a name of the summary; fails where it is not there. */
static const char *value_in(const char *summary, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *found = strstr(summary, key);
    ck_assert_msg(found != NULL, "no %s in %s", name, summary);
    return found + strlen(key);
}

static void assert_value(const char *summary, const char *name, const char *expected) {
    const char *value = value_in(summary, name);
    ck_assert_msg(strncmp(value, expected, strlen(expected)) == 0 &&
                      strchr(",\n}", value[strlen(expected)]) != NULL,
                  "%s is not %s in %s", name, expected, summary);
}

static void read_checksum(const char *name, char checksum[9]) {
    char *summary = read_summary(name);
    snprintf(checksum, 9, "%s", value_in(summary, "parameters_crc32") + 1);
    free(summary);
}

static tg_archive *open_checkpoint(const char *name) {
    tg_error error = {0};
    tg_archive *archive = tg_archive_open(NULL, at(name), &error);
    ck_assert_msg(archive != NULL, "%s", error.message);
    return archive;
}

static int64_t step_of(const char *name) {
    tg_archive *archive = open_checkpoint(name);
    int64_t step = -1;
    ck_assert_int_eq(tg_archive_read_int64(archive, "step", &step, NULL), TG_OK);
    tg_archive_free(archive);
    return step;
}

static double rate_of(const char *name) {
    tg_archive *archive = open_checkpoint(name);
    double rate = -1;
    ck_assert_int_eq(tg_archive_read_float64(archive, "optimizer/rate", &rate, NULL), TG_OK);
    tg_archive_free(archive);
    return rate;
}

static void assert_optimizer(const char *name, const char *expected) {
    tg_archive *archive = open_checkpoint(name);
    const char *found = "";
    ck_assert_int_eq(tg_archive_read_text(archive, "optimizer/name", &found, NULL), TG_OK);
    ck_assert_str_eq(found, expected);
    tg_archive_free(archive);
}

static void assert_finite_params(const char *name) {
    tg_archive *archive = open_checkpoint(name);
    for (int64_t i = 0; i < tg_archive_count(archive); i++) {
        const tg_array *array = tg_archive_at(archive, i);
        const float *values = array->data;
        for (int64_t j = 0; strncmp(array->name, "param/", 6) == 0 && j < array->count; j++)
            ck_assert_msg(isfinite(values[j]), "%s: %s is not finite", name, array->name);
    }
    tg_archive_free(archive);
}

/* ---- a run ---- */

#define ALL_BUT_PICTURES                                                                           \
    "attention.gp checkpoint.npz embedding.gp loss.csv loss.gp prediction.gp scores.gp "           \
    "summary.json weights.gp "
#define ALL_FILES                                                                                  \
    "attention.gp attention.svg checkpoint.npz embedding.gp embedding.svg loss.csv loss.gp "       \
    "loss.svg prediction.gp prediction.svg scores.gp scores.svg summary.json weights.gp "          \
    "weights.svg "

/* A header and a row for each step. */
static void assert_log(const char *name, int64_t first, int64_t last) {
    size_t size;
    char *text = test_read_file(at(name), &size), *line = text;
    ck_assert_msg(strncmp(line, "step,loss\n", 10) == 0, "%s", line);
    line += 10;
    for (int64_t step = first; step <= last; step++) {
        char *end;
        ck_assert_int_eq(strtoll(line, &end, 10), step);
        ck_assert_int_eq(*end, ',');
        ck_assert_double_gt(strtod(end + 1, &end), 0);
        ck_assert_int_eq(*end, '\n');
        line = end + 1;
    }
    ck_assert_str_eq(line, "");
    free(text);
}

static void assert_picture(const char *name) {
    size_t size;
    char *text = test_read_file(at(name), &size);
    ck_assert_msg(strstr(text, "<svg") != NULL && strstr(text, "<path") != NULL &&
                      strstr(text, "</svg>") != NULL,
                  "%s is no picture", name);
    free(text);
}

START_TEST(a_run_with_the_defaults) {
    bool draws = has_program("gnuplot");
    succeed("%s", "");
    assert_files("runs", "article ");
    assert_files("runs/article", draws ? ALL_FILES : ALL_BUT_PICTURES);
    if (draws)
        assert_picture("runs/article/loss.svg");
    const article_recipe *recipe = recipe_at(0);
    assert_log("runs/article/loss.csv", 1, recipe_steps(recipe));
    char *summary = read_summary("runs/article"), text[32];
    assert_value(summary, "recipe", "\"article\"");
    snprintf(text, sizeof text, "%" PRId64, recipe->seed);
    assert_value(summary, "seed", text);
    snprintf(text, sizeof text, "%" PRId64, recipe_steps(recipe));
    assert_value(summary, "steps", text);
    assert_value(summary, "floor", "0.18904014"); /* 24 ln 2 / 88 */
    assert_value(summary, "plateau", "0.25205352");
    assert_value(summary, "all_hold", "true");
    assert_value(summary, "malloc_after_warmup", "0");
    ck_assert_double_gt(strtod(value_in(summary, "wall_seconds"), NULL), 0);
    free(summary);
    char checksum[9];
    read_checksum("runs/article", checksum);
    ck_assert_msg(strstr(out, checksum) != NULL, "no checksum %s in:\n%s", checksum, out);
    ck_assert_ptr_nonnull(strstr(out, "All of it holds."));
    ck_assert_int_eq(step_of("runs/article/checkpoint.npz"), recipe_steps(recipe));
    assert_optimizer("runs/article/checkpoint.npz", "adam");
}
END_TEST

/* Each line of the golden file: recipe, seed, steps, checksum. */
START_TEST(the_published_checksums) {
    FILE *golden = fopen(TG_TEST_GOLDEN "/article_checksum.txt", "r");
    ck_assert_ptr_nonnull(golden);
    char recipe[32], expected[9], found[9];
    int64_t seed, steps;
    int cases = 0;
    for (; fscanf(golden, "%31s %" SCNd64 " %" SCNd64 " %8s", recipe, &seed, &steps, expected) == 4;
         cases++) {
        succeed("--recipe %s --seed %" PRId64 " --steps %" PRId64 " --no-plot --quiet --out a",
                recipe, seed, steps);
        read_checksum("a", found);
        ck_assert_msg(strcmp(found, expected) == 0,
                      "seed %" PRId64 ", %" PRId64 " steps: %s, not the published %s", seed, steps,
                      found, expected);
    }
    ck_assert(feof(golden));
    ck_assert_int_ge(cases, 1);
    fclose(golden);
}
END_TEST

START_TEST(what_is_not_for_a_terminal_has_no_control_characters) {
    succeed("--steps 150 --out a");
    ck_assert_int_ge(count_of(err, '\n'), 10);
    ck_assert_int_eq(count_of(err, '\r') + count_of(err, '\x1b'), 0);
    ck_assert_int_eq(count_of(out, '\r') + count_of(out, '\x1b'), 0);
    ck_assert_msg(strstr(err, "150/150 (100%)") != NULL, "%s", err);
}
END_TEST

START_TEST(quiet_and_without_a_plot) {
    succeed("--steps 30 --out a --quiet --no-plot");
    ck_assert_str_eq(out, "");
    ck_assert_str_eq(err, "");
    assert_files("a", "checkpoint.npz loss.csv summary.json ");
    assert_log("a/loss.csv", 1, 30);
}
END_TEST

START_TEST(no_steps_at_all) {
    succeed("--steps 0 --out a --no-plot");
    assert_log("a/loss.csv", 1, 0);
    ck_assert_int_eq(step_of("a/checkpoint.npz"), 0);
    char *summary = read_summary("a");
    assert_value(summary, "steps", "0");
    assert_value(summary, "all_hold", "false");
    free(summary);
    ck_assert_ptr_nonnull(strstr(out, "Not all of it holds"));
}
END_TEST

START_TEST(a_second_run_takes_the_place_of_the_first) {
    succeed("--steps 30 --out deep/er/a --seed 3 --no-plot --quiet");
    succeed("--steps 10 --out deep/er/a --no-plot --quiet");
    succeed("--steps 10 --out b --no-plot --quiet");
    assert_same_file("deep/er/a/checkpoint.npz", "b/checkpoint.npz");
    assert_same_file("deep/er/a/loss.csv", "b/loss.csv");
    assert_files("deep/er/a", "checkpoint.npz loss.csv summary.json ");
}
END_TEST

START_TEST(another_seed_is_another_model) {
    char first[9], second[9], again[9];
    succeed("--steps 20 --seed 1 --out a --no-plot --quiet");
    succeed("--steps 20 --seed 2 --out b --no-plot --quiet");
    succeed("--steps 20 --seed=1 --out=c --no-plot --quiet");
    read_checksum("a", first);
    read_checksum("b", second);
    read_checksum("c", again);
    ck_assert_str_ne(first, second);
    ck_assert_str_eq(first, again);
}
END_TEST

START_TEST(plain_gradient_descent) {
    succeed("--recipe plain --steps 300 --optimizer sgd --lr 0.02 --out a --no-plot");
    assert_optimizer("a/checkpoint.npz", "sgd");
    ck_assert_double_eq(rate_of("a/checkpoint.npz"), 0.02);
    ck_assert_ptr_nonnull(strstr(out, "optimizer sgd"));
    char *summary = read_summary("a");
    ck_assert_double_lt(strtod(value_in(summary, "final_loss"), NULL), 1);
    assert_value(summary, "malloc_after_warmup", "0");
    free(summary);
}
END_TEST

START_TEST(every_kernel_table_gives_the_same_bytes) {
    succeed("--steps 150 --out best --no-plot --quiet");
    ck_assert_int_ge(tg_kernels_count(), 1);
    for (int i = 0; i < tg_kernels_count(); i++) {
        char settings[64], arguments[LINE_SIZE], names[2][64], checksums[2][9];
        const char *kernels = tg_kernels_name(i);
        snprintf(settings, sizeof settings, "TAPEGRAD_KERNELS=%s", kernels);
        snprintf(arguments, sizeof arguments, "--steps 150 --out %s --no-plot --quiet", kernels);
        ck_assert_msg(run_command((command){.arguments = arguments, .settings = settings}) == 0,
                      "%s: %s", kernels, err);
        snprintf(names[0], sizeof names[0], "%s/checkpoint.npz", kernels);
        snprintf(names[1], sizeof names[1], "%s/loss.csv", kernels);
        assert_same_file(names[0], "best/checkpoint.npz");
        assert_same_file(names[1], "best/loss.csv");
        read_checksum("best", checksums[0]);
        read_checksum(kernels, checksums[1]);
        ck_assert_str_eq(checksums[0], checksums[1]);
    }
    command unknown = {.arguments = "--out no", .settings = "TAPEGRAD_KERNELS=abacus"};
    ck_assert_int_eq(run_command(unknown), EXIT_FAILED);
    assert_one_line("abacus");
}
END_TEST

/* All of the summary but the time, which is cut out in place. */
static char *timeless_summary(const char *name) {
    char *summary = read_summary(name);
    char *time = strstr(summary, "\"wall_seconds\"");
    ck_assert_ptr_nonnull(time);
    char *rest = strchr(time, '\n');
    memmove(time, rest, strlen(rest) + 1);
    return summary;
}

START_TEST(a_decimal_comma_changes_nothing) {
    bool draws = has_program("gnuplot");
    succeed("--steps 60 --lr 0.125 --out point");
    comma_locale_enter(directory); /* from here on in the environment of what is run, too */
    succeed("--steps 60 --lr 0.125 --out comma");
    assert_same_file("point/checkpoint.npz", "comma/checkpoint.npz");
    assert_same_file("point/loss.csv", "comma/loss.csv");
    assert_same_file("point/loss.gp", "comma/loss.gp");
    if (draws)
        assert_same_file("point/loss.svg", "comma/loss.svg");
    char *point = timeless_summary("point"), *comma = timeless_summary("comma");
    ck_assert_str_eq(point, comma);
    free(point);
    free(comma);
    ck_assert_ptr_nonnull(strstr(out, " 0.125 "));
}
END_TEST

/* What it says is then done, where there is a gnuplot after all. */
START_TEST(without_gnuplot) {
    command c = {.arguments = "--steps 60 --out a", .settings = "PATH=/nonexistent"};
    ck_assert_int_eq(run_command(c), EXIT_DONE);
    assert_last_line("run \"gnuplot loss.gp\" in a");
    const char *first = strstr(err, "gnuplot loss.gp");
    ck_assert_ptr_null(strstr(first + 1, "gnuplot"));
    assert_files("a", ALL_BUT_PICTURES);
    if (!has_program("gnuplot"))
        return;
    c = (command){.program = "sh", .first = "-c", .arguments = "cd\ta\t&&\tgnuplot\tloss.gp"};
    ck_assert_msg(run_command(c) == 0, "%s", err);
    assert_picture("a/loss.svg");
}
END_TEST

/* ---- going on ---- */

START_TEST(a_resumed_run_is_the_run_that_never_stopped) {
    succeed("--steps 800 --out whole --no-plot --quiet");
    succeed("--steps 300 --out half --no-plot --quiet");
    succeed("--steps 800 --resume half/checkpoint.npz --out other --no-plot --quiet");
    succeed("--steps 800 --resume half/checkpoint.npz --out half --no-plot --quiet");
    assert_same_file("half/checkpoint.npz", "whole/checkpoint.npz");
    assert_same_file("half/loss.csv", "whole/loss.csv");
    assert_same_file("other/checkpoint.npz", "whole/checkpoint.npz");
    assert_log("other/loss.csv", 301, 800);
    char *whole = timeless_summary("whole"), *half = timeless_summary("half");
    ck_assert_str_eq(whole, half);
    free(whole);
    free(half);
}
END_TEST

START_TEST(a_resumed_run_keeps_the_settings_of_its_checkpoint) {
    succeed("--steps 80 --seed 5 --optimizer sgd --lr 0.03 --out whole --no-plot --quiet");
    succeed("--steps 31 --seed 5 --optimizer sgd --lr 0.03 --out half --no-plot --quiet");
    succeed("--steps 80 --resume half/checkpoint.npz --out half --no-plot --quiet");
    assert_same_file("half/checkpoint.npz", "whole/checkpoint.npz");
    assert_same_file("half/loss.csv", "whole/loss.csv");
}
END_TEST

START_TEST(a_resumed_run_with_another_rate) {
    succeed("--recipe plain --steps 30 --out a --no-plot --quiet");
    succeed("--steps 60 --resume a/checkpoint.npz --out same --no-plot --quiet");
    succeed("--steps 60 --resume a/checkpoint.npz --lr 0.01 --out other --no-plot --quiet");
    ck_assert_double_eq(rate_of("same/checkpoint.npz"), 0.1);
    ck_assert_double_eq(rate_of("other/checkpoint.npz"), 0.01);
    char same[9], other[9];
    read_checksum("same", same);
    read_checksum("other", other);
    ck_assert_str_ne(same, other);
    succeed("--steps 60 --resume a/checkpoint.npz --lr 0.1 --optimizer adam --out given --no-plot");
    assert_same_file("given/checkpoint.npz", "same/checkpoint.npz");
}
END_TEST

START_TEST(a_run_that_is_resumed_at_its_end) {
    succeed("--steps 40 --out a --no-plot --quiet");
    size_t size;
    char *before = contents("a", &size);
    char *summary = timeless_summary("a");
    succeed("--steps 40 --resume a/checkpoint.npz --out a --no-plot --quiet");
    assert_log("a/loss.csv", 1, 40);
    char *again = timeless_summary("a");
    ck_assert_str_eq(again, summary);
    free(again);
    free(summary);
    ck_assert_int_eq(run("--steps 39 --resume a/checkpoint.npz --out a --no-plot"), EXIT_FAILED);
    assert_one_line("a/checkpoint.npz");
    ck_assert_ptr_nonnull(strstr(err, "40"));
    ck_assert_ptr_nonnull(strstr(err, "39"));
    ck_assert_int_eq(step_of("a/checkpoint.npz"), 40);
    free(before);
}
END_TEST

/* The loop of a resumed run is as free of requests for memory as the first. */
START_TEST(saving_now_and_then) {
    succeed("--steps 250 --save-every 100 --out a --no-plot --quiet");
    succeed("--steps 250 --out b --no-plot --quiet");
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    succeed("--steps 500 --save-every 7 --resume a/checkpoint.npz --out a --no-plot --quiet");
    succeed("--steps 500 --out b --no-plot --quiet");
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    char *summary = read_summary("a");
    assert_value(summary, "malloc_after_warmup", "0");
    free(summary);
    assert_files("a", "checkpoint.npz loss.csv summary.json ");
}
END_TEST

/* ---- being stopped ---- */

/* Waits until the file has so many bytes. */
static void await_size(const char *name, off_t size) {
    struct stat about;
    const struct timespec pause = {0, 1000000};
    while (stat(at(name), &about) != 0 || about.st_size < size)
        nanosleep(&pause, NULL);
}

/* The checkpoint and the log in `a` go on to those of a run that was never stopped. */
static void assert_goes_on_from(int64_t step) {
    succeed("--steps %" PRId64 " --resume a/checkpoint.npz --out a --no-plot --quiet", step + 20);
    succeed("--steps %" PRId64 " --out b --no-plot --quiet", step + 20);
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    assert_same_file("a/loss.csv", "b/loss.csv");
    assert_files("a", "checkpoint.npz loss.csv summary.json ");
}

START_TEST(interrupted) {
    char arguments[LINE_SIZE], words[64];
    snprintf(arguments, sizeof arguments, "--steps %d --out a --no-plot", NEVER);
    pid_t child = begin((command){.arguments = arguments});
    await_size("a/loss.csv", 2000);
    ck_assert_int_eq(kill(child, SIGINT), 0);
    await(child);
    ck_assert_int_eq(code, EXIT_INTERRUPTED);
    int64_t step = step_of("a/checkpoint.npz");
    ck_assert_int_ge(step, 100);
    assert_log("a/loss.csv", 1, step);
    snprintf(words, sizeof words, "step %" PRId64 ",", step);
    assert_last_line(words);
    assert_last_line("--resume a/checkpoint.npz");
    ck_assert_int_eq(count_of(err, '\r'), 0);
    ck_assert(!exists("a/summary.json"));
    assert_goes_on_from(step);
}
END_TEST

/* However far it was: the checkpoint is whole, and the log's torn or later rows are dropped. */
START_TEST(killed) {
    char arguments[LINE_SIZE];
    snprintf(arguments, sizeof arguments, "--steps %d --save-every 2 --out a --no-plot", NEVER);
    pid_t child = begin((command){.arguments = arguments});
    await_size("a/checkpoint.npz", 1);
    await_size("a/loss.csv", 100 + 57 * _i);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    await(child);
    ck_assert_int_eq(code, 128 + SIGKILL);
    int64_t step = step_of("a/checkpoint.npz");
    ck_assert_int_eq(step % 2, 0);
    assert_goes_on_from(step);
}
END_TEST

/* ---- a loss that is not finite ---- */

START_TEST(a_run_that_diverges_keeps_its_last_checkpoint) {
    int exit = run("--optimizer sgd --lr 1 --steps 5000 --save-every 5 --out a --no-plot");
    ck_assert_int_eq(exit, EXIT_NOT_FINITE);
    assert_last_line("the loss at step");
    assert_finite_params("a/checkpoint.npz");
    int64_t step = step_of("a/checkpoint.npz");
    ck_assert_int_gt(step, 0);
    ck_assert_int_eq(step % 5, 0);
    succeed("--optimizer sgd --lr 1 --steps %" PRId64 " --out b --no-plot --quiet", step);
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    size_t size;
    char *log = test_read_file(at("a/loss.csv"), &size);
    ck_assert_msg(strstr(log, ",nan\n") != NULL || strstr(log, ",inf\n") != NULL, "%s", log);
    free(log);
    ck_assert(!exists("a/summary.json"));
}
END_TEST

/* One step is enough to lose the weights, though the loss before it was a number. */
static const char *const diverging[] = {
    "--resume a/checkpoint.npz --lr 9e8 --steps 31 --out a --no-plot",
    "--resume a/checkpoint.npz --lr 9e8 --steps 40 --out a --no-plot --save-every 1",
};

START_TEST(weights_that_are_lost_replace_no_good_ones) {
    succeed("--steps 30 --out a --no-plot --quiet");
    succeed("--steps 30 --out b --no-plot --quiet");
    ck_assert_msg(run(diverging[_i]) == EXIT_NOT_FINITE, "exit %d: %s", code, err);
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
}
END_TEST

/* ---- wrong command lines ---- */

static const struct {
    const char *arguments, *option, *value;
} usage[] = {
    {"--steps 10x", "--steps", "10x"},
    {"--steps -1", "--steps", "-1"},
    {"--steps", "--steps", "needs"},
    {"--steps=", "--steps", "\"\""},
    {"--steps 1.5", "--steps", "1.5"},
    {"--lr nan", "--lr", "nan"},
    {"--lr 0", "--lr", "0"},
    {"--lr -0.1", "--lr", "-0.1"},
    {"--lr 1e999", "--lr", "1e999"},
    {"--lr 0,1", "--lr", "0,1"},
    {"--optimizer foo", "--optimizer", "foo"},
    {"--optimizer", "--optimizer", "needs"},
    {"--bogus", "--bogus", ""},
    {"--steps 3 --bogus=3 --out a", "--bogus", ""},
    {"a", "a", ""},
    {"--seed 99999999999999999999", "--seed", "99999999999999999999"},
    {"--seed -1", "--seed", "-1"},
    {"--resume a/checkpoint.npz --seed 3", "--seed", "checkpoint"},
    {"--seed 3 --resume=a/checkpoint.npz", "--seed", "checkpoint"},
    {"--save-every 0", "--save-every", "0"},
    {"--save-every x", "--save-every", "x"},
    {"--out ''", "--out", "empty"},
    {"--out=", "--out", "empty"},
    {"--resume ''", "--resume", "empty"},
    {"--quiet=1", "--quiet", "1"},
};

START_TEST(usage_errors) {
    ck_assert_msg(run(usage[_i].arguments) == EXIT_USAGE, "exit %d: %s", code, err);
    assert_one_line(usage[_i].option);
    assert_one_line(usage[_i].value);
    ck_assert_str_eq(out, "");
    assert_files(".", "");
}
END_TEST

START_TEST(help_and_version) {
    succeed("--help");
    ck_assert_str_eq(err, "");
    static const char *const options[] = {"--seed",    "--steps",       "--lr",    "--optimizer",
                                          "--out",     "--resume",      "--help",  "--save-every",
                                          "--no-plot", "--version",     "--quiet", "--recipe",
                                          "--init",    "--print-recipe"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        ck_assert_msg(strstr(out, options[i]) != NULL, "no %s in:\n%s", options[i], out);
    char expected[64];
    ck_assert_ptr_nonnull(strstr(out, "article (default)"));
    succeed("--version");
    ck_assert_str_eq(err, "");
    snprintf(expected, sizeof expected, "train_example %s\n", tg_version());
    ck_assert_str_eq(out, expected);
    assert_files(".", "");
}
END_TEST

/* ---- files that cannot be read or written ---- */

static const struct {
    const char *file, *folder; /* that stand in the way */
    const char *arguments;
    const char *words;
} unwritable[] = {
    {"a", NULL, "--out a", "a is not a directory"},
    {"a", NULL, "--out a/b", "directory"},
    {NULL, "a/loss.csv", "--out a", "a/loss.csv"},
    {NULL, "a/checkpoint.npz", "--out a", "a/checkpoint.npz"},
    {NULL, "a/summary.json", "--out a", "a/summary.json"},
    {NULL, "a/loss.gp", "--out a", "a/loss.gp"},
    {NULL, NULL, "--out /dev/null", "/dev/null is not a directory"},
    {NULL, NULL, "--out /proc/none", "/proc/none"},
};

START_TEST(a_directory_that_cannot_be_written) {
    if (unwritable[_i].file != NULL)
        test_write_file(at(unwritable[_i].file), "mine\n", 5);
    if (unwritable[_i].folder != NULL) {
        ck_assert_int_eq(mkdir(at("a"), 0777), 0);
        ck_assert_int_eq(mkdir(at(unwritable[_i].folder), 0777), 0);
    }
    char arguments[LINE_SIZE];
    snprintf(arguments, sizeof arguments, "--steps 5 %s", unwritable[_i].arguments);
    ck_assert_msg(run(arguments) == EXIT_FAILED, "exit %d: %s", code, err);
    assert_last_line(unwritable[_i].words);
    ck_assert_str_eq(out, "");
    if (unwritable[_i].file != NULL) {
        size_t size;
        char *bytes = test_read_file(at(unwritable[_i].file), &size);
        ck_assert_str_eq(bytes, "mine\n");
        free(bytes);
    }
}
END_TEST

START_TEST(a_path_that_is_too_long) {
    char arguments[8192] = "--out ", *end = arguments + strlen(arguments);
    memset(end, 'x', 5000);
    char *argv[] = {(char *)PROGRAM, (char *)"--out", end, NULL};
    pid_t child = fork();
    if (child == 0) {
        if (freopen(path_of("err"), "w", stderr) == NULL || chdir(path_of("work")) != 0)
            _exit(126);
        execv(argv[0], argv);
        _exit(127);
    }
    await(child);
    ck_assert_int_eq(code, EXIT_FAILED);
    assert_one_line("path of the directory has 5000 bytes");
    assert_files(".", "");
}
END_TEST

static const struct {
    const char *resume;
    const char *words;
} no_checkpoints[] = {
    {"none.npz", "No such file"},   {"half.npz", "half.npz"},       {"empty.npz", "empty.npz"},
    {"foreign.npz", "foreign.npz"}, {"text.npz", "text.npz"},       {"folder", "directory"},
    {"/dev/null", "/dev/null"},     {"loss.csv/x.npz", "loss.csv"}, {"a/loss.csv", "a/loss.csv"},
};

static void make_no_checkpoints(void) {
    size_t size;
    char *bytes = test_read_file(at("a/checkpoint.npz"), &size);
    test_write_file(at("half.npz"), bytes, size / 2);
    free(bytes);
    test_write_file(at("empty.npz"), "", 0);
    test_write_file(at("text.npz"), "step,loss\n", 10);
    bytes = test_read_file(TG_TEST_GOLDEN "/archive_foreign.npz", &size);
    test_write_file(at("foreign.npz"), bytes, size);
    free(bytes);
    ck_assert_int_eq(mkdir(at("folder"), 0777), 0);
}

START_TEST(what_cannot_be_resumed) {
    succeed("--steps 20 --out a --no-plot --quiet");
    make_no_checkpoints();
    size_t size;
    char *before = contents("a", &size), arguments[LINE_SIZE];
    snprintf(arguments, sizeof arguments, "--resume %s --out a", no_checkpoints[_i].resume);
    ck_assert_msg(run(arguments) == EXIT_FAILED, "exit %d: %s", code, err);
    assert_one_line(no_checkpoints[_i].words);
    assert_one_line(no_checkpoints[_i].resume);
    ck_assert_str_eq(out, "");
    assert_contents("a", before, size);
}
END_TEST

START_TEST(another_optimizer_than_the_checkpoints) {
    succeed("--steps 20 --out a --no-plot --quiet");
    size_t size;
    char *before = contents("a", &size);
    ck_assert_int_eq(run("--resume a/checkpoint.npz --optimizer sgd --out a"), EXIT_FAILED);
    assert_one_line("a/checkpoint.npz");
    assert_one_line("adam, not sgd");
    assert_contents("a", before, size);
}
END_TEST

START_TEST(a_log_of_another_program) {
    succeed("--steps 20 --out a --no-plot --quiet");
    test_write_file(at("a/loss.csv"), "time,heat\n1,2\n", 14);
    size_t size;
    char *before = contents("a", &size);
    ck_assert_int_eq(run("--resume a/checkpoint.npz --steps 30 --out a"), EXIT_FAILED);
    assert_one_line("a/loss.csv");
    assert_contents("a", before, size);
}
END_TEST

START_TEST(a_disk_that_is_full) {
    succeed("--steps 5 --out a --no-plot --quiet");
    succeed("--steps 5 --out b --no-plot --quiet");
    command c = {.arguments = "--resume a/checkpoint.npz --steps 6 --out a --no-plot",
                 .largest_file = 8192};
    ck_assert_msg(run_command(c) == EXIT_FAILED, "exit %d: %s", code, err);
    assert_last_line("a/checkpoint.npz");
    assert_last_line("File too large");
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    assert_files("a", "checkpoint.npz loss.csv ");
    c.arguments = "--resume a/checkpoint.npz --steps 5000 --out a --no-plot";
    ck_assert_msg(run_command(c) == EXIT_FAILED, "exit %d: %s", code, err);
    assert_last_line("a/loss.csv");
    assert_last_line("File too large");
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
}
END_TEST

START_TEST(output_that_cannot_be_written) {
    command c = {.arguments = "--steps 20 --out a --no-plot", .output = "/dev/full"};
    ck_assert_int_eq(run_command(c), EXIT_FAILED);
    assert_last_line("writ");
    assert_files("a", "checkpoint.npz loss.csv summary.json ");
    ck_assert_int_eq(step_of("a/checkpoint.npz"), 20);
}
END_TEST

static const char *const printing[] = {"--help", "--version"};

START_TEST(help_that_cannot_be_written) {
    command c = {.arguments = printing[_i], .output = "/dev/full"};
    ck_assert_int_eq(run_command(c), EXIT_FAILED);
    assert_one_line("writ");
}
END_TEST

/* ---- NumPy ---- */

/* A Python that has NumPy, or NULL. */
static const char *python(void) {
    static const char *const programs[] = {"/usr/bin/python3", "python3"};
    for (int i = 0; i < 2; i++) {
        command c = {.program = programs[i], .first = "-c", .arguments = "import\tnumpy"};
        if (run_command(c) == 0)
            return programs[i];
    }
    return NULL;
}

static const char *const shown[] = {
    "",
    "--steps 0",
    "--seed 11 --steps 150",
    "--optimizer sgd --lr 0.02 --steps 1000",
};

START_TEST(numpy_finds_the_same_loss_in_the_checkpoint) {
    const char *program = python();
    if (program == NULL) {
        printf("check_train_example: no Python with NumPy here: the checkpoint was not shown to "
               "NumPy\n");
        return;
    }
    succeed("%s --out a --no-plot --quiet", shown[_i]);
    command oracle = {.program = program,
                      .first = ORACLE,
                      .arguments = "a/checkpoint.npz a/summary.json stored.npz"};
    ck_assert_msg(run_command(oracle) == 0, "%s%s", out, err);
    if (_i == 0)
        fputs(out, stdout);
    int64_t step = step_of("a/checkpoint.npz");
    succeed("--resume a/checkpoint.npz --steps %" PRId64 " --out b --no-plot --quiet", step + 9);
    succeed("--resume stored.npz --steps %" PRId64 " --out c --no-plot --quiet", step + 9);
    assert_same_file("b/checkpoint.npz", "c/checkpoint.npz");
}
END_TEST

#define ADD_LOOP(tests, test, table)                                                               \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

static TCase *case_of(Suite *suite, const char *name) {
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return tests;
}

static void add_runs(Suite *suite) {
    TCase *tests = case_of(suite, "a run");
    tcase_add_test(tests, a_run_with_the_defaults);
    tcase_add_test(tests, the_published_checksums);
    tcase_add_test(tests, what_is_not_for_a_terminal_has_no_control_characters);
    tcase_add_test(tests, quiet_and_without_a_plot);
    tcase_add_test(tests, no_steps_at_all);
    tcase_add_test(tests, a_second_run_takes_the_place_of_the_first);
    tcase_add_test(tests, another_seed_is_another_model);
    tcase_add_test(tests, plain_gradient_descent);
    tcase_add_test(tests, every_kernel_table_gives_the_same_bytes);
    tcase_add_test(tests, a_decimal_comma_changes_nothing);
    tcase_add_test(tests, without_gnuplot);
    tests = case_of(suite, "going on");
    tcase_add_test(tests, a_resumed_run_is_the_run_that_never_stopped);
    tcase_add_test(tests, a_resumed_run_keeps_the_settings_of_its_checkpoint);
    tcase_add_test(tests, a_resumed_run_with_another_rate);
    tcase_add_test(tests, a_run_that_is_resumed_at_its_end);
    tcase_add_test(tests, saving_now_and_then);
    tests = case_of(suite, "stopped");
    tcase_add_test(tests, interrupted);
    tcase_add_loop_test(tests, killed, 0, 5);
    tests = case_of(suite, "not finite");
    tcase_add_test(tests, a_run_that_diverges_keeps_its_last_checkpoint);
    ADD_LOOP(tests, weights_that_are_lost_replace_no_good_ones, diverging);
}

static void add_errors(Suite *suite) {
    TCase *tests = case_of(suite, "command line");
    ADD_LOOP(tests, usage_errors, usage);
    tcase_add_test(tests, help_and_version);
    tests = case_of(suite, "files");
    ADD_LOOP(tests, a_directory_that_cannot_be_written, unwritable);
    tcase_add_test(tests, a_path_that_is_too_long);
    ADD_LOOP(tests, what_cannot_be_resumed, no_checkpoints);
    tcase_add_test(tests, another_optimizer_than_the_checkpoints);
    tcase_add_test(tests, a_log_of_another_program);
    tcase_add_test(tests, a_disk_that_is_full);
    tcase_add_test(tests, output_that_cannot_be_written);
    ADD_LOOP(tests, help_that_cannot_be_written, printing);
    tests = case_of(suite, "NumPy");
    ADD_LOOP(tests, numpy_finds_the_same_loss_in_the_checkpoint, shown);
}

static Suite *suite(void) {
    Suite *suite = suite_create("train_example");
    add_runs(suite);
    add_errors(suite);
    return suite;
}

int main(void) {
    return test_main(suite());
}
