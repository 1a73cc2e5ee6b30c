/* Command lines: what is taken as a value, and what is refused in one line. */
#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "tensor/version.h"

/* ---- a program with every kind of option ---- */

static struct {
    bool quick, quick_given;
    int64_t count, depth;
    bool count_given;
    double rate;
    bool rate_given;
    const char *name, *kind;
    bool name_given, kind_given;
} got;

static const char *const kinds[] = {"plain", "plainer", "fancy", NULL};

static const cli_option options[] = {
    {"--quick", NULL, "be quick", OPTION_FLAG, .value.flag = &got.quick, .given = &got.quick_given},
    {"--count", "N", "count to N", OPTION_INTEGER, .value.integer = &got.count, .least = 1,
     .given = &got.count_given},
    {"--depth", "D", "go to D", OPTION_INTEGER, .value.integer = &got.depth, .least = INT64_MIN},
    {"--rate", "X", "at this rate", OPTION_REAL, .value.real = &got.rate, .given = &got.rate_given},
    {"--name", "TEXT", "call it so", OPTION_TEXT, .value.text = &got.name,
     .given = &got.name_given},
    {"--kind", "KIND", "of this kind", OPTION_CHOICE, .value.text = &got.kind, .choices = kinds,
     .given = &got.kind_given},
};

static const cli_program program = {.name = "counter",
                                    .purpose = "Counts.",
                                    .arguments = "[options]",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0]};

enum { ARGUMENTS = 12, UNTOUCHED = 77 };

/* ---- running the parser, its output in files ---- */

static char directory[256], out_path[300], err_path[300];
static char *out, *err;
static int exit_code;

static void setup(void) {
    test_directory_make(directory);
    snprintf(out_path, sizeof out_path, "%s/out", directory);
    snprintf(err_path, sizeof err_path, "%s/err", directory);
    got.count = 3;
    got.depth = -9;
    got.rate = 0.5;
    got.name = "initial";
    got.kind = kinds[2];
}

static void teardown(void) {
    free(out);
    free(err);
    test_directory_remove(directory);
}

/* Sends a stream to a file; returns the descriptor it had. */
static int redirect(FILE *stream, const char *path) {
    fflush(stream);
    int kept = dup(fileno(stream));
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), fileno(stream)), 0);
    fclose(file);
    return kept;
}

static void put_back(FILE *stream, int kept) {
    fflush(stream);
    clearerr(stream);
    dup2(kept, fileno(stream));
    close(kept);
}

static bool parse_as(const cli_program *as, const char *stdout_path, const char *const *arguments) {
    char *argv[ARGUMENTS + 2] = {(char *)"counter"};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++)
        argv[argc] = (char *)arguments[argc - 1];
    size_t size;
    int kept_out = redirect(stdout, stdout_path), kept_err = redirect(stderr, err_path);
    exit_code = UNTOUCHED;
    bool go_on = options_read(as, argc, argv, &exit_code);
    put_back(stderr, kept_err);
    put_back(stdout, kept_out);
    free(err);
    err = test_read_file(err_path, &size);
    return go_on;
}

static bool parse_to(const char *stdout_path, const char *const *arguments) {
    return parse_as(&program, stdout_path, arguments);
}

static bool parse(const char *const *arguments) {
    bool go_on = parse_to(out_path, arguments);
    size_t size;
    free(out);
    out = test_read_file(out_path, &size);
    return go_on;
}

static void assert_taken(const char *const *arguments) {
    ck_assert_msg(parse(arguments), "%s", err);
    ck_assert_int_eq(exit_code, UNTOUCHED);
    ck_assert_str_eq(out, "");
    ck_assert_str_eq(err, "");
}

/* One line on stderr that opens with the program and has these two words. */
static void assert_usage_error(const char *option, const char *value) {
    ck_assert_int_eq(exit_code, EXIT_USAGE);
    ck_assert_str_eq(out, "");
    ck_assert_msg(strncmp(err, "counter: ", 9) == 0, "%s", err);
    ck_assert_msg(strchr(err, '\n') == err + strlen(err) - 1, "%s", err);
    ck_assert_msg(strstr(err, option) != NULL && strstr(err, value) != NULL,
                  "no \"%s\" and \"%s\" in: %s", option, value, err);
}

/* ---- values ---- */

