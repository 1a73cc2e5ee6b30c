/* Internal, for table.c: one pass of an optimiser over a parameter. */
#ifndef TGI_KERNEL_OPTIMIZER_H
#define TGI_KERNEL_OPTIMIZER_H

#include <math.h>

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/lanes.h"

#ifdef TG_F64
#define root sqrt
#else
#define root sqrtf
#endif

static void adam(int64_t n, const tgi_adam_step *s, const tg_real *grad, tg_real *value,
                 tg_real *first, tg_real *second) {
    for (int64_t i = 0; i < n; i++) {
        tg_real g = fused(s->weight_decay, value[i], grad[i]);
        tg_real m = fused(s->one_minus_beta1, g, s->beta1 * first[i]);
        tg_real v = fused(s->one_minus_beta2 * g, g, s->beta2 * second[i]);
        first[i] = m;
        second[i] = v;
        value[i] -= s->step_size * (m / (root(v) / s->root_correction2 + s->epsilon));
    }
}

static void momentum(int64_t n, tg_real rate, tg_real factor, const tg_real *grad, tg_real *value,
                     tg_real *velocity) {
    for (int64_t i = 0; i < n; i++) {
        velocity[i] = fused(factor, velocity[i], grad[i]);
        value[i] = fused(-rate, velocity[i], value[i]);
    }
}

#endif
