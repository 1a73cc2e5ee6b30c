/* Matrices of the model as tables of a page. */
#ifndef ARTICLE_REPORT_MATRIX_H
#define ARTICLE_REPORT_MATRIX_H

#include "article/steps.h"

/* A table with two decimals, in a box of its own that scrolls where the page is narrow: whole words
 * at the rows and columns, the symbol in the corner, and shares with a tint that grows with them. */
void report_matrix(FILE *page, const step_matrix *shown);

#endif
