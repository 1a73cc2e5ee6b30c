#include "article/embedding_map.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "article/label_places.h"
#include "article/principal.h"

enum { POINTS = 64, NAME_SIZE = 32, TOP = 122, SIDE = 372, SQUARES = 2 };

/* The width of a letter and the height of a line, as shares of the font's size: of a wide font, to
 * be safe. */
static const double LETTER_WIDTH = 0.62, LINE_HEIGHT = 1.0;

/* The empty margin around the points, on each side, as a share of what they span. */
static const double MARGIN = 0.1;

/* A square of the picture, and how its points are shown. */
typedef struct square {
    const char *block, *title, *symbol;
    double left; /* in pixels */
    int point_type, font;
    double point_size;
    const char *colour;
} square;

static const square squares[SQUARES] = {
    {"words", "The words: rows of E, less their mean", "E", 90, 7, 15, 0.9, PICTURE_BLUE},
    {"positions", "The positions: rows of P", "P", 560, 5, 13, 0.7, PICTURE_ORANGE},
};

/* The points of a square. */
typedef struct cloud {
    int count;
    double x[POINTS], y[POINTS];
    char names[POINTS][NAME_SIZE];
    double share[2];         /* of the variance of all coordinates, along the axes */
    double left, top, scale; /* the square's corner in the units of the points; pixels for a unit */
    placed_label labels[POINTS];
} cloud;

static double variance_of(const double *values, int count) {
    double mean = 0, sum = 0;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum / (count - 1);
}

/* The rows, less `origin`, along the k-th axis. */
static void project(const article_matrix *rows, const double *origin, const double *axis,
                    double *along) {
    for (int64_t i = 0; i < rows->rows; i++) {
        along[i] = 0;
        for (int64_t j = 0; j < rows->columns; j++)
            along[i] += ((double)rows->values[i * rows->columns + j] - origin[j]) * axis[j];
    }
}

static void find_points(const article_matrix *rows, const double *origin,
                        const principal_axes *axes, cloud *c) {
    double total = 0, column[POINTS];
    c->count = (int)rows->rows;
    project(rows, origin, axes->axis[0], c->x);
    project(rows, origin, axes->axis[1], c->y);
    for (int64_t j = 0; j < rows->columns; j++) {
        for (int i = 0; i < c->count; i++)
            column[i] = (double)rows->values[i * rows->columns + j];
        total += variance_of(column, c->count);
    }
    c->share[0] = total > 0 ? variance_of(c->x, c->count) / total : 0;
    c->share[1] = total > 0 ? variance_of(c->y, c->count) / total : 0;
}

