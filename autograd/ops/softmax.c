#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/broadcast.h"
#include "tensor/kernels/kernels.h"

/* x seen around the axis: (outer, n, inner). A slice is n elements, `inner` apart. */
typedef struct slices {
    int64_t outer, n, inner;
} slices;

static slices slices_of(const tg_call *call) {
    const int *attribute = call->attributes;
    const tg_shape *shape = &call->inputs[0]->shape;
    int axis = 0;
    tg_shape_axis("softmax", *shape, *attribute, &axis, NULL);
    slices s = {1, shape->extent[axis], 1};
    for (int i = 0; i < shape->rank; i++) {
        s.outer *= i < axis ? shape->extent[i] : 1;
        s.inner *= i > axis ? shape->extent[i] : 1;
    }
    return s;
}

static int64_t slice_start(slices s, int64_t slice) {
    return slice / s.inner * s.n * s.inner + slice % s.inner;
}

static tg_status check_as(const char *name, const tg_call *call, tg_plan *plan, tg_error *error) {
    const int *attribute = call->attributes;
    tg_shape shape = call->inputs[0]->shape;
    int axis;
    tg_status status = tg_shape_axis(name, shape, *attribute, &axis, error);
    if (status != TG_OK)
        return status;
    size_t slice = (size_t)shape.extent[axis] * sizeof(tg_real);
    plan->shape = shape;
    plan->scratch_bytes = slice;
    plan->backward_scratch_bytes = 3 * slice;
    return TG_OK;
}

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    return check_as("softmax", call, plan, error);
}

/* to = exp(from - max) / sum; they may be the same. */
static void normalise(const tgi_kernels *kernels, int64_t n, const tg_real *from, tg_real *to) {
    tg_real maximum;
    tg_real sum = kernels->exp_sum(n, from, &maximum, to);
    for (int64_t i = 0; i < n; i++)
        to[i] /= sum;
}

static void forward(const tg_call *call) {
    slices s = slices_of(call);
    const tg_real *x = call->inputs[0]->real;
    tg_real *row = call->scratch;
    for (int64_t slice = 0; slice < s.outer * s.inner && s.n > 0; slice++) {
        int64_t start = slice_start(s, slice);
        if (s.inner == 1) {
            normalise(call->kernels, s.n, x + start, call->result + start);
            continue;
        }
        for (int64_t i = 0; i < s.n; i++)
            row[i] = x[start + i * s.inner];
        normalise(call->kernels, s.n, row, row);
        for (int64_t i = 0; i < s.n; i++)
            call->result[start + i * s.inner] = row[i];
    }
}

/* The slice's elements are put side by side and their gradient back in its places. */
static void backward_strided(const tg_call *call, slices s, int64_t start) {
    tg_real *y = call->scratch, *out_grad = y + s.n, *x_grad = out_grad + s.n;
    for (int64_t i = 0; i < s.n; i++) {
        y[i] = call->output->real[start + i * s.inner];
        out_grad[i] = call->output_grad[start + i * s.inner];
    }
    call->kernels->softmax_backward(s.n, y, out_grad, x_grad, false);
    for (int64_t i = 0; i < s.n; i++) {
        tg_real *to = &call->input_grads[0][start + i * s.inner];
        *to = tgi_accumulates(call, 0) ? *to + x_grad[i] : x_grad[i];
    }
}

static void backward(const tg_call *call) {
    slices s = slices_of(call);
    for (int64_t slice = 0; slice < s.outer * s.inner && s.n > 0; slice++) {
        int64_t start = slice_start(s, slice);
        if (s.inner == 1)
            call->kernels->softmax_backward(s.n, call->output->real + start,
                                            call->output_grad + start, call->input_grads[0] + start,
                                            tgi_accumulates(call, 0));
        else
            backward_strided(call, s, start);
    }
}

static const tg_op op = {
    .name = "softmax",
    .input_count = 1,
    .attribute_bytes = sizeof(int),
    .differentiable = TG_INPUT(0),
    .backward_reads_output = true,
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_softmax(tg_var x, int axis) {
    return tg_apply(&op, 1, &x, &axis);
}

static tg_status check_masked(const tg_call *call, tg_plan *plan, tg_error *error) {
    const tg_view *x = call->inputs[0], *mask = call->inputs[1];
    tg_shape full;
    tg_status status = check_as("softmax_masked", call, plan, error);
    if (status != TG_OK)
        return status;
    if (tg_shape_broadcast("softmax_masked", x->shape, mask->shape, &full, NULL) != TG_OK ||
        !tg_shape_equal(full, x->shape)) {
        char tx[TG_SHAPE_TEXT], tm[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE, "softmax_masked: mask %s does not broadcast to x %s",
                       tg_shape_text(mask->shape, tm), tg_shape_text(x->shape, tx));
    }
    plan->scratch_bytes += (size_t)x->count * sizeof(int32_t);
    return TG_OK;
}

/* The mask over the whole of x. */
static void expand_mask(const tg_call *call, int32_t *out) {
    const tg_view *x = call->inputs[0], *mask = call->inputs[1];
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, x->shape, x->shape, mask->shape); !it.done;
         tgi_broadcast_next(&it))
        for (int64_t i = 0; i < it.run; i++)
            out[it.out_offset + i] = mask->integer[it.offset[1] + i * it.step[1]];
}

/* The elements of a slice that are not masked are put together, so that no other has a say. */
static void forward_masked(const tg_call *call) {
    slices s = slices_of(call);
    tg_real *row = call->scratch;
    int32_t *masked = (int32_t *)(void *)(row + s.n);
    expand_mask(call, masked);
    for (int64_t slice = 0; slice < s.outer * s.inner && s.n > 0; slice++) {
        int64_t start = slice_start(s, slice), visible = 0;
        for (int64_t i = 0; i < s.n; i++)
            if (masked[start + i * s.inner] == 0)
                row[visible++] = call->inputs[0]->real[start + i * s.inner];
        if (visible > 0)
            normalise(call->kernels, visible, row, row);
        visible = 0;
        for (int64_t i = 0; i < s.n; i++) {
            int64_t at = start + i * s.inner;
            call->result[at] = masked[at] == 0 ? row[visible++] : 0;
        }
    }
}

static const tg_op masked_op = {
    .name = "softmax_masked",
    .input_count = 2,
    .attribute_bytes = sizeof(int),
    .integers = TG_INPUT(1),
    .differentiable = TG_INPUT(0),
    .backward_reads_output = true,
    .writes_fresh = true,
    .check = check_masked,
    .forward = forward_masked,
    .backward = backward,
};

tg_var tg_softmax_masked(tg_var x, tg_var mask, int axis) {
    return tg_apply(&masked_op, 2, (tg_var[]){x, mask}, &axis);
}
