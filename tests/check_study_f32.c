/* Studies of many seeds: the statistics, what comes of each seed, and seed_study as a person runs
 * it. */
#include "support.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "article/statistics.h"
#include "article/study.h"
#include "article/study_report.h"
#include "common/options.h"

enum { LINE_SIZE = 2048, NAME_SIZE = 128, PATH_SIZE = 512 };

/* ---- statistics ---- */

/* The ends solve (share - p)^2 = z^2 p (1 - p) / n for p, found by bisection in another program. */
START_TEST(test_wilson_interval) {
    static const struct {
        int64_t hits, trials;
        double low, high;
    } rows[] = {
        {0, 10, 0, 0.277532799863},
        {5, 10, 0.236593090513, 0.763406909487},
        {10, 10, 0.722467200137, 1},
        {1, 1, 0.206549314377, 1},
        {1, 3, 0.061491944720, 0.792340399198},
        {375, 1000, 0.345526294233, 0.405430395388},
        {61, 2000, 0.023817395490, 0.038982711907},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        share_interval interval = wilson_interval(rows[i].hits, rows[i].trials);
        ck_assert_double_eq_tol(interval.low, rows[i].low, 1e-11);
        ck_assert_double_eq_tol(interval.high, rows[i].high, 1e-11);
    }
    ck_assert(wilson_interval(0, 7).low == 0 && wilson_interval(7, 7).high == 1);
}
END_TEST

/* Against numpy.percentile. */
START_TEST(test_quantiles) {
    static const double at[] = {0.05, 0.25, 0.5, 0.75, 0.95, 0, 1};
    double seven[] = {3, 1, 4, 1.5, 9, 2.6, 5}, two[] = {0.5, 0.25}, one[] = {7};
    static const double of_seven[] = {1.15, 2.05, 3, 4.5, 7.8, 1, 9},
                        of_two[] = {0.2625, 0.3125, 0.375, 0.4375, 0.4875, 0.25, 0.5};
    sort_losses(seven, 7);
    sort_losses(two, 2);
    for (int i = 0; i < 7; i++) {
        ck_assert_double_eq_tol(quantile_of(seven, 7, at[i]), of_seven[i], 1e-13);
        ck_assert_double_eq_tol(quantile_of(two, 2, at[i]), of_two[i], 1e-13);
        ck_assert(quantile_of(one, 1, at[i]) == 7);
    }
}
END_TEST

START_TEST(test_what_is_not_finite_comes_last) {
    double values[] = {NAN, 2, -INFINITY, 1, 3};
    sort_losses(values, 5);
    ck_assert(values[0] == 1 && values[1] == 2 && values[2] == 3);
    ck_assert(isinf(values[3]) && values[3] > 0 && isinf(values[4]) && values[4] > 0);
    ck_assert(quantile_of(values, 5, 0.5) == 3);
    ck_assert(isinf(quantile_of(values, 5, 0.55)) && isinf(quantile_of(values, 5, 0.95)));
}
END_TEST

/* ---- running ---- */

/* Two stages, so that windows, dropout and the unscored noun are at work. */
static const char tiny[] = "recipe tiny\n"
                           "stage 20 0.03 0.03 0.05 0.5 2 frozen unscored 4 5\n"
                           "stage 10 0.03 0 0 1 all trained scored - -\n";

static char directory[256];
static char *out, *err;

static void setup(void) {
    test_directory_make(directory);
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/tiny.txt", directory);
    test_write_file(path, tiny, sizeof tiny - 1);
}

static void teardown(void) {
    free(out);
    free(err);
    test_directory_remove(directory);
}

static char *read_file(const char *name) {
    char path[PATH_SIZE];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return test_read_file(path, &size);
}

static bool exists(const char *name) {
    char path[PATH_SIZE];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &about) == 0;
}

/* Runs a program of the examples in the directory, with arguments and environment as the shell reads
 * them; returns its exit code. */
