#include "train/batch.h"

static int64_t longest_of(const tg_sentence *sentences, int64_t count) {
    int64_t longest = 0;
    for (int64_t b = 0; b < count; b++)
        longest = sentences[b].length > longest ? sentences[b].length : longest;
    return longest;
}

static tg_status check_ids(const tg_sentence *sentences, int64_t count, tg_error *error) {
    for (int64_t b = 0; b < count; b++)
        for (int64_t t = 0; t < sentences[b].length; t++)
            if (sentences[b].ids[t] < 0)
                return tg_fail(error, TG_ERANGE, "batch: word %lld of sentence %lld has the id %ld",
                               (long long)t, (long long)b, (long)sentences[b].ids[t]);
    return TG_OK;
}

/* inputs[T], targets[T] of one sentence; returns the number of its targets. */
static int64_t fill_row(tg_sentence sentence, int64_t steps, int32_t ignored, int32_t *inputs,
                        int32_t *targets) {
    int64_t counted = sentence.length > 0 ? sentence.length - 1 : 0;
    for (int64_t t = 0; t < steps; t++) {
        inputs[t] = t < counted ? sentence.ids[t] : 0;
        targets[t] = t < counted ? sentence.ids[t + 1] : ignored;
    }
    return counted;
}

tg_status tg_batch_init(tg_batch *batch, const tg_context *context, const tg_sentence *sentences,
                        int64_t count, int32_t ignored, tg_error *error) {
    *batch = (tg_batch){0};
    if (ignored >= 0)
        return tg_fail(error, TG_EINVAL, "batch: the ignored value %ld could be a word",
                       (long)ignored);
    if (sentences == NULL)
        return tg_fail(error, TG_EINVAL, "batch: no sentences are given (NULL)");
    int64_t steps = longest_of(sentences, count) - 1;
    if (steps < 1)
        return tg_fail(error, TG_EINVAL, "batch: none of the %lld sentences has two words",
                       (long long)count);
    tg_shape shape = tg_shape_2d(count, steps);
    tg_status status = tg_tensor_init(&batch->inputs, context, TG_INT32, shape, error);
    if (status == TG_OK)
        status = tg_tensor_init(&batch->targets, context, TG_INT32, shape, error);
    if (status == TG_OK)
        status = check_ids(sentences, count, error);
    if (status != TG_OK) {
        tg_batch_free(batch);
        return status;
    }
    for (int64_t b = 0; b < count; b++)
        batch->counted += fill_row(sentences[b], steps, ignored, batch->inputs.integer + b * steps,
                                   batch->targets.integer + b * steps);
    return TG_OK;
}

void tg_batch_free(tg_batch *batch) {
    if (batch == NULL)
        return;
    tg_tensor_free(&batch->inputs);
    tg_tensor_free(&batch->targets);
    *batch = (tg_batch){0};
}
