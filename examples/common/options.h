/* Command lines of the example programs, described by a table, and their standard output. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes of the example programs. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,       /* something went wrong while running */
    EXIT_USAGE = 2,        /* the command line is wrong */
    EXIT_NOT_FINITE = 3,   /* the loss is not a finite number any more */
    EXIT_INTERRUPTED = 130 /* SIGINT */
};

/* One option, or (OPTION_POSITIONAL) one place for an argument that is none. Where `given` is not
 * NULL, it is set when the option is there. */
typedef struct cli_option {
    const char *name;     /* "--steps"; of a place "FILE", as the help calls it */
    const char *argument; /* "N" in the help; NULL for a flag and a place */
    const char *help;
    enum {
        OPTION_FLAG,
        OPTION_INTEGER,
        OPTION_REAL,
        OPTION_TEXT,
        OPTION_CHOICE,
        OPTION_POSITIONAL
    } kind;
    union {
        bool *flag;
        int64_t *integer;  /* from `least` on */
        double *real;      /* finite, greater than 0 */
        const char **text; /* of a place it may become empty */
    } value;
    int64_t least;
    const char *const *choices; /* ends with NULL; value.text gets the one chosen */
    bool *given;
    bool required; /* of a place: it is wrong to leave it empty */
} cli_option;

/* One way to end, as the help tells it. */
typedef struct cli_exit {
    int code;
    const char *meaning; /* NULL behind the last of an array */
} cli_exit;

typedef struct cli_program {
    const char *name;
    const char *purpose;   /* a sentence for the help */
    const char *arguments; /* "[options]", "[options] FILE" */
    const cli_option *options;
    int option_count;
    /* Codes beside EXIT_DONE, EXIT_FAILED and EXIT_USAGE, or what one of these means here; NULL where
     * there is nothing to add. */
    const cli_exit *exits;
} cli_program;

/* Reads the arguments into the places that the table names: "--name value" and "--name=value",
 * numbers as a whole, and, in a program with positional places, what does not begin with "-" (or is
 * "-" alone) into these, in their order. Knows --help and --version besides. Returns true to go on;
 * false when the program is to end with *exit_code: after --help and --version (on stdout,
 * EXIT_DONE, or EXIT_FAILED where that cannot be written), or after one line on stderr that names
 * the option and the value (EXIT_USAGE). */
bool options_read(const cli_program *program, int argc, char **argv, int *exit_code);

/* Writes out what stdout still holds. False, after one line on stderr that opens with the program's
 * name, where that or an earlier write has failed. */
bool options_flush_output(const char *program_name);

#endif
