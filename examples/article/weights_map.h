/* All weights of the article's model in one picture. */
#ifndef ARTICLE_WEIGHTS_MAP_H
#define ARTICLE_WEIGHTS_MAP_H

#include "article/picture_script.h"
#include "article/printed.h"

enum { WEIGHTS_MAP_HEIGHT = 1116 };

/* The script that draws them on a sheet of that height, in one scale of colours for all: weights of
 * the shapes and in the order of article_weights. */
void weights_map_write(const sheet *s, const article_matrix weights[ARTICLE_WEIGHTS],
                       const char *suffix);

#endif
