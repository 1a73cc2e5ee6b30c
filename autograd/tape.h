/* The tape: it records what is computed, and walks it back for gradients.
 *
 *     tg_tape *tape = tg_tape_create(NULL);
 *     for (...) {
 *         tg_var x = tg_constant(tape, tg_shape_2d(8, 3), inputs);
 *         tg_var y = tg_linear(x, tg_parameter(tape, weight), tg_parameter(tape, bias));
 *         if (tg_backward(tg_mean(tg_mul(y, y))) != TG_OK)      // the first error of the step
 *             fprintf(stderr, "%s\n", tg_tape_error(tape)->message);
 *         ...                                                   // an optimiser's step
 *         tg_tape_reset(tape);                                  // the vars are gone
 *     }
 *     tg_tape_free(tape);
 *
 * The first failure since the last reset sticks to the tape; later calls do nothing, and
 * tg_backward and tg_tape_reset return it. So calls nest and are checked once.
 *
 * A tape belongs to one thread at a time; different threads may drive different tapes
 * with parameters of their own. */
#ifndef TG_TAPE_H
#define TG_TAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "autograd/param.h"
#include "tensor/context.h"
#include "tensor/real.h"
#include "tensor/shape.h"
#include "tensor/status.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_tape tg_tape;

/* A value on a tape, by value. It is good until the tape's next reset; using it later is an error
 * that says so. */
typedef struct tg_var {
    tg_tape *tape;
    uint32_t index;
    uint32_t epoch;
} tg_var;

/* For tg_tape_create: `real_size` tells the number type that the caller was compiled for. */
tg_tape *tg_tape_create_for(const tg_context *context, size_t real_size);

/* An empty tape; NULL when memory is out. NULL is legal wherever a tape is expected: what it
 * records is nothing, and its status is TG_ENOMEM. A caller that was compiled for another tg_real
 * than the library gets a tape whose every use fails, with a message that says so. */
static inline tg_tape *tg_tape_create(const tg_context *context) {
    return tg_tape_create_for(context, sizeof(tg_real));
}

/* NULL is legal. */
void tg_tape_free(tg_tape *tape);

/* Forgets everything recorded, keeps the memory for the next step, and returns the step's status,
 * so that an error cannot vanish. */
tg_status tg_tape_reset(tg_tape *tape);

/* The first error since the last reset (its status is TG_OK and its message empty if there is
 * none); valid until the next reset. */
const tg_error *tg_tape_error(const tg_tape *tape);

/* Puts the tape in error, unless it is already; for modules that check their own arguments. Returns
 * the status that the tape has then (TG_ENOMEM for NULL). */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tg_status
tg_tape_fail(tg_tape *tape, tg_status status, const char *format, ...);

/* How many vars are recorded, and the bytes that the tape holds. */
size_t tg_tape_length(const tg_tape *tape);
size_t tg_tape_bytes(const tg_tape *tape);

/* Leaves. The elements are copied, row-major, as many as the shape says.
 * tg_constant: no gradient. tg_variable: with a gradient, to be read with tg_grad.
 * tg_integers: ids, targets or a mask; never differentiated.
 * tg_parameter: the parameter itself, not a copy; backward adds to its gradient. */
tg_var tg_constant(tg_tape *tape, tg_shape shape, const tg_real *elements);
tg_var tg_variable(tg_tape *tape, tg_shape shape, const tg_real *elements);
tg_var tg_integers(tg_tape *tape, tg_shape shape, const int32_t *elements);
tg_var tg_parameter(tg_tape *tape, tg_param *param);

/* The gradients of a scalar `loss` (one element, any rank): added to those of the parameters, and
 * made for tg_variables and for vars with tg_keep_grad. Once for each recording: a second call
 * before the reset is TG_ESTATE. Returns the tape's first error if there is one; where memory ran out
 * on the way (TG_ENOMEM), parameters may have a part of their gradients: tg_params_zero_grad. */
tg_status tg_backward(tg_var loss);

/* The same from an output of any shape, with `cotangent` (of that shape) for its gradient. */
tg_status tg_backward_from(tg_var output, const tg_real *cotangent);

/* Keeps the gradient of an intermediate var, whose memory is otherwise reused in backward. Returns
 * its argument. */
tg_var tg_keep_grad(tg_var var);

/* The elements; NULL for integers and where the var cannot be used. Valid until the reset. */
const tg_real *tg_value(tg_var var);

/* The gradient after backward, of the var's shape; NULL where there is none: not asked for, or the
 * var does not reach the loss. Valid until the reset. */
const tg_real *tg_grad(tg_var var);

/* The shape; rank 0 where the var cannot be used. */
tg_shape tg_shape_of(tg_var var);

/* The only element of a var with one; NaN where there is not exactly one. */
tg_real tg_item(tg_var var);

/* Its tape, for functions that take a var and need another leaf; NULL for {0}. */
static inline tg_tape *tg_tape_of(tg_var var) {
    return var.tape;
}

/* Whether the var is of this recording and can be used. Never an error. */
bool tg_is_valid(tg_var var);

/* Names a var, so that it can be found; `name` is not copied and must last until the reset.
 * Returns its argument. The find returns the last var of that name; if there is none, a var that
 * cannot be used, which is no error by itself (see tg_is_valid). */
tg_var tg_label(tg_var var, const char *name);
tg_var tg_find(tg_tape *tape, const char *name);

#ifdef __cplusplus
}
#endif

#endif
