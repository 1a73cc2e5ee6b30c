/* The embeddings as points: the words in the plane in which they differ most, and the positions in
 * the same plane. */
#ifndef ARTICLE_EMBEDDING_MAP_H
#define ARTICLE_EMBEDDING_MAP_H

#include "article/picture_script.h"
#include "tensor/status.h"

enum { EMBEDDING_MAP_HEIGHT = 590 };

/* The script that draws them on a sheet of that height: `words`, a row for each word and at most 64,
 * named by `names`, and `positions`, as many columns and at most 64 rows. Errors as of
 * principal_axes_find; TG_EINVAL for other shapes. */
tg_status embedding_map_write(const sheet *s, const article_matrix *words, const char *const *names,
                              const article_matrix *positions, const char *suffix, tg_error *error);

#endif
