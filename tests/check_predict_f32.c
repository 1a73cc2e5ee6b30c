/* predict and predict_embedded, run as a person runs them, on a checkpoint that train_example has
 * just made: what they print, and what they say when something is wrong. */
#include "support.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tapegrad.h>

#include "common/model.h"
#include "common/options.h"

#define PREDICT  TG_TEST_PROGRAMS "/predict"
#define EMBEDDED TG_TEST_PROGRAMS "/predict_embedded"
#define TRAIN    TG_TEST_PROGRAMS "/train_example"
#define ORACLE   TG_TEST_SOURCE "/tests/numpy_predict.py"

#define RISE    "the rise of the machine was"
#define ARTICLE RISE " slow but the fall of the machine was"

enum { PATH_SIZE = 300, ARGUMENTS = 8, PAGE = 80 };

/* ---- running ---- */

static char directory[256];
static char *out, *err;
static int code; /* of the exit; a signal's number and 128 where one ended the program */

typedef struct command {
    const char *program; /* NULL: predict */
    const char *arguments[ARGUMENTS];
    const char *input;  /* a file; NULL: nothing is in it */
    const char *output; /* NULL: into `out`; "pipe": one that nobody reads; "none": closed */
} command;

static void become_writer(const char *output) {
    int ends[2];
    if (strcmp(output, "pipe") == 0) {
        if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(126);
        close(ends[0]);
        close(ends[1]);
    } else if (strcmp(output, "none") == 0) {
        close(STDOUT_FILENO);
    } else if (freopen(output, "w", stdout) == NULL) {
        _exit(126);
    }
}

static void become(const command *c) {
    char *arguments[ARGUMENTS + 2] = {(char *)(c->program != NULL ? c->program : PREDICT)};
    for (int i = 0; i < ARGUMENTS && c->arguments[i] != NULL; i++)
        arguments[i + 1] = (char *)c->arguments[i];
    if (chdir(directory) != 0 || freopen("err", "w", stderr) == NULL ||
        freopen(c->input != NULL ? c->input : "/dev/null", "r", stdin) == NULL)
        _exit(126);
    become_writer(c->output != NULL ? c->output : "out");
    execvp(arguments[0], arguments);
    _exit(127);
}

static const char *at(const char *name) {
    static char paths[2][PATH_SIZE];
    static int next;
    char *path = paths[next++ % 2];
    snprintf(path, PATH_SIZE, "%s/%s", directory, name);
    return path;
}

static int run(command c) {
    size_t size;
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        become(&c);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    free(out);
    free(err);
    err = test_read_file(at("err"), &size);
    out = c.output == NULL ? test_read_file(at("out"), &size) : NULL;
    return code;
}

/* predict's output on a sentence of the article's model, with one option or none. */
static const char *shown(const char *sentence, const char *option) {
    int end = run((command){.arguments = {"a/checkpoint.npz", sentence, option}});
    ck_assert_msg(end == EXIT_DONE, "%s: exit %d: %s", sentence, code, err);
    ck_assert_str_eq(err, "");
    return out;
}

/* The same with the lines of a file. */
static int run_lines(const char *lines, size_t size, const char *option) {
    test_write_file(at("lines"), lines, size);
    return run((command){.arguments = {"a/checkpoint.npz", option}, .input = "lines"});
}

/* Once for the tests of a case: a trained model, and one that has hardly begun. */
static void setup(void) {
    test_directory_make(directory);
    command train = {.program = TRAIN, .arguments = {"--quiet", "--no-plot", "--out", "a"}};
    ck_assert_msg(run(train) == EXIT_DONE, "%s", err);
    command begin = {.program = TRAIN,
                     .arguments = {"--quiet", "--no-plot", "--out", "b", "--steps", "3"}};
    ck_assert_msg(run(begin) == EXIT_DONE, "%s", err);
}

static void teardown(void) {
    free(out);
    free(err);
    out = err = NULL;
    test_directory_remove(directory);
}

/* ---- looking at what is there ---- */

/* The one line on stderr is the program's and has these words. */
static void assert_one_line(const char *program, const char *words) {
    const char *end = strchr(err, '\n');
    ck_assert_msg(end != NULL && end[1] == '\0', "not one line: %s", err);
    ck_assert_msg(strncmp(err, program, strlen(program)) == 0 && err[strlen(program)] == ':',
                  "not by %s: %s", program, err);
    ck_assert_msg(strstr(err, words) != NULL, "no \"%s\" in: %s", words, err);
}

/* The line of `text` that begins with these blanks and this word, or NULL. */
static const char *line_of(const char *text, const char *start) {
    const char *line = text;
    while (line != NULL && strncmp(line, start, strlen(start)) != 0) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return line;
}

