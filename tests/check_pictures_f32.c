/* The pictures of the article's model: the principal components behind one of them, where names of
 * points go, what is in the scripts, and what gnuplot makes of them. */
#include "support.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "article/heat_map.h"
#include "article/label_places.h"
#include "article/pictures.h"
#include "article/principal.h"
#include "article/printed.h"
#include "common/files.h"
#include "train/plot.h"

static char directory[256];

static void setup(void) {
    test_directory_make(directory);
    unsetenv("GNUTERM");
}

static void teardown(void) {
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    test_directory_remove(directory);
}

static const char *path_of(const char *name, const char *suffix) {
    static char path[600];
    snprintf(path, sizeof path, "%s/%s%s", directory, name, suffix);
    return path;
}

static char *read_text(const char *name, const char *suffix) {
    size_t size;
    return test_read_file(path_of(name, suffix), &size);
}

static bool exists(const char *name, const char *suffix) {
    return access(path_of(name, suffix), F_OK) == 0;
}

static void assert_holds(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

/* ---- principal components ---- */

/* The expected values of this part are NumPy's: w, v = eigh(cov(E.T)), in falling order, the largest
 * coordinate of each vector positive. */
static const double embedding_mean[6] = {-0.0266666666667, -0.0222222222222, 0.241111111111,
                                         -0.554444444444,  -0.311111111111,  -0.0266666666667};
static const double embedding_variance[6] = {5.5031046741,  2.16875793698,  1.42518266393,
                                             1.05340704672, 0.758001215461, 0.458415907248};
static const double embedding_axes[6][6] = {
    {0.0140616001131, 0.135164785136, 0.776190710701, -0.143927856834, -0.509203577263,
     0.314733572745},
    {-0.117265923831, 0.00950970153903, 0.557100642661, -0.0244673509768, 0.819668170217,
     -0.0578150681023},
    {0.899943802167, 0.0330337425793, -0.0340689694535, -0.40002348764, 0.14535637157,
     0.0818655281095},
    {-0.0110528239552, 0.875589120552, -0.00180415454442, -0.0665838406022, -0.0460819391345,
     -0.476089612506},
    {-0.29238487978, 0.364377144072, -0.293253598386, -0.386908633803, 0.192038285729,
     0.713558485263},
    {0.300900389846, 0.28481890235, -0.00228734520008, 0.815190549111, 0.0934081612034,
     0.393790807876},
};

static principal_axes find_axes(int64_t rows, int64_t columns, const tg_real *values) {
    article_matrix matrix = {"M", rows, columns, values};
    principal_axes axes;
    tg_error error = {0};
    ck_assert_msg(principal_axes_find(&matrix, &axes, &error) == TG_OK, "%s", error.message);
    ck_assert_int_eq(axes.width, columns);
    for (int64_t k = 0; k < columns; k++)
        for (int64_t l = 0; l < columns; l++) {
            double product = 0;
            for (int64_t j = 0; j < columns; j++)
                product += axes.axis[k][j] * axes.axis[l][j];
            ck_assert_msg(fabs(product - (k == l)) < 1e-12, "axes %d and %d: %g", (int)k, (int)l,
                          product);
        }
    return axes;
}

START_TEST(axes_of_the_embedding) {
    const article_printed *printed = &article_weights[0];
    tg_real values[ARTICLE_WORDS * 6];
    for (int i = 0; i < ARTICLE_WORDS * 6; i++)
        values[i] = (tg_real)printed->values[i];
    principal_axes axes = find_axes(ARTICLE_WORDS, 6, values);
    for (int k = 0; k < 6; k++) {
        test_assert_near(axes.mean[k], embedding_mean[k], 1e-6);
        test_assert_near(axes.variance[k], embedding_variance[k], 1e-6);
        for (int j = 0; j < 6; j++)
            test_assert_near(axes.axis[k][j], embedding_axes[k][j], 1e-6);
    }
}
END_TEST

/* Twenty points of sixteen coordinates, from a linear congruential generator that starts at 1. */
static const double wide_variance[16] = {
    0.955325322176,  0.885443205528,  0.715324389821,  0.557657310822,
    0.501691528806,  0.374917670961,  0.324827188613,  0.223171442438,
    0.181080858535,  0.147366604386,  0.0946925024862, 0.0758182731374,
    0.0641156576001, 0.0293909303829, 0.0147221883516, 0.00488815596381};
static const double wide_last_axis[16] = {
    0.544063808166,   0.141070601143,   0.0947619891654, 0.203699124175,
    -0.120498889822,  -0.119158922937,  0.107720460449,  0.452854651448,
    0.140512501853,   -0.0296916149811, 0.397299609706,  -0.278280986905,
    -0.0553901892138, -0.102380224709,  -0.265626179457, 0.219547108039};

START_TEST(axes_of_the_widest_matrix) {
    tg_real values[20 * 16];
    uint32_t state = 1;
    for (int i = 0; i < 20 * 16; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (tg_real)((state >> 8) * 0x1p-23 - 1);
    }
    principal_axes axes = find_axes(20, 16, values);
    for (int k = 0; k < 16; k++) {
        test_assert_near(axes.variance[k], wide_variance[k], 1e-11);
        test_assert_near(axes.axis[15][k], wide_last_axis[k], 1e-9);
    }
}
END_TEST

/* In closed form. */
static const struct {
    int rows, columns;
    tg_real values[12];
    double variance[3];
    double first[3]; /* axis */
} shapes[] = {
    {2, 1, {1, 3}, {2}, {1}},
    {2, 2, {0, 0, 3, 4}, {12.5, 0}, {0.6, 0.8}},                    /* a line */
    {2, 2, {0, 0, 3, -4}, {12.5, 0}, {-0.6, 0.8}},                  /* its sign */
    {4, 2, {1, 0, -1, 0, 0, 1, 0, -1}, {2 / 3.0, 2 / 3.0}, {1, 0}}, /* equal variances */
    {3, 3, {0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0}, {1, 0, 0}},      /* nothing */
    {4, 3, {0, 0, 5, 0, 0, -5, 0, 1, 0, 0, -1, 0}, {50 / 3.0, 2 / 3.0, 0}, {0, 0, 1}},
    {2, 2, {0, 0, 1e-30f, 0}, {5e-61, 0}, {1, 0}},
};

START_TEST(axes_in_closed_form) {
    int rows = shapes[_i].rows, columns = shapes[_i].columns;
    principal_axes axes = find_axes(rows, columns, shapes[_i].values);
    for (int k = 0; k < columns; k++) {
        double expected = shapes[_i].variance[k];
        ck_assert_msg(fabs(axes.variance[k] - expected) <= 1e-6 * expected + 1e-75, "%d: %g", k,
                      axes.variance[k]);
        test_assert_near(axes.axis[0][k], shapes[_i].first[k], 1e-12);
    }
}
END_TEST

static const struct {
    int rows, columns, bad;
    tg_real value;
    tg_status status;
    const char *message;
} no_points[] = {
    {1, 6, 0, 0, TG_EINVAL, "M is 1 x 6"},
    {3, 0, 0, 0, TG_EINVAL, "M is 3 x 0"},
    {3, 17, 0, 0, TG_EINVAL, "M is 3 x 17"},
    {3, 6, 8, NAN, TG_ENONFINITE, "in row 1, column 2"},
    {3, 6, 17, -INFINITY, TG_ENONFINITE, "-inf in row 2, column 5"},
};

START_TEST(matrices_without_axes) {
    tg_real values[3 * 17] = {0};
    values[no_points[_i].bad] = no_points[_i].value;
    article_matrix matrix = {"M", no_points[_i].rows, no_points[_i].columns, values};
    principal_axes axes = {.width = 99};
    tg_error error = {0};
    ck_assert_int_eq(principal_axes_find(&matrix, &axes, &error), no_points[_i].status);
    assert_holds(error.message, no_points[_i].message);
    ck_assert_int_eq(axes.width, 99);
}
END_TEST

/* ---- names of points ---- */

enum { CROWD = 9 };

/* Where a name begins and ends. */
static void extent_of(const placed_label *l, double *left, double *right) {
    *left = l->side == 1    ? l->label_x
            : l->side == -1 ? l->label_x - l->width
                            : l->label_x - l->width / 2;
    *right = *left + l->width;
}

static bool names_overlap(const placed_label *a, const placed_label *b) {
    double a_left, a_right, b_left, b_right;
    extent_of(a, &a_left, &a_right);
    extent_of(b, &b_left, &b_right);
    return a_left < b_right && b_left < a_right &&
           fabs(a->label_y - b->label_y) < (a->height + b->height) / 2;
}

static void assert_apart(const placed_label *labels, int count, double side) {
    for (int i = 0; i < count; i++) {
        double left, right;
        extent_of(&labels[i], &left, &right);
        ck_assert_msg(left >= 0 && right <= side, "%d: %g to %g", i, left, right);
        ck_assert(labels[i].label_y >= labels[i].height / 2);
        ck_assert(labels[i].label_y <= side - labels[i].height / 2);
        for (int k = 0; k < count; k++) {
            ck_assert_msg(k == i || !names_overlap(&labels[i], &labels[k]), "%d covers %d", i, k);
            ck_assert_msg(labels[k].x <= left || labels[k].x >= right ||
                              fabs(labels[k].y - labels[i].label_y) >= labels[i].height / 2,
                          "%d covers point %d", i, k);
        }
    }
}

START_TEST(a_name_alone_stands_right_of_its_point) {
    placed_label label = {.x = 100, .y = 50, .width = 40, .height = 15};
    label_places_find(&label, 1, 300, 300);
    ck_assert_int_eq(label.side, 1);
    ck_assert(label.label_x > 100 && label.label_x < 115);
    ck_assert(label.label_y == 50);
    ck_assert(!label.far);
    label.x = 290; /* at the edge it does not fit there */
    label_places_find(&label, 1, 300, 300);
    ck_assert_int_eq(label.side, -1);
    ck_assert(label.label_x < 290 && label.label_x > 275);
}
END_TEST

/* Steps between the points of a square of nine: far apart, near, and so near that some names must
 * go farther off, with a stroke. */
static const double crowds[] = {60, 24, 14};

START_TEST(names_do_not_cover_each_other) {
    placed_label labels[CROWD];
    int far = 0;
    for (int i = 0; i < CROWD; i++)
        labels[i] = (placed_label){.x = 190 + (i % 3 - 1) * crowds[_i],
                                   .y = 190 + (i / 3 - 1) * crowds[_i],
                                   .width = 20,
                                   .height = 13};
    label_places_find(labels, CROWD, 380, 380);
    assert_apart(labels, CROWD, 380);
    for (int i = 0; i < CROWD; i++) {
        far += labels[i].far;
        double x = labels[i].stroke_x - labels[i].x, y = labels[i].stroke_y - labels[i].y;
        ck_assert(hypot(x, y) < 100 && (!labels[i].far || hypot(x, y) > 10));
    }
    ck_assert(_i == 0 ? far == 0 : _i == 2 ? far > 0 : true);
}
END_TEST

START_TEST(points_in_one_place) {
    placed_label labels[4];
    for (int i = 0; i < 4; i++)
        labels[i] = (placed_label){.x = 5, .y = 5, .width = 30, .height = 12};
    label_places_find(labels, 4, 380, 380);
    assert_apart(labels, 4, 380);
}
END_TEST

/* ---- the scripts ---- */

typedef struct fixture {
    tg_params *params;
    tg_transformer model;
} fixture;

/* The article's model with the article's weights. */
static fixture fixture_make(void) {
    fixture f = {.params = tg_params_create(NULL)};
    tg_transformer_config config = tg_transformer_article();
    ck_assert_int_eq(tg_transformer_init(&f.model, f.params, "", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(article_load_printed(f.params, NULL), TG_OK);
    return f;
}

/* Draws, and returns the notes, which the caller frees. */
static char *draw(const fixture *f, const char *suffix) {
    FILE *file = fopen(path_of("notes", ""), "w");
    tg_error error = {0};
    ck_assert_msg(article_pictures(&f->model, directory, suffix, file, &error) == TG_OK, "%s",
                  error.message);
    fclose(file);
    return read_text("notes", "");
}

static void draw_printed(void) {
    fixture f = fixture_make();
    char *notes = draw(&f, " (the article's weights)");
    ck_assert_str_eq(notes, "");
    free(notes);
    tg_params_free(f.params);
}

/* The block's numbers are those of the article, and nothing follows them. */
static void assert_block(const char *script, const char *block, const article_printed *printed,
                         double tolerance) {
    char begin[80];
    snprintf(begin, sizeof begin, "\n$%s << end\n", block);
    const char *at = strstr(script, begin);
    ck_assert_msg(at != NULL, "no block %s", block);
    at += strlen(begin);
    for (int64_t i = 0; i < printed->rows * printed->columns; i++) {
        char *end;
        double value = strtod(at, &end), expected = printed->values[i];
        ck_assert_msg(value == expected || fabs(value - expected) <= tolerance,
                      "%s, cell %d: %g, not %g", block, (int)i, value, expected);
        bool last = (i + 1) % printed->columns == 0;
        ck_assert_msg(*end == (last ? '\n' : ' '), "%s, behind cell %d: %.20s", block, (int)i, end);
        at = end;
    }
    ck_assert_msg(strncmp(at, "\nend\n", 5) == 0, "%s goes on: %.20s", block, at);
}

START_TEST(the_scripts_hold_every_value) {
    draw_printed();
    static const struct {
        const char *name;
        article_table table;
    } maps[] = {{"attention", ARTICLE_ATTENTION},
                {"scores", ARTICLE_MASKED_SCORES},
                {"prediction", ARTICLE_PREDICTIONS}};
    for (int i = 0; i < 3; i++) {
        char *script = read_text(maps[i].name, ".gp");
        assert_block(script, maps[i].name, &article_tables[maps[i].table], 0.0051);
        free(script);
    }
    char *script = read_text("weights", ".gp");
    for (int i = 0; i < ARTICLE_WEIGHTS; i++)
        assert_block(script, article_weights[i].symbol, &article_weights[i], 1e-6);
    free(script);
}
END_TEST

/* Each word and number stands at its place on the axes. */
START_TEST(the_scripts_hold_every_word) {
    draw_printed();
    static const char *const sentence[ARTICLE_LENGTH] = {"the", "rise", "of",      "the", "machine",
                                                         "was", "slow", "but",     "the", "fall",
                                                         "of",  "the",  "machine", "was"};
    static const char *const words[ARTICLE_WORDS] = {"the",  "rise", "of",   "machine", "was",
                                                     "slow", "but",  "fall", "fast"};
    char wanted[80];
    char *attention = read_text("attention", ".gp"), *scores = read_text("scores", ".gp"),
         *prediction = read_text("prediction", ".gp"), *weights = read_text("weights", ".gp"),
         *embedding = read_text("embedding", ".gp");
    for (int i = 0; i < ARTICLE_LENGTH; i++) {
        snprintf(wanted, sizeof wanted, "'%d '.'%s' %d", i, sentence[i], i);
        assert_holds(attention, wanted);
        assert_holds(scores, wanted);
        assert_holds(prediction, wanted);
        snprintf(wanted, sizeof wanted, "\"%d\\n\".'%s' %d", i, sentence[i], i);
        assert_holds(attention, wanted);
        assert_holds(scores, wanted);
        snprintf(wanted, sizeof wanted, "\"%d\"\n", i);
        assert_holds(embedding, wanted);
    }
    for (int i = 0; i < ARTICLE_WORDS; i++) {
        snprintf(wanted, sizeof wanted, "'%s' %d", words[i], i);
        assert_holds(prediction, wanted);
        ck_assert_int_eq(count_of(weights, wanted), 2); /* rows of E, columns of WU */
        snprintf(wanted, sizeof wanted, "\"%s\"\n", words[i]);
        assert_holds(embedding, wanted);
    }
    free(attention);
    free(scores);
    free(prediction);
    free(weights);
    free(embedding);
}
END_TEST

/* NumPy: (E - mean) v.T and P v.T with the first two axes. */
static const double word_points[ARTICLE_WORDS][2] = {
    {-0.53109, 0.611802},   {0.659591, 1.579914},  {0.073468, -0.830533},
    {5.766266, -0.12142},   {-2.620458, 1.104563}, {-1.219557, -2.47794},
    {-0.373095, -0.590594}, {-0.780222, 2.065603}, {-0.974903, -1.341396}};
static const double position_points[ARTICLE_LENGTH][2] = {
    {0.027368, 0.401988},  {0.035894, 0.079292},  {-0.941244, 0.527844}, {-0.293599, 0.742277},
    {0.432194, 0.166694},  {-0.596658, 0.288907}, {0.311858, 0.62593},   {-0.939288, -0.262006},
    {0.150247, 0.126753},  {0.371175, 0.49628},   {-0.82348, 0.032058},  {0.235797, 0.240569},
    {2.914316, -0.548519}, {-0.678529, 0.266983}};

static void assert_points(const char *script, const char *block, int count,
                          const double expected[][2]) {
    char begin[80];
    snprintf(begin, sizeof begin, "\n$%s << end\n", block);
    const char *at = strstr(script, begin);
    ck_assert_ptr_nonnull(at);
    at += strlen(begin);
    for (int i = 0; i < count; i++) {
        double x, y;
        ck_assert_int_eq(sscanf(at, "%lf %lf", &x, &y), 2);
        ck_assert_msg(fabs(x - expected[i][0]) < 2e-6 && fabs(y - expected[i][1]) < 2e-6,
                      "%s %d: %g, %g", block, i, x, y);
        at = strchr(at, '\n') + 1;
    }
    ck_assert_int_eq(strncmp(at, "end\n", 4), 0);
}

START_TEST(the_points_of_the_embedding) {
    draw_printed();
    char *script = read_text("embedding", ".gp");
    assert_points(script, "words", ARTICLE_WORDS, word_points);
    assert_points(script, "positions", ARTICLE_LENGTH, position_points);
    assert_holds(script, "'component 1: 48.4 % of the variance of E'");
    assert_holds(script, "'component 2: 19.1 % of the variance of E'");
    assert_holds(script, "'component 1: 32.8 % of the variance of P'");
    assert_holds(script, "'component 2: 4.1 % of the variance of P'");
    free(script);
}
END_TEST

/* ---- the pictures ---- */

/* How many values with two decimals are written in the picture. */
static int values_in(const char *picture) {
    int count = 0;
    for (const char *at = strchr(picture, '>'); at != NULL; at = strchr(at + 1, '>')) {
        const char *c = at + 1 + (at[1] == '-');
        size_t digits = strspn(c, "0123456789");
        count += digits > 0 && c[digits] == '.' && strspn(c + digits + 1, "0123456789") == 2 &&
                 c[digits + 3] == '<';
    }
    return count;
}

/* Cells that are not masked: 14 * 15 / 2, twice; 14 * 9; all weights; none. */
static const int values[ARTICLE_PICTURES] = {105, 105, 126, 498, 0};

static const char *const titles[ARTICLE_PICTURES] = {"Attention A", "Masked scores S",
                                                     "Predictions p", "Weights", "Embeddings"};

START_TEST(the_pictures_are_drawn) {
    draw_printed();
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        const char *name = article_picture_names[i];
        char *picture = read_text(name, ".svg");
        assert_holds(picture, "</svg>");
        assert_holds(picture, titles[i]);
        assert_holds(picture, " (the article's weights)<");
        assert_holds(picture, ">machine<");
        ck_assert_msg(values_in(picture) == values[i], "%s has %d values", name,
                      values_in(picture));
        ck_assert(!exists(name, ".svg.tmp"));
        free(picture);
    }
}
END_TEST

START_TEST(the_weights_are_titled_by_their_symbols) {
    draw_printed();
    char *picture = read_text("weights", ".svg");
    static const char *const symbols[ARTICLE_WEIGHTS] = {
        ">E:", ">P:", ">WQ:", ">WK:", ">WV:", ">WO:", ">W1:", ">b1<", ">W2:", ">b2<", ">WU:"};
    for (int i = 0; i < ARTICLE_WEIGHTS; i++)
        ck_assert_msg(count_of(picture, symbols[i]) == 1, "%s", symbols[i]);
    assert_holds(picture, ">one scale of colours for all<");
    free(picture);
}
END_TEST

/* A rectangle of a picture, and its colour. */
typedef struct cell {
    double left, right, top, bottom;
    int colour[3];
} cell;

/* Relative luminance and contrast by WCAG 2.2. */
static double luminance(const int colour[3]) {
    static const double weight[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double c = colour[i] / 255.0;
        sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(const int a[3], const int b[3]) {
    double light = fmax(luminance(a), luminance(b)), dark = fmin(luminance(a), luminance(b));
    return (light + 0.05) / (dark + 0.05);
}

static bool read_cell(const char *line, cell *c) {
    double x[2], y[2];
    const char *at = strstr(line, "<polygon fill = 'rgb(");
    if (at == NULL ||
        sscanf(at, "<polygon fill = 'rgb(%d,%d,%d)' points = '%lf,%lf %lf,%*f %*f,%lf",
               &c->colour[0], &c->colour[1], &c->colour[2], &x[0], &y[0], &x[1], &y[1]) != 7)
        return false;
    *c = (cell){fmin(x[0], x[1]),
                fmax(x[0], x[1]),
                fmin(y[0], y[1]),
                fmax(y[0], y[1]),
                {c->colour[0], c->colour[1], c->colour[2]}};
    return true;
}

/* The place and colour of a centred text. */
static bool read_text_place(const char *line, double *x, double *y, int colour[3]) {
    char name[40];
    const char *at = strstr(line, "translate(");
    if (at == NULL || strstr(line, "text-anchor=\"middle\"") == NULL ||
        sscanf(at, "translate(%lf,%lf)\" stroke=\"none\" fill=\"%39[^\"]", x, y, name) != 3)
        return false;
    bool white = strcmp(name, "white") == 0;
    if (sscanf(name, "rgb(%d,%d,%d)", &colour[0], &colour[1], &colour[2]) != 3)
        colour[0] = colour[1] = colour[2] = white ? 255 : 0;
    return true;
}

/* Of every text that is written on a cell; returns how many there are. */
static int assert_readable(char *picture) {
    static cell cells[2000];
    int count = 0, readable = 0, colour[3];
    double x, y;
    for (char *line = strtok(picture, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ck_assert_int_lt(count, 2000);
        count += read_cell(line, &cells[count]);
        if (!read_text_place(line, &x, &y, colour))
            continue;
        const cell *below = NULL;
        for (int i = 0; i < count; i++)
            if (cells[i].left < x && x < cells[i].right && cells[i].top < y - 4 &&
                y - 4 < cells[i].bottom && cells[i].bottom - cells[i].top < 60)
                below = &cells[i];
        if (below == NULL)
            continue;
        ck_assert_msg(contrast(colour, below->colour) >= 4.5, "at %g, %g: %g", x, y,
                      contrast(colour, below->colour));
        readable++;
    }
    return readable;
}

START_TEST(the_values_contrast_with_their_cells) {
    draw_printed();
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        char *picture = read_text(article_picture_names[i], ".svg");
        ck_assert_int_eq(assert_readable(picture), values[i]);
        free(picture);
    }
}
END_TEST

/* Every shade of both scales: 14 x 14 values from the lowest to the highest. */
START_TEST(every_shade_contrasts_with_its_value) {
    enum { SIDE = 14, SHADES = SIDE * SIDE };
    colour_scale scale = _i == 0 ? SCALE_SHARES : SCALE_SIGNED;
    tg_real shades[SHADES];
    for (int i = 0; i < SHADES; i++)
        shades[i] = (tg_real)((scale == SCALE_SHARES ? i : 2 * i - SHADES + 1) / (SHADES - 1.0));
    article_matrix matrix = {"S", SIDE, SIDE, shades};
    heat_map map = {.matrix = &matrix,
                    .block = "shades",
                    .title = "Shades",
                    .subtitle = "",
                    .row_caption = "",
                    .column_caption = "",
                    .legend = "",
                    .scale = scale};
    sheet s = {fopen(path_of("text", ""), "w"), heat_map_height(SIDE)};
    ck_assert_ptr_nonnull(s.script);
    heat_map_write(&s, &map);
    ck_assert_int_eq(fclose(s.script), 0);
    char *text = read_text("text", "");
    tg_plot_script_options options = {.width = PICTURE_WIDTH, .height = s.height};
    tg_plot_outcome outcome;
    ck_assert_int_eq(tg_plot_script(NULL, directory, "shades", text, &options, &outcome, NULL),
                     TG_OK);
    ck_assert_msg(outcome.result == TG_PLOT_DRAWN, "%s", outcome.note);
    char *picture = read_text("shades", ".svg");
    ck_assert_int_eq(assert_readable(picture), SHADES);
    free(picture);
    free(text);
}
END_TEST

/* Takes the pictures away, and runs the command in their directory. */
static void draw_by_hand(const char *command, char *pictures[ARTICLE_PICTURES]) {
    char line[700];
    draw_printed();
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        pictures[i] = read_text(article_picture_names[i], ".svg");
        ck_assert_int_eq(unlink(path_of(article_picture_names[i], ".svg")), 0);
    }
    snprintf(line, sizeof line, "cd '%s' && { %s; } 2>errors", directory, command);
    ck_assert_int_eq(system(line), 0);
    char *messages = read_text("errors", "");
    ck_assert_str_eq(messages, "");
    free(messages);
}

START_TEST(the_scripts_one_by_one) {
    char *pictures[ARTICLE_PICTURES];
    draw_by_hand("for script in *.gp; do gnuplot \"$script\" || exit 1; done", pictures);
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        char *again = read_text(article_picture_names[i], ".svg");
        ck_assert_str_eq(again, pictures[i]);
        free(again);
        free(pictures[i]);
    }
}
END_TEST

/* The same texts, and not the same bytes: gnuplot remembers colours from one to the next. */
START_TEST(the_scripts_in_one_gnuplot) {
    char *pictures[ARTICLE_PICTURES];
    draw_by_hand("gnuplot *.gp", pictures);
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        char *again = read_text(article_picture_names[i], ".svg");
        assert_holds(again, "</svg>");
        ck_assert_int_eq(count_of(again, "<text"), count_of(pictures[i], "<text"));
        assert_holds(again, titles[i]);
        free(again);
        free(pictures[i]);
    }
}
END_TEST

/* Weights as no training leaves them. */
static const double fills[] = {0, 1e-30, 1, 1e6, 1e18};

START_TEST(weights_of_all_sizes) {
    fixture f = fixture_make();
    for (size_t i = 0; i < tg_params_count(f.params); i++) {
        tg_param *param = tg_params_at(f.params, i);
        tg_real *value = tg_param_edit(param);
        for (int64_t j = 0; j < tg_param_count(param); j++)
            value[j] = (tg_real)(fills[_i] * (j % 3 == 0 ? -1 : 1) * (double)(i + 1));
    }
    char *notes = draw(&f, NULL);
    ck_assert_str_eq(notes, "");
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        char *picture = read_text(article_picture_names[i], ".svg");
        assert_holds(picture, "</svg>");
        free(picture);
    }
    free(notes);
    tg_params_free(f.params);
}
END_TEST

