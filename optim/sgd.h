/* Stochastic gradient descent with momentum, by PyTorch's formula.
 *
 *     velocity = momentum velocity + gradient
 *     value -= rate velocity
 */
#ifndef TG_SGD_H
#define TG_SGD_H

#include "optim/optimizer.h"
#include "tensor/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_sgd_config {
    double rate;     /* in [0, 1e9) */
    double momentum; /* in [0, 1) */
} tg_sgd_config;

/* SGD over these parameters (each once); the list is copied, the parameters outlive it. NULL, with
 * the reason in `error`: TG_EINVAL for a setting out of its range, TG_ENOMEM. */
tg_optimizer *tg_sgd_create(const tg_context *context, tg_param *const *params, size_t count,
                            const tg_sgd_config *config, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
