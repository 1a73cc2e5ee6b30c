#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/kernels/kernels.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = call->inputs[0]->shape;
    return TG_OK;
}

static void forward(const tg_call *call) {
    const double *factor = call->attributes;
    call->kernels->scale(call->output->count, (tg_real)*factor, call->inputs[0]->real, call->result,
                         false);
}

static void backward(const tg_call *call) {
    const double *factor = call->attributes;
    tgi_add_to_grad(call, 0, *factor, call->output_grad);
}

static const tg_op op = {
    .name = "scale",
    .input_count = 1,
    .attribute_bytes = sizeof(double),
    .differentiable = TG_INPUT(0),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_scale(tg_var x, double factor) {
    return tg_apply(&op, 1, &x, &factor);
}