/* The longest text of digits, points and signs. */
static size_t longest_value(const char *picture) {
    size_t longest = 0;
    for (const char *at = strchr(picture, '>'); at != NULL; at = strchr(at + 1, '>')) {
        size_t length = strspn(at + 1, "-.0123456789");
        if (at[1 + length] == '<' && length > longest)
            longest = length;
    }
    return longest;
}

/* Scores of three digits before the point, and weights of two, have one decimal: they still fit. */
START_TEST(large_values_have_fewer_decimals) {
    fixture f = fixture_make();
    tg_param *query = f.model.blocks[0].attention.query.weight;
    tg_real *value = tg_param_edit(query);
    for (int64_t i = 0; i < tg_param_count(query); i++)
        value[i] *= 15;
    char *notes = draw(&f, NULL);
    ck_assert_str_eq(notes, "");
    char *scores = read_text("scores", ".svg"), *weights = read_text("weights", ".svg"),
         *attention = read_text("attention", ".svg");
    ck_assert_int_eq(values_in(scores), 0);
    ck_assert_int_eq(values_in(weights), 0);
    ck_assert_int_eq(values_in(attention), values[0]);
    ck_assert_uint_eq(longest_value(scores), strlen("-999.9"));
    ck_assert_uint_eq(longest_value(weights), strlen("-99.9"));
    assert_holds(weights, ">-30.8<"); /* 15 * -2.05 */
    free(scores);
    free(weights);
    free(attention);
    free(notes);
    tg_params_free(f.params);
}
END_TEST

