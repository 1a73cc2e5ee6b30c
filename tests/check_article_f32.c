/* The article: its printed numbers, its eleven tables computed from its weights, how matrices and
 * the walk-through are printed, and the program article_tables. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "article/matrix.h"
#include "article/printed.h"
#include "article/tables.h"
#include "article/walkthrough.h"
#include "autograd/ops.h"
#include "train/corpus.h"

/* The article's model on a tape of its own. */
typedef struct fixture {
    tg_params *params;
    tg_tape *tape;
    tg_transformer model;
    article_matrix tables[ARTICLE_TABLES];
} fixture;

static fixture fixture_make(void) {
    fixture f = {.params = tg_params_create(NULL), .tape = tg_tape_create(NULL)};
    tg_transformer_config config = tg_transformer_article();
    ck_assert_int_eq(tg_transformer_init(&f.model, f.params, "", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(article_load_printed(f.params, NULL), TG_OK);
    return f;
}

static void fixture_compute(fixture *f) {
    tg_error error = {0};
    tg_status status = article_tables_compute(&f->model, article_sentence, ARTICLE_LENGTH, f->tape,
                                              f->tables, &error);
    ck_assert_msg(status == TG_OK, "%s", error.message);
}

static void fixture_free(fixture *f) {
    tg_tape_free(f->tape);
    tg_params_free(f->params);
}

static double cell(const fixture *f, article_table table, int row, int column) {
    return (double)f->tables[table].values[row * f->tables[table].columns + column];
}

/* Shape, cells that are -inf, and of the others, in hundredths, the sum and the sum of place times
 * value (places from 1), which a cell that is wrong or in the wrong place changes. Computed from
 * the article's matrices by Python. */
typedef struct digest {
    const char *symbol;
    int rows, columns, infinite;
    long sum, weighted;
} digest;

static const digest weights[] = {
    {"E", 9, 6, 0, -630, -30259},    {"P", 14, 6, 0, 597, 40834},   {"WQ", 6, 6, 0, -383, -9337},
    {"WK", 6, 6, 0, 530, 18682},     {"WV", 6, 6, 0, 37, 1031},     {"WO", 6, 6, 0, 310, 6686},
    {"W1", 6, 12, 0, -1182, -51901}, {"b1", 1, 12, 0, 350, 2266},   {"W2", 12, 6, 0, -125, -18671},
    {"b2", 1, 6, 0, 64, 311},        {"WU", 6, 9, 0, -128, -10407},
};

static const digest tables[] = {
    {"X", 14, 6, 0, 541, 44699},
    {"Q", 14, 6, 0, 4360, 195935},
    {"K", 14, 6, 0, 158, -52651},
    {"S", 14, 14, 0, 16753, 2417778},
    {"masked S", 14, 14, 91, 20186, 2702064},
    {"A", 14, 14, 0, 1401, 133370},
    {"V", 14, 6, 0, -772, -25176},
    {"Z", 14, 6, 0, -924, -34783},
    {"hidden", 14, 6, 0, -986, -29310},
    {"y", 14, 6, 0, -5592, -315349},
    {"p", 14, 9, 0, 1400, 87988},
};

static void assert_digest(const article_printed *printed, const digest *expected) {
    digest found = {.symbol = printed->symbol};
    for (int i = 0; i < printed->rows * printed->columns; i++) {
        if (isinf(printed->values[i])) {
            ck_assert(printed->values[i] < 0);
            found.infinite++;
            continue;
        }
        long hundredths = lround(100 * printed->values[i]);
        ck_assert_msg(printed->values[i] == (double)hundredths / 100, "%s: %.17g has more decimals",
                      printed->symbol, printed->values[i]);
        found.sum += hundredths;
        found.weighted += (i + 1) * hundredths;
    }
    ck_assert_str_eq(printed->symbol, expected->symbol);
    ck_assert_int_eq(printed->rows, expected->rows);
    ck_assert_int_eq(printed->columns, expected->columns);
    ck_assert_int_eq(found.infinite, expected->infinite);
    ck_assert_int_eq(found.sum, expected->sum);
    ck_assert_int_eq(found.weighted, expected->weighted);
}

START_TEST(printed_numbers) {
    ck_assert_int_eq(ARTICLE_WEIGHTS, sizeof weights / sizeof weights[0]);
    ck_assert_int_eq(ARTICLE_TABLES, sizeof tables / sizeof tables[0]);
    int64_t cells = 0;
    for (int i = 0; i < ARTICLE_WEIGHTS; i++)
        assert_digest(&article_weights[i], &weights[i]);
    for (int i = 0; i < ARTICLE_TABLES; i++) {
        assert_digest(&article_tables[i], &tables[i]);
        cells += article_tables[i].rows * article_tables[i].columns;
    }
    ck_assert_int_eq(cells, 1302);
    ck_assert_int_eq(ARTICLE_CELLS, 1302);
}
END_TEST

/* The corpus has its own copy of the vocabulary and the sentence. */
START_TEST(words_are_those_of_the_corpus) {
    tg_corpus *corpus = tg_corpus_clause_swapped(NULL, NULL);
    ck_assert_int_eq(tg_vocabulary_count(corpus->vocabulary), ARTICLE_WORDS);
    for (int i = 0; i < ARTICLE_WORDS; i++)
        ck_assert_str_eq(article_words[i], tg_vocabulary_word(corpus->vocabulary, i));
    ck_assert_int_eq(corpus->sentences[3].length, ARTICLE_LENGTH + 1);
    ck_assert_mem_eq(corpus->sentences[3].ids, article_sentence, sizeof article_sentence);
    tg_corpus_free(corpus);
}
END_TEST

START_TEST(weights_are_loaded_by_name) {
    fixture f = fixture_make();
    ck_assert_uint_eq(tg_params_count(f.params), ARTICLE_WEIGHTS);
    const tg_real *query = tg_param_value(tg_params_find(f.params, "blocks.0.attention.query"));
    ck_assert(query[2] == -2.05f && query[35] == -0.32f);
    const tg_real *bias = tg_param_value(tg_params_find(f.params, "blocks.0.feed_forward.b1"));
    ck_assert(bias[0] == 0.76f && bias[11] == 0.91f);
    fixture_free(&f);
}
END_TEST

START_TEST(weights_of_another_model_are_refused) {
    tg_error error = {0};
    tg_params *params = tg_params_create(NULL);
    ck_assert_int_eq(article_load_printed(params, &error), TG_ENOTFOUND);
    ck_assert_str_eq(error.message, "article_load_printed: no parameter embedding.token");
    tg_transformer model;
    tg_transformer_config config = tg_transformer_article();
    config.hidden = 13; /* found after seven parameters that fit */
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(article_load_printed(params, &error), TG_ESHAPE);
    ck_assert_str_eq(error.message, "article_load_printed: blocks.0.feed_forward.w1 is (6, 13), "
                                    "and printed as (6, 12)");
    ck_assert_int_eq(article_load_printed(params, NULL), TG_ESHAPE);
    for (int64_t i = 0; i < tg_param_count(model.token.table); i++)
        ck_assert(tg_param_value(model.token.table)[i] == 0);
    tg_params_free(params);
}
END_TEST

START_TEST(every_cell_is_as_printed) {
    fixture f = fixture_make();
    fixture_compute(&f);
    int64_t agreeing = 0;
    for (int t = 0; t < ARTICLE_TABLES; t++)
        for (int i = 0; i < tables[t].rows * tables[t].columns; i++) {
            double computed = (double)f.tables[t].values[i], printed = article_tables[t].values[i];
            ck_assert_msg(computed == printed || fabs(computed - printed) <= 0.0051,
                          "%s, cell %d: %.6f, not %.2f", tables[t].symbol, i, computed, printed);
            agreeing++;
        }
    ck_assert_int_eq(agreeing, 1302);
    article_comparison comparison;
    ck_assert_int_eq(article_tables_compare(f.tables, &comparison, NULL), TG_OK);
    ck_assert_int_eq(comparison.cells, 1302);
    ck_assert_int_eq(comparison.agreeing, 1302);
    ck_assert_int_eq(comparison.agreeing_in[ARTICLE_PREDICTIONS], 126);
    ck_assert_int_eq(comparison.listed, 0);
    fixture_free(&f);
}
END_TEST

/* Of the article's text; the product and the loss by NumPy, in double. */
START_TEST(figures_of_the_text) {
    static const double z13[] = {-1.2441, 0.9916, 0.5232, 0.1642, -0.8533, 0.8797};
    static const double v9[] = {-1.2520, 0.9949, 0.5334, 0.1626, -0.8505, 0.8854};
    fixture f = fixture_make();
    fixture_compute(&f);
    ck_assert_double_le(fabs(cell(&f, ARTICLE_ATTENTION, 5, 1) - 0.99971), 5.1e-6);
    ck_assert_double_le(fabs(cell(&f, ARTICLE_ATTENTION, 13, 9) - 0.99304), 5.1e-6);
    double product = 0;
    for (int j = 0; j < 6; j++) {
        ck_assert_double_le(fabs(cell(&f, ARTICLE_MIX, 13, j) - z13[j]), 5.1e-5);
        ck_assert_double_le(fabs(cell(&f, ARTICLE_VALUE, 9, j) - v9[j]), 5.1e-5);
        product += cell(&f, ARTICLE_QUERY, 0, j) * cell(&f, ARTICLE_KEY, 0, j);
    }
    test_assert_near(product, -2.21290551, TEST_TOLERANCE);
    tg_var next = tg_integers(f.tape, tg_shape_1d(ARTICLE_LENGTH), article_sentence + 1);
    tg_var loss = tg_cross_entropy(tg_find(f.tape, f.model.logits), next, TG_IGNORED, TG_MEAN);
    test_assert_near(tg_item(loss), 0.19850869552, TEST_TOLERANCE);
    fixture_free(&f);
}
END_TEST

/* What a function prints, as a string to be freed. */
static char *text_of(FILE *file) {
    ck_assert_int_eq(fflush(file), 0);
    long size = ftell(file);
    ck_assert_int_ge(size, 0);
    char *text = malloc((size_t)size + 1);
    rewind(file);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    return text;
}

static FILE *temporary(void) {
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    return file;
}

START_TEST(a_disturbed_weight_shows) {
    fixture f = fixture_make();
    tg_param_edit(f.model.token.table)[1] += 0.05f; /* "the", coordinate 1: -1.53 */
    fixture_compute(&f);
    article_comparison comparison;
    ck_assert_int_eq(article_tables_compare(f.tables, &comparison, NULL), TG_OK);
    ck_assert_int_eq(comparison.cells, 1302);
    ck_assert_int_lt(comparison.agreeing, 1300);
    ck_assert_int_eq(comparison.agreeing_in[ARTICLE_INPUT], 84 - 4); /* "the" occurs four times */
    ck_assert_int_eq(comparison.listed, ARTICLE_LISTED);
    FILE *file = temporary();
    article_print_differences(file, &comparison);
    article_print_verdict(file, &comparison);
    char *text = text_of(file);
    static const char start[] = "X, row 0, column 1: -1.3000, but -1.35 is printed\n"
                                "X, row 3, column 1: -2.0200, but -2.07 is printed\n"
                                "X, row 8, column 1: -2.2000, but -2.25 is printed\n"
                                "X, row 11, column 1: -0.1400, but -0.19 is printed\n"
                                "Q, row 0, column 0: -1.1";
    ck_assert_msg(strncmp(text, start, strlen(start)) == 0, "%s", text);
    char end[64];
    snprintf(end, sizeof end, "and %d more\n%d of 1302 cells as printed\n",
             (int)(1302 - comparison.agreeing - ARTICLE_LISTED), (int)comparison.agreeing);
    ck_assert_msg(strstr(text, end) != NULL, "%s", text);
    free(text);
    fixture_free(&f);
}
END_TEST

/* One cell of the tables replaced: whether it then still counts as printed. */
static const struct {
    article_table table;
    int row, column;
    float value;
    bool agrees;
} replaced[] = {
    {ARTICLE_ATTENTION, 0, 0, 1.005f, true},
    {ARTICLE_ATTENTION, 0, 0, 1.0052f, false},
    {ARTICLE_ATTENTION, 0, 0, 0.995f, true},
    {ARTICLE_ATTENTION, 0, 0, 0.9948f, false},
    {ARTICLE_QUERY, 0, 5, 0.0f, true}, /* printed as -0.00 */
    {ARTICLE_QUERY, 0, 5, NAN, false},
    {ARTICLE_QUERY, 0, 5, INFINITY, false},
    {ARTICLE_MASKED_SCORES, 0, 1, NAN, false},
    {ARTICLE_MASKED_SCORES, 0, 1, INFINITY, false},
    {ARTICLE_MASKED_SCORES, 0, 1, -8.54f, false}, /* the score that the mask hides */
    {ARTICLE_PREDICTIONS, 13, 8, 0.99f, false},
};

START_TEST(one_cell_decides) {
    fixture f = fixture_make();
    fixture_compute(&f);
    article_matrix *table = &f.tables[replaced[_i].table];
    float values[ARTICLE_LENGTH * ARTICLE_LENGTH];
    memcpy(values, table->values, (size_t)(table->rows * table->columns) * sizeof *values);
    values[replaced[_i].row * table->columns + replaced[_i].column] = replaced[_i].value;
    table->values = values;
    article_comparison comparison;
    ck_assert_int_eq(article_tables_compare(f.tables, &comparison, NULL), TG_OK);
    ck_assert_int_eq(comparison.agreeing, replaced[_i].agrees ? 1302 : 1301);
    if (!replaced[_i].agrees) {
        ck_assert_int_eq(comparison.listed, 1);
        ck_assert_int_eq(comparison.first[0].table, replaced[_i].table);
        ck_assert_int_eq(comparison.first[0].row, replaced[_i].row);
        ck_assert_int_eq(comparison.first[0].column, replaced[_i].column);
    }
    fixture_free(&f);
}
END_TEST

START_TEST(tables_of_another_sentence_are_not_compared) {
    fixture f = fixture_make();
    ck_assert_int_eq(article_tables_compute(&f.model, article_sentence, 5, f.tape, f.tables, NULL),
                     TG_OK);
    ck_assert_int_eq(f.tables[ARTICLE_SCORES].columns, 5);
    article_comparison comparison;
    tg_error error = {0};
    ck_assert_int_eq(article_tables_compare(f.tables, &comparison, &error), TG_ESHAPE);
    ck_assert_str_eq(error.message, "article_tables_compare: X is 5 x 6, and printed as 14 x 6");
    fixture_free(&f);
}
END_TEST

START_TEST(what_cannot_be_computed) {
    fixture f = fixture_make();
    tg_error error = {0};
    FILE *file = temporary();
    static const int32_t unknown[2] = {0, 9};
    ck_assert_int_eq(
        article_tables_compute(&f.model, article_sentence, 15, f.tape, f.tables, &error),
        TG_ESHAPE);
    ck_assert_ptr_nonnull(strstr(error.message, "from 1 to 14 tokens"));
    ck_assert_int_eq(tg_tape_reset(f.tape), TG_ESHAPE);
    ck_assert_int_eq(article_tables_compute(&f.model, unknown, 2, f.tape, f.tables, NULL),
                     TG_ERANGE);
    ck_assert_int_eq(article_tables_compute(&f.model, unknown, 2, NULL, f.tables, NULL), TG_ENOMEM);
    ck_assert_int_eq(article_walkthrough(&f.model, article_words, unknown, 2, file, &error),
                     TG_ERANGE);
    ck_assert_int_eq(article_walkthrough(&f.model, article_words, unknown, 0, file, &error),
                     TG_ESHAPE);
    tg_transformer deep;
    tg_transformer_config config = tg_transformer_article();
    config.layers = 2;
    ck_assert_int_eq(tg_transformer_init(&deep, f.params, "deep", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(article_walkthrough(&deep, article_words, article_sentence, 14, file, &error),
                     TG_EINVAL);
    ck_assert_str_eq(error.message, "article_tables_compute: 2 blocks, not one");
    char *text = text_of(file);
    ck_assert_str_eq(text, "");
    free(text);
    fixture_free(&f);
}
END_TEST

START_TEST(a_matrix_in_lines) {
    static const char *const words[] = {"a", "machine", "fifth"};
    static const int32_t ids[] = {1, 0, 2};
    static const float values[] = {1, -0.001f, -INFINITY, -12.345f, 0.5f, 2};
    const article_matrix matrix = {"M", 2, 3, values};
    FILE *file = temporary();
    article_print_matrix(file, &matrix, (article_axis){0}, (article_axis){0});
    article_print_matrix(file, &matrix, (article_axis){words, ids, true},
                         (article_axis){words, ids, false});
    article_print_matrix(file, &matrix, (article_axis){.words = words},
                         (article_axis){.words = words, .numbered = true});
    char *text = text_of(file);
    ck_assert_str_eq(text, "M       0       1       2\n"
                           "0    1.00   -0.00    -inf\n"
                           "1  -12.35    0.50    2.00\n"
                           "\n"
                           "M            mac.       a   fifth\n"
                           "0 machine    1.00   -0.00    -inf\n"
                           "1 a        -12.35    0.50    2.00\n"
                           "\n"
                           "M            0 a   1 mac.  2 fifth\n"
                           "a           1.00    -0.00     -inf\n"
                           "machine   -12.35     0.50     2.00\n"
                           "\n");
    free(text);
}
END_TEST

START_TEST(a_pair_side_by_side_or_below) {
    static const float left[] = {1, 2}, right[] = {-10, 4};
    static const char *const captions[] = {"ours", "theirs"};
    const article_matrix pair[] = {{"M", 1, 2, left}, {"M", 1, 2, right}};
    FILE *file = temporary();
    article_print_pair(file, pair, captions, (article_axis){0}, (article_axis){0});
    char *text = text_of(file);
    ck_assert_str_eq(text, "   ours                theirs\n"
                           "M       0       1           0       1\n"
                           "0    1.00    2.00      -10.00    4.00\n"
                           "\n");
    free(text);
    static const float wide[30] = {0};
    const article_matrix wide_pair[] = {{"M", 1, 30, wide}, {"M", 1, 30, wide}};
    file = temporary();
    article_print_pair(file, wide_pair, captions, (article_axis){0}, (article_axis){0});
    text = text_of(file);
    ck_assert_int_eq(strncmp(text, "ours\nM    0    1    2", 19), 0);
    ck_assert_ptr_nonnull(strstr(text, " 29\n0 0.00 0.00"));
    ck_assert_ptr_nonnull(strstr(text, " 0.00\n\ntheirs\nM    0    1"));
    free(text);
}
END_TEST

/* The walk-through of the article's weights: its lines in this order, others in between. The values
 * are the article's. */
static const char *const walk_lines[] = {
    "the rise of the machine was slow but the fall of the machine was",
    "14 positions, 9 words in the vocabulary, d_model = 6, d_k = 6, 12 hidden units",
    "Token embedding E",
    "-----------------",
    "E            0      1      2      3      4      5",
    "the      -0.24  -1.53   0.51   1.22   0.30   0.08",
    "machine   0.49   0.82   4.62  -1.45  -3.26   1.93",
    "Position embedding P",
    "P               0      1      2      3      4      5",
    " 0 the       0.18   0.18   0.16  -0.66   0.38  -0.08",
    "13 was       0.76   0.64  -0.54  -0.23   0.79   0.04",
    "Input X",
    "x_i = E[word_i] + P[i]",
    " 6 slow      0.55  -2.07  -1.68  -2.52  -1.19   0.36",
    "q_i = x_i WQ",
    "WQ      0      1      2      3      4      5",
    "3   -1.65  -1.29   0.42   1.13  -1.36  -1.41",
    "Q               0      1      2      3      4      5",
    " 5 was       0.56   0.82  -2.38  -0.90   4.29  -3.52",
    "k_j = x_j WK",
    "0   -0.03  -0.56  -0.27   0.60  -1.54   1.02",
    "K               0      1      2      3      4      5",
    " 9 fall      1.79   3.56  -0.57  -4.02   8.50  -3.05",
    "s_ij = q_i . k_j / sqrt(d_k)",
    "S             the   rise     of    the   mac.    was   slow    but    the   fall     of   "
    " the   mac.    was",
    "10 of        1.88   2.45  -1.81   3.16  -0.98   1.42   0.49  -2.86   2.09   1.99  -3.91   "
    "1.53  -0.87   0.88",
    "masked S      the   rise     of    the   mac.    was   slow    but    the   fall     of   "
    " the   mac.    was",
    " 2 of       -3.22 -16.52   7.73   -inf   -inf   -inf   -inf   -inf   -inf   -inf   -inf   "
    "-inf   -inf   -inf",
    "a_ij = exp(s_ij) / sum over l of exp(s_il)",
    "A            the  rise    of   the  mac.   was  slow   but   the  fall    of   the  mac.   was",
    " 1 rise     0.09  0.91  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00",
    "13 was      0.00  0.01  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.99  0.00  0.00  0.00  0.00",
    "v_j = x_j WV",
    "0   -0.18   0.49  -0.45   0.26  -0.22  -0.54",
    "12 machine   5.61  -2.77  -0.59   4.30  -5.59  -1.44",
    "z_i = sum over j of a_ij v_j",
    " 9 fall     -0.98  -0.25  -0.03  -0.90  -0.15   0.43",
    "hidden_i = x_i + z_i WO",
    "WO      0      1      2      3      4      5",
    "0    0.58   0.05   0.28  -0.75   1.00  -0.54",
    "hidden          0      1      2      3      4      5",
    " 8 the       0.22  -2.32   1.22   2.63   0.40  -0.31",
    "y_i = hidden_i + max(hidden_i W1 + b1, 0) W2 + b2",
    "W1      0      1      2      3      4      5      6      7      8      9     10     11",
    "5   -1.50  -0.12   0.23   0.01   0.39   0.65   0.57  -0.29  -1.89  -0.25  -0.57  -0.50",
    "b1      0      1      2      3      4      5      6      7      8      9     10     11",
    "     0.76   0.53   0.14   0.52  -0.08  -0.60   0.18   0.75  -0.12   0.37   0.14   0.91",
    "W2      0      1      2      3      4      5",
    "11  -1.35   0.13  -0.14  -0.92  -1.45   0.14",
    "b2      0      1      2      3      4      5",
    "     0.01   0.07   0.14   0.21  -0.44   0.65",
    "y                0       1       2       3       4       5",
    "12 machine   13.11   -8.90  -23.49   -3.83  -22.25   -5.47",
    "p_i = softmax(y_i WU)",
    "WU    the   rise     of   mac.    was   slow    but   fall   fast",
    "5   -0.94   0.70   0.10   0.74   0.01  -0.63  -0.83   0.77  -1.87",
    "p            the  rise    of  mac.   was  slow   but  fall  fast",
    " 8 the      0.00  0.51  0.00  0.00  0.00  0.00  0.00  0.49  0.00",
    "13 was      0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  1.00",
};

/* Where the line that is `line` begins at or behind `text`; NULL if there is none. */
static const char *find_line(const char *text, const char *line) {
    size_t length = strlen(line);
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, length) == 0 && at[length] == '\n')
            return at;
    }
    return NULL;
}

START_TEST(the_walk_through) {
    fixture f = fixture_make();
    FILE *file = temporary();
    tg_error error = {0};
    tg_status status = article_walkthrough(&f.model, article_words, article_sentence,
                                           ARTICLE_LENGTH, file, &error);
    ck_assert_msg(status == TG_OK, "%s", error.message);
    char *text = text_of(file);
    const char *at = text;
    for (size_t i = 0; i < sizeof walk_lines / sizeof walk_lines[0]; i++) {
        const char *found = find_line(at, walk_lines[i]);
        ck_assert_msg(found != NULL, "not found in its place: %s", walk_lines[i]);
        at = found + strlen(walk_lines[i]);
    }
    free(text);
    fixture_free(&f);
}
END_TEST

/* Lines that fit the page, none with blanks at its end. */
START_TEST(lines_are_neat) {
    fixture f = fixture_make();
    FILE *file = temporary();
    ck_assert_int_eq(
        article_walkthrough(&f.model, article_words, article_sentence, ARTICLE_LENGTH, file, NULL),
        TG_OK);
    char *text = text_of(file);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        ck_assert_msg(strlen(line) <= 110, "%zu columns: %s", strlen(line), line);
        ck_assert_msg(end == line || end[-1] != ' ', "blanks at the end of: %s", line);
    }
    free(text);
    fixture_free(&f);
}
END_TEST

