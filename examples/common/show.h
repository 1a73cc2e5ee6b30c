/* Predictions as a person reads them, on a page of 80 columns. Values below 0.0005 are not listed,
 * and of each list no more than `most`; the highest come first. */
#ifndef COMMON_SHOW_H
#define COMMON_SHOW_H

#include <stdio.h>

#include "common/model.h"

/* The words of the sentence, in as many lines as they need, and the open end: "the rise ..." */
void show_sentence(const model *m, const prediction *made, FILE *out);

/* The words that may follow the sentence, each with its probability and a bar, and a line for what
 * all others have together:
 *
 *       slow        0.9998  #####################################################
 *       (8 others)  0.0002
 */
void show_next(const model *m, const prediction *made, int64_t most, FILE *out);

/* A line for each word of the sentence, with the words that may follow it:
 *
 *       0 the      rise 0.500   fall 0.500
 *
 * As many as the page is wide enough for. */
void show_next_of_each(const model *m, const prediction *made, int64_t most, FILE *out);

/* The same with what each word attends to, for each block of the transformer:
 *
 *       2 of       1 rise 0.912   0 the  0.088
 */
void show_attention(const model *m, const prediction *made, int64_t most, FILE *out);

#endif
