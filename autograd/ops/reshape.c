#include <inttypes.h>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/kernels/kernels.h"

/* Puts what is left in the place of a -1; without one, leaves the shape as it is. */
static void infer(tg_shape *shape, int64_t count) {
    int64_t known = 1;
    int unknown = -1;
    for (int i = 0; i < shape->rank && shape->rank <= TG_MAX_RANK; i++) {
        if (shape->extent[i] == -1)
            unknown = i;
        else if (shape->extent[i] <= 0 || known > INT64_MAX / shape->extent[i])
            return;
        else
            known *= shape->extent[i];
    }
    if (unknown >= 0 && count % known == 0)
        shape->extent[unknown] = count / known;
}

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    const tg_shape *wanted = call->attributes;
    const tg_view *x = call->inputs[0];
    plan->shape = *wanted;
    infer(&plan->shape, x->count);
    int64_t count;
    if (tg_shape_count(plan->shape, &count, NULL) != TG_OK || count != x->count) {
        char from[TG_SHAPE_TEXT], to[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE, "reshape: %s, %" PRId64 " elements, does not become %s",
                       tg_shape_text(x->shape, from), x->count, tg_shape_text(*wanted, to));
    }
    return TG_OK;
}

static void backward(const tg_call *call) {
    call->kernels->scale(call->output->count, 1, call->output_grad, call->input_grads[0],
                         tgi_accumulates(call, 0));
}

static const tg_op op = {
    .name = "reshape",
    .input_count = 1,
    .attribute_bytes = sizeof(tg_shape),
    .differentiable = TG_INPUT(0),
    .writes_fresh = true,
    .aliases_input = true,
    .check = check,
    .backward = backward,
};

tg_var tg_reshape(tg_var x, tg_shape shape) {
    return tg_apply(&op, 1, &x, &shape);
}