static int run_in(const char *environment, const char *program, const char *format,
                  va_list arguments) {
    char words[LINE_SIZE], line[2 * LINE_SIZE];
    vsnprintf(words, sizeof words, format, arguments);
    snprintf(line, sizeof line, "cd '%s' && %s '%s/%s' %s >out 2>err </dev/null", directory,
             environment, TG_TEST_PROGRAMS, program, words);
    int status = system(line);
    free(out);
    free(err);
    out = read_file("out");
    err = read_file("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int code = run_in("", "seed_study", format, arguments);
    va_end(arguments);
    return code;
}

__attribute__((format(printf, 2, 3))) static void succeed(const char *program, const char *format,
                                                          ...) {
    va_list arguments;
    va_start(arguments, format);
    int code = run_in("", program, format, arguments);
    va_end(arguments);
    ck_assert_msg(code == EXIT_DONE, "%s: exit %d: %s", program, code, err);
}

/* One line on stderr, by the program, that has these words. */
static void assert_one_line(const char *words) {
    const char *end = strchr(err, '\n');
    ck_assert_msg(strncmp(err, "seed_study: ", 12) == 0 && end != NULL && end[1] == '\0',
                  "not one line: %s", err);
    ck_assert_msg(strstr(err, words) != NULL, "no \"%s\" in: %s", words, err);
}

static void assert_same_file(const char *a, const char *b) {
    char *left = read_file(a), *right = read_file(b);
    ck_assert_str_eq(left, right);
    free(left);
    free(right);
}

/* ---- what comes of the seeds ---- */

START_TEST(test_threads_do_not_matter) {
    for (int threads = 1; threads <= 3; threads++)
        succeed("seed_study",
                "--recipe tiny.txt --seeds 3 --first 5 --threads %d --out t%d --no-plot", threads,
                threads);
    assert_same_file("t1/seeds.csv", "t2/seeds.csv");
    assert_same_file("t1/seeds.csv", "t3/seeds.csv");
    assert_same_file("t1/curves.csv", "t2/curves.csv");
    assert_same_file("t1/curves.csv", "t3/curves.csv");
    char *seeds = read_file("t1/seeds.csv");
    ck_assert_msg(strncmp(seeds, "seed,loss,decisive,attention,splits,plateau,floor,all\n5,", 56) ==
                      0,
                  "%s", seeds);
    ck_assert_ptr_nonnull(strstr(seeds, "\n6,"));
    ck_assert_ptr_nonnull(strstr(seeds, "\n7,"));
    ck_assert_ptr_null(strstr(seeds, "\n8,"));
    ck_assert(!exists("t1/study.gp") && !exists("t1/seeds.csv.tmp"));
    free(seeds);
}
END_TEST

/* The text behind a name of the summary, up to a comma, brace or end of line. */
static void value_in(const char *summary, const char *key, char value[NAME_SIZE]) {
    const char *found = strstr(summary, key);
    ck_assert_msg(found != NULL, "no %s in %s", key, summary);
    found += strlen(key);
    snprintf(value, NAME_SIZE, "%.*s", (int)strcspn(found, ",}\n"), found);
}

static bool claim_holds(const char *summary, const char *name) {
    char key[NAME_SIZE], value[NAME_SIZE];
    snprintf(key, sizeof key, "\"name\": \"%s\"", name);
    const char *claim = strstr(summary, key);
    ck_assert_msg(claim != NULL, "no claim %s in %s", name, summary);
    value_in(claim, "\"holds\": ", value);
    return strcmp(value, "true") == 0;
}

/* The row of seeds.csv, as it must follow from the summary that train_example writes. */
static void expected_row(int64_t seed, const char *summary, char row[LINE_SIZE]) {
    static const char *const splits[] = {"p_rise_at_0", "p_fall_at_0", "p_of_at_1", "p_was_at_1",
                                         "p_rise_at_8", "p_fall_at_8", "p_of_at_9", "p_was_at_9"};
    char loss[NAME_SIZE], all[NAME_SIZE];
    value_in(summary, "\"final_loss\": ", loss);
    value_in(summary, "\"all_hold\": ", all);
    bool halves = true;
    for (int i = 0; i < 8; i++)
        halves = halves && claim_holds(summary, splits[i]);
    snprintf(row, LINE_SIZE, "\n%" PRId64 ",%s,%d,%d,%d,%d,%d,%d\n", seed, loss,
             claim_holds(summary, "p_slow_at_5") && claim_holds(summary, "p_fast_at_13"),
             claim_holds(summary, "attention_5_on_rise") &&
                 claim_holds(summary, "attention_13_on_fall"),
             halves, claim_holds(summary, "loss_at_plateau"),
             fabs(atof(loss) - 0.18904014) <= 0.001, strcmp(all, "true") == 0);
}

/* Each seed ends as train_example ends with it: 834 gives everything, its neighbours parts of it. */
START_TEST(test_seeds_end_as_train_example_ends) {
    static const char *const recipes[] = {"plain", "tiny.txt"};
    succeed("seed_study", "--recipe %s --seeds 4 --first 832 --out s --no-plot --quiet",
            recipes[_i]);
    char *seeds = read_file("s/seeds.csv");
    for (int64_t seed = 832; seed < 836; seed++) {
        char row[LINE_SIZE];
        succeed("train_example", "--recipe %s --seed %" PRId64 " --out t --no-plot --quiet",
                recipes[_i], seed);
        char *summary = read_file("t/summary.json");
        expected_row(seed, summary, row);
        ck_assert_msg(strstr(seeds, row) != NULL, "no row%sin\n%s", row, seeds);
        free(summary);
    }
    ck_assert(_i != 0 || strstr(seeds, ",1,1,1,1,0,1\n") != NULL);
    free(seeds);
}
END_TEST

/* Of one seed all quantiles are its loss, and with few steps each of them is a point. */
START_TEST(test_curves_are_the_losses) {
    succeed("train_example", "--recipe tiny.txt --seed 3 --out t --no-plot --quiet");
    succeed("seed_study", "--recipe tiny.txt --seeds 1 --first 3 --out s --no-plot --quiet");
    char *losses = read_file("t/loss.csv"), *curves = read_file("s/curves.csv"), *rest;
    char expected[8192] = "step,p5,p25,median,p75,p95\n";
    strtok_r(losses, "\n", &rest);
    for (char *row; (row = strtok_r(NULL, "\n", &rest)) != NULL;) {
        size_t used = strlen(expected);
        char *comma = strchr(row, ',');
        snprintf(expected + used, sizeof expected - used, "%s%s%s%s%s\n", row, comma, comma, comma,
                 comma);
    }
    ck_assert_str_eq(curves, expected);
    ck_assert_ptr_nonnull(strstr(curves, "\n30,"));
    free(losses);
    free(curves);
}
END_TEST

/* Of many steps, each point is the mean since the one before. 401 steps: the points end at 2, 4 ...
 * 200, 401 / 200 x 101 = 202 ... 399, 401 by whole numbers. */
START_TEST(test_points_are_means) {
    const article_recipe recipe = {.token_deviation = 1,
                                   .position_deviation = 0.1,
                                   .weight_deviation = 0.3,
                                   .stage_count = 1,
                                   .stages = {{401, 0.01, 0.01, 0, 1, 0, false, false, 0, 0}}};
    char text[RECIPE_TEXT], path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/long.txt", directory);
    recipe_format(&recipe, text);
    snprintf(text, sizeof text, "stage 401 0.01 0.01 0 1 all trained scored - -\n");
    test_write_file(path, text, strlen(text));
    succeed("train_example", "--recipe long.txt --seed 2 --out t --no-plot --quiet");
    char *log = read_file("t/loss.csv"), *row = log;
    double losses[402] = {0};
    for (int i = 1; i <= 401; i++) {
        row = strchr(row, '\n') + 1;
        losses[i] = atof(strchr(row, ',') + 1);
    }
    study made;
    const study_plan plan = {.recipe = &recipe, .first = 2, .seeds = 1, .threads = 1};
    ck_assert_int_eq(study_run(&plan, &made, NULL), TG_OK);
    ck_assert_int_eq(made.points, 200);
    for (int p = 0; p < 199; p++) {
        ck_assert_int_eq(made.steps[p], 2 * p + 2);
        ck_assert_double_eq_tol(made.losses[p], (losses[2 * p + 1] + losses[2 * p + 2]) / 2, 1e-7);
    }
    ck_assert_int_eq(made.steps[199], 401);
    ck_assert_double_eq_tol(made.losses[199], (losses[399] + losses[400] + losses[401]) / 3, 1e-7);
    study_free(&made);
    free(log);
}
END_TEST

/* A seed that runs away is a result like any other. */
START_TEST(test_a_loss_that_is_not_finite) {
    char path[PATH_SIZE];
    static const char wild[] = "optimizer sgd\nstage 30 1e6 1e6 0 1 all trained scored - -\n";
    snprintf(path, sizeof path, "%s/wild.txt", directory);
    test_write_file(path, wild, sizeof wild - 1);
    succeed("seed_study", "--recipe wild.txt --seeds 2 --out s");
    char *seeds = read_file("s/seeds.csv"), *curves = read_file("s/curves.csv");
    ck_assert_ptr_nonnull(strstr(seeds, "nan,0,0,0,0,0,0\n"));
    ck_assert_ptr_nonnull(strstr(curves, "\n30,inf,inf,inf,inf,inf\n"));
    free(seeds);
    free(curves);
}
END_TEST

/* ---- the table and the chart ---- */

/* Four seeds by hand; the intervals of 0, 1, 2, 3 and 4 of 4 by bisection, as above. */
START_TEST(test_the_table_counts) {
    study_result results[4] = {
        {.seed = 7, .holds = {[STUDY_DECISIVE] = true}},
        {.seed = 8, .holds = {[STUDY_DECISIVE] = true, [STUDY_FLOOR] = true}},
        {.seed = 9,
         .holds = {[STUDY_DECISIVE] = true,
                   [STUDY_FLOOR] = true,
                   [STUDY_ATTENTION] = true,
                   [STUDY_NOUN] = true}},
        {.seed = 10, .holds = {[STUDY_FLOOR] = true}}};
    const study made = {.count = 4, .results = results};
    const article_recipe *recipe = recipe_named(_i == 0 ? "article" : "solved");
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(file);
    study_print(&made, recipe, file);
    fclose(file);
    static const char *const rows[] = {
        "seeds 7 to 10",
        "at \"was\"         3   0.750   0.301 to 0.954\n",
        "on both nouns                     1   0.250   0.046 to 0.699\n",
        "all claims of the recipe                                 0   0.000   0.000 to 0.490\n",
        "floor and decisive                                       2   0.500   0.150 to 0.850\n",
        "floor, decisive and attention                            1   0.250   0.046 to 0.699\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(strstr(text, rows[i]) != NULL, "no \"%s\" in\n%s", rows[i], text);
    ck_assert_int_eq(strstr(text, "second noun") != NULL, _i == 1);
    ck_assert_int_eq(strstr(text, "0, 1, 8, 9") != NULL, _i == 0);
    free(text);
}
END_TEST

static int occurrences(const char *text, const char *words) {
    int count = 0;
    for (; (text = strstr(text, words)) != NULL; text++)
        count++;
    return count;
}

START_TEST(test_the_chart_has_its_parts) {
    succeed("seed_study", "--recipe tiny.txt --seeds 3 --out s");
    char *script = read_file("s/study.gp");
    ck_assert_int_eq(occurrences(script, "set arrow from 20, graph 0 to 20, graph 1"), 1);
    ck_assert_int_eq(occurrences(script, "set arrow"), 3);
    ck_assert_int_eq(occurrences(script, "'plateau 0.2521 = 32 ln 2 / 88'"), 1);
    ck_assert_int_eq(occurrences(script, "'floor 0.1890 = 24 ln 2 / 88'"), 1);
    ck_assert_int_eq(occurrences(script, "set logscale y"), 1);
    ck_assert_int_eq(occurrences(script, "with filledcurves"), 2);
    free(script);
    if (system("command -v gnuplot >/dev/null 2>&1") == 0) {
        char *picture = read_file("s/study.svg");
        ck_assert_int_eq(occurrences(picture, "Recipe tiny: the loss of 3 seeds"), 1);
        free(picture);
    }
    succeed("seed_study", "--recipe plain --seeds 1 --out p --quiet");
    script = read_file("p/study.gp");
    ck_assert_int_eq(occurrences(script, "set arrow"), 2);
    free(script);
    ck_assert_str_eq(out, "");
}
END_TEST

/* ---- searching ---- */

/* 834 is the first of plain's seeds from 830 on that gives everything. */
START_TEST(test_a_search_finds_the_first) {
    for (int threads = 1; threads <= 4; threads++) {
        succeed("seed_study",
                "--search --recipe plain --first 830 --seeds 12 --threads %d --quiet --out s",
                threads);
        ck_assert_str_eq(out, "834\n");
        ck_assert_str_eq(err, "");
    }
    succeed("seed_study", "--search --recipe plain --first 834 --seeds 1 --out s");
    ck_assert_msg(strncmp(out, "seed 834 gives everything: loss 0.25", 36) == 0, "%s", out);
    ck_assert_ptr_nonnull(strstr(out, "seeds tried: 1\n"));
    ck_assert(!exists("s"));
}
END_TEST

START_TEST(test_a_search_without_success) {
    ck_assert_int_eq(run("--search --recipe tiny.txt --first 4 --seeds 5 --quiet"), EXIT_FAILED);
    assert_one_line("of the seeds 4 to 8 none gives everything");
    ck_assert_str_eq(out, "");
}
END_TEST

/* ---- what is wrong ---- */

static const struct {
    const char *arguments, *words;
} wrong[] = {
    {"--seeds 0", "--seeds"},
    {"--seeds x", "--seeds"},
    {"--seeds 1000001", "--seeds: 1000001 is more than 1000000"},
    {"--threads 0", "--threads"},
    {"--threads 257", "--threads: 257 is more than 256"},
    {"--first -1", "--first"},
    {"--first 9223372036854775807 --seeds 1", "--first: 9223372036854775807 is more than"},
    {"--recipe", "--recipe"},
    {"--find", "--find"},
    {"tiny.txt", "tiny.txt"},
};

START_TEST(test_wrong_command_lines) {
    ck_assert_int_eq(run("%s", wrong[_i].arguments), EXIT_USAGE);
    assert_one_line(wrong[_i].words);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(test_help) {
    succeed("seed_study", "--help");
    ck_assert_ptr_nonnull(strstr(out, "--search"));
}
END_TEST

START_TEST(test_what_goes_wrong_is_told_once) {
    ck_assert_int_eq(run("--recipe none.txt"), EXIT_FAILED);
    assert_one_line("\"none.txt\" is none of article, solved, plain, and no file");
    ck_assert_int_eq(run("--recipe tiny.txt --seeds 1 --out tiny.txt"), EXIT_FAILED);
    assert_one_line("tiny.txt is not a directory");
    ck_assert(!exists("runs"));
}
END_TEST

/* Every thread fails; the first seed is named. */
static int run_with_kernels(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int code = run_in("TAPEGRAD_KERNELS=none", "seed_study", format, arguments);
    va_end(arguments);
    return code;
}

START_TEST(test_an_error_of_a_thread_is_told_once) {
    ck_assert_int_eq(
        run_with_kernels("--recipe tiny.txt --seeds 20 --first 6 --threads 3 --out s --quiet"),
        EXIT_FAILED);
    assert_one_line("study: seed 6: ");
    ck_assert(!exists("s/seeds.csv"));
}
END_TEST

START_TEST(test_plans_that_are_none) {
    const article_recipe *recipe = recipe_named("plain");
    const study_plan plans[] = {
        {.recipe = recipe, .seeds = 0, .threads = 1},
        {.recipe = recipe, .seeds = STUDY_MOST_SEEDS + 1, .threads = 1},
        {.recipe = recipe, .seeds = 1, .threads = 0},
        {.recipe = recipe, .seeds = 1, .threads = STUDY_MOST_THREADS + 1},
        {.recipe = recipe, .seeds = 1, .threads = 1, .first = -1},
        {.recipe = recipe, .seeds = 2, .threads = 1, .first = INT64_MAX - 1},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        study made;
        tg_error error = {TG_OK, ""};
        ck_assert_int_eq(study_run(&plans[i], &made, &error), TG_EINVAL);
        ck_assert_int_eq(error.status, TG_EINVAL);
        study_free(&made);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("study");
    TCase *statistics = tcase_create("statistics");
    tcase_add_test(statistics, test_wilson_interval);
    tcase_add_test(statistics, test_quantiles);
    tcase_add_test(statistics, test_what_is_not_finite_comes_last);
    tcase_add_loop_test(statistics, test_the_table_counts, 0, 2);
    tcase_add_test(statistics, test_plans_that_are_none);
    suite_add_tcase(s, statistics);
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, setup, teardown);
    tcase_set_timeout(program, 120);
    tcase_add_test(program, test_threads_do_not_matter);
    tcase_add_loop_test(program, test_seeds_end_as_train_example_ends, 0, 2);
    tcase_add_test(program, test_curves_are_the_losses);
    tcase_add_test(program, test_points_are_means);
    tcase_add_test(program, test_a_loss_that_is_not_finite);
    tcase_add_test(program, test_the_chart_has_its_parts);
    tcase_add_test(program, test_a_search_finds_the_first);
    tcase_add_test(program, test_a_search_without_success);
    tcase_add_loop_test(program, test_wrong_command_lines, 0, sizeof wrong / sizeof wrong[0]);
    tcase_add_test(program, test_help);
    tcase_add_test(program, test_what_goes_wrong_is_told_once);
    tcase_add_test(program, test_an_error_of_a_thread_is_told_once);
    suite_add_tcase(s, program);
    return s;
}

int main(void) {
    return test_main(suite());
}
