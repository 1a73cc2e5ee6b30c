#include "tensor/rng.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "tensor/portable_math.h"

/* The generator is that of M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM Transactions on
 * Modeling and Computer Simulation 8 (1998), with the seeding of 2002. */
enum { WORDS = TG_RNG_WORDS, OFFSET = 397, BLOCK = 16 };

/* No normal is farther from the mean than sqrt(-2 log(2^-53)) = 8.57 deviations. */
static const double farthest = 9;

_Static_assert(sizeof(tg_rng) == 4 * (WORDS + 2) + 8, "tg_rng has no padding");

void tg_rng_seed(tg_rng *rng, uint64_t seed) {
    if (rng == NULL)
        return;
    *rng = (tg_rng){.next = WORDS};
    rng->word[0] = (uint32_t)(seed & UINT32_MAX);
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t before = rng->word[i - 1];
        rng->word[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
}

/* Where these are all 0 they stay so, and the draws with them. The other bits of word 0 are not
 * read by twist. */
static bool has_bits(const tg_rng *rng) {
    if ((rng->word[0] & 0x80000000u) != 0)
        return true;
    for (int i = 1; i < WORDS; i++)
        if (rng->word[i] != 0)
            return true;
    return false;
}

static tg_status check_state(const char *name, const tg_rng *rng, tg_error *error) {
    if (rng == NULL)
        return tg_fail(error, TG_EINVAL, "%s: the generator is NULL", name);
    if (rng->next == 0)
        return tg_fail(error, TG_ESTATE, "%s: the generator was not seeded", name);
    if (rng->next > WORDS)
        return tg_fail(error, TG_ESTATE, "%s: next word %" PRIu32 " of %d", name, rng->next, WORDS);
    bool cached = rng->has_cached == 1;
    if ((rng->has_cached != 0 && !cached) || !(fabs(rng->cached) <= (cached ? farthest : 0)))
        return tg_fail(error, TG_ESTATE, "%s: has_cached %" PRId32 " with cached %g", name,
                       rng->has_cached, rng->cached);
    if (!has_bits(rng))
        return tg_fail(error, TG_ESTATE, "%s: the words of the generator are all 0", name);
    return TG_OK;
}

tg_status tg_rng_check(const tg_rng *rng, tg_error *error) {
    return check_state("rng_check", rng, error);
}

/* Replaces all words: each takes its top bit from itself, the rest from its neighbour. */
static void twist(tg_rng *rng) {
    for (int i = 0; i < WORDS; i++) {
        uint32_t mixed = (rng->word[i] & 0x80000000u) | (rng->word[(i + 1) % WORDS] & 0x7fffffffu);
        uint32_t odd = (0u - (mixed & 1u)) & 0x9908b0dfu; /* no branch: it would be a coin toss */
        rng->word[i] = rng->word[(i + OFFSET) % WORDS] ^ (mixed >> 1) ^ odd;
    }
    rng->next = 0;
}

static uint32_t next_word(tg_rng *rng) {
    if (rng->next >= WORDS)
        twist(rng);
    uint32_t y = rng->word[rng->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* A multiple of 2^-24 in [0, 1). */
static float next_float(tg_rng *rng) {
    return (float)(next_word(rng) & 0xffffffu) * 0x1p-24f;
}

/* A multiple of 2^-53 in [0, 1), the high word first. */
static double next_double(tg_rng *rng) {
    uint64_t high = next_word(rng);
    uint64_t bits = high << 32 | next_word(rng);
    return (double)(bits & 0x1fffffffffffffu) * 0x1p-53;
}

uint32_t tg_rng_bits(tg_rng *rng) {
    return tg_rng_check(rng, NULL) == TG_OK ? next_word(rng) : 0;
}

/* What all draws of n values refuse. */
static tg_status check_draw(const char *name, const tg_rng *rng, int64_t n, const void *out,
                            tg_error *error) {
    tg_status status = check_state(name, rng, error);
    if (status == TG_OK && n > 0 && out == NULL)
        return tg_fail(error, TG_EINVAL, "%s: %" PRId64 " values into NULL", name, n);
    return status;
}

tg_status tg_rng_uniform(tg_rng *rng, int64_t n, double low, double high, tg_real *out,
                         tg_error *error) {
    tg_status status = check_draw("rng_uniform", rng, n, out, error);
    if (status != TG_OK)
        return status;
    if (!(fabs(low) <= FLT_MAX && fabs(high) <= FLT_MAX))
        return tg_fail(error, TG_EINVAL, "rng_uniform: [%g, %g] is no range of floats", low, high);
    if (low > high)
        return tg_fail(error, TG_EINVAL, "rng_uniform: low %g is above high %g", low, high);
    float from = (float)low, span = (float)high - from;
    if (!isfinite(span))
        return tg_fail(error, TG_EINVAL, "rng_uniform: [%g, %g] is too wide", low, high);
    for (int64_t i = 0; i < n; i++)
        out[i] = fmaf(next_float(rng), span, from);
    return TG_OK;
}

/* In both, 1 - a is exact, so that its logarithm is as good as log1p(-a). */
static double radius_of(double a) {
    return sqrt(-2 * tgi_log(1 - a));
}

static double next_normal(tg_rng *rng) {
    if (rng->has_cached == 1) {
        double cached = rng->cached;
        rng->has_cached = 0;
        rng->cached = 0;
        return cached;
    }
    const double two_pi = 0x1.921fb54442d18p+2;
    double theta = two_pi * next_double(rng);
    double radius = radius_of(next_double(rng));
    double sine, cosine;
    tgi_sine_cosine(theta, &sine, &cosine);
    rng->cached = radius * sine;
    rng->has_cached = 1;
    return radius * cosine;
}

/* out[16] */
static void normal_block(tg_rng *rng, float mean, float deviation, tg_real *out) {
    const float two_pi = 0x1.921fb6p+2f;
    float u[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        u[i] = next_float(rng);
    for (int i = 0; i < BLOCK / 2; i++) {
        float theta = two_pi * u[i + BLOCK / 2];
        double scale = deviation * radius_of(u[i]);
        double sine, cosine;
        tgi_sine_cosine(theta, &sine, &cosine);
        out[i] = (float)(mean + scale * cosine);
        out[i + BLOCK / 2] = (float)(mean + scale * sine);
    }
}

static void normal_long(tg_rng *rng, int64_t n, float mean, float deviation, tg_real *out) {
    for (int64_t i = 0; i + BLOCK <= n; i += BLOCK)
        normal_block(rng, mean, deviation, out + i);
    if (n % BLOCK == 0)
        return;
    for (int64_t i = 0; i < n % BLOCK; i++)
        next_word(rng); /* values that PyTorch draws, and then draws again */
    normal_block(rng, mean, deviation, out + n - BLOCK);
}

tg_status tg_rng_normal(tg_rng *rng, int64_t n, double mean, double deviation, tg_real *out,
                        tg_error *error) {
    tg_status status = check_draw("rng_normal", rng, n, out, error);
    if (status != TG_OK)
        return status;
    if (!(deviation >= 0 && fabs(mean) + farthest * deviation <= FLT_MAX))
        return tg_fail(error, TG_EINVAL, "rng_normal: mean %g with deviation %g", mean, deviation);
    if (n >= BLOCK)
        normal_long(rng, n, (float)mean, (float)deviation, out);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(mean + deviation * next_normal(rng));
    return TG_OK;
}

tg_status tg_rng_below(tg_rng *rng, uint32_t bound, uint32_t *out, tg_error *error) {
    tg_status status = check_draw("rng_below", rng, 1, out, error);
    if (status != TG_OK)
        return status;
    if (bound == 0)
        return tg_fail(error, TG_EINVAL, "rng_below: nothing is below 0");
    *out = next_word(rng) % bound;
    return TG_OK;
}

tg_status tg_rng_permutation(tg_rng *rng, int64_t n, int64_t *out, tg_error *error) {
    tg_status status = check_draw("rng_permutation", rng, n, out, error);
    if (status != TG_OK)
        return status;
    if (n > (int64_t)UINT32_MAX + 1)
        return tg_fail(error, TG_EINVAL, "rng_permutation: %" PRId64 " places, above 2^32", n);
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t other = i + next_word(rng) % (n - i);
        int64_t kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
    return TG_OK;
}
