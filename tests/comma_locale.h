/* A host program that has called setlocale and lives where the decimal point is a comma. */
#ifndef TEST_COMMA_LOCALE_H
#define TEST_COMMA_LOCALE_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* Compiles a locale of its own, so that it needs none to be installed, into `directory`. */
static inline void comma_locale_compile(const char *directory) {
    static const char source[] = "comment_char %\nescape_char /\nLC_NUMERIC\n"
                                 "decimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\n"
                                 "grouping 3;3\nEND LC_NUMERIC\n";
    pid_t child = fork();
    if (child == 0) {
        if (chdir(directory) != 0 || freopen("/dev/null", "w", stderr) == NULL)
            _exit(126);
        test_write_file("comma.source", source, strlen(source));
        execlp("localedef", "localedef", "-c", "--no-archive", "-i", "comma.source", "./comma",
               (char *)NULL);
        _exit(127);
    }
    int status = 0; /* localedef warns of the categories that are left out: any answer may do */
    ck_assert_int_eq(waitpid(child, &status, 0), child);
}

/* From here on to the end of the process printf writes 3,5: asserted, so that what is tested under
 * it is known to have been. */
static inline void comma_locale_enter(const char *directory) {
    comma_locale_compile(directory);
    ck_assert_int_eq(setenv("LOCPATH", directory, 1), 0);
    ck_assert_int_eq(setenv("LC_ALL", "comma", 1), 0);
    ck_assert_ptr_nonnull(setlocale(LC_ALL, ""));
    char text[16];
    snprintf(text, sizeof text, "%.1f", 3.5);
    ck_assert_str_eq(text, "3,5");
}

#endif