/* The first number behind `start` at the beginning of a line. */
static double number_of(const char *text, const char *start) {
    const char *line = line_of(text, start);
    ck_assert_msg(line != NULL, "no line \"%s\" in:\n%s", start, text);
    return strtod(line + strlen(start), NULL);
}

static int characters_of(const char *text, size_t bytes) {
    int count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* No line is wider than the page, ends in a blank, or has a control character. */
static void assert_fits_the_page(const char *text) {
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        ck_assert_msg(line[length] == '\n', "no end of line: %s", line);
        ck_assert_msg(characters_of(line, length) <= PAGE, "too wide: %.*s", (int)length, line);
        ck_assert_msg(length == 0 || line[length - 1] != ' ', "\"%.*s\"", (int)length, line);
        for (size_t i = 0; i < length; i++)
            ck_assert_msg((unsigned char)line[i] >= ' ', "control: %.*s", (int)length, line);
    }
}

/* ---- predictions ---- */

START_TEST(the_rise_was_slow) {
    const char *text = shown(RISE, NULL);
    ck_assert_ptr_eq(strstr(text, RISE " ...\n\n  slow "), text);
    ck_assert_double_gt(number_of(text, "  slow "), 0.99);
    ck_assert_double_gt(number_of(text, "  5 was       1 rise "), 0.9);
    ck_assert_ptr_null(line_of(text, "  fast "));
    ck_assert_ptr_nonnull(line_of(text, "  (8 others)  0.0"));
    ck_assert_ptr_nonnull(line_of(text, "What each word attends to\n"));
    ck_assert_ptr_null(strstr(text, "What may follow"));
    text = shown(ARTICLE, NULL);
    ck_assert_double_gt(number_of(text, "  fast "), 0.99);
    ck_assert_double_gt(number_of(text, "  13 was        9 fall "), 0.9);
}
END_TEST

static const char *const sentences[] = {
    RISE, ARTICLE, "the", "  fast\tfast  ", "the rise", "but but but but was of rise",
};

/* The lines between the first two blank ones: words, numbers, bars. */
START_TEST(a_distribution_sums_to_one) {
    static const char *const models[] = {"a/checkpoint.npz", "b/checkpoint.npz"};
    for (int k = 0; k < 2; k++) {
        command c = {.arguments = {models[k], sentences[_i], "--no-attention"}};
        ck_assert_int_eq(run(c), EXIT_DONE);
        double sum = 0, last = 1;
        int words = 0, others = 0, lines = 0;
        for (const char *line = strstr(out, "\n\n") + 2; *line != '\0'; lines++) {
            double number = strtod(strstr(line + 2, "  "), NULL);
            if (sscanf(line, "  (%d other", &others) != 1) {
                ck_assert_msg(number <= last && number >= 0.0005, "%s", out);
                last = number;
                words++;
            }
            sum += number;
            line += strcspn(line, "\n") + 1;
        }
        ck_assert_int_eq(words + others, 9);
        ck_assert_int_ge(words, k == 0 ? 1 : 2);
        ck_assert_msg(fabs(sum - 1) <= 0.00005 * lines + 1e-9, "%.4f:\n%s", sum, out);
    }
}
END_TEST

/* The bar of 1 ends at column 80; it stands for what the number says. */
START_TEST(bars_are_as_long_as_their_numbers) {
    command c = {.arguments = {"b/checkpoint.npz", "the rise", "--no-attention"}};
    ck_assert_int_eq(run(c), EXIT_DONE);
    int drawn = 0;
    for (const char *line = strstr(out, "\n\n") + 2; *line != '\0';
         line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n"), start = strcspn(line, "#");
        const char *digits = strchr(line, '.');
        size_t columns = (size_t)(digits - line) + 5;
        double full = PAGE - 2 - (double)columns;
        size_t bar = start < length ? length - start : 0;
        ck_assert_msg(bar == 0 || start == columns + 2, "%s", out);
        ck_assert_msg(fabs((double)bar - full * strtod(digits - 1, NULL)) < 0.51, "%s", out);
        drawn += bar > 0;
    }
    ck_assert_int_ge(drawn, 3);
}
END_TEST

START_TEST(a_page_has_80_columns) {
    assert_fits_the_page(shown(sentences[_i], "--all"));
    command c = {.arguments = {"b/checkpoint.npz", sentences[_i], "--all"}};
    ck_assert_int_eq(run(c), EXIT_DONE);
    assert_fits_the_page(out);
}
END_TEST

/* ---- options ---- */

