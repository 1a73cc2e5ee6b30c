/* Internal: another program, run without a shell and for a bounded time. */
#ifndef TGI_RUN_INTERNAL_H
#define TGI_RUN_INTERNAL_H

#include <stdbool.h>

#include "tensor/allocator.h"

#define TGI_RUN_MESSAGE 160

typedef enum tgi_run_end {
    TGI_RUN_EXITED,    /* with `code` */
    TGI_RUN_NOT_FOUND, /* there is no such program */
    TGI_RUN_TIMED_OUT, /* and was killed */
    TGI_RUN_FAILED     /* could not be started, or was ended by a signal: `message` says why */
} tgi_run_end;

typedef struct tgi_run_result {
    tgi_run_end end;
    int code;
    /* The last line that the program wrote to its stderr, without control characters; "" if none. */
    char message[TGI_RUN_MESSAGE];
} tgi_run_result;

/* Runs arguments[0], found through PATH, with `arguments` (ended by NULL) in the directory that is
 * open as `directory`, and waits until it ends or `seconds` have passed; then it and what it has
 * started are killed. Its environment is ours with `settings` ("NAME=value", ended by NULL) in place
 * of the variables of these names. It reads an empty stdin, its stdout is thrown away, and no signal
 * is blocked in it. The caller's signals, descriptors, directory and environment are left alone.
 * An exit code of 127 is "not found", as from a shell. */
tgi_run_result tgi_run(const tg_allocator *allocator, int directory, const char *const *arguments,
                       const char *const *settings, double seconds);

#endif
