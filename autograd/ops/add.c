#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/broadcast.h"
#include "tensor/kernels/kernels.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    return tgi_check_broadcast("add", call, plan, error);
}

static void forward(const tg_call *call) {
    const tg_view *a = call->inputs[0], *b = call->inputs[1];
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, call->output->shape, a->shape, b->shape); !it.done;
         tgi_broadcast_next(&it))
        call->kernels->add(it.run, a->real + it.offset[0], it.step[0], b->real + it.offset[1],
                           it.step[1], call->result + it.out_offset);
}

static void backward(const tg_call *call) {
    tgi_add_to_grad(call, 0, 1, call->output_grad);
    tgi_add_to_grad(call, 1, 1, call->output_grad);
}

static const tg_op op = {
    .name = "add",
    .input_count = 2,
    .differentiable = TG_INPUT(0) | TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_add(tg_var a, tg_var b) {
    return tg_apply(&op, 2, (tg_var[]){a, b}, NULL);
}
