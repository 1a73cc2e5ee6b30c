#include <string.h>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"

typedef struct attributes {
    int axis, other;
} attributes;

/* A shape seen around two axes: (outer, first, middle, second, inner). */
typedef struct split {
    int64_t outer, first, middle, second, inner;
} split;

static tg_status axes_of(const tg_call *call, int *first, int *second, tg_error *error) {
    const attributes *a = call->attributes;
    tg_shape shape = call->inputs[0]->shape;
    tg_status status = tg_shape_axis("transpose", shape, a->axis, first, error);
    if (status == TG_OK)
        status = tg_shape_axis("transpose", shape, a->other, second, error);
    if (status == TG_OK && *first > *second) {
        int swapped = *first;
        *first = *second;
        *second = swapped;
    }
    return status;
}

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    int first, second;
    tg_status status = axes_of(call, &first, &second, error);
    if (status != TG_OK)
        return status;
    plan->shape = call->inputs[0]->shape;
    plan->shape.extent[first] = call->inputs[0]->shape.extent[second];
    plan->shape.extent[second] = call->inputs[0]->shape.extent[first];
    return TG_OK;
}

static split split_around(const tg_call *call, const tg_shape *shape) {
    int first = 0, second = 0;
    axes_of(call, &first, &second, NULL);
    split s = {1, shape->extent[first], 1, shape->extent[second], 1};
    for (int i = 0; i < shape->rank; i++) {
        if (i < first)
            s.outer *= shape->extent[i];
        else if (i > first && i < second)
            s.middle *= shape->extent[i];
        else if (i > second)
            s.inner *= shape->extent[i];
    }
    if (first == second)
        s.second = 1;
    return s;
}

static void put(int64_t n, const tg_real *from, tg_real *to, bool accumulate) {
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            to[i] += from[i];
    else
        memcpy(to, from, (size_t)n * sizeof *to);
}

/* to[outer, second, middle, first, inner] (+)= from[outer, first, middle, second, inner] */
static void exchange(split s, const tg_real *from, tg_real *to, bool accumulate) {
    if (s.inner == 0)
        return;
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t j = 0; j < s.second; j++)
            for (int64_t m = 0; m < s.middle; m++)
                for (int64_t i = 0; i < s.first; i++, to += s.inner)
                    put(s.inner,
                        from + (((o * s.first + i) * s.middle + m) * s.second + j) * s.inner, to,
                        accumulate);
}

static void forward(const tg_call *call) {
    exchange(split_around(call, &call->inputs[0]->shape), call->inputs[0]->real, call->result,
             false);
}

static void backward(const tg_call *call) {
    exchange(split_around(call, &call->output->shape), call->output_grad, call->input_grads[0],
             tgi_accumulates(call, 0));
}

static const tg_op op = {
    .name = "transpose",
    .input_count = 1,
    .attribute_bytes = sizeof(attributes),
    .differentiable = TG_INPUT(0),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_transpose(tg_var x, int axis, int other) {
    attributes a = {axis, other};
    return tg_apply(&op, 1, &x, &a);
}
