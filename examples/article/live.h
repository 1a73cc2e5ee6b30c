/* The loss, drawn again and again while training runs, by one gnuplot that is started once.
 *
 * Where DISPLAY or WAYLAND_DISPLAY is set and gnuplot can open windows, it is drawn in a window;
 * else, where `terminal` is a terminal that can move its cursor, in characters above the line that
 * the cursor is in, which stays free for a progress bar. Where there is neither, where there is no
 * gnuplot, and when it fails or does not answer, one line on `terminal` says so and training goes
 * on without pictures.
 *
 * gnuplot is talked to without waiting for it, and gets something new to draw only once it has drawn
 * what it got before: whatever it does, an update never waits for it, and writing to one that is gone
 * raises no signal. It ends with live_end, and with the program if that is killed. */
#ifndef ARTICLE_LIVE_H
#define ARTICLE_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "train/plot.h"

enum { LIVE_PLOT = 2048, LIVE_ANSWER = 16384 };

/* Start it as {0}. */
typedef struct live_options {
    const char *gnuplot; /* the program, found through PATH; NULL: "gnuplot" */
    double patience;     /* seconds that gnuplot may take for one drawing; 0: 10 */
    const tg_plot_reference *references; /* references[reference_count]: lines across the plot */
    int reference_count;
} live_options;

/* Filled by live_begin, read by nobody else. */
typedef struct live {
    FILE *terminal;
    pid_t child;  /* 0: there is none, and nothing is drawn */
    int socket;   /* the child's stdin and stdout */
    bool waiting; /* for an answer, since `asked` */
    double asked, patience;
    double next_look; /* before that time an update has nothing to do */
    double drawn_time;
    bool chosen;       /* the child has told what it can draw on, */
    char window[16];   /* and this is the name of its window; "" for the terminal */
    int64_t drawn;     /* the step that was last drawn */
    int height;        /* lines of the drawing on the terminal */
    size_t used;       /* bytes of the answer so far */
    char answer[LIVE_ANSWER];
    char plot[LIVE_PLOT]; /* the command that draws */
} live;

/* Begins to draw the log at `csv_path`, whose columns are a step and a loss, as tg_csv writes it.
 * `options` may be NULL; `terminal` must stay open until live_end. */
void live_begin(live *view, const char *csv_path, const live_options *options, FILE *terminal);

/* The log has a row for `step`. To be called after each step: it draws at most twice a second, and
 * costs a look at the clock where nothing is due. */
void live_update(live *view, int64_t step);

/* Shows the last state in the terminal, and ends gnuplot, waiting for it no longer than a second. */
void live_end(live *view);

#endif