START_TEST(what_may_follow_each_word) {
    const char *text = shown(ARTICLE, "--all");
    const char *follow = strstr(text, "\nWhat may follow each word\n\n");
    ck_assert_ptr_nonnull(follow);
    ck_assert_double_gt(number_of(follow, "   5 was       slow "), 0.99);
    ck_assert_double_gt(number_of(follow, "   6 slow      but "), 0.99);
    ck_assert_double_gt(number_of(follow, "  13 was       fast "), 0.99);
    ck_assert(follow < strstr(text, "What each word attends to"));
}
END_TEST

START_TEST(no_more_than_so_many) {
    command c = {.arguments = {"--all", "b/checkpoint.npz", "--top=1", "the rise of"}};
    ck_assert_int_eq(run(c), EXIT_DONE);
    char *text = strdup(out);
    double number = 0, rest = 0;
    ck_assert_msg(sscanf(strstr(text, "\n\n"), " %*s %lf %*[#] (8 others) %lf", &number, &rest) ==
                      2,
                  "%s", text);
    test_assert_near(number + rest, 1, 1.1e-4);
    for (const char *line = line_of(text, "  0 the "); line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n"), dots = 0;
        for (size_t i = 0; i < length; i++)
            dots += line[i] == '.';
        ck_assert_msg(dots <= 1, "%.*s", (int)length, line);
    }
    c.arguments[2] = "--top=9223372036854775807";
    ck_assert_int_eq(run(c), EXIT_DONE);
    ck_assert_str_ne(out, text);
    c.arguments[2] = "--top=10";
    free(text);
    text = strdup(out);
    ck_assert_int_eq(run(c), EXIT_DONE);
    ck_assert_str_eq(out, text);
    free(text);
}
END_TEST

START_TEST(without_attention) {
    const char *text = shown(RISE, "--no-attention");
    ck_assert_ptr_null(strstr(text, "attends"));
    char *part = strdup(text);
    ck_assert_msg(strncmp(shown(RISE, NULL), part, strlen(part)) == 0, "%s", part);
    free(part);
}
END_TEST

/* Options stand before, between and behind the arguments. */
START_TEST(options_stand_anywhere) {
    char *expected = strdup(shown(RISE, "--no-attention"));
    static const command same[] = {
        {.arguments = {"--no-attention", "a/checkpoint.npz", RISE}},
        {.arguments = {"a/checkpoint.npz", "--no-attention", RISE}},
        {.arguments = {"--top", "10", "a/checkpoint.npz", RISE, "--no-attention"}},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        ck_assert_int_eq(run(same[i]), EXIT_DONE);
        ck_assert_str_eq(out, expected);
    }
    free(expected);
}
END_TEST

START_TEST(help_and_version) {
    ck_assert_int_eq(run((command){.arguments = {"--help"}}), EXIT_DONE);
    ck_assert_str_eq(err, "");
    ck_assert_ptr_eq(strstr(out, "usage: predict [options] CHECKPOINT [SENTENCE]\n"), out);
    static const char *const rows[] = {"  CHECKPOINT ", "  SENTENCE ",       "  --top N ",
                                       "  --all ",      "  --no-attention ", "  --help ",
                                       "  --version "};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(line_of(out, rows[i]) != NULL, "no row \"%s\" in:\n%s", rows[i], out);
    ck_assert(line_of(out, "arguments:\n") < line_of(out, rows[0]));
    ck_assert(line_of(out, rows[1]) < line_of(out, "options:\n"));
    ck_assert(line_of(out, "options:\n") < line_of(out, rows[2]));
    assert_fits_the_page(out);
    ck_assert_int_eq(run((command){.arguments = {"x", "--version"}}), EXIT_DONE);
    char version[64];
    snprintf(version, sizeof version, "predict %s\n", tg_version());
    ck_assert_str_eq(out, version);
}
END_TEST

/* ---- a pipe ---- */

/* What a pipe prints of these sentences: what each gives alone, two blank lines between. */
static char *shown_together(const char *const *each, int count) {
    char *all = strdup("");
    for (int i = 0; i < count; i++) {
        const char *text = shown(each[i], NULL);
        size_t size = strlen(all) + strlen(text) + 3;
        all = realloc(all, size);
        ck_assert_ptr_nonnull(all);
        strcat(strcat(all, i == 0 ? "" : "\n\n"), text);
    }
    return all;
}

static const char *const three[] = {RISE, "the fall of", "the"};

static const char *const lines[] = {
    RISE "\nthe fall of\nthe\n",
    RISE "\nthe fall of\nthe",
    RISE "\r\nthe fall of\r\nthe\r\n",
    "\n\n \t\r\n" RISE "\n\n   the   fall\tof \n\r\nthe\n\n",
};

