/* Internal: what the files of plots share. */
#ifndef TGI_PLOT_INTERNAL_H
#define TGI_PLOT_INTERNAL_H

#include "tensor/allocator.h"
#include "train/plot.h"
#include "train/plot_text_internal.h"

/* TG_EINVAL for a text with control characters, which breaks a script; NULL is none. `what` names it
 * in the message. */
tg_status tgi_plot_check_text(const char *what, const char *text, tg_error *error);

/* TG_EINVAL for what cannot be the name of a file in the directory, or is NULL. */
tg_status tgi_plot_check_name(const char *what, const char *name, tg_error *error);

/* Adds the script that draws the curves; each row also gets a point where `points` asks for it. The
 * options have been checked. */
void tgi_plot_add_curve(tgi_plot_text *text, const tg_plot_curve_options *options, bool points);

#endif
