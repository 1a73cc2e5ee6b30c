/* Adam, by PyTorch's formula and defaults.
 *
 *     g += decay value
 *     m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
 *     value -= rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
 *
 * Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015; t counts from 1. */
#ifndef TG_ADAM_H
#define TG_ADAM_H

#include "optim/optimizer.h"
#include "tensor/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_adam_config {
    double rate;
    double beta1, beta2; /* in [0, 1) */
    double
        epsilon; /* 0 divides by zero where no gradient has been yet; in [0, 1e9), as all that follow and the rate */
    double weight_decay; /* L2, added to the gradient */
} tg_adam_config;

/* {rate, 0.9, 0.999, 1e-8, 0} */
tg_adam_config tg_adam_defaults(double rate);

/* Adam over these parameters (each once); the list is copied, the parameters outlive it. NULL, with
 * the reason in `error`: TG_EINVAL for a setting out of its range, TG_ENOMEM. */
tg_optimizer *tg_adam_create(const tg_context *context, tg_param *const *params, size_t count,
                             const tg_adam_config *config, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