START_TEST(each_line_is_a_sentence) {
    char *expected = shown_together(three, 3);
    ck_assert_int_eq(run_lines(lines[_i], strlen(lines[_i]), NULL), EXIT_DONE);
    ck_assert_str_eq(err, "");
    ck_assert_str_eq(out, expected);
    ck_assert_int_eq(run_lines(lines[_i], strlen(lines[_i]), "-"), EXIT_DONE);
    ck_assert_str_eq(out, expected);
    free(expected);
}
END_TEST

START_TEST(a_pipe_without_sentences) {
    ck_assert_int_eq(run_lines("", 0, NULL), EXIT_DONE);
    ck_assert_str_eq(out, "");
    ck_assert_str_eq(err, "");
    ck_assert_int_eq(run_lines("\r\n \n\n", 5, NULL), EXIT_DONE);
    ck_assert_str_eq(out, "");
    ck_assert_str_eq(err, "");
}
END_TEST

/* Lines that are wrong: the first and the last of all, and in between. */
static const struct {
    const char *line;
    size_t size;
    const char *words;
} wrong_lines[] = {
    {"the hill\n", 9, "no word \"hill\""},
    {"the\0rise\n", 9, "NUL"},
    {"\0\n", 2, "NUL"},
    {"the ri\x01se\n", 10, "control character"},
    {ARTICLE " fast\n", sizeof ARTICLE + 5, "15 words, the model reads at most 14"},
    {NULL, 65536, "65536 bytes"},
    {NULL, 3000000, "3000000 bytes"},
};

static char *append(char *to, const char *from, size_t size) {
    memcpy(to, from, size);
    return to + size;
}

/* Several words "the", in as many bytes as are asked for, and the end of the line. */
static char *append_wrong(char *to, int i) {
    if (wrong_lines[i].line != NULL)
        return append(to, wrong_lines[i].line, wrong_lines[i].size);
    memset(to, ' ', wrong_lines[i].size);
    memcpy(to, "the", 3);
    to[wrong_lines[i].size] = '\n';
    return to + wrong_lines[i].size + 1;
}

START_TEST(a_line_that_is_wrong_does_not_stop_the_others) {
    char *expected = shown_together(three, 2);
    char *text = malloc(3 * wrong_lines[_i].size + 200);
    ck_assert_ptr_nonnull(text);
    char *end = append_wrong(text, _i);
    end = append(end, RISE "\n\n", sizeof RISE + 1);
    end = append_wrong(end, _i);
    end = append(end, "the fall of\n", 12);
    end = append_wrong(end, _i) - 1; /* without its end */
    ck_assert_int_eq(run_lines(text, (size_t)(end - text), NULL), EXIT_FAILED);
    ck_assert_str_eq(out, expected);
    const char *line = err;
    for (int i = 0; i < 3; i++) {
        char start[32];
        snprintf(start, sizeof start, "predict: line %d: ", (const int[]){1, 4, 6}[i]);
        size_t length = strcspn(line, "\n");
        const char *words = strstr(line, wrong_lines[_i].words);
        ck_assert_msg(strncmp(line, start, strlen(start)) == 0, "no \"%s\" in: %s", start, err);
        ck_assert_msg(words != NULL && words < line + length, "no \"%s\" in: %s",
                      wrong_lines[_i].words, err);
        line += length + 1;
    }
    ck_assert_str_eq(line, "");
    free(text);
    free(expected);
}
END_TEST

/* The longest line that is read. */
START_TEST(a_line_of_65535_bytes) {
    char *text = malloc(65536);
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', 65535);
    memcpy(text + 65535 - 4, "rise", 4);
    memcpy(text, "the", 3);
    text[65535] = '\n';
    ck_assert_int_eq(run_lines(text, 65536, NULL), EXIT_DONE);
    ck_assert_ptr_eq(strstr(out, "the rise ...\n"), out);
    free(text);
}
END_TEST

START_TEST(an_input_that_cannot_be_read) {
    ck_assert_int_eq(run((command){.arguments = {"a/checkpoint.npz"}, .input = "."}), EXIT_FAILED);
    assert_one_line("predict", "cannot read the standard input: Is a directory");
    ck_assert_str_eq(out, "");
}
END_TEST

/* ---- what is wrong ---- */

#define LONG_WORD "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhh"

