#include "common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <tapegrad.h>

/* One line on stderr; always false. */
__attribute__((format(printf, 2, 3))) static bool wrong(const cli_program *program,
                                                        const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (%s --help tells more)\n", program->name);
    va_end(arguments);
    return false;
}

/* The place number `i` for an argument that is no option; NULL where there are no more. */
static const cli_option *place_at(const cli_program *program, int i) {
    for (int k = 0; k < program->option_count; k++)
        if (program->options[k].kind == OPTION_POSITIONAL && i-- == 0)
            return &program->options[k];
    return NULL;
}

/* ---- help ---- */

enum { HELP_WIDTH = 80, HELP_MARGIN = 25 };

/* Prints the words of a text from `column` on and ends the line; where it is full, the next one
 * begins at `margin`. */
static void print_words(const char *text, int column, int margin) {
    const char *between = "";
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column + (int)strlen(between) + length > HELP_WIDTH && column > margin) {
            printf("\n%*s", margin, "");
            column = margin;
            between = "";
        }
        column += printf("%s%.*s", between, length, text);
        text += length + (text[length] == ' ');
        between = " ";
    }
    printf("\n");
}

static void print_row(const char *left, const char *text) {
    print_words(text, printf("  %-*s ", HELP_MARGIN - 3, left), HELP_MARGIN);
}

static void print_options(const cli_program *program, bool places) {
    for (int i = 0; i < program->option_count; i++) {
        const cli_option *o = &program->options[i];
        char left[64];
        snprintf(left, sizeof left, "%s %s", o->name, o->argument != NULL ? o->argument : "");
        if ((o->kind == OPTION_POSITIONAL) == places)
            print_row(left, o->help);
    }
}

/* Every program ends in one of these ways, if not in others. */
static const cli_exit usual_exits[] = {{EXIT_DONE, "done"},
                                       {EXIT_FAILED, "something went wrong while running"},
                                       {EXIT_USAGE, "the command line is wrong"},
                                       {0, NULL}};

/* What the code means in this list; NULL where it is not there, or there is no list. */
static const char *meaning_in(const cli_exit *list, int code) {
    for (; list != NULL && list->meaning != NULL; list++)
        if (list->code == code)
            return list->meaning;
    return NULL;
}

static void print_exits(const cli_program *program) {
    char code[16];
    for (const cli_exit *e = usual_exits; e->meaning != NULL; e++) {
        const char *own = meaning_in(program->exits, e->code);
        snprintf(code, sizeof code, "%d", e->code);
        print_row(code, own != NULL ? own : e->meaning);
    }
    for (const cli_exit *e = program->exits; e != NULL && e->meaning != NULL; e++) {
        snprintf(code, sizeof code, "%d", e->code);
        if (meaning_in(usual_exits, e->code) == NULL)
            print_row(code, e->meaning);
    }
}

static void print_help(const cli_program *program) {
    printf("usage: %s %s\n", program->name, program->arguments);
    print_words(program->purpose, 0, 0);
    if (place_at(program, 0) != NULL) {
        printf("\narguments:\n");
        print_options(program, true);
    }
    printf("\noptions:\n");
    print_options(program, false);
    print_row("--help", "print this and stop");
    print_row("--version", "print the version and stop");
    printf("\nexit status:\n");
    print_exits(program);
}

/* ---- values ---- */

static bool read_integer(const cli_program *program, const cli_option *o, const char *text) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || strchr(" \t\n\v\f\r", text[0]) != NULL)
        return wrong(program, "%s: \"%s\" is not a whole number", o->name, text);
    if (errno == ERANGE || value < o->least || value > INT64_MAX)
        return wrong(program, "%s: %s is out of range: from %" PRId64 " on", o->name, text,
                     o->least);
    *o->value.integer = value;
    return true;
}

static bool read_real(const cli_program *program, const cli_option *o, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || strchr(" \t\n\v\f\r", text[0]) != NULL)
        return wrong(program, "%s: \"%s\" is not a number", o->name, text);
    if (!isfinite(value) || value <= 0)
        return wrong(program, "%s: %s is not a finite number above 0", o->name, text);
    *o->value.real = value;
    return true;
}

