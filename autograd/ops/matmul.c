#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/product.h"
#include "tensor/broadcast.h"

typedef struct attributes {
    bool transpose_a, transpose_b;
} attributes;

/* The extents of one product, C[m, n] = A[m, k] B[k, n], and the batch around it. */
typedef struct extents {
    int64_t m, k, n;
    int64_t b_rows; /* of B as it enters the product: equal to k if the shapes fit */
    tg_shape a_batch, b_batch;
} extents;

static extents extents_of(const tg_call *call) {
    const attributes *t = call->attributes;
    tg_shape a = call->inputs[0]->shape, b = call->inputs[1]->shape;
    const int64_t *ea = a.extent + a.rank - 2, *eb = b.extent + b.rank - 2;
    extents e = {.m = ea[t->transpose_a],
                 .k = ea[!t->transpose_a],
                 .n = eb[!t->transpose_b],
                 .b_rows = eb[t->transpose_b],
                 .a_batch = tg_shape_make(a.rank - 2, a.extent),
                 .b_batch = tg_shape_make(b.rank - 2, b.extent)};
    return e;
}

/* "matmul: (14, 6) x (5, 9)^T: what", with the reason behind the shapes. */
static tg_status misfit(const tg_call *call, tg_error *error, const char *what) {
    const attributes *t = call->attributes;
    char a[TG_SHAPE_TEXT], b[TG_SHAPE_TEXT];
    return tg_fail(error, TG_ESHAPE, "matmul: %s%s x %s%s: %s",
                   tg_shape_text(call->inputs[0]->shape, a), t->transpose_a ? "^T" : "",
                   tg_shape_text(call->inputs[1]->shape, b), t->transpose_b ? "^T" : "", what);
}

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    if (call->inputs[0]->shape.rank < 2 || call->inputs[1]->shape.rank < 2)
        return misfit(call, error, "both have rank 2 at least");
    extents e = extents_of(call);
    if (e.k != e.b_rows) {
        char what[80];
        snprintf(what, sizeof what, "inner extents %" PRId64 " and %" PRId64 " differ", e.k,
                 e.b_rows);
        return misfit(call, error, what);
    }
    if (tg_shape_broadcast("matmul", e.a_batch, e.b_batch, &plan->shape, NULL) != TG_OK)
        return misfit(call, error, "the batches do not broadcast");
    plan->shape.extent[plan->shape.rank++] = e.m;
    plan->shape.extent[plan->shape.rank++] = e.n;
    return TG_OK;
}

/* The batch of the output. */
static tg_shape batch_of(const tg_call *call) {
    return tg_shape_make(call->output->shape.rank - 2, call->output->shape.extent);
}

/* A plain A whose whole batch meets one single B is one tall matrix: then m becomes its height, the
 * product is a single one, and true is returned. */
static bool make_tall(const tg_call *call, extents *e) {
    const attributes *t = call->attributes;
    int64_t batch, others;
    tg_shape_count(e->a_batch, &batch, NULL);
    tg_shape_count(e->b_batch, &others, NULL);
    if (t->transpose_a || others != 1 || !tg_shape_equal(e->a_batch, batch_of(call)))
        return false;
    e->m *= batch;
    return true;
}

/* Runs `product` for each matrix of the batch, with the numbers of the matrices of A, B and C. */
static void for_batch(const tg_call *call, const extents *e,
                      void (*product)(const tg_call *call, const extents *e, int64_t a, int64_t b,
                                      int64_t c)) {
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, batch_of(call), e->a_batch, e->b_batch); !it.done;
         tgi_broadcast_next(&it))
        for (int64_t i = 0; i < it.run; i++)
            product(call, e, it.offset[0] + i * it.step[0], it.offset[1] + i * it.step[1],
                    it.out_offset + i);
}

/* The i-th matrix of A or B as it enters the product. */
static tgi_matrix a_of(const tg_call *call, const extents *e, int64_t i) {
    const attributes *t = call->attributes;
    const tg_real *data = call->inputs[0]->real + i * e->m * e->k;
    return t->transpose_a ? tgi_transposed(tgi_matrix_of(data, e->m)) : tgi_matrix_of(data, e->k);
}