static const struct {
    const char *arguments[ARGUMENTS];
    int code;
    const char *words;
} errors[] = {
    {{NULL}, EXIT_USAGE, "the CHECKPOINT is missing"},
    {{"--all"}, EXIT_USAGE, "the CHECKPOINT is missing"},
    {{"a/checkpoint.npz", "the", "rise"}, EXIT_USAGE, "\"rise\" is one argument too many"},
    {{"a/checkpoint.npz", "the", "", "of"}, EXIT_USAGE, "\"\" is one argument too many"},
    {{"a/checkpoint.npz", "-", "-"}, EXIT_USAGE, "\"-\" is one argument too many"},
    {{"a/checkpoint.npz", "the", "--bogus"}, EXIT_USAGE, "--bogus is no option"},
    {{"a/checkpoint.npz", "-x"}, EXIT_USAGE, "-x is no option"},
    {{"a/checkpoint.npz", "CHECKPOINT", "the"}, EXIT_USAGE, "\"the\" is one argument too many"},
    {{"a/checkpoint.npz", "the", "--top"}, EXIT_USAGE, "--top needs its N"},
    {{"a/checkpoint.npz", "the", "--top", "0"}, EXIT_USAGE, "--top: 0 is out of range"},
    {{"a/checkpoint.npz", "the", "--top", "x"}, EXIT_USAGE, "--top: \"x\""},
    {{"a/checkpoint.npz", "the", "--all=yes"}, EXIT_USAGE, "--all takes no value"},
    {{"a/checkpoint.npz", ""}, EXIT_FAILED, "the sentence has no words"},
    {{"a/checkpoint.npz", " \t\n"}, EXIT_FAILED, "the sentence has no words"},
    {{"a/checkpoint.npz", "the hill was"}, EXIT_FAILED, "no word \"hill\"; known: the, rise"},
    {{"a/checkpoint.npz", "The rise"}, EXIT_FAILED, "no word \"The\""},
    {{"a/checkpoint.npz", "a=b"}, EXIT_FAILED, "no word \"a=b\""},
    {{"a/checkpoint.npz", LONG_WORD}, EXIT_FAILED, "73 bytes"},
    {{"a/checkpoint.npz", ARTICLE " fast"}, EXIT_FAILED, "15 words, the model reads at most 14"},
    {{"none.npz", "the"}, EXIT_FAILED, "No such file or directory: none.npz"},
    {{"", "the"}, EXIT_FAILED, "No such file"},
    {{"-", "the"}, EXIT_FAILED, "No such file"},
    {{"a", "the"}, EXIT_FAILED, "Is a directory: a"},
    {{"/dev/null", "the"}, EXIT_FAILED, "/dev/null"},
    {{"a/loss.csv", "the"}, EXIT_FAILED, "a/loss.csv"},
    {{"none.npz"}, EXIT_FAILED, "No such file or directory: none.npz"},
    {{TG_TEST_GOLDEN "/archive_foreign.npz", "the"}, EXIT_FAILED, "archive_foreign.npz: "},
};

