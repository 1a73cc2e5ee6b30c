/* What the tests of models share; the other side of it is golden/make_training.py. */
#ifndef TEST_MODEL_SUPPORT_H
#define TEST_MODEL_SUPPORT_H

#include "support.h"

#include <tapegrad.h>

#include "train/batch.h"

enum { ARTICLE_ELEMENTS = 498 };

/* A linear congruential generator, started at 1, whose values in [-1, 1) are floats. */
static inline uint32_t mixer_word(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline void mixer_fill(uint32_t *state, int64_t count, double factor, tg_real *out) {
    for (int64_t i = 0; i < count; i++)
        out[i] = (tg_real)(factor * (mixer_word(state) * 0x1p-23 - 1));
}

/* The values of all parameters, one behind the other. */
static inline void set_params(tg_params *params, const float *values) {
    for (size_t i = 0; i < tg_params_count(params); i++) {
        tg_param *param = tg_params_at(params, i);
        tg_real *value = tg_param_edit(param);
        for (int64_t j = 0; j < tg_param_count(param); j++)
            value[j] = *values++;
    }
}

/* The article's model and the batch of its sentences. */
typedef struct article {
    tg_params *params;
    tg_transformer model;
    tg_batch batch;
    tg_tape *tape;
} article;

/* The model with zeros for parameters. */
static inline void article_open(article *a, const tg_context *context) {
    tg_transformer_config config = tg_transformer_article();
    a->params = tg_params_create(context);
    a->tape = tg_tape_create(context);
    ck_assert_int_eq(tg_transformer_init(&a->model, a->params, "", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(tg_params_elements(a->params), ARTICLE_ELEMENTS);
    tg_corpus *corpus = tg_corpus_clause_swapped(context, NULL);
    ck_assert_ptr_nonnull(corpus);
    ck_assert_int_eq(
        tg_batch_init(&a->batch, context, corpus->sentences, corpus->count, TG_IGNORED, NULL),
        TG_OK);
    tg_corpus_free(corpus);
}

static inline void article_close(article *a) {
    tg_batch_free(&a->batch);
    tg_tape_free(a->tape);
    tg_params_free(a->params);
}

/* Records the model on its batch, on a tape that is reset before. */
static inline tg_var article_loss(article *a) {
    ck_assert_msg(tg_tape_error(a->tape)->status == TG_OK, "%s", tg_tape_error(a->tape)->message);
    tg_tape_reset(a->tape);
    tg_var ids = tg_integers(a->tape, a->batch.inputs.shape, a->batch.inputs.integer);
    tg_var targets = tg_integers(a->tape, a->batch.targets.shape, a->batch.targets.integer);
    tg_var logits = tg_transformer_forward(&a->model, ids);
    return tg_cross_entropy(logits, targets, TG_IGNORED, TG_MEAN);
}

#endif