START_TEST(names_that_a_shell_would_read) {
    char odd[400];
    snprintf(odd, sizeof odd, "%s/it's a \"$HOME\" `touch pwned`; dir", directory);
    ck_assert_int_eq(mkdir(odd, 0777), 0);
    snprintf(directory, sizeof directory, "%.255s", odd);
    fixture f = fixture_make();
    char *notes = draw(&f, " 'of' \"$HOME\" `touch pwned` %d \\");
    ck_assert_str_eq(notes, "");
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        char *picture = read_text(article_picture_names[i], ".svg");
        assert_holds(picture, "</svg>");
        assert_holds(picture, " 'of' \"$HOME\" `touch pwned` %d \\<");
        free(picture);
    }
    ck_assert(!exists("pwned", ""));
    free(notes);
    tg_params_free(f.params);
    *strstr(directory, "/it's") = '\0';
}
END_TEST

/* ---- without gnuplot ---- */

START_TEST(no_gnuplot_in_the_path) {
    fixture f = fixture_make();
    setenv("PATH", path_of("nowhere", ""), 1);
    char *notes = draw(&f, NULL), wanted[800];
    snprintf(wanted, sizeof wanted,
             "attention.svg is not drawn: there is no program gnuplot; to draw it later, run "
             "\"gnuplot attention.gp\" in %s; likewise scores, prediction, weights, embedding\n",
             directory);
    ck_assert_str_eq(notes, wanted);
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        ck_assert(exists(article_picture_names[i], ".gp"));
        ck_assert(!exists(article_picture_names[i], ".svg"));
    }
    ck_assert_int_eq(article_pictures(&f.model, directory, NULL, NULL, NULL), TG_OK);
    free(notes);
    tg_params_free(f.params);
}
END_TEST