START_TEST(a_shorter_sentence) {
    fixture f = fixture_make();
    FILE *file = temporary();
    ck_assert_int_eq(article_walkthrough(&f.model, article_words, article_sentence, 2, file, NULL),
                     TG_OK);
    char *text = text_of(file);
    ck_assert_int_eq(strncmp(text, "the rise\n", 9), 0);
    ck_assert_ptr_nonnull(find_line(text, "P           0      1      2      3      4      5"));
    ck_assert_ptr_nonnull(find_line(text, "1 rise  -0.26  -0.69   0.07  -0.89  -0.02  -0.19"));
    ck_assert_ptr_null(strstr(text, "2 of"));
    ck_assert_ptr_nonnull(find_line(text, "1 rise  0.09  0.91"));
    free(text);
    fixture_free(&f);
}
END_TEST

START_TEST(a_full_disk_is_an_error) {
    FILE *file = fopen("/dev/full", "w");
    if (file == NULL)
        return;                  /* not on this system */
    static char buffer[1 << 17]; /* holds all, so that only the last flush can fail */
    ck_assert_int_eq(setvbuf(file, buffer, _IOFBF, sizeof buffer), 0);
    fixture f = fixture_make();
    tg_error error = {0};
    ck_assert_int_eq(article_walkthrough(&f.model, article_words, article_sentence, ARTICLE_LENGTH,
                                         file, &error),
                     TG_EIO);
    ck_assert_int_eq(error.status, TG_EIO);
    fclose(file);
    fixture_free(&f);
}
END_TEST

