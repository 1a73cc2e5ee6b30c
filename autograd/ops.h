/* The operations. Each records itself on the tape of its inputs and returns its output; errors
 * stick to the tape (autograd/tape.h). Names and meaning are PyTorch's; where ours differ, it says
 * so. "Broadcast" is NumPy's rule. */
#ifndef TG_OPS_H
#define TG_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "autograd/tape.h"
#include "tensor/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

/* a + b, a - b, a b, element by element, broadcast. */
tg_var tg_add(tg_var a, tg_var b);
tg_var tg_sub(tg_var a, tg_var b);
tg_var tg_mul(tg_var a, tg_var b);

/* factor x. */
tg_var tg_scale(tg_var x, double factor);

/* The matrix product over the last two axes, (..., m, k) x (..., k, n) -> (..., m, n); the axes
 * before are a batch, and broadcast. Both have rank 2 at least (PyTorch takes vectors too: reshape
 * them). An empty inner extent gives zeros. */
tg_var tg_matmul(tg_var a, tg_var b);

/* The same with either side transposed in its last two axes first; nothing is copied. */
tg_var tg_matmul_transposed(tg_var a, bool transpose_a, tg_var b, bool transpose_b);

/* x W + b over the last axis: x (..., in), weight (in, out), bias (out,). The weight is stored as it
 * is multiplied; PyTorch stores it transposed. */
tg_var tg_linear(tg_var x, tg_var weight, tg_var bias);

/* The same elements in another shape; shares memory. One extent may be -1: it is what is left. */
tg_var tg_reshape(tg_var x, tg_shape shape);

/* Two axes exchanged (negative ones count from the end); copies. */
tg_var tg_transpose(tg_var x, int axis, int other);

/* exp(x) / sum exp(x) along an axis. A NaN in a slice makes the slice NaN, and so does a slice of
 * -inf alone (it has no distribution). */
tg_var tg_softmax(tg_var x, int axis);

/* The same where `mask` (integers, broadcast to x's shape) is 0; elsewhere 0, whatever x holds
 * there. A slice that is masked throughout gives zeros, and zero gradients. */
tg_var tg_softmax_masked(tg_var x, tg_var mask, int axis);

/* x where mask is 0, `value` elsewhere; x and mask broadcast. */
tg_var tg_masked_fill(tg_var x, tg_var mask, double value);

/* max(x, 0); NaN stays; the gradient at 0 is 0. */
tg_var tg_relu(tg_var x);

/* The rows of table (n, d) that ids name: ids of any shape (...) -> (..., d). An id outside [0, n)
 * is TG_ERANGE. Repeated ids add up in the gradient. */
tg_var tg_embedding(tg_var table, tg_var ids);

/* Each element is 0 with this probability and x / (1 - probability) otherwise: what it is in
 * expectation. The draws are one of rng's 32-bit words for each element, of which 24 bits u / 2^24 <
 * probability make it 0; with a probability of 0 or 1 nothing is drawn, and rng may be NULL. rng is
 * used while this is recorded, and not afterwards. (PyTorch's draws differ.) */
tg_var tg_dropout(tg_var x, double probability, tg_rng *rng);

/* The sum or mean of all elements, a scalar; in double inside. The mean of none is NaN. */
tg_var tg_sum(tg_var x);
tg_var tg_mean(tg_var x);

/* The same along one axis, which goes, or stays with extent 1 where `keep`. */
tg_var tg_sum_axis(tg_var x, int axis, bool keep);
tg_var tg_mean_axis(tg_var x, int axis, bool keep);

/* The target that cross-entropy passes over, as in PyTorch. */
#define TG_IGNORED (-100)

typedef enum tg_reduction { TG_MEAN, TG_SUM } tg_reduction;

/* -log softmax(logits)[target]: logits (..., classes), targets (...) integers in [0, classes), or
 * `ignored`, which counts for nothing. A scalar: the mean over the counted targets, or their sum.
 * Without any counted target it is 0, with gradient 0 (PyTorch's mean is NaN). Another target is
 * TG_ERANGE. */
tg_var tg_cross_entropy(tg_var logits, tg_var targets, int32_t ignored, tg_reduction reduction);

#ifdef __cplusplus
}
#endif

#endif
