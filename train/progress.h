/* How far a run is, shown to a person: a bar on a terminal, some ten plain lines in a log file.
 *
 *     train [##############............]  57%  3456/6000  loss 0.1234    12s left
 *
 *     train: 600/6000 (10%), loss 0.1234, 0.5s, 4.8s left
 *
 * The bar is for a terminal whose TERM is set and is not "dumb"; it is drawn again at most ten times
 * a second, as wide as the terminal is at that moment. Anywhere else, lines are written as tenths
 * of the run are passed, without '\r' and escape sequences. Failures to write are of no concern
 * to a run and are passed over. Nothing here allocates. */
#ifndef TG_PROGRESS_H
#define TG_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_PROGRESS_LABEL 32

/* What is shown, and where: filled by tg_progress_begin, read by nobody else. */
typedef struct tg_progress {
    FILE *file;
    char label[TG_PROGRESS_LABEL];
    bool bar;     /* a bar, or lines */
    bool running; /* an update has come */
    bool ended;
    int width;  /* of a terminal that does not tell its own */
    int shown;  /* bytes of the bar on the terminal */
    int tenths; /* of the run, passed */
    double loss;
    int64_t done, total;
    int64_t next;        /* an update before this step has nothing to do */
    int64_t first;       /* the step of the first update, */
    double first_time;   /* and its time: together they give the speed */
    int64_t looked_done; /* the step when the clock was last looked at, */
    double looked_time;  /* and its time */
    double begin_time;
    double drawn_time;
    int64_t drawn_done; /* the step that was last shown, or -1 */
} tg_progress;

/* Begins to show a run of `total` steps on `file`, which must stay open until tg_progress_end. NULL
 * for `file`, or a total below 1, shows nothing. `label` is copied, and cut at TG_PROGRESS_LABEL - 1
 * bytes; NULL stands for "". */
void tg_progress_begin(tg_progress *progress, FILE *file, const char *label, int64_t total);

/* `done` steps of the total are done, and the loss is now `loss`. To be called after each step; it
 * costs some nanoseconds where nothing is due. A resumed run begins with the steps it has. */
void tg_progress_update(tg_progress *progress, int64_t done, double loss);

/* Shows the state of the last update, with the time that the run took, and ends the line. Without
 * an update it shows nothing. */
void tg_progress_end(tg_progress *progress);

#ifdef __cplusplus
}
#endif

#endif