static const struct {
    const char *gnuplot; /* a shell script in its place */
    int runs;
    const char *note;
} fakes[] = {
    {"exit 1", 5, "attention.svg is not drawn: gnuplot exited with 1; to draw it later, run "},
    {"exit 127", 1, "attention.svg is not drawn: there is no program gnuplot; "},
    {"case $4 in w*) exit 3; esac; echo picture > ${4%.gp}.svg.tmp", 5,
     "weights.svg is not drawn: gnuplot exited with 3; "},
};

START_TEST(what_gnuplot_may_do) {
    char text[300], path[800];
    snprintf(text, sizeof text, "#!/bin/sh\necho run >> runs\n%s\n", fakes[_i].gnuplot);
    test_write_file(path_of("gnuplot", ""), text, strlen(text));
    ck_assert_int_eq(chmod(path_of("gnuplot", ""), 0755), 0);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", directory);
    setenv("PATH", path, 1);
    fixture f = fixture_make();
    char *notes = draw(&f, NULL);
    char *runs = read_text("runs", "");
    ck_assert_int_eq(count_of(runs, "run"), fakes[_i].runs);
    ck_assert_int_eq(strncmp(notes, fakes[_i].note, strlen(fakes[_i].note)), 0);
    ck_assert_int_eq(count_of(notes, "\n"), 1);
    ck_assert_int_eq(count_of(notes, "likewise"), fakes[_i].note[0] == 'a');
    for (int i = 0; i < ARTICLE_PICTURES; i++)
        ck_assert(exists(article_picture_names[i], ".gp"));
    free(runs);
    free(notes);
    tg_params_free(f.params);
}
END_TEST

