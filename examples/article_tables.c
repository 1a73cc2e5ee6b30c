/* Do the weights that the article prints give the tables that it prints? Runs the article's model
 * with them and lays each of its eleven tables beside the article's. The exit code is EXIT_DONE
 * where every cell is as printed, and EXIT_FAILED where one is not. */
#include <math.h>

#include <tapegrad.h>

#include "article/matrix.h"
#include "article/pictures.h"
#include "article/printed.h"
#include "article/tables.h"
#include "common/files.h"
#include "common/options.h"

static const char *const titles[ARTICLE_TABLES] = {
    [ARTICLE_INPUT] = "X = E[word] + P[position]",
    [ARTICLE_QUERY] = "Q = X WQ",
    [ARTICLE_KEY] = "K = X WK",
    [ARTICLE_SCORES] = "S = Q K^T / sqrt(6)",
    [ARTICLE_MASKED_SCORES] = "S, -inf where a position would look ahead",
    [ARTICLE_ATTENTION] = "A = softmax of the masked S, row by row",
    [ARTICLE_VALUE] = "V = X WV",
    [ARTICLE_MIX] = "Z = A V",
    [ARTICLE_HIDDEN] = "hidden = X + Z WO",
    [ARTICLE_OUTPUT] = "y = hidden + max(hidden W1 + b1, 0) W2 + b2",
    [ARTICLE_PREDICTIONS] = "p = softmax(y WU), row by row",
};

static const char *const captions[2] = {"computed", "in the article"};

typedef struct settings {
    bool quiet;
    const char *plot; /* the directory of the pictures; NULL: none */
} settings;

/* What a run has come to: the tables are values on the tape. */
typedef struct session {
    tg_params *params;
    tg_tape *tape;
    tg_transformer model;
    article_matrix tables[ARTICLE_TABLES];
    article_comparison comparison;
    double loss; /* mean over the words that follow */
} session;

static tg_status compute(session *s, tg_error *error) {
    tg_transformer_config config = tg_transformer_article();
    s->params = tg_params_create(NULL);
    s->tape = tg_tape_create(NULL);
    tg_status status = tg_transformer_init(&s->model, s->params, "", &config, NULL, error);
    if (status == TG_OK)
        status = article_load_printed(s->params, error);
    if (status == TG_OK)
        status = article_tables_compute(&s->model, article_sentence, ARTICLE_LENGTH, s->tape,
                                        s->tables, error);
    if (status == TG_OK)
        status = article_tables_compare(s->tables, &s->comparison, error);
    if (status != TG_OK)
        return status;
    tg_var next = tg_integers(s->tape, tg_shape_1d(ARTICLE_LENGTH), article_sentence + 1);
    tg_var logits = tg_find(s->tape, s->model.logits);
    s->loss = (double)tg_item(tg_cross_entropy(logits, next, TG_IGNORED, TG_MEAN));
    const tg_error *failure = tg_tape_error(s->tape);
    return failure->status == TG_OK ? TG_OK
                                    : tg_fail(error, failure->status, "%s", failure->message);
}

/* The columns of a table are words of the sentence, words of the vocabulary, or coordinates. */
static article_axis columns_of(article_table table) {
    if (table == ARTICLE_SCORES || table == ARTICLE_MASKED_SCORES || table == ARTICLE_ATTENTION)
        return (article_axis){.words = article_words, .ids = article_sentence};
    if (table == ARTICLE_PREDICTIONS)
        return (article_axis){.words = article_words};
    return (article_axis){0};
}

static void print_table(const session *s, article_table table) {
    const article_printed *printed = &article_tables[table];
    tg_real values[ARTICLE_LENGTH * ARTICLE_LENGTH]; /* no table is larger */
    for (int64_t i = 0; i < printed->rows * printed->columns; i++)
        values[i] = (tg_real)printed->values[i];
    const article_matrix pair[2] = {s->tables[table],
                                    {printed->symbol, printed->rows, printed->columns, values}};
    article_axis rows = {.words = article_words, .ids = article_sentence, .numbered = true};
    printf("%d. %s: %d of %d cells as printed\n\n", (int)table + 1, titles[table],
           (int)s->comparison.agreeing_in[table], (int)(printed->rows * printed->columns));
    article_print_pair(stdout, pair, captions, rows, columns_of(table));
}

static double cell_of(const session *s, article_table table, int64_t row, int64_t column) {
    const article_matrix *matrix = &s->tables[table];
    return (double)matrix->values[row * matrix->columns + column];
}

static void print_values(int count, int decimals, const double *values) {
    for (int i = 0; i < count; i++)
        printf("%9.*f", decimals, values[i]);
    printf("\n");
}

static void print_figure(const char *name, int count, int decimals, const double *computed,
                         const double *printed) {
    printf("%-30s%-15s", name, captions[0]);
    print_values(count, decimals, computed);
    printf("%-30s%-15s", "", captions[1]);
    print_values(count, decimals, printed);
}

