/* The article's model in pictures: what it does with the article's sentence, and its weights. */
#ifndef ARTICLE_PICTURES_H
#define ARTICLE_PICTURES_H

#include <stdio.h>

#include "nn/transformer.h"

/* How many: attention, scores, prediction, weights, embedding. */
enum { ARTICLE_PICTURES = 5 };

/* Their names, in this order, without ".svg". */
extern const char *const article_picture_names[ARTICLE_PICTURES];

/* Runs the model on the article's sentence and draws into the directory, which is there:
 *
 *     attention.svg    A, the shares with which each position looks at the earlier ones
 *     scores.svg       the masked scores that these shares come from
 *     prediction.svg   p, the words that may follow, and which one does
 *     weights.svg      all eleven matrices
 *     embedding.svg    words and positions in the plane of two principal components
 *
 * Beside each is the script, with all its data, that draws it again: `gnuplot attention.gp`.
 * `title_suffix` (NULL for none) ends every title, as it stands: " (seed 834)".
 *
 * Where gnuplot cannot draw, that is no error: the scripts are written, and one line to `notes`
 * (NULL for none) says how to draw later. TG_ESHAPE for a model of other shapes than the article's;
 * TG_ENONFINITE for a weight that is not finite; TG_EINVAL for control characters in the suffix;
 * TG_EIO where a script cannot be written; TG_ENOMEM. */
tg_status article_pictures(const tg_transformer *model, const char *directory,
                           const char *title_suffix, FILE *notes, tg_error *error);

#endif
