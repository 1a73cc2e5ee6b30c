#include <string.h>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/product.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    tg_shape x = call->inputs[0]->shape, w = call->inputs[1]->shape, b = call->inputs[2]->shape;
    if (x.rank < 1 || w.rank != 2 || b.rank != 1 || x.extent[x.rank - 1] != w.extent[0] ||
        w.extent[1] != b.extent[0]) {
        char tx[TG_SHAPE_TEXT], tw[TG_SHAPE_TEXT], tb[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE,
                       "linear: %s x %s + %s is not (..., in) x (in, out) + (out,)",
                       tg_shape_text(x, tx), tg_shape_text(w, tw), tg_shape_text(b, tb));
    }
    plan->shape = x;
    plan->shape.extent[x.rank - 1] = w.extent[1];
    return TG_OK;
}

/* x as one matrix: rows of it; in and out are the weight's extents. */
static int64_t rows_of(const tg_call *call) {
    tg_shape x = call->inputs[0]->shape;
    int64_t rows;
    x.rank -= 1;
    tg_shape_count(x, &rows, NULL);
    return rows;
}

/* result[rows, out] = bias[out], then += x[rows, in] W[in, out] */
static void forward(const tg_call *call) {
    const tg_view *x = call->inputs[0], *w = call->inputs[1], *b = call->inputs[2];
    int64_t rows = rows_of(call), in = w->shape.extent[0], out = w->shape.extent[1];
    for (int64_t i = 0; i < rows; i++)
        memcpy(call->result + i * out, b->real, (size_t)out * sizeof(tg_real));
    tgi_product_of(call->kernels, rows, in, out, tgi_matrix_of(x->real, in),
                   tgi_matrix_of(w->real, out), call->result, true);
}

static void backward(const tg_call *call) {
    const tg_view *x = call->inputs[0], *w = call->inputs[1];
    int64_t rows = rows_of(call), in = w->shape.extent[0], out = w->shape.extent[1];
    tgi_matrix g = tgi_matrix_of(call->output_grad, out);
    if (call->input_grads[0] != NULL) /* dx = G W^T */
        tgi_product_of(call->kernels, rows, out, in, g, tgi_transposed(tgi_matrix_of(w->real, out)),
                       call->input_grads[0], tgi_accumulates(call, 0));
    if (call->input_grads[1] != NULL) /* dW = x^T G */
        tgi_product_of(call->kernels, in, rows, out, tgi_transposed(tgi_matrix_of(x->real, in)), g,
                       call->input_grads[1], tgi_accumulates(call, 1));
    tgi_add_to_grad(call, 2, 1, call->output_grad);
}

static const tg_op op = {
    .name = "linear",
    .input_count = 3,
    .differentiable = TG_INPUT(0) | TG_INPUT(1) | TG_INPUT(2),
    .backward_reads = TG_INPUT(0) | TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_linear(tg_var x, tg_var weight, tg_var bias) {
    return tg_apply(&op, 3, (tg_var[]){x, weight, bias}, NULL);
}
