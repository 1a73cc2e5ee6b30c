/* A run of the article's model as a page that needs nothing beside it. */
#ifndef ARTICLE_REPORT_H
#define ARTICLE_REPORT_H

#include "article/recipe.h"
#include "article/summary.h"
#include "nn/transformer.h"

/* Writes a page of HTML to `path`, beside first, then renamed: the claims, the settings, the
 * pictures, and every matrix of the model on the article's sentence. The style and the pictures are
 * in the page; nothing is fetched, and there is no script.
 *
 * The pictures are loss.svg and those of pictures.h, as far as they are in `directory` (NULL: none
 * is shown). One that is older than its script (loss.gp) is another run's, and left out.
 *
 * TG_EIO with the path and the cause, TG_EINVAL for a path that is too long or a model of several
 * blocks, else the first error of the forward pass; then what was at `path` is as it was. */
tg_status article_report(const char *path, const char *directory, const tg_transformer *model,
                         const article_recipe *recipe, const article_summary *summary,
                         tg_error *error);

#endif