/* ---- errors ---- */

static const struct {
    int64_t vocabulary, context, hidden, layers;
    const char *message;
} models[] = {
    {10, 14, 12, 1, "article_pictures: E is 10 x 6, not 9 x 6"},
    {9, 15, 12, 1, "article_pictures: P is 15 x 6, not 14 x 6"},
    {9, 14, 13, 1, "article_pictures: W1 is 6 x 13, not 6 x 12"},
    {9, 14, 12, 2, "article_pictures: 2 blocks, not one"},
};

START_TEST(other_models) {
    tg_params *params = tg_params_create(NULL);
    tg_transformer_config config = tg_transformer_article();
    config.vocabulary = models[_i].vocabulary;
    config.context = models[_i].context;
    config.hidden = models[_i].hidden;
    config.layers = models[_i].layers;
    tg_transformer model;
    tg_error error = {0};
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(article_pictures(&model, directory, NULL, NULL, &error), TG_ESHAPE);
    ck_assert_str_eq(error.message, models[_i].message);
    ck_assert(!exists("attention", ".gp"));
    tg_params_free(params);
}
END_TEST

START_TEST(what_cannot_be_drawn) {
    fixture f = fixture_make();
    tg_error error = {0};
    ck_assert_int_eq(article_pictures(&f.model, directory, "a\nb", NULL, &error), TG_EINVAL);
    assert_holds(error.message, "0x0a");
    ck_assert_int_eq(article_pictures(&f.model, path_of("nowhere", ""), NULL, NULL, &error),
                     TG_EIO);
    assert_holds(error.message, "/nowhere");
    tg_param_edit(f.model.blocks[0].attention.key.weight)[8] = NAN;
    ck_assert_int_eq(article_pictures(&f.model, directory, NULL, NULL, &error), TG_ENONFINITE);
    assert_holds(error.message, "WK has ");
    assert_holds(error.message, "in row 1, column 2");
    ck_assert(!exists("attention", ".gp"));
    tg_params_free(f.params);
}
END_TEST

