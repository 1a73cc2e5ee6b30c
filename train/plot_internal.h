/* Internal: the script of a plot. */
#ifndef TGI_PLOT_INTERNAL_H
#define TGI_PLOT_INTERNAL_H

#include "tensor/allocator.h"
#include "train/plot.h"

/* The gnuplot script that draws the curves as <name>.svg, or as the file that a variable `picture`
 * names; each row also gets a point where `points` asks for it. NUL-terminated in a block of *size
 * bytes, which the caller releases; NULL when memory is out. The options have been checked. */
char *tgi_plot_script(const tg_allocator *allocator, const char *name,
                      const tg_plot_curve_options *options, bool points, size_t *size);

/* "picture='<name>'", quoted for gnuplot, on the same terms. */
char *tgi_plot_setting(const tg_allocator *allocator, const char *picture, size_t *size);

#endif
