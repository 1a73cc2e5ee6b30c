#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/kernels/kernels.h"

typedef struct attributes {
    double probability;
    tg_rng *rng;
} attributes;

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    const attributes *a = call->attributes;
    const tg_view *x = call->inputs[0];
    if (!(a->probability >= 0 && a->probability <= 1))
        return tg_fail(error, TG_EINVAL, "dropout: probability %g outside [0, 1]", a->probability);
    if (a->probability > 0 && a->probability < 1) {
        if (a->rng == NULL)
            return tg_fail(error, TG_EINVAL, "dropout: no generator");
        tg_status status = tg_rng_check(a->rng, error);
        if (status != TG_OK)
            return status;
    }
    plan->shape = x->shape;
    plan->saved_bytes = (size_t)x->count * sizeof(tg_real);
    return TG_OK;
}

/* What the elements are multiplied by: 0, or what keeps the expectation. */
static void draw(const attributes *a, int64_t n, tg_real *factor) {
    const tg_real kept = a->probability < 1 ? (tg_real)(1 / (1 - a->probability)) : 0;
    const bool drawn = a->probability > 0 && a->probability < 1;
    for (int64_t i = 0; i < n; i++) {
        bool drops = drawn && (double)(tg_rng_bits(a->rng) >> 8) / 16777216 < a->probability;
        factor[i] = drops ? 0 : kept;
    }
}

static void forward(const tg_call *call) {
    int64_t n = call->output->count;
    draw(call->attributes, n, call->saved);
    call->kernels->multiply(n, call->inputs[0]->real, 1, call->saved, 1, call->result);
}

static void backward(const tg_call *call) {
    call->kernels->multiply_add(call->output->count, call->output_grad, call->saved, 1,
                                call->input_grads[0], tgi_accumulates(call, 0));
}

static const tg_op op = {
    .name = "dropout",
    .input_count = 1,
    .attribute_bytes = sizeof(attributes),
    .differentiable = TG_INPUT(0),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_dropout(tg_var x, double probability, tg_rng *rng) {
    attributes a = {probability, rng};
    return tg_apply(&op, 1, &x, &a);
}