/* ---- directories ---- */

START_TEST(directories_are_made) {
    struct stat about;
    tg_error error = {0};
    char deep[600], long_path[5000];
    snprintf(deep, sizeof deep, "%s/a/b c//d/", directory);
    ck_assert_msg(make_directory(deep, &error) == TG_OK, "%s", error.message);
    ck_assert_int_eq(stat(path_of("a/b c/d", ""), &about), 0);
    ck_assert(S_ISDIR(about.st_mode));
    ck_assert_int_eq(make_directory(deep, &error), TG_OK); /* it is there */
    test_write_file(path_of("file", ""), "text", 4);
    ck_assert_int_eq(make_directory(path_of("file", ""), &error), TG_EIO);
    assert_holds(error.message, "/file is not a directory");
    ck_assert_int_eq(make_directory(path_of("file/below", ""), &error), TG_EIO);
    assert_holds(error.message, "/file/below: Not a directory");
    ck_assert_int_eq(make_directory("", &error), TG_EIO);
    memset(long_path, 'x', sizeof long_path);
    long_path[4064] = '\0';
    ck_assert_int_eq(make_directory(long_path, &error), TG_EINVAL);
    assert_holds(error.message, "4064");
}
END_TEST

/* ---- article_tables ---- */

#ifdef TG_TEST_PROGRAMS

