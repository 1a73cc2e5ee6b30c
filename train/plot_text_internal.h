/* Internal: a text for gnuplot that grows. */
#ifndef TGI_PLOT_TEXT_INTERNAL_H
#define TGI_PLOT_TEXT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/allocator.h"

/* bytes[used] is its NUL, once something has been added. Start it as {.allocator = ...}. Where
 * memory runs out, `failed` is set, and what is added later is lost. */
typedef struct tgi_plot_text {
    const tg_allocator *allocator;
    char *bytes; /* a block of `size` bytes */
    size_t used, size;
    bool failed;
} tgi_plot_text;

/* Adds a text in the format of printf. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void tgi_plot_add(tgi_plot_text *text, const char *format, ...);

/* Adds string and suffix as one string of gnuplot's, in which nothing has a meaning. */
void tgi_plot_add_quoted(tgi_plot_text *text, const char *string, const char *suffix);

/* Adds a number of nine digits, with a point in every locale. */
void tgi_plot_add_number(tgi_plot_text *text, double value);

/* Gives the memory back. */
void tgi_plot_release(tgi_plot_text *text);

#endif
