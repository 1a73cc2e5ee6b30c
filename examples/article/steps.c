#include "article/steps.h"

#include "article/tables.h"

/* The parameters, in the order of article_weights. */
typedef enum weight { E, P, WQ, WK, WV, WO, W1, B1, W2, B2, WU } weight;

/* A step: the parameters that it takes, and the table that comes out (ARTICLE_TABLES: none). */
typedef struct source {
    const char *title, *formula;
    int weight_count;
    weight weights[STEP_MATRICES - 1];
    article_table table;
} source;

static const source sources[ARTICLE_STEPS] = {
    {"Token embedding E", "E[word]: a row for each word of the vocabulary", 1, {E}, ARTICLE_TABLES},
    {"Position embedding P", "P[i]: a row for each position", 1, {P}, ARTICLE_TABLES},
    {"Input X", "x_i = E[word_i] + P[i]", 0, {0}, ARTICLE_INPUT},
    {"Queries Q: what a position looks for", "q_i = x_i WQ", 1, {WQ}, ARTICLE_QUERY},
    {"Keys K: what a position can be found by", "k_j = x_j WK", 1, {WK}, ARTICLE_KEY},
    {"Scores S: how well key j answers query i",
     "s_ij = q_i . k_j / sqrt(d_k)",
     0,
     {0},
     ARTICLE_SCORES},
    {"Masked scores: no position sees a later one",
     "s_ij where j <= i, -inf where j > i",
     0,
     {0},
     ARTICLE_MASKED_SCORES},
    {"Attention A: the masked scores as shares of one, row by row",
     "a_ij = exp(s_ij) / sum over l of exp(s_il)",
     0,
     {0},
     ARTICLE_ATTENTION},
    {"Values V: what a position gives to those that attend to it",
     "v_j = x_j WV",
     1,
     {WV},
     ARTICLE_VALUE},
    {"Mix Z: what a position has gathered", "z_i = sum over j of a_ij v_j", 0, {0}, ARTICLE_MIX},
    {"Hidden state: the word, and what it has gathered",
     "hidden_i = x_i + z_i WO",
     1,
     {WO},
     ARTICLE_HIDDEN},
    {"Feed-forward network y",
     "y_i = hidden_i + max(hidden_i W1 + b1, 0) W2 + b2",
     4,
     {W1, B1, W2, B2},
     ARTICLE_OUTPUT},
    {"Predictions p: the word that follows position i",
     "p_i = softmax(y_i WU)",
     1,
     {WU},
     ARTICLE_PREDICTIONS},
};

/* What stands at the edges of the matrices. */
typedef struct edges {
    article_axis vocabulary;  /* "was" */
    article_axis places;      /* "5 was": the positions as rows */
    article_axis tokens;      /* "was": the positions as columns */
    article_axis coordinates; /* "3" */
    article_axis nameless;    /* of a vector that is shown as a row */
} edges;

static const char *const no_word[] = {""};

static const tg_param *param_of(const tg_transformer *model, weight w) {
    const tg_block *block = &model->blocks[0];
    const tg_attention *attention = &block->attention;
    const tg_param *const params[ARTICLE_WEIGHTS] = {
        [E] = model->token.table,
        [P] = model->position.table,
        [WQ] = attention->query.weight,
        [WK] = attention->key.weight,
        [WV] = attention->value.weight,
        [WO] = attention->output.weight,
        [W1] = block->feed_forward.first.weight,
        [B1] = block->feed_forward.first.bias,
        [W2] = block->feed_forward.second.weight,
        [B2] = block->feed_forward.second.bias,
        [WU] = model->unembedding.weight,
    };
    return params[w];
}

/* The parameter as a matrix; of the positions those that the sentence has. */
static step_matrix trained_matrix(const tg_transformer *model, const edges *at, weight w,
                                  int64_t length) {
    const tg_param *param = param_of(model, w);
    tg_shape shape = tg_param_shape(param);
    bool is_vector = shape.rank == 1;
    int64_t rows = is_vector ? 1 : w == P ? length : shape.extent[0];
    return (step_matrix){
        .matrix = {article_weights[w].symbol, rows, shape.extent[shape.rank - 1],
                   tg_param_value(param)},
        .rows = is_vector ? at->nameless
                : w == E  ? at->vocabulary
                : w == P  ? at->places
                          : at->coordinates,
        .columns = w == WU ? at->vocabulary : at->coordinates,
        .trained = true,
    };
}

static step_matrix computed_matrix(const article_matrix *table, const edges *at,
                                   article_table which) {
    bool of_tokens =
        which == ARTICLE_SCORES || which == ARTICLE_MASKED_SCORES || which == ARTICLE_ATTENTION;
    return (step_matrix){
        .matrix = *table,
        .rows = at->places,
        .columns = of_tokens                      ? at->tokens
                   : which == ARTICLE_PREDICTIONS ? at->vocabulary
                                                  : at->coordinates,
        .shares = which == ARTICLE_ATTENTION || which == ARTICLE_PREDICTIONS,
    };
}

tg_status article_steps_compute(const tg_transformer *model, const char *const *words,
                                const int32_t *ids, int64_t length, tg_tape *tape,
                                article_step steps[ARTICLE_STEPS], tg_error *error) {
    const edges at = {
        .vocabulary = {.words = words},
        .places = {.words = words, .ids = ids, .numbered = true},
        .tokens = {.words = words, .ids = ids},
        .nameless = {.words = no_word},
    };
    article_matrix tables[ARTICLE_TABLES];
    tg_status status = article_tables_compute(model, ids, length, tape, tables, error);
    for (int i = 0; i < ARTICLE_STEPS && status == TG_OK; i++) {
        const source *from = &sources[i];
        article_step *step = &steps[i];
        *step = (article_step){.title = from->title, .formula = from->formula};
        for (int k = 0; k < from->weight_count; k++)
            step->matrices[step->count++] = trained_matrix(model, &at, from->weights[k], length);
        if (from->table != ARTICLE_TABLES)
            step->matrices[step->count++] = computed_matrix(&tables[from->table], &at, from->table);
    }
    return status;
}