/* Runs it with the rest of a shell's command; its stdout goes to `out`, its stderr to `err`. */
static int run(const char *environment, const char *arguments) {
    char command[2000];
    snprintf(command, sizeof command, "cd '%s' && %s '%s/article_tables' %s >out 2>err", directory,
             environment, TG_TEST_PROGRAMS, arguments);
    int status = system(command);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(article_tables_draws) {
    ck_assert_int_eq(run("", "--plot 'new/the pictures'"), 0);
    char *out = read_text("out", ""), *err = read_text("err", "");
    assert_holds(out, "Pictures, each beside the script that draws it: new/the pictures\n\n"
                      "1302 of 1302 cells as printed\n");
    ck_assert_str_eq(err, "");
    for (int i = 0; i < ARTICLE_PICTURES; i++) {
        char name[100];
        snprintf(name, sizeof name, "new/the pictures/%s", article_picture_names[i]);
        char *picture = read_text(name, ".svg");
        assert_holds(picture, titles[i]);
        assert_holds(picture, " (the article's weights)<");
        free(picture);
    }
    free(out);
    free(err);
}
END_TEST

START_TEST(article_tables_without_gnuplot) {
    ck_assert_int_eq(run("PATH=/nowhere", "--quiet --plot pictures"), 0);
    char *out = read_text("out", ""), *err = read_text("err", "");
    ck_assert_str_eq(out, "1302 of 1302 cells as printed\n");
    assert_holds(err, "there is no program gnuplot");
    ck_assert_int_eq(count_of(err, "\n"), 1);
    ck_assert(exists("pictures/weights", ".gp"));
    free(out);
    free(err);
}
END_TEST

START_TEST(article_tables_draws_only_when_asked) {
    ck_assert_int_eq(run("", "--quiet"), 0);
    ck_assert(!exists("attention", ".gp"));
    test_write_file(path_of("file", ""), "text", 4);
    ck_assert_int_eq(run("", "--quiet --plot file"), 1);
    char *err = read_text("err", "");
    ck_assert_str_eq(err, "article_tables: file is not a directory\n");
    free(err);
}
END_TEST

static TCase *program(void) {
    TCase *tests = tcase_create("article_tables");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, article_tables_draws);
    tcase_add_test(tests, article_tables_without_gnuplot);
    tcase_add_test(tests, article_tables_draws_only_when_asked);
    return tests;
}

