#include "common/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- from the checkpoint to the model ---- */

static tg_status check_table(const tg_archive *archive, const char *name, int64_t rows,
                             int64_t columns, tg_error *error) {
    const tg_array *array = tg_archive_find(archive, name);
    if (array == NULL)
        return tg_fail(error, TG_ENOTFOUND, "model: there is no \"%s\"", name);
    char text[TG_SHAPE_TEXT];
    if (!tg_shape_equal(array->shape, tg_shape_2d(rows, columns)))
        return tg_fail(error, TG_EMISMATCH,
                       "model: \"%s\" is %s, by the config (%" PRId64 ", %" PRId64 ")", name,
                       tg_shape_text(array->shape, text), rows, columns);
    return TG_OK;
}

/* Whether the arrays bear out the extents, so that no memory is asked for on the word of six numbers
 * in a file. Loading compares everything else. */
static tg_status check_extents(const tg_archive *archive, const tg_transformer_config *c,
                               tg_error *error) {
    char name[96];
    tg_status status =
        check_table(archive, "param/embedding.token", c->vocabulary, c->width, error);
    if (status == TG_OK)
        status = check_table(archive, "param/embedding.position", c->context, c->width, error);
    for (int64_t i = 0; i < c->layers && status == TG_OK; i++) {
        snprintf(name, sizeof name, "param/blocks.%" PRId64 ".attention.query", i);
        status = check_table(archive, name, c->width, c->key_width, error);
        snprintf(name, sizeof name, "param/blocks.%" PRId64 ".feed_forward.w1", i);
        if (status == TG_OK)
            status = check_table(archive, name, c->width, c->hidden, error);
    }
    return status;
}

static tg_status load_vocabulary(model *m, const tg_archive *archive, tg_error *error) {
    m->vocabulary = tg_checkpoint_vocabulary(NULL, archive, error);
    if (m->vocabulary == NULL)
        return error->status;
    int32_t words = tg_vocabulary_count(m->vocabulary);
    if (words != m->transformer.config.vocabulary)
        return tg_fail(error, TG_EMISMATCH,
                       "model: a vocabulary of %" PRId32 " words, by the config %" PRId64, words,
                       m->transformer.config.vocabulary);
    return TG_OK;
}

tg_status model_load(model *m, const tg_archive *archive, tg_error *error) {
    *m = (model){.params = tg_params_create(NULL), .tape = tg_tape_create(NULL)};
    tg_transformer_config config;
    tg_training_state state = {.params = m->params};
    tg_status status = tg_checkpoint_config(archive, &config, error);
    if (status == TG_OK)
        status = check_extents(archive, &config, error);
    if (status == TG_OK)
        status = tg_transformer_init(&m->transformer, m->params, "", &config, NULL, error);
    if (status == TG_OK)
        status = load_vocabulary(m, archive, error);
    if (status == TG_OK)
        status = tg_checkpoint_restore(NULL, archive, &state, error);
    if (status != TG_OK)
        return status;
    m->ids = tg_params_allocate(m->params, (size_t)config.context * sizeof *m->ids);
    return m->ids != NULL ? TG_OK : tg_fail(error, TG_ENOMEM, "model: out of memory");
}

tg_status model_load_file(model *m, const char *path, tg_error *error) {
    *m = (model){0};
    tg_archive *archive = tg_archive_open(NULL, path, error);
    if (archive == NULL)
        return error->status;
    tg_error cause = {TG_OK, ""};
    tg_status status = model_load(m, archive, &cause);
    tg_archive_free(archive);
    return status == TG_OK ? TG_OK : tg_fail(error, status, "%.100s: %.140s", path, cause.message);
}

void model_free(model *m) {
    tg_tape_free(m->tape);
    tg_params_free(m->params);
    tg_vocabulary_free(m->vocabulary);
}

/* ---- from the sentence to the prediction ---- */

static tg_status encode(model *m, const char *sentence, int64_t *length, tg_error *error) {
    int64_t context = m->transformer.config.context;
    tg_status status =
        tg_vocabulary_encode(m->vocabulary, sentence, m->ids, context, length, error);
    if (status == TG_ERANGE)
        return tg_fail(error, TG_EINVAL,
                       "the sentence has %" PRId64 " words, the model reads at most %" PRId64,
                       *length, context);
    if (status == TG_OK && *length == 0)
        return tg_fail(error, TG_EINVAL, "the sentence has no words");
    return status;
}

static tg_status check_finite(const tg_real *values, int64_t count, tg_error *error) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return tg_fail(error, TG_ENONFINITE,
                           "the model's weights give a probability that is no finite number");
    return TG_OK;
}

tg_status model_predict(model *m, const char *sentence, prediction *made, tg_error *error) {
    tg_status status = encode(m, sentence, &made->length, error);
    if (status != TG_OK)
        return status;
    tg_tape_reset(m->tape);
    tg_var ids = tg_integers(m->tape, tg_shape_1d(made->length), m->ids);
    tg_var logits = tg_transformer_forward(&m->transformer, ids); /* [T,V] */
    tg_var probabilities = tg_softmax(logits, -1);                /* [T,V], each row sums to 1 */
    const tg_error *failure = tg_tape_error(m->tape);
    if (failure->status != TG_OK)
        return tg_fail(error, failure->status, "%s", failure->message);
    made->ids = m->ids;
    made->next = tg_value(probabilities);
    return check_finite(made->next, made->length * m->transformer.config.vocabulary, error);
}

const tg_real *model_attention(const model *m, int64_t block) {
    const tg_attention *attention = &m->transformer.blocks[block].attention;
    return tg_value(tg_find(m->tape, attention->labels.weights));
}
