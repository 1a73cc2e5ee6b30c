/* sum and mean, of all elements or along one axis. */
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/broadcast.h"

typedef struct attributes {
    int axis;
    bool all;  /* over all axes */
    bool keep; /* the axis stays, with extent 1 */
    bool mean;
} attributes;

/* The input's shape with extent 1 where it is summed over: what broadcasts back to the input. */
static tg_shape kept_shape(const attributes *a, tg_shape shape) {
    for (int i = 0; i < shape.rank; i++)
        if (a->all || i == a->axis || i == a->axis + shape.rank)
            shape.extent[i] = 1;
    return shape;
}

static double factor_of(const attributes *a, tg_shape shape) {
    double count = 1;
    for (int i = 0; i < shape.rank; i++)
        if (a->all || i == a->axis || i == a->axis + shape.rank)
            count *= (double)shape.extent[i];
    return a->mean ? 1 / count : 1;
}

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    const attributes *a = call->attributes;
    tg_shape shape = call->inputs[0]->shape;
    if (a->all)
        return TG_OK;
    int axis;
    tg_status status = tg_shape_axis(a->mean ? "mean" : "sum", shape, a->axis, &axis, error);
    if (status != TG_OK)
        return status;
    for (int i = 0; i < shape.rank; i++)
        if (i != axis)
            plan->shape.extent[plan->shape.rank++] = shape.extent[i];
        else if (a->keep)
            plan->shape.extent[plan->shape.rank++] = 1;
    return TG_OK;
}

static void forward(const tg_call *call) {
    const attributes *a = call->attributes;
    const tg_view *x = call->inputs[0];
    tgi_sum_to_shape(call->kernels, x->shape, x->real, kept_shape(a, x->shape),
                     factor_of(a, x->shape), call->result, false);
}

static void backward(const tg_call *call) {
    const attributes *a = call->attributes;
    tg_shape shape = call->inputs[0]->shape;
    tg_real factor = (tg_real)factor_of(a, shape);
    bool accumulate = tgi_accumulates(call, 0);
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, shape, kept_shape(a, shape), shape); !it.done;
         tgi_broadcast_next(&it)) {
        const tg_real *from = call->output_grad + it.offset[0];
        tg_real *to = call->input_grads[0] + it.out_offset;
        for (int64_t i = 0; i < it.run; i++) {
            tg_real grad = factor * from[i * it.step[0]];
            to[i] = accumulate ? to[i] + grad : grad;
        }
    }
}

#define REDUCTION(text)                                                                            \
    {                                                                                              \
        .name = text, .input_count = 1, .attribute_bytes = sizeof(attributes),                     \
        .differentiable = TG_INPUT(0), .writes_fresh = true, .check = check, .forward = forward,   \
        .backward = backward,                                                                      \
    }

static const tg_op sum_op = REDUCTION("sum");
static const tg_op mean_op = REDUCTION("mean");

tg_var tg_sum(tg_var x) {
    return tg_apply(&sum_op, 1, &x, &(attributes){.all = true});
}

tg_var tg_mean(tg_var x) {
    return tg_apply(&mean_op, 1, &x, &(attributes){.all = true, .mean = true});
}

tg_var tg_sum_axis(tg_var x, int axis, bool keep) {
    return tg_apply(&sum_op, 1, &x, &(attributes){.axis = axis, .keep = keep});
}

tg_var tg_mean_axis(tg_var x, int axis, bool keep) {
    return tg_apply(&mean_op, 1, &x, &(attributes){.axis = axis, .keep = keep, .mean = true});
}
