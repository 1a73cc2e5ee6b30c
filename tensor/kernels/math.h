/* Internal, for table.c: exp and log.
 *
 * In float they are the library's own, made of fused multiply-adds and bit patterns, so that every
 * table, compiler and C library gives the same bits; within 2 units in the last place. In double
 * they are the C library's. The polynomials are minimax fits of (exp(r) - 1 - r) / r^2 on
 * |r| <= ln 2 / 2 and of (log(1 + f) - f + f^2 / 2) / f^3 on [1/sqrt 2 - 1, sqrt 2 - 1]. */
#ifndef TGI_KERNEL_MATH_H
#define TGI_KERNEL_MATH_H

#include <math.h>

#include "tensor/kernels/lanes.h"

#ifdef TG_F64

static inline double exp_of(double x) {
    return exp(x);
}

static inline double log_of(double x) {
    return log(x);
}

#else

#define LN2_HIGH 0.693145752f     /* ln 2 to 15 bits, so that its multiples are exact */
#define LN2_LOW  1.428606765e-06f /* and the rest */

static inline float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float exp_of(float x) {
    const float to_integer = 12582912.0f; /* 1.5 2^23: adding it rounds to an integer */
    x = x > 89.0f ? 89.0f : x;            /* infinity from 88.73 on; NaN passes both */
    const int vanishes = x < -104.0f;     /* zero from -103.98 on */
    x = vanishes ? 0.0f : x;
    float shifted = fused(x, 1.44269504f, to_integer);
    float n = shifted - to_integer;
    float r = fused(n, -LN2_HIGH, x);
    r = fused(n, -LN2_LOW, r);
    float p = 0.00138131448f;
    p = fused(p, r, 0.00836941879f);
    p = fused(p, r, 0.041668456f);
    p = fused(p, r, 0.166665152f);
    p = fused(p, r, 0.49999994f);
    p = fused(p, r * r, r) + 1.0f;
    /* p 2^n in two steps, since n reaches from -150 to 128 and 2^n alone would not fit */
    uint32_t exponent = bits_of_float(shifted) - bits_of_float(to_integer) + 256u;
    uint32_t half = exponent >> 1;
    p *= float_of_bits((half - 128u + 127u) << 23);
    /* A plain zero factor: rounding a product to zero would cost hundreds of cycles. */
    return p * (vanishes ? 0.0f : float_of_bits((exponent - half - 128u + 127u) << 23));
}

static inline float log_of(float x) {
    const float smallest = 1.17549435e-38f, infinity = float_of_bits(0x7f800000u);
    float scaled = x < smallest ? x * 33554432.0f : x; /* 2^25 lifts subnormals */
    float shift = x < smallest ? -25.0f : 0.0f;
    uint32_t bits = bits_of_float(scaled);
    uint32_t over = bits - 0x3f3504f3u; /* from 1 / sqrt 2 on */
    int32_t exponent = (int32_t)(over & 0xff800000u) / 8388608;
    float f = float_of_bits((over & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float e = (float)exponent + shift;
    float p = 0.0674664006f;
    p = fused(p, f, -0.116756521f);
    p = fused(p, f, 0.11888162f);
    p = fused(p, f, -0.124055892f);
    p = fused(p, f, 0.142195523f);
    p = fused(p, f, -0.166679963f);
    p = fused(p, f, 0.200021192f);
    p = fused(p, f, -0.250000089f);
    p = fused(p, f, 0.333333135f);
    float square = f * f;
    float small = fused(p * f, square, fused(e, LN2_LOW, -0.5f * square));
    float result = fused(e, LN2_HIGH, f + small);
    result = x == infinity ? infinity : result;
    result = x == 0.0f ? -infinity : result;
    return x < 0.0f || x != x ? float_of_bits(0x7fc00000u) : result;
}

#endif

static void exp_each(int64_t n, const tg_real *x, tg_real *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = exp_of(x[i]);
}

static void log_each(int64_t n, const tg_real *x, tg_real *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = log_of(x[i]);
}

#endif
