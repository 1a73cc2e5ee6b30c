/* The eleven tables of the article, computed by a model, and compared with those that it prints. */
#ifndef ARTICLE_TABLES_H
#define ARTICLE_TABLES_H

#include <stdint.h>
#include <stdio.h>

#include "article/matrix.h"
#include "article/printed.h"
#include "nn/transformer.h"

/* How far a cell may be from the printed one: half of the last printed digit, and what single
 * precision adds. */
#define ARTICLE_TOLERANCE 0.0051

/* Runs the model, of one block, forward on ids[length] and finds the tables among what it recorded.
 * They are values on `tape`, good until its reset; the predictions are recorded as "predictions".
 * TG_EINVAL for a model of several blocks, else the first error of the tape. */
tg_status article_tables_compute(const tg_transformer *model, const int32_t *ids, int64_t length,
                                 tg_tape *tape, article_matrix tables[ARTICLE_TABLES],
                                 tg_error *error);

typedef struct article_difference {
    article_table table;
    int64_t row, column;
    double computed, printed;
} article_difference;

enum { ARTICLE_LISTED = 10 };

typedef struct article_comparison {
    int64_t cells, agreeing;
    int64_t agreeing_in[ARTICLE_TABLES];
    article_difference first[ARTICLE_LISTED]; /* cells that do not agree, in order */
    int listed;
} article_comparison;

/* Compares with what is printed: a cell agrees that is within ARTICLE_TOLERANCE of the printed one,
 * or is the same infinity. NaN never agrees. TG_ESHAPE for a table of another shape. */
tg_status article_tables_compare(const article_matrix tables[ARTICLE_TABLES],
                                 article_comparison *comparison, tg_error *error);

/* A line for each of the first cells that do not agree, with its table, row and column. */
void article_print_differences(FILE *file, const article_comparison *comparison);

/* The line "1302 of 1302 cells as printed". */
void article_print_verdict(FILE *file, const article_comparison *comparison);

#endif