static bool read_choice(const cli_program *program, const cli_option *o, const char *text) {
    char all[128] = "";
    for (const char *const *choice = o->choices; *choice != NULL; choice++) {
        if (strcmp(*choice, text) == 0) {
            *o->value.text = *choice;
            return true;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 choice == o->choices ? "" : ", ", *choice);
    }
    return wrong(program, "%s: \"%s\" is none of %s", o->name, text, all);
}

static bool read_value(const cli_program *program, const cli_option *o, const char *text) {
    switch (o->kind) {
    case OPTION_INTEGER:
        return read_integer(program, o, text);
    case OPTION_REAL:
        return read_real(program, o, text);
    case OPTION_CHOICE:
        return read_choice(program, o, text);
    default:
        if (text[0] == '\0')
            return wrong(program, "%s: an empty %s", o->name, o->argument);
        *o->value.text = text;
        return true;
    }
}

/* The option that `argument` names, and what stands behind its "=" (NULL if nothing does). */
static const cli_option *find(const cli_program *program, const char *argument,
                              const char **behind) {
    size_t length = strcspn(argument, "=");
    *behind = argument[length] == '=' ? argument + length + 1 : NULL;
    for (int i = 0; i < program->option_count; i++) {
        const char *name = program->options[i].name;
        if (strlen(name) == length && strncmp(name, argument, length) == 0)
            return &program->options[i];
    }
    return NULL;
}

/* Reads one option at argv[*i], and moves *i over its value. */
static bool read_option(const cli_program *program, int argc, char **argv, int *i) {
    const char *value;
    const cli_option *o = find(program, argv[*i], &value);
    if (o == NULL)
        return wrong(program, "%s is no option of this program", argv[*i]);
    if (o->given != NULL)
        *o->given = true;
    if (o->kind == OPTION_FLAG) {
        *o->value.flag = true;
        return value == NULL || wrong(program, "%s takes no value, but has \"%s\"", o->name, value);
    }
    if (value == NULL && *i + 1 < argc)
        value = argv[++*i];
    if (value == NULL)
        return wrong(program, "%s needs its %s", o->name, o->argument);
    return read_value(program, o, value);
}

/* Reads one argument at argv[*i], and moves *i over its value; *taken places have theirs already. */
static bool read_argument(const cli_program *program, int argc, char **argv, int *i, int *taken) {
    const char *argument = argv[*i];
    bool is_option = argument[0] == '-' && argument[1] != '\0';
    if (is_option || place_at(program, 0) == NULL)
        return read_option(program, argc, argv, i);
    const cli_option *place = place_at(program, *taken);
    if (place == NULL)
        return wrong(program, "\"%s\" is one argument too many", argument);
    if (place->given != NULL)
        *place->given = true;
    *place->value.text = argument;
    ++*taken;
    return true;
}

/* Whether the places from number `taken` on may stay empty. */
static bool check_required(const cli_program *program, int taken) {
    for (const cli_option *place; (place = place_at(program, taken)) != NULL; taken++)
        if (place->required)
            return wrong(program, "the %s is missing", place->name);
    return true;
}

static bool print_and_stop(const cli_program *program, bool help) {
    if (help)
        print_help(program);
    else
        printf("%s %s\n", program->name, tg_version());
    return options_flush_output(program->name);
}

bool options_read(const cli_program *program, int argc, char **argv, int *exit_code) {
    int taken = 0;
    bool right = true;
    for (int i = 1; i < argc && right; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0) {
            *exit_code = print_and_stop(program, argv[i][2] == 'h') ? EXIT_DONE : EXIT_FAILED;
            return false;
        }
        right = read_argument(program, argc, argv, &i, &taken);
    }
    right = right && check_required(program, taken);
    if (!right)
        *exit_code = EXIT_USAGE;
    return right;
}

bool options_flush_output(const char *program_name) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "%s: cannot write the output: %s\n", program_name, strerror(errno));
    return false;
}