START_TEST(without_arguments_nothing_changes) {
    assert_taken((const char *const[]){NULL});
    ck_assert_int_eq(got.count, 3);
    ck_assert_int_eq(got.depth, -9);
    ck_assert_double_eq(got.rate, 0.5);
    ck_assert_str_eq(got.name, "initial");
    ck_assert_str_eq(got.kind, "fancy");
    ck_assert(!got.quick && !got.quick_given && !got.count_given && !got.rate_given &&
              !got.name_given && !got.kind_given);
}
END_TEST

START_TEST(all_at_once) {
    assert_taken((const char *const[]){"--kind", "plain", "--count=12", "--quick", "--rate", "1e-3",
                                       "--name=a b", "--depth", "-4", NULL});
    ck_assert_int_eq(got.count, 12);
    ck_assert_int_eq(got.depth, -4);
    ck_assert_double_eq(got.rate, 1e-3);
    ck_assert_str_eq(got.name, "a b");
    ck_assert_str_eq(got.kind, "plain");
    ck_assert(got.quick && got.quick_given && got.count_given && got.rate_given && got.name_given &&
              got.kind_given);
}
END_TEST

START_TEST(the_last_one_counts) {
    assert_taken(
        (const char *const[]){"--count", "1", "--count=2", "--name", "a", "--name", "b", NULL});
    ck_assert_int_eq(got.count, 2);
    ck_assert_str_eq(got.name, "b");
}
END_TEST

static const struct {
    const char *option, *text;
    int64_t value;
} integers[] = {
    {"--count", "1", 1},  {"--count", "007", 7},
    {"--count", "+5", 5}, {"--count", "9223372036854775807", INT64_MAX},
    {"--depth", "-0", 0}, {"--depth", "-9223372036854775808", INT64_MIN},
};

START_TEST(integers_that_are_taken) {
    assert_taken((const char *const[]){integers[_i].option, integers[_i].text, NULL});
    bool count = strcmp(integers[_i].option, "--count") == 0;
    ck_assert_int_eq(count ? got.count : got.depth, integers[_i].value);
}
END_TEST

static const struct {
    const char *text;
    double value;
} reals[] = {
    {"1", 1},
    {".25", 0.25},
    {"3.", 3},
    {"1e-3", 1e-3},
    {"2E+2", 200},
    {"1.7976931348623157e308", 0x1.fffffffffffffp+1023},
    {"2.2250738585072014e-308", 0x1p-1022},
};

START_TEST(reals_that_are_taken) {
    assert_taken((const char *const[]){"--rate", reals[_i].text, NULL});
    ck_assert_double_eq(got.rate, reals[_i].value);
}
END_TEST

START_TEST(texts_that_are_taken) {
    static const char *const texts[] = {"a=b", "=", "-", " ", "--help", "--count", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_taken((const char *const[]){"--name", texts[i], NULL});
        ck_assert_str_eq(got.name, texts[i]);
        char joined[64];
        snprintf(joined, sizeof joined, "--name=%s", texts[i]);
        assert_taken((const char *const[]){joined, NULL});
        ck_assert_str_eq(got.name, texts[i]);
    }
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *option, *value;
} refused[] = {
    {"--count", "10x"},
    {"--count", "x"},
    {"--count", "3.0"},
    {"--count", "1e3"},
    {"--count", "0x10"},
    {"--count", "1 2"},
    {"--count", "3 "},
    {"--count", " 3"},
    {"--count", "\t3"},
    {"--count", "\v3"},
    {"--count", "\f3"},
    {"--count", "-"},
    {"--count", "--quick"},
    {"--count", "0"},
    {"--count", "-1"},
    {"--count", "9223372036854775808"},
    {"--count", "99999999999999999999"},
    {"--depth", "-9223372036854775809"},
    {"--rate", "fast"},
    {"--rate", "0.1x"},
    {"--rate", "0,1"},
    {"--rate", " 0.1"},
    {"--rate", "\v0.1"},
    {"--rate", "0.1 "},
    {"--rate", "0"},
    {"--rate", "-0.0"},
    {"--rate", "-1"},
    {"--rate", "nan"},
    {"--rate", "inf"},
    {"--rate", "infinity"},
    {"--rate", "1e999"},
    {"--rate", "1e-999"},
    {"--kind", "plai"},
    {"--kind", "plaine"},
    {"--kind", "PLAIN"},
    {"--kind", "plain "},
};

