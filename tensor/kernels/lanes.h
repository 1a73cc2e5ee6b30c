/* Internal, for table.c: vectors of independent lanes, and the fused multiply-add.
 *
 * fused(a, b, c) is a b + c with one rounding, in every table, so that all give the same bits. */
#ifndef TGI_LANES_H
#define TGI_LANES_H

#include <stdint.h>
#include <string.h>

#include "tensor/real.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define TGI_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define TGI_VECTOR_BYTES 32
#else
#define TGI_VECTOR_BYTES 16
#endif

enum { LANES = TGI_VECTOR_BYTES / (int)sizeof(tg_real) };

typedef tg_real lanes __attribute__((vector_size(TGI_VECTOR_BYTES)));

#if defined(TG_F64)
static inline double fused(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
#elif defined(__FMA__) || defined(__aarch64__)
static inline float fused(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
#else
/* Without the instruction: a b is exact in double, and the sum is rounded to odd there (the last
 * bit set when digits were lost), after which the rounding to float is the only one that counts.
 * Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
 * rounding to odd", IEEE Transactions on Computers 57(4), 2008. */
static inline float fused(float a, float b, float c) {
    double product = (double)a * (double)b;
    double addend = (double)c;
    double sum = product + addend;
    double part = sum - product;
    double lost = (product - (sum - part)) + (addend - part); /* sum + lost is exact */
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    uint64_t even = (bits & 1) ^ 1;
    uint64_t inexact = (uint64_t)((lost < 0) | (lost > 0)); /* false for NaN, from infinities */
    uint64_t away = (uint64_t)((lost > 0) == (sum > 0));
    bits += (inexact & even) * (2 * away - 1); /* to the odd neighbour, towards the exact value */
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}
#endif

static inline lanes lanes_load(const tg_real *from) {
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void lanes_store(tg_real *to, lanes v) {
    memcpy(to, &v, sizeof v);
}

static inline lanes lanes_splat(tg_real x) {
    return x - (lanes){0}; /* not +: that would lose the sign of -0 */
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* A mask of the first n lanes, 0 <= n < LANES. */
static inline __m256i first_lanes(int64_t n) {
#if defined(TG_F64)
    static const int64_t ones[2 * LANES] = {-1, -1, -1, -1};
#else
    static const int32_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
#endif
    return _mm256_loadu_si256((const __m256i *)(const void *)(ones + LANES - n));
}
#endif

/* The first n lanes from memory (all from LANES on, none up to 0), the others `filler`; memory
 * behind the n-th element is not touched. */
static inline lanes lanes_load_some(const tg_real *from, int64_t n, tg_real filler) {
    if (n >= LANES)
        return lanes_load(from);
    n = n > 0 ? n : 0;
#if defined(__AVX512F__) && defined(TG_F64)
    return (lanes)_mm512_mask_loadu_pd(_mm512_set1_pd(filler), (__mmask8)((1u << n) - 1), from);
#elif defined(__AVX512F__)
    return (lanes)_mm512_mask_loadu_ps(_mm512_set1_ps(filler), (__mmask16)((1u << n) - 1), from);
#elif defined(__AVX2__) && defined(TG_F64)
    __m256i mask = first_lanes(n);
    return (lanes)_mm256_blendv_pd(_mm256_set1_pd(filler), _mm256_maskload_pd(from, mask),
                                   (__m256d)mask);
#elif defined(__AVX2__)
    __m256i mask = first_lanes(n);
    return (lanes)_mm256_blendv_ps(_mm256_set1_ps(filler), _mm256_maskload_ps(from, mask),
                                   (__m256)mask);
#else
    lanes v = {0};
    for (int i = 0; i < LANES; i++)
        v[i] = i < n ? from[i] : filler;
    return v;
#endif
}

/* The first n lanes to memory; nothing behind the n-th element is touched. */
static inline void lanes_store_some(tg_real *to, int64_t n, lanes v) {
    if (n >= LANES) {
        lanes_store(to, v);
        return;
    }
    n = n > 0 ? n : 0;
#if defined(__AVX512F__) && defined(TG_F64)
    _mm512_mask_storeu_pd(to, (__mmask8)((1u << n) - 1), (__m512d)v);
#elif defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)v);
#elif defined(__AVX2__) && defined(TG_F64)
    _mm256_maskstore_pd(to, first_lanes(n), (__m256d)v);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(to, first_lanes(n), (__m256)v);
#else
    for (int i = 0; i < n; i++)
        to[i] = v[i];
#endif
}

static inline lanes lanes_fused(lanes a, lanes b, lanes c) {
#if defined(__AVX512F__) && defined(TG_F64)
    return (lanes)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX512F__)
    return (lanes)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(TG_F64)
    return (lanes)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__AVX2__)
    return (lanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    for (int i = 0; i < LANES; i++)
        c[i] = fused(a[i], b[i], c[i]);
    return c;
#endif
}

#endif
