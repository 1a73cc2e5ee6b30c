/* All that the author of an operation includes. An operation is one file:
 *
 *     static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
 *         plan->shape = call->inputs[0]->shape;               // what comes out
 *         return TG_OK;
 *     }
 *     static void forward(const tg_call *call) {
 *         const tg_real *x = call->inputs[0]->real;
 *         for (int64_t i = 0; i < call->output->count; i++)
 *             call->result[i] = x[i] * x[i];
 *     }
 *     static void backward(const tg_call *call) {
 *         const tg_real *x = call->inputs[0]->real;
 *         for (int64_t i = 0; i < call->output->count; i++)
 *             call->input_grads[0][i] += 2 * x[i] * call->output_grad[i];
 *     }
 *     static const tg_op square_op = {
 *         .name = "square", .input_count = 1, .differentiable = TG_INPUT(0),
 *         .backward_reads = TG_INPUT(0),
 *         .check = check, .forward = forward, .backward = backward,
 *     };
 *     tg_var square(tg_var x) {
 *         return tg_apply(&square_op, 1, &x, NULL);
 *     }
 *
 * Operations outside the library use the same struct and the same call, and are neither slower nor
 * second-class. Check a new gradient with autograd/gradcheck.h. */
#ifndef TG_OP_H
#define TG_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "autograd/tape.h"
#include "tensor/real.h"
#include "tensor/shape.h"
#include "tensor/status.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tgi_kernels;

/* Bits that name inputs; from the 32nd on they share the last. */
#define TG_INPUT(i)    (UINT32_C(1) << ((i) < 31 ? (i) : 31))
#define TG_EVERY_INPUT UINT32_MAX
#define TG_ANY_NUMBER  (-1)

/* One call of an operation's functions. Everything belongs to the engine and lasts for the call;
 * nothing here is to be kept or freed. */
typedef struct tg_call {
    /* Always. In `check` the elements of real inputs are not there yet: only shapes, types and the
     * elements of integer inputs may be read. */
    int input_count;
    const tg_view *const *inputs;
    const void *attributes; /* a copy of what tg_apply was given */

    /* In forward and backward. */
    const tg_view *output;
    void *saved;   /* plan->saved_bytes, written by forward, read by backward; 64-byte aligned */
    void *scratch; /* plan->scratch_bytes (backward: backward_scratch_bytes), not cleared */
    const struct tgi_kernels *kernels;

    /* In forward: where the output goes, not cleared. The same memory as output->real. */
    tg_real *result;

    /* In backward. input_grads[i] has the shape of input i and is added to (+=); NULL where nobody
     * wants it. `fresh` has the bit of an input whose gradient is still uninitialised, to be
     * written (=); only an operation that declares `writes_fresh` ever sees one. Two inputs may be
     * the same var, and then share one gradient: finish with one before the next. */
    const tg_real *output_grad;
    tg_real *const *input_grads;
    uint32_t fresh;
} tg_call;

/* What `check` answers. Starts as zeros. */
typedef struct tg_plan {
    tg_shape shape; /* of the output, which is always TG_REAL */
    size_t saved_bytes;
    size_t scratch_bytes;
    size_t backward_scratch_bytes;
} tg_plan;

typedef struct tg_op {
    /* For messages. */
    const char *name;
    /* How many inputs, or TG_ANY_NUMBER (one at least). */
    int input_count;
    /* Of the attributes that tg_apply copies. */
    size_t attribute_bytes;
    /* The inputs that are integers; the others are reals. The engine refuses what is not so. */
    uint32_t integers;
    /* The inputs that have a gradient (TG_INPUT(0) | ...). Integers never have one. */
    uint32_t differentiable;
    /* The inputs whose elements backward reads, and whether it reads the output's: the memory of
     * all others may be reused before. An undeclared element holds anything in backward. */
    uint32_t backward_reads;
    bool backward_reads_output;
    /* Backward honours `fresh`; without this the engine clears gradients first. */
    bool writes_fresh;
    /* The output is input 0 under another shape and shares its memory; forward is NULL. */
    bool aliases_input;
    /* Looks at shapes, attributes and integer inputs, fills the plan, and alone may fail: with
     * tg_fail(error, ...) and a message that opens with the operation's name. */
    tg_status (*check)(const tg_call *call, tg_plan *plan, tg_error *error);
    /* Computes result. Neither this nor backward is called for an output without elements. */
    void (*forward)(const tg_call *call);
    /* Adds to the gradients of the inputs. NULL: recording it on a var that wants a gradient, as an
     * input that is declared differentiable, is an error. */
    void (*backward)(const tg_call *call);
} tg_op;

/* Records one operation: checks it, copies the attributes, runs forward, and returns the output.
 * The inputs are vars of one tape. On failure the tape keeps the first error (see
 * autograd/tape.h) and the result is a var with which later calls do nothing. */
tg_var tg_apply(const tg_op *op, int input_count, const tg_var *inputs, const void *attributes);

#ifdef __cplusplus
}
#endif

#endif
