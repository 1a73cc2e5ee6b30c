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
    call->kernels->relu(call->output->count, call->inputs[0]->real, call->result);
}

static void backward(const tg_call *call) {
    call->kernels->relu_backward(call->output->count, call->output->real, call->output_grad,
                                 call->input_grads[0], tgi_accumulates(call, 0));
}

static const tg_op op = {
    .name = "relu",
    .input_count = 1,
    .differentiable = TG_INPUT(0),
    .backward_reads_output = true,
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_relu(tg_var x) {
    return tg_apply(&op, 1, &x, NULL);
}