static tgi_matrix b_of(const tg_call *call, const extents *e, int64_t i) {
    const attributes *t = call->attributes;
    const tg_real *data = call->inputs[1]->real + i * e->k * e->n;
    return t->transpose_b ? tgi_transposed(tgi_matrix_of(data, e->k)) : tgi_matrix_of(data, e->n);
}

static void forward_one(const tg_call *call, const extents *e, int64_t a, int64_t b, int64_t c) {
    tgi_product_of(call->kernels, e->m, e->k, e->n, a_of(call, e, a), b_of(call, e, b),
                   call->result + c * e->m * e->n, false);
}

static void forward(const tg_call *call) {
    extents e = extents_of(call);
    if (make_tall(call, &e))
        forward_one(call, &e, 0, 0, 0);
    else
        for_batch(call, &e, forward_one);
}

/* dA += G B^T, or its transpose B G^T where A was transposed. */
static void a_grad_one(const tg_call *call, const extents *e, int64_t a, int64_t b, int64_t c) {
    const attributes *t = call->attributes;
    tgi_matrix g = tgi_matrix_of(call->output_grad + c * e->m * e->n, e->n);
    tgi_matrix other = tgi_transposed(b_of(call, e, b));
    tg_real *out = call->input_grads[0] + a * e->m * e->k;
    if (t->transpose_a)
        tgi_product_of(call->kernels, e->k, e->n, e->m, tgi_transposed(other), tgi_transposed(g),
                       out, tgi_accumulates(call, 0));
    else
        tgi_product_of(call->kernels, e->m, e->n, e->k, g, other, out, tgi_accumulates(call, 0));
}

/* dB += A^T G, or its transpose G^T A where B was transposed. */
static void b_grad_one(const tg_call *call, const extents *e, int64_t a, int64_t b, int64_t c) {
    const attributes *t = call->attributes;
    tgi_matrix g = tgi_matrix_of(call->output_grad + c * e->m * e->n, e->n);
    tgi_matrix other = tgi_transposed(a_of(call, e, a));
    tg_real *out = call->input_grads[1] + b * e->k * e->n;
    if (t->transpose_b)
        tgi_product_of(call->kernels, e->n, e->m, e->k, tgi_transposed(g), tgi_transposed(other),
                       out, tgi_accumulates(call, 1));
    else
        tgi_product_of(call->kernels, e->k, e->m, e->n, other, g, out, tgi_accumulates(call, 1));
}

/* The call as it is for an operand that several matrices of the batch share: cleared, then added
 * to. */
static tg_call without_fresh(const tg_call *call, int i) {
    tg_call changed = *call;
    const tg_view *input = call->inputs[i];
    if (!tgi_accumulates(call, i))
        memset(call->input_grads[i], 0, (size_t)input->count * sizeof(tg_real));
    changed.fresh &= ~TG_INPUT(i);
    return changed;
}

static void backward(const tg_call *call) {
    extents e = extents_of(call);
    bool tall = make_tall(call, &e);
    for (int i = 0; i < 2; i++) {
        if (call->input_grads[i] == NULL)
            continue;
        tg_shape own = i == 0 ? e.a_batch : e.b_batch;
        bool shared = !tall && !tg_shape_equal(own, batch_of(call));
        tg_call one = shared ? without_fresh(call, i) : *call;
        if (tall)
            (i == 0 ? a_grad_one : b_grad_one)(&one, &e, 0, 0, 0);
        else
            for_batch(&one, &e, i == 0 ? a_grad_one : b_grad_one);
    }
}

static const tg_op op = {
    .name = "matmul",
    .input_count = 2,
    .attribute_bytes = sizeof(attributes),
    .differentiable = TG_INPUT(0) | TG_INPUT(1),
    .backward_reads = TG_INPUT(0) | TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_matmul_transposed(tg_var a, bool transpose_a, tg_var b, bool transpose_b) {
    attributes t = {transpose_a, transpose_b};
    return tg_apply(&op, 2, (tg_var[]){a, b}, &t);
}

tg_var tg_matmul(tg_var a, tg_var b) {
    return tg_matmul_transposed(a, false, b, false);
}
