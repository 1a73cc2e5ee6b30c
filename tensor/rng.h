/* Random numbers: a Mersenne Twister (mt19937) whose draws are those of PyTorch's CPU generator.
 *
 *     tg_rng rng;
 *     tg_rng_seed(&rng, 42);
 *     tg_rng_normal(&rng, 36, 0, 0.02, weights, &error);
 *
 * The reference is PyTorch 1.13 on a processor with AVX2, whose generator is seeded by
 * torch.manual_seed. The k-th draw here is the k-th there, whatever kinds of draws are mixed:
 *
 *     tg_rng_uniform      tensor.uniform_(low, high)         equal to the bit
 *     tg_rng_normal       tensor.normal_(mean, deviation)    within 1e-6 max(1, deviation), and the
 *                                                            rounding of the result to a float
 *     tg_rng_below        torch.randint(bound, (1,))         equal
 *     tg_rng_permutation  torch.randperm(n)                  equal
 *
 * where the tensor is contiguous and of type float32. PyTorch's normal draws differ in the last
 * bits from one machine to another; those here are the same bits everywhere.
 *
 * One stream, one meaning: both libraries draw the same float values, which tapegrad_f64 widens to
 * double. A model in double thus starts from the weights of its twin in float. (PyTorch's float64
 * tensors draw other values.)
 *
 * A draw fails with TG_EINVAL for arguments as said below, a NULL `rng`, or a NULL `out` that
 * something would be drawn into, and with TG_ESTATE where tg_rng_check does. It then leaves
 * generator and output as they were. Nothing is allocated. */
#ifndef TG_RNG_H
#define TG_RNG_H

#include <stdint.h>

#include "tensor/real.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TG_RNG_WORDS 624

/* The whole state. Plain data without padding: a copy goes on with the same draws, also after it
 * has been written to a file, and equal states are equal bytes. */
typedef struct tg_rng {
    uint32_t word[TG_RNG_WORDS];
    uint32_t next;      /* the word that the next draw takes: 1..624, where 624 is a new round */
    int32_t has_cached; /* 1: `cached` is the next of a short tg_rng_normal. 0: there is none */
    double cached;      /* of mean 0 and deviation 1; 0 where there is none */
} tg_rng;

/* The state that torch.manual_seed(seed) leaves: the seed counts modulo 2^32, and a cached normal
 * is forgotten. NULL is legal and does nothing. */
void tg_rng_seed(tg_rng *rng, uint64_t seed);

/* TG_ESTATE unless the state is one that a seeded generator can have; {0}, which was never seeded,
 * is none. For whoever fills the struct by other means. */
tg_status tg_rng_check(const tg_rng *rng, tg_error *error);

/* The next 32 random bits, as std::mt19937 gives them. 0 where tg_rng_check fails. */
uint32_t tg_rng_bits(tg_rng *rng);

/* n floats from [low, high]: low + u (high - low) with one rounding, where low, high and
 * high - low are rounded to float before, and u is a multiple of 2^-24 in [0, 1). As in PyTorch
 * the rounding may give `high` itself. One word for each value; none where n <= 0.
 * TG_EINVAL where low > high, or where low, high or high - low is not a finite float. */
tg_status tg_rng_uniform(tg_rng *rng, int64_t n, double low, double high, tg_real *out,
                         tg_error *error);

/* n floats from the normal distribution, by the method of Box and Muller: from uniform a and b,
 *
 *     mean + deviation sqrt(-2 log(1 - a)) cos(2 pi b)    and the same with sin
 *
 * are two values. It is computed in double and rounded to float once.
 *
 * n < 16: a and b have 53 bits, of two words each, b drawn first. The second value of a pair is
 * cached for the next short call, which may have another mean and deviation; long calls in between
 * leave it alone.
 *
 * n >= 16: a and b have 24 bits, and mean, deviation, 2 pi and 2 pi b are rounded to float. Of each
 * 16 values drawn, j is the a and j + 8 the b of the results j and j + 8. Where n is no multiple of
 * 16, the last 16 results are drawn again. n words, then, and 16 more where n % 16 > 0.
 *
 * Draws nothing where n <= 0. TG_EINVAL where the deviation is negative, and where mean and
 * deviation are not finite or so large that a draw might exceed the largest float. */
tg_status tg_rng_normal(tg_rng *rng, int64_t n, double mean, double deviation, tg_real *out,
                        tg_error *error);

/* One integer from 0..bound - 1: the next word modulo the bound, and so not quite evenly spread: a
 * value's probability may be off by a factor of 1 + bound / 2^32. TG_EINVAL where bound is 0. */
tg_status tg_rng_below(tg_rng *rng, uint32_t bound, uint32_t *out, tg_error *error);

/* 0..n - 1 in random order: place i is swapped with i + word % (n - i), for i from 0 to n - 2, with
 * a word for each. Draws nothing where n <= 1. TG_EINVAL where n > 2^32: a word does not reach. */
tg_status tg_rng_permutation(tg_rng *rng, int64_t n, int64_t *out, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