#endif

static TCase *points(void) {
    TCase *tests = tcase_create("points");
    tcase_add_test(tests, axes_of_the_embedding);
    tcase_add_test(tests, axes_of_the_widest_matrix);
    tcase_add_loop_test(tests, axes_in_closed_form, 0, (int)(sizeof shapes / sizeof shapes[0]));
    tcase_add_loop_test(tests, matrices_without_axes, 0,
                        (int)(sizeof no_points / sizeof no_points[0]));
    tcase_add_test(tests, a_name_alone_stands_right_of_its_point);
    tcase_add_loop_test(tests, names_do_not_cover_each_other, 0,
                        (int)(sizeof crowds / sizeof crowds[0]));
    tcase_add_test(tests, points_in_one_place);
    return tests;
}

static TCase *pictures(void) {
    TCase *tests = tcase_create("pictures");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_scripts_hold_every_value);
    tcase_add_test(tests, the_scripts_hold_every_word);
    tcase_add_test(tests, the_points_of_the_embedding);
    tcase_add_test(tests, the_pictures_are_drawn);
    tcase_add_test(tests, the_weights_are_titled_by_their_symbols);
    tcase_add_test(tests, the_values_contrast_with_their_cells);
    tcase_add_loop_test(tests, every_shade_contrasts_with_its_value, 0, 2);
    tcase_add_test(tests, the_scripts_one_by_one);
    tcase_add_test(tests, the_scripts_in_one_gnuplot);
    tcase_add_loop_test(tests, weights_of_all_sizes, 0, (int)(sizeof fills / sizeof fills[0]));
    tcase_add_test(tests, large_values_have_fewer_decimals);
    tcase_add_test(tests, names_that_a_shell_would_read);
    return tests;
}

static TCase *faults(void) {
    TCase *tests = tcase_create("faults");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, no_gnuplot_in_the_path);
    tcase_add_loop_test(tests, what_gnuplot_may_do, 0, (int)(sizeof fakes / sizeof fakes[0]));
    tcase_add_loop_test(tests, other_models, 0, (int)(sizeof models / sizeof models[0]));
    tcase_add_test(tests, what_cannot_be_drawn);
    tcase_add_test(tests, directories_are_made);
    return tests;
}

static Suite *suite(void) {
    Suite *made = suite_create("pictures");
    suite_add_tcase(made, points());
    suite_add_tcase(made, pictures());
    suite_add_tcase(made, faults());
#ifdef TG_TEST_PROGRAMS
    suite_add_tcase(made, program());
#endif
    return made;
}

int main(void) {
    return test_main(suite());
}
