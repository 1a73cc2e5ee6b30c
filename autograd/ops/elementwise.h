/* Internal: what operations on broadcast operands share. */
#ifndef TGI_OPS_ELEMENTWISE_H
#define TGI_OPS_ELEMENTWISE_H

#include "autograd/op.h"

/* For `check`: the output has the shape to which inputs 0 and 1 broadcast. */
tg_status tgi_check_broadcast(const char *name, const tg_call *call, tg_plan *plan,
                              tg_error *error);

/* For `forward`: runs a kernel for two operands over inputs 0 and 1 as they broadcast. */
void tgi_forward_broadcast(const tg_call *call,
                           void (*kernel)(int64_t n, const tg_real *a, int64_t a_step,
                                          const tg_real *b, int64_t b_step, tg_real *out));

/* For `backward`: the gradient of input i (if wanted) gets factor . x, summed to the input's shape;
 * x has the output's shape. Honours `fresh`. */
void tgi_add_to_grad(const tg_call *call, int i, double factor, const tg_real *x);

/* Whether the gradient of input i is to be added to, rather than written first. */
static inline bool tgi_accumulates(const tg_call *call, int i) {
    return (call->fresh & TG_INPUT(i)) == 0;
}

#endif
