/* Self-attention with one head, composed of primitive operations, so that every step can be read.
 *
 *     Q = x WQ   K = x WK   V = x WV
 *     scores = Q K^T / sqrt(key width)
 *     weights = softmax(scores where the mask is 0)       a row masked throughout gives zeros
 *     mix = weights V
 *     output = mix WO
 *
 * Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1. */
#ifndef TG_ATTENTION_H
#define TG_ATTENTION_H

#include "autograd/tape.h"
#include "nn/init.h"
#include "nn/linear.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_attention_config {
    int64_t width;     /* of x and of the output */
    int64_t key_width; /* of Q, K and V */
    tg_init init;
} tg_attention_config;

/* The names under which a forward pass labels its vars (tg_find). */
typedef struct tg_attention_labels {
    const char *query, *key, *value;              /* (..., T, key width) */
    const char *scores, *masked_scores, *weights; /* (..., T, T) */
    const char *mix;                              /* (..., T, key width) */
} tg_attention_labels;

/* Parameters and labels belong to the tg_params they were made in. */
typedef struct tg_attention {
    tg_linear_layer query, key, value, output; /* without biases */
    tg_attention_labels labels;                /* "name.query", ..., "name.mix" */
    double scale;                              /* 1 / sqrt(key width) */
} tg_attention;

/* Adds "name.query", "name.key", "name.value" and "name.output" to params and draws them in this
 * order from rng (NULL: zeros). TG_EINVAL for a width below 1; else as of tg_params_add. */
tg_status tg_attention_init(tg_attention *attention, tg_params *params, const char *name,
                            const tg_attention_config *config, tg_rng *rng, tg_error *error);

/* x (..., T, width) -> (..., T, width). `mask` is integers that broadcast to (..., T, T): key j is
 * hidden from query i where element (i, j) is not 0. */
tg_var tg_attention_forward(const tg_attention *attention, tg_var x, tg_var mask);

/* The causal mask (length, length): 1 where j > i. */
tg_var tg_causal_mask(tg_tape *tape, int64_t length);

/* The causal mask with a window: position i sees the `window` tokens i - window + 1 to i. A window
 * of 0 is no window. TG_EINVAL for a negative one. */
tg_var tg_window_mask(tg_tape *tape, int64_t length, int64_t window);

#ifdef __cplusplus
}
#endif

#endif
