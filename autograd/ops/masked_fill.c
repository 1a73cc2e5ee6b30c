#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/broadcast.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    tg_status status = tgi_check_broadcast("masked_fill", call, plan, error);
    int64_t count;
    if (status == TG_OK)
        status = tg_shape_count(plan->shape, &count, error);
    if (status == TG_OK)
        plan->backward_scratch_bytes = (size_t)count * sizeof(tg_real);
    return status;
}

/* out = mask ? value : x, over the full shape; x has the shape x_shape, the mask its own. */
static void fill(const tg_call *call, const tg_real *x, tg_shape x_shape, tg_real value,
                 tg_real *out) {
    const tg_view *mask = call->inputs[1];
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, call->output->shape, x_shape, mask->shape); !it.done;
         tgi_broadcast_next(&it)) {
        const tg_real *from = x + it.offset[0];
        const int32_t *masked = mask->integer + it.offset[1];
        tg_real *to = out + it.out_offset;
        for (int64_t i = 0; i < it.run; i++)
            to[i] = masked[i * it.step[1]] != 0 ? value : from[i * it.step[0]];
    }
}

static void forward(const tg_call *call) {
    const double *value = call->attributes;
    fill(call, call->inputs[0]->real, call->inputs[0]->shape, (tg_real)*value, call->result);
}

static void backward(const tg_call *call) {
    fill(call, call->output_grad, call->output->shape, 0, call->scratch);
    tgi_add_to_grad(call, 0, 1, call->scratch);
}

static const tg_op op = {
    .name = "masked_fill",
    .input_count = 2,
    .attribute_bytes = sizeof(double),
    .integers = TG_INPUT(1),
    .differentiable = TG_INPUT(0),
    .backward_reads = TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_masked_fill(tg_var x, tg_var mask, double value) {
    return tg_apply(&op, 2, (tg_var[]){x, mask}, &value);
}
