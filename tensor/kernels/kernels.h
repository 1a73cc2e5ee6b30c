/* Internal: the kernel table. One source (table.c) is compiled once for each instruction set.
 *
 * All tables give the same bits: the inner index of a product goes in order with fused
 * multiply-add, reductions use a fixed number of virtual lanes whatever the registers hold, and exp
 * and log are the library's own in float. Kernels allocate nothing and cannot fail. Where an
 * argument says `accumulate`, false overwrites the output, which may then be uninitialised. */
#ifndef TGI_KERNELS_H
#define TGI_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/real.h"

/* C[rows, columns] (+)= A[rows, inner] B[inner, columns], the extents as they enter the product.
 * A and B are read through two strides in elements each, so a transpose costs nothing; the rows of
 * C are contiguous. C overlaps neither A nor B. */
typedef struct tgi_product {
    int64_t rows, inner, columns;
    const tg_real *a;
    int64_t a_row, a_inner;
    const tg_real *b;
    int64_t b_inner, b_column;
    tg_real *c;
    int64_t c_row;
    bool accumulate;
} tgi_product;

/* One Adam step over `n` elements; the scalars are the caller's (optim/adam.c has the formula). */
typedef struct tgi_adam_step {
    tg_real beta1, one_minus_beta1, beta2, one_minus_beta2;
    tg_real step_size, root_correction2, epsilon, weight_decay;
} tgi_adam_step;

struct tgi_kernels {
    const char *name;

    void (*matmul)(const tgi_product *product);

    /* out[i] = a[i a_step] . b[i b_step]; steps are 0 or 1 */
    void (*add)(int64_t n, const tg_real *a, int64_t a_step, const tg_real *b, int64_t b_step,
                tg_real *out);
    void (*subtract)(int64_t n, const tg_real *a, int64_t a_step, const tg_real *b, int64_t b_step,
                     tg_real *out);
    void (*multiply)(int64_t n, const tg_real *a, int64_t a_step, const tg_real *b, int64_t b_step,
                     tg_real *out);

    /* out[i] (+)= factor x[i], fused */
    void (*scale)(int64_t n, tg_real factor, const tg_real *x, tg_real *out, bool accumulate);
    /* out[i] (+)= x[i] y[i y_step], fused */
    void (*multiply_add)(int64_t n, const tg_real *x, const tg_real *y, int64_t y_step,
                         tg_real *out, bool accumulate);

    /* max(x, 0), NaN kept; its gradient from the output: where y > 0 (or is NaN) */
    void (*relu)(int64_t n, const tg_real *x, tg_real *out);
    void (*relu_backward)(int64_t n, const tg_real *y, const tg_real *out_grad, tg_real *x_grad,
                          bool accumulate);

    void (*exp)(int64_t n, const tg_real *x, tg_real *out);
    void (*log)(int64_t n, const tg_real *x, tg_real *out);

    /* The sum in double, 16 virtual lanes. */
    double (*sum)(int64_t n, const tg_real *x);
    /* sums[i] += x[i] */
    void (*add_to_sums)(int64_t n, const tg_real *x, double *sums);

    /* The maximum (NaN where there is one) into *maximum, and the sum of exp(x - maximum), whose
     * terms go to `out` unless it is NULL; `out` may be x. n >= 1. */
    tg_real (*exp_sum)(int64_t n, const tg_real *x, tg_real *maximum, tg_real *out);
    /* x_grad (+)= y (out_grad - sum(y out_grad)), a row of softmax's backward */
    void (*softmax_backward)(int64_t n, const tg_real *y, const tg_real *out_grad, tg_real *x_grad,
                             bool accumulate);
    /* x_grad (+)= factor exp(x - maximum), a row of cross-entropy's backward */
    void (*exp_scaled)(int64_t n, const tg_real *x, tg_real maximum, tg_real factor,
                       tg_real *x_grad, bool accumulate);

    void (*adam)(int64_t n, const tgi_adam_step *step, const tg_real *grad, tg_real *value,
                 tg_real *first, tg_real *second);
    /* velocity = momentum velocity + grad; value -= rate velocity */
    void (*momentum)(int64_t n, tg_real rate, tg_real momentum, const tg_real *grad, tg_real *value,
                     tg_real *velocity);
};

typedef struct tgi_kernels tgi_kernels;

/* The fastest table that this processor runs. */
const tgi_kernels *tgi_kernels_best(void);

/* The table of this name, NULL when there is none or the processor cannot run it. */
const tgi_kernels *tgi_kernels_named(const char *name);

#endif