START_TEST(values_that_are_refused) {
    const char *option = refused[_i].option, *value = refused[_i].value;
    ck_assert(!parse((const char *const[]){option, value, NULL}));
    assert_usage_error(option, value);
    char joined[64];
    snprintf(joined, sizeof joined, "%s=%s", option, value);
    ck_assert(!parse((const char *const[]){"--quick", joined, NULL}));
    assert_usage_error(option, value);
    ck_assert_int_eq(got.count, 3);
    ck_assert_int_eq(got.depth, -9);
    ck_assert_double_eq(got.rate, 0.5);
    ck_assert_str_eq(got.kind, "fancy");
}
END_TEST

static const char *const with_values[] = {"--count", "--depth", "--rate", "--name", "--kind"};

START_TEST(values_that_are_missing_or_empty) {
    const char *option = with_values[_i];
    ck_assert(!parse((const char *const[]){"--quick", option, NULL}));
    assert_usage_error(option, "needs");
    ck_assert(!parse((const char *const[]){option, "", NULL}));
    assert_usage_error(option, "");
    char joined[64];
    snprintf(joined, sizeof joined, "%s=", option);
    ck_assert(!parse((const char *const[]){joined, NULL}));
    assert_usage_error(option, "");
}
END_TEST

START_TEST(a_choice_that_is_none_names_all) {
    ck_assert(!parse((const char *const[]){"--kind", "odd", NULL}));
    assert_usage_error("\"odd\"", "plain, plainer, fancy");
}
END_TEST

START_TEST(a_flag_has_no_value) {
    ck_assert(!parse((const char *const[]){"--quick=yes", NULL}));
    assert_usage_error("--quick", "yes");
    ck_assert(!parse((const char *const[]){"--quick=", NULL}));
    assert_usage_error("--quick", "");
}
END_TEST

static const char *const unknown[] = {"--bogus", "--bogus=3", "--coun", "--counts", "---count",
                                      "-count",  "-q",        "--",     "--=3",     "=",
                                      "count",   "3",         "-h"};

START_TEST(options_that_are_none) {
    ck_assert(!parse((const char *const[]){unknown[_i], NULL}));
    assert_usage_error(unknown[_i], "");
    ck_assert(!parse((const char *const[]){"--count", "4", unknown[_i], "--help", NULL}));
    assert_usage_error(unknown[_i], "");
}
END_TEST

START_TEST(an_empty_argument) {
    ck_assert(!parse((const char *const[]){"", NULL}));
    assert_usage_error("counter", "");
}
END_TEST

/* ---- help and version ---- */

