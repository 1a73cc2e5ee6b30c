/* A program that is started once and then told what to do again and again, without a shell, and
 * without ever being waited for.
 *
 * It reads commands from its stdin and answers on its stdout, where a line of its own, `done`, ends
 * each answer; what it writes to its stderr is in the answer too. Nothing is sent before the last
 * answer is whole, so that what is sent always has room. Writing to a program that is gone raises no
 * signal. */
#ifndef COMMON_CHILD_H
#define COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CHILD_ANSWER = 16384 };

typedef struct child {
    pid_t id; /* 0: there is none */
    int socket;
    const char *done;
    bool waiting; /* for an answer, since `asked` */
    double asked; /* by child_clock */
    size_t used;  /* bytes of the answer so far */
    char answer[CHILD_ANSWER];
} child;

typedef enum child_state {
    CHILD_BUSY,     /* the answer is not whole yet */
    CHILD_ANSWERED, /* it is, and stands in `answer` without its last line */
    CHILD_GONE      /* the program has closed its side, or there is none */
} child_state;

/* Starts arguments[0], found through PATH, with `arguments` (ended by NULL) in `directory`, and with
 * settings ("NAME", "value", ..., NULL) in its environment. It is the first of a process group of its
 * own, so that Ctrl-C passes over it, and is killed when this program dies (on Linux). `done` must
 * last. 0, or an errno where it cannot be started; a program that is not there is found out only
 * when it is asked. */
int child_start(child *c, const char *directory, const char *const *arguments,
                const char *const *settings, const char *done);

/* Sends the commands, of 8192 bytes at most; the last answer must be whole. False where the program
 * is gone. */
bool child_ask(child *c, const char *commands);

/* Takes what has come of the answer. Of a longer one than there is room for, the end is kept. */
child_state child_receive(child *c);

/* The last line that it has written since the last whole answer, as far as it has been received and
 * is not empty, without control characters. */
const char *child_last_line(child *c);

typedef enum child_end {
    CHILD_ENDED, /* by itself */
    CHILD_NOT_FOUND,
    CHILD_KILLED
} child_end;

/* Closes its stdin, lets it end until `deadline` (by child_clock; 0: not at all), and kills what is
 * left of it and its group. */
child_end child_finish(child *c, double deadline);

/* Seconds from some time on. */
double child_clock(void);

#endif