#ifdef TG_TEST_PROGRAMS

/* Runs the program; what it prints, with standard error behind, as a string to be freed. */
static char *run(const char *arguments, int *exit_code) {
    char command[1024];
    snprintf(command, sizeof command, "'%s/article_tables' %s 2>&1", TG_TEST_PROGRAMS, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    static char chunk[1 << 17];
    size_t size = fread(chunk, 1, sizeof chunk - 1, pipe);
    ck_assert(feof(pipe));
    chunk[size] = '\0';
    int status = pclose(pipe);
    ck_assert(WIFEXITED(status));
    *exit_code = WEXITSTATUS(status);
    char *text = malloc(size + 1);
    memcpy(text, chunk, size + 1);
    return text;
}

/* Numbers that stand in the article, or (the loss) come from NumPy. */
static const char *const program_lines[] = {
    "    the rise of the machine was slow but the fall of the machine was",
    "1. X = E[word] + P[position]: 84 of 84 cells as printed",
    "            computed                                      in the article",
    " 4 machine   0.87   1.81   5.00  -1.82  -3.30   1.69       0.87   1.81   5.00  -1.82  -3.30   "
    "1.69",
    "6. A = softmax of the masked S, row by row: 196 of 196 cells as printed",
    "computed",
    " 1 rise     0.09  0.91  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00",
    "in the article",
    " 1 rise     0.09  0.91  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00",
    " 0 the       -3.89   -1.88   -0.65    2.44   -4.43    5.36       -3.89   -1.88   -0.65    "
    "2.44   -4.43    5.36",
    "11. p = softmax(y WU), row by row: 126 of 126 cells as printed",
    "13 was     0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 1.00     0.00 0.00 0.00 0.00 0.00 0.00 "
    "0.00 0.00 1.00",
    "A, row 5 was, column 1 rise   computed         0.99971",
    "                              in the article   0.99971",
    "A, row 13 was, column 9 fall  computed         0.99304",
    "z_13                          computed         -1.2441   0.9916   0.5232   0.1642  -0.8533   "
    "0.8797",
    "v_9                           computed         -1.2520   0.9949   0.5334   0.1626  -0.8505   "
    "0.8854",
    "q_0 . k_0                     computed         -2.2129",
    "                              in the article   -0.2202",
    "1302 of 1302 cells as printed",
};

START_TEST(the_program_prints_all_tables) {
    int exit_code;
    char *text = run("", &exit_code);
    ck_assert_int_eq(exit_code, 0);
    const char *at = text;
    for (size_t i = 0; i < sizeof program_lines / sizeof program_lines[0]; i++) {
        const char *found = find_line(at, program_lines[i]);
        ck_assert_msg(found != NULL, "not found in its place: %s", program_lines[i]);
        at = found + strlen(program_lines[i]);
    }
    ck_assert_str_eq(at, "\n"); /* the last line */
    ck_assert_ptr_nonnull(strstr(text, "is 0.1985."));
    ck_assert_ptr_nonnull(strstr(text, "4 ln 2 / 14 = 0.1980."));
    free(text);
}
END_TEST

START_TEST(the_program_in_one_line) {
    int exit_code;
    char *text = run("--quiet", &exit_code);
    ck_assert_int_eq(exit_code, 0);
    ck_assert_str_eq(text, "1302 of 1302 cells as printed\n");
    free(text);
}
END_TEST

START_TEST(the_program_and_its_arguments) {
    int exit_code;
    char *text = run("--help", &exit_code);
    ck_assert_int_eq(exit_code, 0);
    ck_assert_int_eq(strncmp(text, "usage: article_tables", 21), 0);
    ck_assert_ptr_nonnull(strstr(text, "--quiet"));
    free(text);
    text = run("--version", &exit_code);
    ck_assert_int_eq(exit_code, 0);
    ck_assert_int_eq(strncmp(text, "article_tables ", 15), 0);
    free(text);
    static const char *const wrong[] = {"--loud", "tables", "--quiet=1", "--quiet ''"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        text = run(wrong[i], &exit_code);
        ck_assert_msg(exit_code == 2, "%s: exit code %d", wrong[i], exit_code);
        ck_assert_msg(strncmp(text, "article_tables: ", 16) == 0, "%s", text);
        free(text);
    }
    text = run("--quiet >/dev/full", &exit_code);
    ck_assert_int_eq(exit_code, 1);
    free(text);
}
END_TEST

static void add_program_tests(Suite *s) {
    TCase *t = tcase_create("program");
    tcase_add_test(t, the_program_prints_all_tables);
    tcase_add_test(t, the_program_in_one_line);
    tcase_add_test(t, the_program_and_its_arguments);
    suite_add_tcase(s, t);
}

#endif

static Suite *suite(void) {
    Suite *s = suite_create("article");
    TCase *t = tcase_create("article");
    tcase_add_test(t, printed_numbers);
    tcase_add_test(t, words_are_those_of_the_corpus);
    tcase_add_test(t, weights_are_loaded_by_name);
    tcase_add_test(t, weights_of_another_model_are_refused);
    tcase_add_test(t, every_cell_is_as_printed);
    tcase_add_test(t, figures_of_the_text);
    tcase_add_test(t, a_disturbed_weight_shows);
    tcase_add_loop_test(t, one_cell_decides, 0, (int)(sizeof replaced / sizeof replaced[0]));
    tcase_add_test(t, tables_of_another_sentence_are_not_compared);
    tcase_add_test(t, what_cannot_be_computed);
    tcase_add_test(t, a_matrix_in_lines);
    tcase_add_test(t, a_pair_side_by_side_or_below);
    tcase_add_test(t, the_walk_through);
    tcase_add_test(t, lines_are_neat);
    tcase_add_test(t, a_shorter_sentence);
    tcase_add_test(t, a_full_disk_is_an_error);
    suite_add_tcase(s, t);
#ifdef TG_TEST_PROGRAMS
    add_program_tests(s);
#endif
    return s;
}

int main(void) {
    return test_main(suite());
}
