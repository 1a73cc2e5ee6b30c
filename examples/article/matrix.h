/* Matrices as a person reads them: two decimals, with words at the rows and columns.
 *
 *     A            the  rise    of   the  mac.
 *      0 the      1.00  0.00  0.00  0.00  0.00
 *      1 rise     0.09  0.91  0.00  0.00  0.00 */
#ifndef ARTICLE_MATRIX_H
#define ARTICLE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tensor/real.h"

/* Somebody else's values, borrowed to be read. */
typedef struct article_matrix {
    const char *symbol; /* stands in the corner */
    int64_t rows, columns;
    const tg_real *values; /* rows x columns, row-major */
} article_matrix;

/* What stands beside the rows, or above the columns: {0} is their numbers. */
typedef struct article_axis {
    const char *const *words; /* NULL: none */
    const int32_t *ids;       /* the word at place i is words[ids[i]]; NULL: words[i] */
    bool numbered;            /* "5 was" instead of "was" */
} article_axis;

/* The matrix, with a blank line behind it. All columns are as wide as the widest value or word
 * needs; above them, words (in ASCII) of more than five letters are cut: "mac." for machine.
 * Infinity is "inf". */
void article_print_matrix(FILE *file, const article_matrix *matrix, article_axis rows,
                          article_axis columns);

/* Two matrices of one shape and symbol, each below its caption: side by side where that takes at
 * most 110 columns, else the second under the first. */
void article_print_pair(FILE *file, const article_matrix pair[2], const char *const captions[2],
                        article_axis rows, article_axis columns);

#endif
