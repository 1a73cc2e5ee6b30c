/* Plots, drawn by gnuplot (5.0 or later) when it is there: the curves of a metrics log, and whatever
 * else a script draws.
 *
 * A plot is two files: <name>.gp, a script that a person can read, edit and run again with
 * `gnuplot <name>.gp` (or all of a directory with `gnuplot *.gp`), and <name>.svg, the picture. A
 * run never fails for lack of a picture: what went wrong with gnuplot is told as an outcome, in one
 * line that says how to draw later. */
#ifndef TG_PLOT_H
#define TG_PLOT_H

#include <stdbool.h>

#include "tensor/context.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_plot_result {
    TG_PLOT_DRAWN,
    TG_PLOT_NO_GNUPLOT, /* there is no such program */
    TG_PLOT_FAILED,     /* it failed, or there is nothing to draw */
    TG_PLOT_TIMED_OUT   /* it took too long, and was killed */
} tg_plot_result;

#define TG_PLOT_NOTE 512

typedef struct tg_plot_outcome {
    tg_plot_result result;
    char note[TG_PLOT_NOTE]; /* one line, without its end, for the person who waits */
} tg_plot_outcome;

/* How a script is run, and what it draws on. Start it as {0}. */
typedef struct tg_plot_script_options {
    const char
        *gnuplot;      /* the program, a name found through PATH or a full path; NULL: "gnuplot" */
    double timeout;    /* seconds that it may take; 0: 20 */
    int width, height; /* of the picture, in pixels, up to TG_PLOT_SIDE; 0: 960 and 540 */
    const char *fault; /* why the script is written only and not run, for the note; NULL: run it */
} tg_plot_script_options;

#define TG_PLOT_SIDE 10000

/* Writes <directory>/<name>.gp, in place of an older one, and runs it, without a shell, to draw
 * <directory>/<name>.svg, which is replaced only by a whole picture. `script` is text for gnuplot,
 * in lines, that draws: lines that select the terminal (svg, texts taken literally) and the output
 * are put before it, and lines that close the output behind it. It runs in the directory, in the C
 * locale, without a person's own settings. What it reads must be in it or in the directory.
 *
 * `options` may be NULL. TG_OK, whatever gnuplot does, with *outcome (NULL where it is not wanted).
 * TG_EIO where the script cannot be written; TG_EINVAL for a name (one path component that does not
 * begin with '-'), a timeout or a size that is none, or NULL; TG_ENOMEM. Then *outcome is left
 * alone. */
tg_status tg_plot_script(const tg_context *context, const char *directory, const char *name,
                         const char *script, const tg_plot_script_options *options,
                         tg_plot_outcome *outcome, tg_error *error);

/* A horizontal line across the plot, such as the loss of guessing. */
typedef struct tg_plot_reference {
    double y;
    const char *label; /* written beside the line; NULL for none */
} tg_plot_reference;

/* What is drawn. Texts are UTF-8, taken literally (an underscore is an underscore), and have no
 * control characters. Start it as {0}. */
typedef struct tg_plot_curve_options {
    const char *title, *x_label, *y_label; /* NULL for none */
    const char *data;                      /* a CSV file as tg_csv writes, in the directory */
    const char *const *columns; /* columns[column_count]: names in its header, each a curve over
                                 * the first column; nan is a gap */
    int column_count;
    const tg_plot_reference *references; /* references[reference_count] */
    int reference_count;
    bool logarithmic; /* the y axis; what is not positive is a gap */

    const char
        *gnuplot;   /* the program, a name found through PATH or a full path; NULL: "gnuplot" */
    double timeout; /* seconds that it may take; 0: 20 */
} tg_plot_curve_options;

/* Draws the curves by a script of tg_plot_script's, on the same terms; the options are not NULL.
 * TG_EINVAL also for texts, counts or references that are none, such as a reference that is not
 * positive on a logarithmic axis. Labels of references that lie close together are moved apart. */
tg_status tg_plot_curve(const tg_context *context, const char *directory, const char *name,
                        const tg_plot_curve_options *options, tg_plot_outcome *outcome,
                        tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
