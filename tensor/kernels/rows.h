/* Internal, for table.c: reductions and the row kernels made of them.
 *
 * A reduction runs in 16 virtual lanes (element i goes to lane i mod 16) that are folded in halves
 * at the end: the same sum for every width of register. A row's last, partial group is filled up
 * with elements that change nothing. */
#ifndef TGI_KERNEL_ROWS_H
#define TGI_KERNEL_ROWS_H

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/math.h"

enum { VIRTUAL_LANES = 16 };

/* Elements i to i + 15 of x[n], with `filler` behind the end. */
static inline void take_group(int64_t n, const tg_real *x, int64_t i, tg_real filler,
                              tg_real group[VIRTUAL_LANES]) {
    for (int l = 0; l < VIRTUAL_LANES; l += LANES) {
        int64_t at = i + l < n ? i + l : n;
        lanes_store(group + l, lanes_load_some(x + at, n - at, filler));
    }
}

static inline void put_group(int64_t n, tg_real *x, int64_t i, const tg_real group[VIRTUAL_LANES]) {
    for (int l = 0; l < VIRTUAL_LANES; l += LANES) {
        int64_t at = i + l < n ? i + l : n;
        lanes_store_some(x + at, n - at, lanes_load(group + l));
    }
}

static inline tg_real fold(tg_real lane[VIRTUAL_LANES]) {
    for (int l = 0; l < 8; l++)
        lane[l] += lane[l + 8];
    for (int l = 0; l < 4; l++)
        lane[l] += lane[l + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static double sum(int64_t n, const tg_real *x) {
    double lane[VIRTUAL_LANES] = {0};
    for (int64_t i = 0; i < n; i += VIRTUAL_LANES) {
        tg_real group[VIRTUAL_LANES];
        take_group(n, x, i, 0, group);
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] += (double)group[l];
    }
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
    take_group(n, x, 0, -(tg_real)INFINITY, lane);
    for (int64_t i = VIRTUAL_LANES; i < n; i += VIRTUAL_LANES) {
        tg_real group[VIRTUAL_LANES];
        take_group(n, x, i, -(tg_real)INFINITY, group);
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] = larger(lane[l], group[l]);
    }
    for (int l = 0; l < 8; l++)
        lane[l] = larger(lane[l], lane[l + 8]);
    for (int l = 0; l < 4; l++)
        lane[l] = larger(lane[l], lane[l + 4]);
    return larger(larger(lane[0], lane[2]), larger(lane[1], lane[3]));
}

static tg_real exp_sum(int64_t n, const tg_real *x, tg_real *maximum, tg_real *out) {
    const tg_real m = maximum_of(n, x);
    tg_real lane[VIRTUAL_LANES] = {0};
    for (int64_t i = 0; i < n; i += VIRTUAL_LANES) {
        tg_real group[VIRTUAL_LANES];
        take_group(n, x, i, -(tg_real)INFINITY, group); /* exp of it is 0 */
        for (int l = 0; l < VIRTUAL_LANES; l++)
            group[l] = exp_of(group[l] - m);
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] += group[l];
        if (out != NULL)
            put_group(n, out, i, group);
    }
    *maximum = m;
    return fold(lane);
}

static void softmax_backward(int64_t n, const tg_real *y, const tg_real *out_grad, tg_real *x_grad,
                             bool accumulate) {
    tg_real lane[VIRTUAL_LANES] = {0};
    for (int64_t i = 0; i < n; i += VIRTUAL_LANES) {
        tg_real p[VIRTUAL_LANES], g[VIRTUAL_LANES];
        take_group(n, y, i, 0, p);
        take_group(n, out_grad, i, 0, g);
        for (int l = 0; l < VIRTUAL_LANES; l++)
            lane[l] = fused(p[l], g[l], lane[l]);
    }
    const tg_real dot = fold(lane);
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            x_grad[i] = fused(y[i], out_grad[i] - dot, x_grad[i]);
    else
        for (int64_t i = 0; i < n; i++)
            x_grad[i] = y[i] * (out_grad[i] - dot);
}

static void exp_scaled(int64_t n, const tg_real *x, tg_real maximum, tg_real factor,
                       tg_real *x_grad, bool accumulate) {
    for (int64_t i = 0; i < n; i += VIRTUAL_LANES) {
        tg_real group[VIRTUAL_LANES], grad[VIRTUAL_LANES];
        take_group(n, x, i, 0, group);
        take_group(accumulate ? n : i, x_grad, i, 0, grad);
        for (int l = 0; l < VIRTUAL_LANES; l++)
            group[l] = exp_of(group[l] - maximum);
        for (int l = 0; l < VIRTUAL_LANES; l++)
            grad[l] = accumulate ? fused(factor, group[l], grad[l]) : factor * group[l];
        put_group(n, x_grad, i, grad);
    }
}

#endif
