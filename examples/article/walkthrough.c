#include "article/walkthrough.h"

#include <inttypes.h>
#include <string.h>

#include "article/matrix.h"
#include "article/tables.h"

/* Where a walk prints, what it shows, and what stands at the edges of its matrices. */
typedef struct walk {
    FILE *out;
    const tg_transformer *model;
    article_matrix tables[ARTICLE_TABLES];
    article_axis vocabulary; /* "was" */
    article_axis places;     /* "5 was": the positions as rows */
    article_axis tokens;     /* "was": the positions as columns */
} walk;

static const article_axis coordinates = {0};

/* The edge of a vector that is printed as a row. */
static const char *const no_word[] = {""};
static const article_axis nameless = {.words = no_word};

static void print_heading(const walk *w, const char *title, const char *formula) {
    fprintf(w->out, "%s\n", title);
    for (size_t i = 0; i < strlen(title); i++)
        fputc('-', w->out);
    fprintf(w->out, "\n%s\n\n", formula);
}

static void print_param(const walk *w, const char *symbol, const tg_param *param, article_axis rows,
                        article_axis columns) {
    tg_shape shape = tg_param_shape(param);
    bool is_vector = shape.rank == 1;
    article_matrix matrix = {symbol, is_vector ? 1 : shape.extent[0], shape.extent[shape.rank - 1],
                             tg_param_value(param)};
    article_print_matrix(w->out, &matrix, is_vector ? nameless : rows, columns);
}

static void print_table(const walk *w, article_table table, article_axis columns) {
    article_print_matrix(w->out, &w->tables[table], w->places, columns);
}

static void print_title(const walk *w, const int32_t *ids, int64_t length) {
    const tg_transformer_config *config = &w->model->config;
    for (int64_t i = 0; i < length; i++)
        fprintf(w->out, "%s%s", i == 0 ? "" : " ", w->vocabulary.words[ids[i]]);
    fprintf(w->out,
            "\n%" PRId64 " positions, %" PRId64 " words in the vocabulary, d_model = %" PRId64
            ", d_k = %" PRId64 ", %" PRId64 " hidden units\n\n",
            length, config->vocabulary, config->width, config->key_width, config->hidden);
}

static void print_input(const walk *w) {
    const tg_transformer *model = w->model;
    print_heading(w, "Token embedding E", "E[word]: a row for each word of the vocabulary");
    print_param(w, "E", model->token.table, w->vocabulary, coordinates);
    print_heading(w, "Position embedding P", "P[i]: a row for each position");
    article_matrix positions = {"P", w->tables[ARTICLE_INPUT].rows, model->config.width,
                                tg_param_value(model->position.table)};
    article_print_matrix(w->out, &positions, w->places, coordinates);
    print_heading(w, "Input X", "x_i = E[word_i] + P[i]");
    print_table(w, ARTICLE_INPUT, coordinates);
}

static void print_attention(const walk *w) {
    const tg_attention *attention = &w->model->blocks[0].attention;
    print_heading(w, "Queries Q: what a position looks for", "q_i = x_i WQ");
    print_param(w, "WQ", attention->query.weight, coordinates, coordinates);
    print_table(w, ARTICLE_QUERY, coordinates);
    print_heading(w, "Keys K: what a position can be found by", "k_j = x_j WK");
    print_param(w, "WK", attention->key.weight, coordinates, coordinates);
    print_table(w, ARTICLE_KEY, coordinates);
    print_heading(w, "Scores S: how well key j answers query i", "s_ij = q_i . k_j / sqrt(d_k)");
    print_table(w, ARTICLE_SCORES, w->tokens);
    print_heading(w, "Masked scores: no position sees a later one",
                  "s_ij where j <= i, -inf where j > i");
    print_table(w, ARTICLE_MASKED_SCORES, w->tokens);
    print_heading(w, "Attention A: the masked scores as shares of one, row by row",
                  "a_ij = exp(s_ij) / sum over l of exp(s_il)");
    print_table(w, ARTICLE_ATTENTION, w->tokens);
    print_heading(w, "Values V: what a position gives to those that attend to it", "v_j = x_j WV");
    print_param(w, "WV", attention->value.weight, coordinates, coordinates);
    print_table(w, ARTICLE_VALUE, coordinates);
    print_heading(w, "Mix Z: what a position has gathered", "z_i = sum over j of a_ij v_j");
    print_table(w, ARTICLE_MIX, coordinates);
}

static void print_output(const walk *w) {
    const tg_block *block = &w->model->blocks[0];
    const tg_feed_forward *feed_forward = &block->feed_forward;
    print_heading(w, "Hidden state: the word, and what it has gathered", "hidden_i = x_i + z_i WO");
    print_param(w, "WO", block->attention.output.weight, coordinates, coordinates);
    print_table(w, ARTICLE_HIDDEN, coordinates);
    print_heading(w, "Feed-forward network y", "y_i = hidden_i + max(hidden_i W1 + b1, 0) W2 + b2");
    print_param(w, "W1", feed_forward->first.weight, coordinates, coordinates);
    print_param(w, "b1", feed_forward->first.bias, coordinates, coordinates);
    print_param(w, "W2", feed_forward->second.weight, coordinates, coordinates);
    print_param(w, "b2", feed_forward->second.bias, coordinates, coordinates);
    print_table(w, ARTICLE_OUTPUT, coordinates);
    print_heading(w, "Predictions p: the word that follows position i", "p_i = softmax(y_i WU)");
    print_param(w, "WU", w->model->unembedding.weight, coordinates, w->vocabulary);
    print_table(w, ARTICLE_PREDICTIONS, w->vocabulary);
}

tg_status article_walkthrough(const tg_transformer *model, const char *const *words,
                              const int32_t *ids, int64_t length, FILE *out, tg_error *error) {
    tg_tape *tape = tg_tape_create(NULL);
    walk w = {.out = out,
              .model = model,
              .vocabulary = {.words = words},
              .places = {.words = words, .ids = ids, .numbered = true},
              .tokens = {.words = words, .ids = ids}};
    tg_status status = article_tables_compute(model, ids, length, tape, w.tables, error);
    if (status == TG_OK) {
        print_title(&w, ids, length);
        print_input(&w);
        print_attention(&w);
        print_output(&w);
        if (fflush(out) != 0 || ferror(out))
            status = tg_fail(error, TG_EIO, "article_walkthrough: writing failed");
    }
    tg_tape_free(tape);
    return status;
}
