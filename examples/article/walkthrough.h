/* The article's way through its model, for any weights: every matrix from the embedding to the
 * prediction, in the article's order. */
#ifndef ARTICLE_WALKTHROUGH_H
#define ARTICLE_WALKTHROUGH_H

#include <stdint.h>
#include <stdio.h>

#include "nn/transformer.h"

/* Runs the model, of one block, on ids[length] and prints to `out` its parameters and what they
 * make of the ids, each step with its formula, rows and columns named by words[vocabulary], the
 * words of the ids. TG_EINVAL for a model of several blocks or `length` below 1, TG_EIO where
 * writing failed, else the first error of the forward pass; nothing is printed unless that
 * succeeds. */
tg_status article_walkthrough(const tg_transformer *model, const char *const *words,
                              const int32_t *ids, int64_t length, FILE *out, tg_error *error);

#endif