START_TEST(help) {
    ck_assert(!parse((const char *const[]){"--quick", "--help", "--bogus", NULL}));
    ck_assert_int_eq(exit_code, EXIT_DONE);
    ck_assert_str_eq(err, "");
    ck_assert_ptr_eq(strstr(out, "usage: counter [options]\nCounts.\n"), out);
    static const char *const lines[][3] = {
        {"--quick", "", "be quick"},      {"--count", "N", "count to N"},
        {"--depth", "D", "go to D"},      {"--rate", "X", "at this rate"},
        {"--name", "TEXT", "call it so"}, {"--kind", "KIND", "of this kind"},
        {"--help", "", "print this"},     {"--version", "", "print the version"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char *line = strstr(out, lines[i][0]);
        ck_assert_msg(line != NULL, "no %s in:\n%s", lines[i][0], out);
        size_t length = strcspn(line, "\n");
        for (int j = 1; j < 3; j++) {
            const char *found = strstr(line, lines[i][j]);
            ck_assert_msg(found != NULL && found < line + length, "%s: no \"%s\"", lines[i][0],
                          lines[i][j]);
        }
    }
    for (const char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
}
END_TEST

static void read_help_of(const cli_program *as) {
    size_t size;
    ck_assert(!parse_as(as, out_path, (const char *const[]){"--help", NULL}));
    ck_assert_int_eq(exit_code, EXIT_DONE);
    free(out);
    out = test_read_file(out_path, &size);
}

START_TEST(help_of_the_usual_exit_codes) {
    read_help_of(&program);
    static const char end[] = "\nexit status:\n"
                              "  0                      done\n"
                              "  1                      something went wrong while running\n"
                              "  2                      the command line is wrong\n";
    const char *found = strstr(out, "\nexit status:\n");
    ck_assert_msg(found != NULL, "%s", out);
    ck_assert_str_eq(found, end);
}
END_TEST

START_TEST(help_of_exit_codes_of_its_own) {
    static const cli_exit exits[] = {
        {EXIT_INTERRUPTED, "interrupted"}, {EXIT_FAILED, "it cannot count so far"}, {0, NULL}};
    cli_program own = program;
    own.exits = exits;
    read_help_of(&own);
    static const char end[] = "\nexit status:\n"
                              "  0                      done\n"
                              "  1                      it cannot count so far\n"
                              "  2                      the command line is wrong\n"
                              "  130                    interrupted\n";
    const char *found = strstr(out, "\nexit status:\n");
    ck_assert_msg(found != NULL, "%s", out);
    ck_assert_str_eq(found, end);
}
END_TEST

/* Text behind column 25 goes on below itself; a word that no line holds stands alone. */
START_TEST(help_of_long_texts) {
    static bool flag;
    const cli_option wordy[] = {
        {"--a", NULL, "1234567890 1234567890 1234567890 1234567890 1234567890", OPTION_FLAG,
         .value.flag = &flag},
        {"--b", NULL, "1234567890 1234567890 1234567890 1234567890 12345678901 b", OPTION_FLAG,
         .value.flag = &flag},
        {"--a-name-that-is-far-too-long", "N", "in the same line", OPTION_FLAG,
         .value.flag = &flag},
        {"--c", NULL, "so 1234567890123456789012345678901234567890123456789012345678901234567890 c",
         OPTION_FLAG, .value.flag = &flag},
    };
    const cli_program as = {
        .name = "wordy",
        .purpose = "This sentence has some words of which the last one does not fit into the line "
                   "as a whole.",
        .arguments = "[options]",
        .options = wordy,
        .option_count = 4};
    read_help_of(&as);
    static const char start[] =
        "usage: wordy [options]\n"
        "This sentence has some words of which the last one does not fit into the line as\n"
        "a whole.\n\noptions:\n"
        "  --a                    1234567890 1234567890 1234567890 1234567890 1234567890\n"
        "  --b                    1234567890 1234567890 1234567890 1234567890 12345678901\n"
        "                         b\n"
        "  --a-name-that-is-far-too-long N in the same line\n"
        "  --c                    so\n"
        "                         "
        "1234567890123456789012345678901234567890123456789012345678901234567890\n"
        "                         c\n"
        "  --help ";
    ck_assert_msg(strncmp(out, start, strlen(start)) == 0, "%s", out);
}
END_TEST

START_TEST(version) {
    ck_assert(!parse((const char *const[]){"--version", NULL}));
    ck_assert_int_eq(exit_code, EXIT_DONE);
    ck_assert_str_eq(err, "");
    char expected[64];
    snprintf(expected, sizeof expected, "counter %s\n", tg_version());
    ck_assert_str_eq(out, expected);
}
END_TEST

static const char *const printing[] = {"--help", "--version"};

START_TEST(output_that_cannot_be_written) {
    ck_assert(!parse_to("/dev/full", (const char *const[]){printing[_i], NULL}));
    ck_assert_int_eq(exit_code, EXIT_FAILED);
    ck_assert_msg(strncmp(err, "counter: ", 9) == 0, "the message is \"%s\"", err);
    ck_assert_msg(strchr(err, '\n') == err + strlen(err) - 1, "%s", err);
}
END_TEST

#define ADD_LOOP(tests, test, table)                                                               \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

static Suite *suite(void) {
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("options");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, without_arguments_nothing_changes);
    tcase_add_test(tests, all_at_once);
    tcase_add_test(tests, the_last_one_counts);
    ADD_LOOP(tests, integers_that_are_taken, integers);
    ADD_LOOP(tests, reals_that_are_taken, reals);
    tcase_add_test(tests, texts_that_are_taken);
    ADD_LOOP(tests, values_that_are_refused, refused);
    ADD_LOOP(tests, values_that_are_missing_or_empty, with_values);
    tcase_add_test(tests, a_choice_that_is_none_names_all);
    tcase_add_test(tests, a_flag_has_no_value);
    ADD_LOOP(tests, options_that_are_none, unknown);
    tcase_add_test(tests, an_empty_argument);
    tcase_add_test(tests, help);
    tcase_add_test(tests, help_of_the_usual_exit_codes);
    tcase_add_test(tests, help_of_exit_codes_of_its_own);
    tcase_add_test(tests, help_of_long_texts);
    tcase_add_test(tests, version);
    ADD_LOOP(tests, output_that_cannot_be_written, printing);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return test_main(suite());
}
