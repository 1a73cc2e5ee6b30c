#include "article/weights_map.h"

/* ROOMY: "-9.99" fits in the narrowest cell. */
enum { CELL_HEIGHT = 21, FONT = 11, TITLE_FONT = 15, ROOMY = 10 };

/* Where a matrix stands; its cells begin below its title and the labels of its columns. */
typedef struct panel {
    const char *meaning; /* behind the symbol, in the title; NULL: none */
    double left, top;    /* of the cells, in pixels */
    double cell_width;
    bool word_rows, word_columns; /* named by the words of the vocabulary */
} panel;

/* In three rows: embeddings; attention; feed-forward network and unembedding. */
static const panel panels[ARTICLE_WEIGHTS] = {
    {"word embedding", 90, 140, 46, true, false},
    {"position embedding", 430, 140, 46, false, false},
    {"queries", 40, 510, 34, false, false},
    {"keys", 272, 510, 34, false, false},
    {"values", 504, 510, 34, false, false},
    {"output", 736, 510, 34, false, false},
    {"first layer", 40, 712, 45, false, false},
    {NULL, 40, 874, 45, false, false},
    {"second layer", 664, 712, 46, false, false},
    {NULL, 664, 1000, 46, false, false},
    {"unembedding", 40, 971, 60, false, true},
};

/* A vector stands below the matrix whose columns are its own: it needs no labels. */
static void write_axes(const sheet *s, const article_matrix *matrix, const panel *p) {
    const article_axis words = {.words = article_words}, numbers = {0};
    script_axes(s, matrix->rows, matrix->columns, p->word_rows ? words : numbers,
                p->word_columns ? words : numbers, FONT);
    if (matrix->rows == 1)
        fprintf(s->script, "unset x2tics\nunset ytics\n");
}

static void write_panel(const sheet *s, const article_matrix *matrix, const panel *p) {
    sheet_area cells = {p->left, p->top, p->cell_width * (double)matrix->columns,
                        CELL_HEIGHT * (double)matrix->rows};
    char title[80];
    snprintf(title, sizeof title, "%s%s%s", matrix->symbol, p->meaning != NULL ? ": " : "",
             p->meaning != NULL ? p->meaning : "");
    script_text(s, p->left, p->top - (matrix->rows > 1 ? 40 : 13), "left", TITLE_FONT, "black",
                title);
    script_area(s, &cells);
    write_axes(s, matrix, p);
    script_cells(s, matrix->symbol, SCALE_SIGNED, false, FONT);
    fprintf(s->script, "\nunset colorbox\nunset label\n\n");
}

void weights_map_write(const sheet *s, const article_matrix weights[ARTICLE_WEIGHTS],
                       const char *suffix) {
    sheet_area bar = {800, 140, 18, 14 * CELL_HEIGHT};
    for (int i = 0; i < ARTICLE_WEIGHTS; i++)
        script_values(s, weights[i].symbol, &weights[i]);
    fprintf(s->script, "\nset multiplot\n");
    script_colours(s, SCALE_SIGNED, script_range(weights, ARTICLE_WEIGHTS), ROOMY, &bar);
    script_title(s, "Weights: all eleven matrices", suffix, "one scale of colours for all");
    for (int i = 0; i < ARTICLE_WEIGHTS; i++)
        write_panel(s, &weights[i], &panels[i]);
    fprintf(s->script, "unset multiplot\n");
}
