#include "article/heat_map.h"

#include <inttypes.h>

enum {
    LEFT = 150,
    RIGHT = 90,
    TOP = 160,
    BOTTOM = 56,
    ROW = 38, /* the height of a cell */
    BAR = 18, /* the width of the bar of colours, and the gap before it */
    FONT = 13,
    ROOMY = 100 /* "-99.99" fits in a cell */
};

int heat_map_height(int64_t rows) {
    return TOP + ROW * (int)rows + BOTTOM;
}

/* A text beside the rows, turned, or above the columns. */
static void write_captions(const sheet *s, const heat_map *map, const sheet_area *cells) {
    double above = map->columns.numbered ? 64 : 44; /* numbers have a line of their own */
    script_text(s, cells->left + cells->width / 2, cells->top - above, "center", FONT, PICTURE_GREY,
                map->column_caption);
    script_text(s, 20, cells->top + cells->height / 2, "center rotate by 90", FONT, PICTURE_GREY,
                map->row_caption);
    script_text(s, cells->left, cells->top + cells->height + BOTTOM / 2, "left", FONT, PICTURE_GREY,
                map->legend);
}

/* The outlined cells, as a data block of columns and rows. */
static void write_marks(const sheet *s, const heat_map *map) {
    fprintf(s->script, "$marked << end\n");
    for (int64_t i = 0; i < map->matrix->rows; i++)
        fprintf(s->script, "%" PRId32 " %" PRId64 "\n", map->marked[i], i);
    fprintf(s->script, "end\n");
}

void heat_map_write(const sheet *s, const heat_map *map) {
    sheet_area cells = {LEFT, TOP, PICTURE_WIDTH - LEFT - RIGHT, ROW * (double)map->matrix->rows};
    sheet_area bar = {PICTURE_WIDTH - RIGHT + BAR, TOP, BAR, cells.height};
    double range = map->scale == SCALE_SHARES ? 1 : script_range(map->matrix, 1);
    script_values(s, map->block, map->matrix);
    if (map->marked != NULL)
        write_marks(s, map);
    fprintf(s->script, "\n");
    script_title(s, map->title, map->suffix, map->subtitle);
    write_captions(s, map, &cells);
    script_area(s, &cells);
    script_axes(s, map->matrix->rows, map->matrix->columns, map->rows, map->columns, FONT);
    script_colours(s, map->scale, range, ROOMY, &bar);
    script_cells(s, map->block, map->scale, map->causal, FONT);
    if (map->marked != NULL)
        fprintf(s->script, ", \\\n     $marked using 1:2:(0.47):(0.47) with boxxyerror fillstyle "
                           "empty linecolor rgb '" PICTURE_ORANGE "' linewidth 2.5");
    fprintf(s->script, "\n");
}
