/* First values of parameters. */
#ifndef TG_INIT_H
#define TG_INIT_H

#include "autograd/param.h"
#include "tensor/rng.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a module draws its parameters. {0} is PyTorch's way. */
typedef struct tg_init {
    enum {
        /* What torch.nn.Linear and torch.nn.Embedding draw, number for number: weight and bias
         * uniform within 1 / sqrt(in), the weight in PyTorch's (out, in) order; a table N(0, 1). */
        TG_INIT_PYTORCH,
        /* Weights and tables N(0, deviation^2), in the order they are stored in; biases 0. */
        TG_INIT_NORMAL
    } kind;
    double deviation;
} tg_init;

/* A weight (in, out), a bias (out,) of a layer with `in` inputs, a table (rows, width). With rng
 * NULL they stay as they are. TG_EINVAL for another kind, and for a deviation that is negative or
 * not finite; TG_ESHAPE for a parameter of another rank; and what the generator refuses. */
tg_status tg_init_weight(const tg_init *init, tg_param *weight, tg_rng *rng, tg_error *error);
tg_status tg_init_bias(const tg_init *init, tg_param *bias, int64_t in, tg_rng *rng,
                       tg_error *error);
tg_status tg_init_table(const tg_init *init, tg_param *table, tg_rng *rng, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