/* A row of a table, or one of its cells, with more decimals than the table has. */
static void print_part(const session *s, article_table table, int row, int column, const char *name,
                       int count, int decimals, const double *printed) {
    double computed[6];
    for (int i = 0; i < count; i++)
        computed[i] = cell_of(s, table, row, column + i);
    print_figure(name, count, decimals, computed, printed);
}

/* What the article's text says beside its tables, and the loss, which it does not give. */
static void print_figures(const session *s) {
    static const double rise = 0.99971, fall = 0.99304, q0_k0 = -0.2202;
    static const double z13[6] = {-1.2441, 0.9916, 0.5232, 0.1642, -0.8533, 0.8797};
    static const double v9[6] = {-1.2520, 0.9949, 0.5334, 0.1626, -0.8505, 0.8854};
    double product = 0;
    for (int j = 0; j < 6; j++)
        product += cell_of(s, ARTICLE_QUERY, 0, j) * cell_of(s, ARTICLE_KEY, 0, j);
    printf("Figures in the text\n\n");
    print_part(s, ARTICLE_ATTENTION, 5, 1, "A, row 5 was, column 1 rise", 1, 5, &rise);
    print_part(s, ARTICLE_ATTENTION, 13, 9, "A, row 13 was, column 9 fall", 1, 5, &fall);
    print_part(s, ARTICLE_MIX, 13, 0, "z_13", 6, 4, z13);
    print_part(s, ARTICLE_VALUE, 9, 0, "v_9", 6, 4, v9);
    print_figure("q_0 . k_0", 1, 4, &product, &q0_k0);
    printf("\nThe last is a slip of the article: its table has %.2f, which is %.4f / sqrt(6).\n"
           "The loss on the sentence, which the article does not give, is %.4f. Even choices\n"
           "between two words at positions 0, 1, 8 and 9, and no doubt elsewhere, would give\n"
           "4 ln 2 / 14 = %.4f.\n\n",
           product / sqrt(6), product, s->loss, 4 * log(2) / 14);
}

static void print_all(const session *s) {
    printf("What the article's printed weights give for its sentence,\n    ");
    for (int i = 0; i < ARTICLE_LENGTH; i++)
        printf("%s%s", i == 0 ? "" : " ", article_words[article_sentence[i]]);
    printf("\nA cell is as printed if it is at most %.4f away: half of the last digit, and what\n"
           "single precision adds. -0.645 may stand as -0.64 beside -0.65; -0.00 equals 0.00.\n\n",
           ARTICLE_TOLERANCE);
    for (int i = 0; i < ARTICLE_TABLES; i++)
        print_table(s, (article_table)i);
    print_figures(s);
    article_print_differences(stdout, &s->comparison);
}

/* The pictures of the article's weights. What keeps them from being drawn is told, and no error. */
static tg_status draw(const session *s, const char *directory, tg_error *error) {
    tg_status status = make_directory(directory, error);
    if (status == TG_OK)
        status = article_pictures(&s->model, directory, " (the article's weights)", stderr, error);
    return status;
}

static int run(const settings *asked) {
    session s = {0};
    tg_error error = {0};
    tg_status status = compute(&s, &error);
    if (status == TG_OK && asked->plot != NULL)
        status = draw(&s, asked->plot, &error);
    if (status == TG_OK) {
        if (!asked->quiet)
            print_all(&s);
        if (!asked->quiet && asked->plot != NULL)
            printf("Pictures, each beside the script that draws it: %s\n\n", asked->plot);
        article_print_verdict(stdout, &s.comparison);
    }
    if (status != TG_OK)
        fprintf(stderr, "article_tables: %s\n", error.message);
    else if (!options_flush_output("article_tables"))
        status = TG_EIO;
    tg_tape_free(s.tape);
    tg_params_free(s.params);
    bool agrees = status == TG_OK && s.comparison.agreeing == s.comparison.cells;
    return agrees ? EXIT_DONE : EXIT_FAILED;
}

int main(int argc, char **argv) {
    settings asked = {0};
    const cli_option options[] = {
        {"--plot", "DIR", "draw the article's weights and what they do into this directory",
         OPTION_TEXT, .value.text = &asked.plot},
        {"--quiet", NULL, "print only the last line", OPTION_FLAG, .value.flag = &asked.quiet}};
    static const cli_exit exits[] = {{EXIT_DONE, "every cell is as printed"},
                                     {EXIT_FAILED, "a cell is not, or something went wrong"},
                                     {0, NULL}};
    const cli_program program = {
        "article_tables",
        "Runs the article's model with the article's weights and compares its eleven tables.",
        "[options]",
        options,
        sizeof options / sizeof options[0],
        exits};
    int exit_code;
    return options_read(&program, argc, argv, &exit_code) ? run(&asked) : exit_code;
}
