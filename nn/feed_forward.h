/* The feed-forward network of a transformer block: ReLU(x W1 + b1) W2 + b2. */
#ifndef TG_FEED_FORWARD_H
#define TG_FEED_FORWARD_H

#include "autograd/tape.h"
#include "nn/init.h"
#include "nn/linear.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_feed_forward_config {
    int64_t width;  /* of x and of the output */
    int64_t hidden; /* units between */
    tg_init init;
} tg_feed_forward_config;

/* Parameters and label belong to the tg_params they were made in. */
typedef struct tg_feed_forward {
    tg_linear_layer first, second;
    const char *label; /* "name.hidden", of ReLU's output (..., hidden) */
} tg_feed_forward;

/* Adds "name.w1", "name.b1", "name.w2" and "name.b2" to params and draws them in this order from
 * rng (NULL: zeros). Errors as of tg_params_add. */
tg_status tg_feed_forward_init(tg_feed_forward *feed_forward, tg_params *params, const char *name,
                               const tg_feed_forward_config *config, tg_rng *rng, tg_error *error);

/* x (..., width) -> (..., width). */
tg_var tg_feed_forward_forward(const tg_feed_forward *feed_forward, tg_var x);

#ifdef __cplusplus
}
#endif

#endif
