/* Optimisers: what changes parameters by their gradients. Adam (optim/adam.h) and SGD (optim/sgd.h)
 * make one; from then on they are all used alike:
 *
 *     tg_params_zero_grad(params);
 *     ... forward, tg_backward ...
 *     tg_optimizer_step(optimizer);
 *
 * NULL, an optimiser that could not be made, is legal everywhere: a step does nothing, what is asked
 * is 0 or "", and setting it fails with TG_ENOMEM. */
#ifndef TG_OPTIMIZER_H
#define TG_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "autograd/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_optimizer tg_optimizer;

/* NULL is legal. The parameters stay. */
void tg_optimizer_free(tg_optimizer *optimizer);

/* One step over all its parameters, from the gradients as they are now; those without a gradient
 * count as having zeros. */
void tg_optimizer_step(tg_optimizer *optimizer);

/* The learning rate, from the next step on. TG_EINVAL outside [0, 1e9). */
tg_status tg_optimizer_set_rate(tg_optimizer *optimizer, double rate, tg_error *error);
double tg_optimizer_rate(const tg_optimizer *optimizer);

/* All its settings by name: "rate" is the first; the others are the members of the config that it
 * was made with. A setting is in [0, limit). */
typedef struct tg_optimizer_setting {
    const char *name;
    double value;
} tg_optimizer_setting;

size_t tg_optimizer_setting_count(const tg_optimizer *optimizer);
tg_optimizer_setting tg_optimizer_setting_at(const tg_optimizer *optimizer, size_t i);

/* TG_ENOTFOUND for another name, TG_EINVAL for a value out of its range. */
tg_status tg_optimizer_set(tg_optimizer *optimizer, const char *name, double value,
                           tg_error *error);

/* "adam" or "sgd". */
const char *tg_optimizer_name(const tg_optimizer *optimizer);

/* Steps taken. Setting this, the settings and the state below restores an optimiser exactly. */
int64_t tg_optimizer_steps(const tg_optimizer *optimizer);
tg_status tg_optimizer_set_steps(tg_optimizer *optimizer, int64_t steps, tg_error *error);

/* What it keeps besides: `tg_optimizer_state_count` arrays, each of the shape of its parameter. */
typedef struct tg_optimizer_state {
    const char *name;      /* "first_moment", "second_moment" or "velocity" */
    const tg_param *param; /* whose it is */
    tg_real *elements;     /* owned by the optimiser */
} tg_optimizer_state;

size_t tg_optimizer_state_count(const tg_optimizer *optimizer);
tg_optimizer_state tg_optimizer_state_at(const tg_optimizer *optimizer, size_t i);

#ifdef __cplusplus
}
#endif

#endif
