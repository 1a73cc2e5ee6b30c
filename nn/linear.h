/* A fully connected layer: y = x W + b. */
#ifndef TG_LINEAR_H
#define TG_LINEAR_H

#include "autograd/tape.h"
#include "nn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_linear_config {
    int64_t in, out;
    const char *weight; /* the last part of its name; NULL: "weight" */
    const char *bias;   /* NULL: "bias" */
    bool no_bias;
    tg_init init;
} tg_linear_config;

/* The parameters belong to the tg_params they were made in. */
typedef struct tg_linear_layer {
    tg_param *weight; /* (in, out) */
    tg_param *bias;   /* (out,), or NULL */
} tg_linear_layer;

/* Adds "name.weight" and "name.bias" to params and draws them, in this order, from rng (NULL: they
 * stay zeros). Errors as of tg_params_add and tg_init_weight. */
tg_status tg_linear_init(tg_linear_layer *layer, tg_params *params, const char *name,
                         const tg_linear_config *config, tg_rng *rng, tg_error *error);

/* x (..., in) -> (..., out), on x's tape. */
tg_var tg_linear_forward(const tg_linear_layer *layer, tg_var x);

#ifdef __cplusplus
}
#endif

#endif
