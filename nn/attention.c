#include "nn/attention.h"

#include <inttypes.h>
#include <math.h>

#include "autograd/ops.h"
#include "autograd/tape_internal.h"
#include "nn/module_internal.h"

static tg_status add_labels(tg_attention_labels *labels, tg_params *params, const char *name,
                            tg_error *error) {
    *labels = (tg_attention_labels){
        .query = tgi_path(params, name, "query"),
        .key = tgi_path(params, name, "key"),
        .value = tgi_path(params, name, "value"),
        .scores = tgi_path(params, name, "scores"),
        .masked_scores = tgi_path(params, name, "masked_scores"),
        .weights = tgi_path(params, name, "weights"),
        .mix = tgi_path(params, name, "mix"),
    };
    if (labels->query == NULL || labels->key == NULL || labels->value == NULL ||
        labels->scores == NULL || labels->masked_scores == NULL || labels->weights == NULL ||
        labels->mix == NULL)
        return tg_fail(error, TG_ENOMEM, "attention: no memory for its labels");
    return TG_OK;
}

static tg_status init(tg_attention *attention, tg_params *params, const char *name,
                      const tg_attention_config *config, tg_rng *rng, tg_error *error) {
    if (config->width < 1 || config->key_width < 1)
        return tg_fail(error, TG_EINVAL,
                       "attention: width %" PRId64 " and key width %" PRId64 " are to be positive",
                       config->width, config->key_width);
    attention->scale = 1 / sqrt((double)config->key_width);
    tg_linear_config in = {config->width, config->key_width, .no_bias = true, .init = config->init};
    tg_linear_config out = {config->key_width, config->width, .weight = "output", .no_bias = true,
                            .init = config->init};
    in.weight = "query";
    tg_status status = tg_linear_init(&attention->query, params, name, &in, rng, error);
    in.weight = "key";
    if (status == TG_OK)
        status = tg_linear_init(&attention->key, params, name, &in, rng, error);
    in.weight = "value";
    if (status == TG_OK)
        status = tg_linear_init(&attention->value, params, name, &in, rng, error);
    if (status == TG_OK)
        status = tg_linear_init(&attention->output, params, name, &out, rng, error);
    return status == TG_OK ? add_labels(&attention->labels, params, name, error) : status;
}

tg_status tg_attention_init(tg_attention *attention, tg_params *params, const char *name,
                            const tg_attention_config *config, tg_rng *rng, tg_error *error) {
    tgi_before before = tgi_before_init(params, rng);
    tg_attention made = {.scale = 0};
    tg_status status = init(&made, params, name, config, rng, error);
    *attention = status == TG_OK ? made : (tg_attention){.scale = 0};
    return tgi_end_init(status, &before, params, rng);
}

tg_var tg_attention_forward(const tg_attention *attention, tg_var x, tg_var mask) {
    const tg_attention_labels *labels = &attention->labels;
    /* B: batch, T: tokens, D: width, K: key width */
    tg_var query = tg_linear_forward(&attention->query, x); /* [B,T,K] = x[B,T,D] WQ[D,K] */
    tg_var key = tg_linear_forward(&attention->key, x);
    tg_var value = tg_linear_forward(&attention->value, x);
    tg_var scores = tg_scale(tg_matmul_transposed(query, false, key, true), /* [B,T,T] */
                             attention->scale);
    tg_var weights = tg_softmax_masked(scores, mask, -1);
    tg_var masked = tg_masked_fill(scores, mask, -INFINITY); /* to be looked at */
    tg_var mix = tg_matmul(weights, value);                  /* [B,T,K] */
    tg_label(query, labels->query);
    tg_label(key, labels->key);
    tg_label(value, labels->value);
    tg_label(scores, labels->scores);
    tg_label(masked, labels->masked_scores);
    tg_label(weights, labels->weights);
    tg_label(mix, labels->mix);
    return tg_linear_forward(&attention->output, mix);
}

tg_var tg_window_mask(tg_tape *tape, int64_t length, int64_t window) {
    if (window < 0) {
        tg_tape_fail(tape, TG_EINVAL, "window_mask: a window of %" PRId64 " tokens", window);
        return tgi_no_var(tape);
    }
    void *elements = NULL;
    tg_var mask =
        tgi_tape_leaf(tape, TG_INT32, tg_shape_2d(length, length), false, "window_mask", &elements);
    int32_t *masked = elements;
    for (int64_t i = 0; elements != NULL && i < length; i++)
        for (int64_t j = 0; j < length; j++)
            masked[i * length + j] = j > i || (window > 0 && j <= i - window);
    return mask;
}

tg_var tg_causal_mask(tg_tape *tape, int64_t length) {
    return tg_window_mask(tape, length, 0);
}
