/* What the scripts of the pictures are made of: lines for gnuplot. A script draws on a sheet of
 * PICTURE_WIDTH pixels, whose coordinates begin in its top left corner. */
#ifndef ARTICLE_PICTURE_SCRIPT_H
#define ARTICLE_PICTURE_SCRIPT_H

#include "article/matrix.h"

enum { PICTURE_WIDTH = 960 };

typedef struct sheet {
    FILE *script;
    int height;
} sheet;

typedef struct sheet_area {
    double left, top, width, height;
} sheet_area;

/* Colours of print that all kinds of colour vision tell apart. */
#define PICTURE_BLUE   "#1f5a9e"
#define PICTURE_ORANGE "#c25a00"
#define PICTURE_GREY   "#606060"

/* How values become colours. */
typedef enum colour_scale {
    SCALE_SHARES, /* 0 white, 1 dark blue */
    SCALE_SIGNED  /* blue below 0, white, orange above it */
} colour_scale;

/* A text as a string of gnuplot's, in which nothing has a meaning. */
void script_quoted(const sheet *s, const char *text);

/* A line of text whose middle is at height y: left, right or centre of it is at x. */
void script_text(const sheet *s, double x, double y, const char *alignment, int font_size,
                 const char *colour, const char *text);

/* The title, with `suffix` (NULL: none) behind it, and a smaller line below. */
void script_title(const sheet *s, const char *title, const char *suffix, const char *subtitle);

/* The area that the next plot fills. */
void script_area(const sheet *s, const sheet_area *area);

/* The values as a data block, "$<block>", a line for each row. */
void script_values(const sheet *s, const char *block, const article_matrix *matrix);

/* The largest magnitude among the finite values of matrices[count], rounded up to two digits; 1
 * where there is none but 0. */
double script_range(const article_matrix *matrices, int count);

/* The colours of the cells to come: from 0 to `range`, or from -range to range; and a bar that shows
 * them, upright in `bar`. Their values are written with two decimals where the range is below
 * `roomy`, and with fewer where these would not fit. */
void script_colours(const sheet *s, colour_scale scale, double range, double roomy,
                    const sheet_area *bar);

/* The axes of a matrix, row 0 on top: labels of the rows on the left, of the columns above. */
void script_axes(const sheet *s, int64_t rows, int64_t columns, article_axis row_labels,
                 article_axis column_labels, int font_size);

/* Plots the cells of "$<block>", each with its value; where it is `causal`, those behind the
 * diagonal are grey and empty. The plot may go on: there is no end of line. */
void script_cells(const sheet *s, const char *block, colour_scale scale, bool causal,
                  int font_size);

#endif
