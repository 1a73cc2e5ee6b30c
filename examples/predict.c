/* Predicts the word that follows a sentence, by the model in a checkpoint, and shows what each word
 * attends to. How a checkpoint becomes a model, and a sentence a prediction, is in common/model.c. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/model.h"
#include "common/options.h"
#include "common/show.h"

enum { LINE_SIZE = 65536 };

typedef struct settings {
    const char *checkpoint, *sentence; /* "-": the lines of stdin */
    int64_t most;
    bool all, no_attention;
} settings;

static bool read_settings(int argc, char **argv, settings *s, int *exit_code) {
    const cli_option options[] = {
        {"CHECKPOINT", NULL, "what train_example has saved", OPTION_POSITIONAL,
         .value.text = &s->checkpoint, .required = true},
        {"SENTENCE", NULL, "its words, in quotes; - or nothing: each line of stdin",
         OPTION_POSITIONAL, .value.text = &s->sentence},
        {"--top", "N", "list at most N words at a time (default 10)", OPTION_INTEGER,
         .value.integer = &s->most, .least = 1},
        {"--all", NULL, "list what may follow each word of the sentence, too", OPTION_FLAG,
         .value.flag = &s->all},
        {"--no-attention", NULL, "do not list what each word attends to", OPTION_FLAG,
         .value.flag = &s->no_attention},
    };
    const cli_program program = {
        .name = "predict",
        .purpose = "Predicts the word that follows a sentence, by a model that was trained.",
        .arguments = "[options] CHECKPOINT [SENTENCE]",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    return options_read(&program, argc, argv, exit_code);
}

static void show(const model *m, const prediction *made, const settings *s) {
    show_sentence(m, made, stdout);
    printf("\n");
    show_next(m, made, s->most, stdout);
    if (s->all) {
        printf("\n");
        show_next_of_each(m, made, s->most, stdout);
    }
    if (!s->no_attention) {
        printf("\n");
        show_attention(m, made, s->most, stdout);
    }
}

/* ---- the lines of stdin ---- */

/* Reads a line, without its end. *length is its own, of which no more than LINE_SIZE - 1 bytes are
 * in `text`. False at the end of the input, or where it cannot be read. */
static bool read_line(char text[LINE_SIZE], size_t *length) {
    int c;
    *length = 0;
    while ((c = getc(stdin)) != EOF && c != '\n') {
        if (*length < LINE_SIZE - 1)
            text[*length] = (char)c;
        ++*length;
    }
    text[*length < LINE_SIZE ? *length : LINE_SIZE - 1] = '\0';
    return !ferror(stdin) && (c == '\n' || *length > 0);
}

/* What was read of a line as a sentence. */
static tg_status check_line(const char *text, size_t length, tg_error *error) {
    if (length >= LINE_SIZE)
        return tg_fail(error, TG_EINVAL, "it has %zu bytes, and at most %d are read", length,
                       LINE_SIZE - 1);
    if (strlen(text) < length)
        return tg_fail(error, TG_EINVAL, "there is a NUL in it");
    return TG_OK;
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\v\f\r")] == '\0';
}

/* What is wrong with a line is said, and the others go on; an output that fails ends it. */
static int predict_lines(model *m, const settings *s) {
    char text[LINE_SIZE];
    size_t length;
    int exit_code = EXIT_DONE;
    const char *between = "";
    if (isatty(STDIN_FILENO))
        fprintf(stderr, "predict: a sentence in each line, please; Ctrl-D ends\n");
    for (int64_t line = 1; read_line(text, &length); line++) {
        prediction made;
        tg_error error = {TG_OK, ""};
        tg_status status = check_line(text, length, &error);
        if (status == TG_OK && is_blank(text))
            continue;
        if (status == TG_OK)
            status = model_predict(m, text, &made, &error);
        if (status != TG_OK) {
            fprintf(stderr, "predict: line %" PRId64 ": %s\n", line, error.message);
            exit_code = EXIT_FAILED;
            continue;
        }
        printf("%s", between);
        show(m, &made, s);
        between = "\n\n";
        if (!options_flush_output("predict"))
            return EXIT_FAILED;
    }
    if (!ferror(stdin))
        return exit_code;
    fprintf(stderr, "predict: cannot read the standard input: %s\n", strerror(errno));
    return EXIT_FAILED;
}

static int predict_sentence(model *m, const settings *s) {
    prediction made;
    tg_error error = {TG_OK, ""};
    if (model_predict(m, s->sentence, &made, &error) != TG_OK) {
        fprintf(stderr, "predict: %s\n", error.message);
        return EXIT_FAILED;
    }
    show(m, &made, s);
    return options_flush_output("predict") ? EXIT_DONE : EXIT_FAILED;
}

int main(int argc, char **argv) {
    settings s = {.sentence = "-", .most = 10};
    int exit_code = EXIT_DONE;
    signal(SIGPIPE, SIG_IGN); /* an output that nobody reads any more is an error like others */
    if (!read_settings(argc, argv, &s, &exit_code))
        return exit_code;
    model m;
    tg_error error = {TG_OK, ""};
    if (model_load_file(&m, s.checkpoint, &error) != TG_OK) {
        fprintf(stderr, "predict: %s\n", error.message);
        exit_code = EXIT_FAILED;
    } else if (strcmp(s.sentence, "-") == 0) {
        exit_code = predict_lines(&m, &s);
    } else {
        exit_code = predict_sentence(&m, &s);
    }
    model_free(&m);
    return exit_code;
}