static void find_bounds(const double *values, int count, double *low, double *high) {
    *low = *high = values[0];
    for (int i = 1; i < count; i++) {
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

/* A unit is as long on one axis as on the other. Points that are all in one place get a square around
 * them that their digits can tell from a point. */
static void frame(cloud *c) {
    double low_x, high_x, low_y, high_y;
    find_bounds(c->x, c->count, &low_x, &high_x);
    find_bounds(c->y, c->count, &low_y, &high_y);
    double span = fmax(high_x - low_x, high_y - low_y) * (1 + 2 * MARGIN);
    double distance = fmax(fmax(fabs(low_x), fabs(high_x)), fmax(fabs(low_y), fabs(high_y)));
    span = fmax(span, 1e-6 * distance);
    span = span > 0 ? span : 1;
    c->left = (low_x + high_x - span) / 2;
    c->top = (low_y + high_y + span) / 2;
    c->scale = SIDE / span;
}

static void place_names(cloud *c, int font) {
    for (int i = 0; i < c->count; i++)
        c->labels[i] = (placed_label){
            .x = (c->x[i] - c->left) * c->scale,
            .y = (c->top - c->y[i]) * c->scale,
            .width = LETTER_WIDTH * font * (double)strlen(c->names[i]),
            .height = LINE_HEIGHT * font,
        };
    label_places_find(c->labels, c->count, SIDE, SIDE);
}

/* ---- the script ---- */

/* By the side of the point on which the name stands. */
static const char *const alignments[] = {"right", "center", "left"};

/* Columns: x, y, x and y of the name, which end of it that is, the name. */
static void write_points(const sheet *s, const square *q, const cloud *c) {
    fprintf(s->script, "$%s << end\n", q->block);
    for (int i = 0; i < c->count; i++)
        fprintf(s->script, "%14.9g %14.9g %14.9g %14.9g %6s \"%s\"\n", c->x[i], c->y[i],
                c->left + c->labels[i].label_x / c->scale, c->top - c->labels[i].label_y / c->scale,
                alignments[c->labels[i].side + 1], c->names[i]);
    fprintf(s->script, "end\n");
}

/* From the points whose names are far off. */
static void write_strokes(const sheet *s, const cloud *c) {
    for (int i = 0; i < c->count; i++)
        if (c->labels[i].far)
            fprintf(s->script,
                    "set arrow from %.9g, %.9g to %.9g, %.9g nohead linecolor rgb '#a0a0a0'\n",
                    c->x[i], c->y[i], c->left + c->labels[i].stroke_x / c->scale,
                    c->top - c->labels[i].stroke_y / c->scale);
}

static void write_square(const sheet *s, const square *q, const cloud *c) {
    sheet_area area = {q->left, TOP, SIDE, SIDE};
    double span = SIDE / c->scale;
    script_text(s, q->left + SIDE / 2.0, TOP - 20, "center", 15, "black", q->title);
    script_area(s, &area);
    fprintf(s->script, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", c->left, c->left + span,
            c->top - span, c->top);
    fprintf(s->script,
            "set xlabel 'component 1: %.1f %% of the variance of %s' font ',13'\n"
            "set ylabel 'component 2: %.1f %% of the variance of %s' font ',13'\n",
            100 * c->share[0], q->symbol, 100 * c->share[1], q->symbol);
    write_strokes(s, c);
    fprintf(s->script,
            "plot $%s using 1:2 with points pointtype %d pointsize %.1f linecolor rgb '%s'",
            q->block, q->point_type, q->point_size, q->colour);
    for (int i = 0; i < 3; i++)
        fprintf(s->script,
                ", \\\n     $%s using (strcol(5) eq '%s' ? $3 : NaN):4:6 with labels %s font ',%d'",
                q->block, alignments[i], alignments[i], q->font);
    fprintf(s->script, "\nunset arrow\nunset label\n\n");
}

static void write_all(const sheet *s, const cloud clouds[SQUARES], const char *suffix) {
    for (int i = 0; i < SQUARES; i++)
        write_points(s, &squares[i], &clouds[i]);
    fprintf(s->script, "\nset multiplot\nset key off\n"
                       "set border 15 linecolor rgb '#c0c0c0'\n"
                       "set tics nomirror out scale 0.5 font ',12' textcolor rgb '#404040'\n"
                       "set xzeroaxis linetype 1 linecolor rgb '#dcdcdc'\n"
                       "set yzeroaxis linetype 1 linecolor rgb '#dcdcdc'\n");
    script_title(s, "Embeddings: two principal components of E", suffix,
                 "A word at a position is its point on the left, moved by that of the position on "
                 "the right.");
    for (int i = 0; i < SQUARES; i++)
        write_square(s, &squares[i], &clouds[i]);
    fprintf(s->script, "unset multiplot\n");
}

tg_status embedding_map_write(const sheet *s, const article_matrix *words, const char *const *names,
                              const article_matrix *positions, const char *suffix,
                              tg_error *error) {
    if (words->rows > POINTS || positions->rows < 2 || positions->rows > POINTS ||
        words->columns < 2 || words->columns != positions->columns)
        return tg_fail(error, TG_EINVAL,
                       "embedding_map_write: %" PRId64 " x %" PRId64 " and %" PRId64 " x %" PRId64,
                       words->rows, words->columns, positions->rows, positions->columns);
    static const double origin[PRINCIPAL_WIDTH] = {0};
    principal_axes axes;
    cloud clouds[SQUARES];
    tg_status status = principal_axes_find(words, &axes, error);
    if (status != TG_OK)
        return status;
    find_points(words, axes.mean, &axes, &clouds[0]);
    find_points(positions, origin, &axes, &clouds[1]);
    for (int i = 0; i < clouds[0].count; i++)
        snprintf(clouds[0].names[i], NAME_SIZE, "%s", names[i]);
    for (int i = 0; i < clouds[1].count; i++)
        snprintf(clouds[1].names[i], NAME_SIZE, "%d", i);
    for (int i = 0; i < SQUARES; i++) {
        frame(&clouds[i]);
        place_names(&clouds[i], squares[i].font);
    }
    write_all(s, clouds, suffix);
    return TG_OK;
}
