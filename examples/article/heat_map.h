/* A matrix as a picture: coloured cells with their values, and words at the edges. */
#ifndef ARTICLE_HEAT_MAP_H
#define ARTICLE_HEAT_MAP_H

#include "article/picture_script.h"

typedef struct heat_map {
    const article_matrix *matrix;
    const char *block; /* what its values are called in the script */
    const char *title, *suffix, *subtitle;
    article_axis rows, columns;
    const char *row_caption, *column_caption; /* what the rows and the columns are */
    const char *legend;                       /* a line below the cells */
    colour_scale scale;
    bool causal;           /* the cells behind the diagonal are grey and empty */
    const int32_t *marked; /* marked[rows]: a column in each row, outlined; NULL for none */
} heat_map;

/* The height of the picture, in pixels. */
int heat_map_height(int64_t rows);

/* The script that draws it, on a sheet of that height. */
void heat_map_write(const sheet *s, const heat_map *map);

#endif
