#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/kernels/kernels.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    return tgi_check_broadcast("sub", call, plan, error);
}

static void forward(const tg_call *call) {
    tgi_forward_broadcast(call, call->kernels->subtract);
}

static void backward(const tg_call *call) {
    tgi_add_to_grad(call, 0, 1, call->output_grad);
    tgi_add_to_grad(call, 1, -1, call->output_grad);
}

static const tg_op op = {
    .name = "sub",
    .input_count = 2,
    .differentiable = TG_INPUT(0) | TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_sub(tg_var a, tg_var b) {
    return tg_apply(&op, 2, (tg_var[]){a, b}, NULL);
}
