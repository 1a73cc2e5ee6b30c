/* Internal, for table.c: loops over independent elements. */
#ifndef TGI_KERNEL_ELEMENTWISE_H
#define TGI_KERNEL_ELEMENTWISE_H

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/lanes.h"

static void add(int64_t n, const tg_real *a, int64_t a_step, const tg_real *b, int64_t b_step,
                tg_real *out) {
    if (a_step == 1 && b_step == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i] + b[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i * a_step] + b[i * b_step];
}

static void subtract(int64_t n, const tg_real *a, int64_t a_step, const tg_real *b, int64_t b_step,
                     tg_real *out) {
    if (a_step == 1 && b_step == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i] - b[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i * a_step] - b[i * b_step];
}

static void multiply(int64_t n, const tg_real *a, int64_t a_step, const tg_real *b, int64_t b_step,
                     tg_real *out) {
    if (a_step == 1 && b_step == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i] * b[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i * a_step] * b[i * b_step];
}

static void scale(int64_t n, tg_real factor, const tg_real *x, tg_real *out, bool accumulate) {
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            out[i] = fused(factor, x[i], out[i]);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = factor * x[i];
}

static void multiply_add(int64_t n, const tg_real *x, const tg_real *y, int64_t y_step,
                         tg_real *out, bool accumulate) {
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            out[i] = fused(x[i], y[i * y_step], out[i]);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] * y[i * y_step];
}

static void relu(int64_t n, const tg_real *x, tg_real *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] <= 0 ? 0 : x[i];
}

static void relu_backward(int64_t n, const tg_real *y, const tg_real *out_grad, tg_real *x_grad,
                          bool accumulate) {
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            x_grad[i] += y[i] <= 0 ? 0 : out_grad[i];
    else
        for (int64_t i = 0; i < n; i++)
            x_grad[i] = y[i] <= 0 ? 0 : out_grad[i];
}

#endif
