#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/broadcast.h"
#include "tensor/kernels/kernels.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    tg_status status = tgi_check_broadcast("mul", call, plan, error);
    bool expanded = !tg_shape_equal(call->inputs[0]->shape, plan->shape) ||
                    !tg_shape_equal(call->inputs[1]->shape, plan->shape);
    int64_t count;
    if (status == TG_OK)
        status = tg_shape_count(plan->shape, &count, error);
    if (status == TG_OK && expanded)
        plan->backward_scratch_bytes = (size_t)count * sizeof(tg_real);
    return status;
}

static void forward(const tg_call *call) {
    tgi_forward_broadcast(call, call->kernels->multiply);
}

/* The gradient of input i is output_grad times the other input, summed where i was expanded. */
static void backward_of(const tg_call *call, int i) {
    const tg_view *own = call->inputs[i], *other = call->inputs[1 - i];
    if (call->input_grads[i] == NULL)
        return;
    bool summed = !tg_shape_equal(own->shape, call->output->shape);
    tg_real *out = summed ? call->scratch : call->input_grads[i];
    bool accumulate = !summed && tgi_accumulates(call, i);
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, call->output->shape, call->output->shape, other->shape); !it.done;
         tgi_broadcast_next(&it))
        call->kernels->multiply_add(it.run, call->output_grad + it.out_offset,
                                    other->real + it.offset[1], it.step[1], out + it.out_offset,
                                    accumulate);
    if (summed)
        tgi_add_to_grad(call, i, 1, out);
}

static void backward(const tg_call *call) {
    backward_of(call, 0);
    backward_of(call, 1);
}

static const tg_op op = {
    .name = "mul",
    .input_count = 2,
    .differentiable = TG_INPUT(0) | TG_INPUT(1),
    .backward_reads = TG_INPUT(0) | TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_mul(tg_var a, tg_var b) {
    return tg_apply(&op, 2, (tg_var[]){a, b}, NULL);
}
