/* The loss, drawn again and again while training runs, by one gnuplot that is started once.
 *
 * Where DISPLAY or WAYLAND_DISPLAY is set and gnuplot can open windows, it is drawn in a window;
 * else, where `terminal` is a terminal that can move its cursor, in characters above the line that
 * the cursor is in, which stays free for a progress bar. Where there is neither, where there is no
 * gnuplot, and when it fails or does not answer, one line on `terminal` says so and training goes
 * on without pictures. Whatever gnuplot does, an update does not wait for it.
 *
 *     live_begin(&view, "runs/article/loss.csv", NULL, stderr);
 *     while (...)
 *         live_update(&view, step);
 *     live_end(&view);                 // before the progress bar's end */
#ifndef ARTICLE_LIVE_H
#define ARTICLE_LIVE_H

#include <stdint.h>
#include <stdio.h>

#include "common/child.h"
#include "train/plot.h"

enum { LIVE_PLOT = 2048 };

/* Start it as {0}. */
typedef struct live_options {
    const char *gnuplot;                 /* the program, found through PATH; NULL: "gnuplot" */
    double patience;                     /* seconds that gnuplot may take for one drawing; 0: 10 */
    const tg_plot_reference *references; /* references[reference_count]: lines across the plot */
    int reference_count;
} live_options;

/* Filled by live_begin, read by nobody else. */
typedef struct live {
    FILE *terminal;
    child gnuplot; /* nothing is drawn while there is none */
    double patience;
    double next_look; /* before that time an update has nothing to do */
    double drawn_time;
    bool chosen;          /* gnuplot has told what it can draw on, */
    const char *window;   /* and this is its terminal for windows; NULL: the terminal */
    int64_t step, drawn;  /* the last one, and the one that was drawn last */
    int height;           /* lines of the drawing on the terminal */
    char plot[LIVE_PLOT]; /* the command that draws */
} live;

/* Begins to draw the log at `csv_path`, whose columns are a step and a loss, as tg_csv writes it.
 * `options` may be NULL; `terminal` must stay open until live_end. */
void live_begin(live *view, const char *csv_path, const live_options *options, FILE *terminal);

/* The log has a row for `step`. To be called after each step: it draws at most twice a second, and
 * costs a look at the clock where nothing is due. */
void live_update(live *view, int64_t step);

/* Draws the last state, and ends gnuplot and its window; it takes a second at most. */
void live_end(live *view);

#endif