START_TEST(errors_in_one_line) {
    command c = {.program = NULL};
    memcpy(c.arguments, errors[_i].arguments, sizeof c.arguments);
    ck_assert_msg(run(c) == errors[_i].code, "exit %d: %s", code, err);
    assert_one_line("predict", errors[_i].words);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(a_damaged_checkpoint) {
    size_t size;
    char *bytes = test_read_file(at("a/checkpoint.npz"), &size);
    const size_t lengths[] = {0, 1, 100, size / 2, size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        test_write_file(at("damaged.npz"), bytes, lengths[i]);
        ck_assert_int_eq(run((command){.arguments = {"damaged.npz", "the"}}), EXIT_FAILED);
        assert_one_line("predict", "damaged.npz");
        ck_assert_str_eq(out, "");
    }
    bytes[120] ^= 1; /* inside the first parameter */
    test_write_file(at("damaged.npz"), bytes, size);
    ck_assert_int_eq(run((command){.arguments = {"damaged.npz", "the"}}), EXIT_FAILED);
    assert_one_line("predict", "damaged.npz");
    ck_assert_int_eq(run((command){.program = EMBEDDED, .arguments = {"damaged.npz", "the"}}),
                     EXIT_FAILED);
    assert_one_line("predict_embedded", "param/embedding.token");
    free(bytes);
}
END_TEST

/* ---- whole files that hold no whole model ---- */

static const int64_t zero = 0, two = 2, ten = 10, negative = -1, huge = INT32_MAX,
                     largest = INT64_MAX;
static const float weights[2 * 12 * 6] = {NAN, 1, 2};

#define NUMBER(name, value)                                                                        \
    { name, TG_ELEMENT_INT64, 8, {{0}, 0}, 1, &(value) }

/* An array of the checkpoint, replaced (data NULL: left out), and what is said then. */
static const struct {
    tg_array array;
    const char *words;
} foreign[] = {
    {NUMBER("config/layers", huge), "blocks.1.attention.query"},
    {NUMBER("config/layers", two), "blocks.1.attention.query"},
    {NUMBER("config/layers", zero), "layers 0"},
    {NUMBER("config/layers", negative), "layers -1"},
    {NUMBER("config/vocabulary", ten), "by the config (10, 6)"},
    {NUMBER("config/vocabulary", huge), "by the config (2147483647, 6)"},
    {NUMBER("config/context", largest), "by the config (9223372036854775807, 6)"},
    {NUMBER("config/width", negative), "by the config (9, -1)"},
    {NUMBER("config/key_width", huge), "by the config (6, 2147483647)"},
    {NUMBER("config/hidden", huge), "by the config (6, 2147483647)"},
    {{.name = "config/context"}, "config/context"},
    {{.name = "vocabulary"}, "vocabulary"},
    {{"vocabulary", TG_ELEMENT_BYTES, 3, {{2}, 1}, 2, "theand"}, "2 words, by the config 9"},
    {{"vocabulary", TG_ELEMENT_BYTES, 3, {{2}, 1}, 2, "thethe"}, "\"the\" twice"},
    {NUMBER("vocabulary", two), "vocabulary"},
    {{.name = "param/embedding.token"}, "embedding.token"},
    {{.name = "param/unembedding"}, "unembedding"},
    {NUMBER("param/unembedding", two), "unembedding"},
    {NUMBER("param/more", two), "no parameter more"},
    {{"param/blocks.0.feed_forward.w2", TG_ELEMENT_FLOAT32, 4, {{12, 6}, 2}, 72, weights},
     "no finite number"},
};

static void write_foreign(const tg_array *other, const char *path) {
    tg_archive *archive = tg_archive_open(NULL, at("a/checkpoint.npz"), NULL);
    tg_archive_writer *writer = tg_archive_writer_create(NULL, NULL);
    for (int64_t i = 0; i < tg_archive_count(archive); i++) {
        const tg_array *array = tg_archive_at(archive, i);
        if (strcmp(array->name, other->name) != 0)
            ck_assert_int_eq(tg_archive_writer_add(writer, array, NULL), TG_OK);
    }
    if (other->data != NULL)
        ck_assert_int_eq(tg_archive_writer_add(writer, other, NULL), TG_OK);
    ck_assert_int_eq(tg_archive_writer_save(writer, path, NULL), TG_OK);
    tg_archive_writer_free(writer);
    tg_archive_free(archive);
}

START_TEST(a_foreign_checkpoint) {
    write_foreign(&foreign[_i].array, at("foreign.npz"));
    command c = {.arguments = {"foreign.npz", RISE}};
    ck_assert_msg(run(c) == EXIT_FAILED, "exit %d: %s", code, err);
    assert_one_line("predict", foreign[_i].words);
    ck_assert_str_eq(out, "");
}
END_TEST

/* ---- an output that cannot be written ---- */

static const struct {
    const char *output, *words;
} outputs[] = {
    {"/dev/full", "No space left on device"},
    {"pipe", "Broken pipe"},
    {"none", "Bad file descriptor"},
};

START_TEST(an_output_that_cannot_be_written) {
    test_write_file(at("lines"), "the\nrise\nof\n", 12);
    const command printing[] = {
        {.arguments = {"a/checkpoint.npz", RISE}},
        {.arguments = {"a/checkpoint.npz"}, .input = "lines"},
        {.arguments = {"--help"}},
        {.arguments = {"--version"}},
    };
    for (size_t i = 0; i < sizeof printing / sizeof printing[0]; i++) {
        command c = printing[i];
        c.output = outputs[_i].output;
        ck_assert_msg(run(c) == EXIT_FAILED, "exit %d: %s", code, err);
        assert_one_line("predict", "cannot write the output");
        assert_one_line("predict", outputs[_i].words);
    }
}
END_TEST

/* ---- other models ---- */

enum { DEEP_WORDS = 30, DEEP_CONTEXT = 120 };

/* Saves a model of two blocks and 30 words, drawn at random, as "deep.npz". */
static void make_deep(const char *format) {
    tg_transformer_config config = {DEEP_WORDS, DEEP_CONTEXT, 5, 3, 7, 2, .weight = {0}};
    tg_transformer transformer;
    tg_params *params = tg_params_create(NULL);
    tg_vocabulary *vocabulary = tg_vocabulary_create(NULL, NULL);
    tg_rng rng;
    tg_rng_seed(&rng, 3);
    config.weight = (tg_init){TG_INIT_NORMAL, 0.8};
    ck_assert_int_eq(tg_transformer_init(&transformer, params, "", &config, &rng, NULL), TG_OK);
    for (int i = 0; i < DEEP_WORDS; i++) {
        char word[TG_WORD_MAX + 1];
        snprintf(word, sizeof word, format, 'a' + i % 26, 'a' + i / 26);
        ck_assert_int_eq(tg_vocabulary_add(vocabulary, word, NULL, NULL), TG_OK);
    }
    tg_training_state state = {.params = params, .config = &config, .vocabulary = vocabulary};
    ck_assert_int_eq(tg_checkpoint_save(NULL, at("deep.npz"), &state, NULL), TG_OK);
    tg_vocabulary_free(vocabulary);
    tg_params_free(params);
}

START_TEST(long_words_are_cut_to_fit_the_page) {
    static const char *const formats[] = {
        "%c%c3456789012345678901234567890123456789012345678901234567890",
        "%c%c\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
    };
    static const char *const cut[] = {
        "ea34567890123456789.",
        "ea\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4.",
    };
    char sentence[DEEP_CONTEXT * (TG_WORD_MAX + 1)] = "", word[TG_WORD_MAX + 1];
    make_deep(formats[_i]);
    for (int i = 0; i < DEEP_CONTEXT; i++) {
        snprintf(word, sizeof word, formats[_i], 'a' + i % 20, 'a');
        strcat(strcat(sentence, i == 0 ? "" : " "), word);
    }
    ck_assert_int_eq(run((command){.arguments = {"deep.npz", sentence, "--all"}}), EXIT_DONE);
    assert_fits_the_page(out);
    ck_assert_msg(strstr(out, cut[_i]) != NULL, "no %s in:\n%.2000s", cut[_i], out);
    ck_assert_ptr_nonnull(line_of(out, "What each word attends to, block 0\n"));
    ck_assert_ptr_nonnull(line_of(out, "What each word attends to, block 1\n"));
}
END_TEST

/* ---- a checkpoint in memory ---- */

START_TEST(from_memory_as_from_a_file) {
    tg_error error = {TG_OK, ""};
    size_t size;
    char *bytes = test_read_file(at("a/checkpoint.npz"), &size);
    model from_file, from_memory;
    prediction a, b;
    ck_assert_int_eq(model_load_file(&from_file, at("a/checkpoint.npz"), &error), TG_OK);
    tg_archive *archive = tg_archive_open_memory(NULL, bytes, size, &error);
    ck_assert_int_eq(model_load(&from_memory, archive, &error), TG_OK);
    tg_archive_free(archive);
    free(bytes);
    for (int again = 0; again < 3; again++) {
        ck_assert_int_eq(model_predict(&from_file, ARTICLE, &a, &error), TG_OK);
        ck_assert_int_eq(model_predict(&from_memory, ARTICLE, &b, &error), TG_OK);
        ck_assert_int_eq(a.length, 14);
        ck_assert_mem_eq(a.ids, b.ids, 14 * sizeof *a.ids);
        ck_assert_mem_eq(a.next, b.next, 14 * 9 * sizeof *a.next);
        ck_assert_mem_eq(model_attention(&from_file, 0), model_attention(&from_memory, 0),
                         14 * 14 * sizeof(tg_real));
        ck_assert_int_eq(model_predict(&from_file, "the hill", &a, &error), TG_ENOTFOUND);
    }
    model_free(&from_file);
    model_free(&from_memory);
}
END_TEST

START_TEST(embedded) {
    ck_assert_int_eq(run((command){.program = EMBEDDED, .arguments = {"a/checkpoint.npz", RISE}}),
                     EXIT_DONE);
    ck_assert_double_gt(number_of(out, "slow "), 0.99);
    ck_assert_ptr_eq(strchr(out, '\n') + 1, out + strlen(out));
    static const struct {
        command command;
        int code;
        const char *words;
    } refused[] = {
        {{.program = EMBEDDED, .arguments = {"a/checkpoint.npz", "the hill"}}, EXIT_FAILED, "hill"},
        {{.program = EMBEDDED, .arguments = {"a/checkpoint.npz", ""}}, EXIT_FAILED, "no words"},
        {{.program = EMBEDDED, .arguments = {"none.npz", RISE}},
         EXIT_FAILED,
         "cannot read none.npz"},
        {{.program = EMBEDDED, .arguments = {"a", RISE}}, EXIT_FAILED, "cannot read a"},
        {{.program = EMBEDDED, .arguments = {"/dev/zero", RISE}},
         EXIT_FAILED,
         "cannot read /dev/zero"},
        {{.program = EMBEDDED, .arguments = {"a/loss.csv", RISE}}, EXIT_FAILED, "not a ZIP file"},
        {{.program = EMBEDDED, .arguments = {"a/checkpoint.npz", RISE}, .output = "/dev/full"},
         EXIT_FAILED,
         "write"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_int_eq(run(refused[i].command), refused[i].code);
        assert_one_line("predict_embedded", refused[i].words);
    }
    ck_assert_int_eq(run((command){.program = EMBEDDED, .arguments = {"a/checkpoint.npz"}}),
                     EXIT_USAGE);
    assert_one_line("usage", "predict_embedded CHECKPOINT SENTENCE");
}
END_TEST

/* ---- NumPy ---- */

/* A Python that has NumPy, or NULL. */
static const char *python(void) {
    static const char *const programs[] = {"/usr/bin/python3", "python3"};
    for (int i = 0; i < 2; i++)
        if (run((command){.program = programs[i], .arguments = {"-c", "import numpy"}}) == 0)
            return programs[i];
    return NULL;
}

#define SENTENCES                                                                                  \
    ARTICLE "\nthe\nthe rise\nthe rise of\n" RISE "\nwas was was slow\nof of but fast fall fall\n"

static const struct {
    const char *checkpoint, *lines;
} compared[] = {
    {"a/checkpoint.npz", SENTENCES},
    {"b/checkpoint.npz", SENTENCES},
    {"deep.npz", "ca ba da za ca\nba\nab bb aa ca da ea fa ga ha ia ja ka la ma na oa pa qa ra\n"},
};

START_TEST(numpy_finds_the_same_numbers) {
    const char *program = python();
    if (program == NULL) {
        printf("check_predict: no Python with NumPy here: nothing was compared with NumPy\n");
        return;
    }
    make_deep("%c%c");
    const char *checkpoint = compared[_i].checkpoint;
    test_write_file(at("lines"), compared[_i].lines, strlen(compared[_i].lines));
    command c = {.arguments = {checkpoint, "--all"}, .input = "lines"};
    ck_assert_msg(run(c) == EXIT_DONE, "%s", err);
    test_write_file(at("shown"), out, strlen(out));
    run((command){.program = program, .arguments = {ORACLE, checkpoint, "shown"}});
    ck_assert_msg(code == 0, "%s%s", out, err);
    /* ... and would find others */
    char *text = test_read_file(at("shown"), &(size_t){0}), *digit = strrchr(text, '.') + 2;
    *digit = *digit == '9' ? '0' : (char)(*digit + 1);
    test_write_file(at("shown"), text, strlen(text));
    ck_assert_int_ne(run((command){.program = program, .arguments = {ORACLE, checkpoint, "shown"}}),
                     0);
    free(text);
}
END_TEST

#define ADD_LOOP(tests, test, table)                                                               \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

static TCase *case_of(Suite *suite, const char *name) {
    TCase *tests = tcase_create(name);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return tests;
}

static void add_predictions(Suite *suite) {
    TCase *tests = case_of(suite, "predictions");
    tcase_add_test(tests, the_rise_was_slow);
    ADD_LOOP(tests, a_distribution_sums_to_one, sentences);
    tcase_add_test(tests, bars_are_as_long_as_their_numbers);
    ADD_LOOP(tests, a_page_has_80_columns, sentences);
    tcase_add_test(tests, what_may_follow_each_word);
    tcase_add_test(tests, no_more_than_so_many);
    tcase_add_test(tests, without_attention);
    tcase_add_test(tests, options_stand_anywhere);
    tcase_add_test(tests, help_and_version);
    tcase_add_loop_test(tests, long_words_are_cut_to_fit_the_page, 0, 2);
    tcase_add_test(tests, from_memory_as_from_a_file);
    tcase_add_test(tests, embedded);
    ADD_LOOP(tests, numpy_finds_the_same_numbers, compared);
}

static void add_pipes_and_errors(Suite *suite) {
    TCase *tests = case_of(suite, "a pipe");
    ADD_LOOP(tests, each_line_is_a_sentence, lines);
    tcase_add_test(tests, a_pipe_without_sentences);
    ADD_LOOP(tests, a_line_that_is_wrong_does_not_stop_the_others, wrong_lines);
    tcase_add_test(tests, a_line_of_65535_bytes);
    tcase_add_test(tests, an_input_that_cannot_be_read);
    tests = case_of(suite, "errors");
    ADD_LOOP(tests, errors_in_one_line, errors);
    tcase_add_test(tests, a_damaged_checkpoint);
    ADD_LOOP(tests, a_foreign_checkpoint, foreign);
    ADD_LOOP(tests, an_output_that_cannot_be_written, outputs);
}

static Suite *suite(void) {
    Suite *suite = suite_create("predict");
    add_predictions(suite);
    add_pipes_and_errors(suite);
    return suite;
}

int main(void) {
    return test_main(suite());
}
