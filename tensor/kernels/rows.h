/* Internal, for table.c: reductions and the row kernels made of them.
 *
 * A reduction runs in 16 virtual lanes (element i goes to lane i mod 16) that are folded in halves
 * at the end: the same sum for every width of register. */
#ifndef TGI_KERNEL_ROWS_H
#define TGI_KERNEL_ROWS_H

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/math.h"

enum { VIRTUAL_LANES = 16 };

static inline tg_real fold(tg_real lane[VIRTUAL_LANES]) {
    for (int half = VIRTUAL_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static double sum(int64_t n, const tg_real *x) {
    double lane[VIRTUAL_LANES] = {0};
    int64_t i = 0;
    for (; i + VIRTUAL_LANES <= n; i += VIRTUAL_LANES)
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] += (double)x[i + l];
    for (int l = 0; i + l < n; l++)
        lane[l] += (double)x[i + l];
    for (int half = VIRTUAL_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static void add_to_sums(int64_t n, const tg_real *x, double *sums) {
    for (int64_t i = 0; i < n; i++)
        sums[i] += (double)x[i];
}

/* A NaN stays in its lane: the comparison with it is false, and it is let through from x. */
static inline tg_real larger(tg_real a, tg_real b) {
    return a > b || a != a ? a : b;
}

static tg_real maximum_of(int64_t n, const tg_real *x) {
    tg_real lane[VIRTUAL_LANES];
    for (int l = 0; l < VIRTUAL_LANES; l++)
        lane[l] = x[l < n ? l : 0];
    int64_t i = VIRTUAL_LANES;
    for (; i + VIRTUAL_LANES <= n; i += VIRTUAL_LANES)
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] = larger(lane[l], x[i + l]);
    for (int l = 0; i + l < n; l++)
        lane[l] = larger(lane[l], x[i + l]);
    for (int half = VIRTUAL_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = larger(lane[l], lane[l + half]);
    return lane[0];
}

static tg_real exp_sum(int64_t n, const tg_real *x, tg_real *maximum, tg_real *out) {
    const tg_real m = maximum_of(n, x);
    tg_real lane[VIRTUAL_LANES] = {0};
    for (int64_t i = 0; i < n; i += VIRTUAL_LANES) {
        int width = n - i < VIRTUAL_LANES ? (int)(n - i) : VIRTUAL_LANES;
        tg_real term[VIRTUAL_LANES];
        for (int l = 0; l < VIRTUAL_LANES; l++)
            term[l] = exp_of(x[i + (l < width ? l : 0)] - m);
        for (int l = 0; l < width; l++)
            lane[l] += term[l];
        if (out != NULL)
            memcpy(out + i, term, (size_t)width * sizeof *out);
    }
    *maximum = m;
    return fold(lane);
}

static void softmax_backward(int64_t n, const tg_real *y, const tg_real *out_grad, tg_real *x_grad,
                             bool accumulate) {
    tg_real lane[VIRTUAL_LANES] = {0};
    int64_t i = 0;
    for (; i + VIRTUAL_LANES <= n; i += VIRTUAL_LANES)
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] = fused(y[i + l], out_grad[i + l], lane[l]);
    for (int l = 0; i + l < n; l++)
        lane[l] = fused(y[i + l], out_grad[i + l], lane[l]);
    const tg_real dot = fold(lane);
    if (accumulate)
        for (i = 0; i < n; i++)
            x_grad[i] = fused(y[i], out_grad[i] - dot, x_grad[i]);
    else
        for (i = 0; i < n; i++)
            x_grad[i] = y[i] * (out_grad[i] - dot);
}

static void exp_scaled(int64_t n, const tg_real *x, tg_real maximum, tg_real factor,
                       tg_real *x_grad, bool accumulate) {
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            x_grad[i] = fused(factor, exp_of(x[i] - maximum), x_grad[i]);
    else
        for (int64_t i = 0; i < n; i++)
            x_grad[i] = factor * exp_of(x[i] - maximum);
}

#endif
