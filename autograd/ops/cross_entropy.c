#include <inttypes.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/ops/elementwise.h"
#include "tensor/kernels/kernels.h"

typedef struct attributes {
    int32_t ignored;
    tg_reduction reduction;
} attributes;

/* What forward leaves for backward: of each row the maximum and the sum of exp(x - maximum). */
typedef struct row_sums {
    tg_real maximum, sum;
} row_sums;

static int64_t classes_of(const tg_call *call) {
    tg_shape shape = call->inputs[0]->shape;
    return shape.extent[shape.rank - 1];
}

static tg_status check_targets(const tg_call *call, tg_error *error) {
    const attributes *a = call->attributes;
    const tg_view *targets = call->inputs[1];
    int64_t classes = classes_of(call);
    for (int64_t i = 0; i < targets->count; i++) {
        int32_t target = targets->integer[i];
        if (target != a->ignored && (target < 0 || target >= classes))
            return tg_fail(error, TG_ERANGE,
                           "cross_entropy: target %" PRId32 " at element %" PRId64
                           " outside [0, %" PRId64 ") and not the ignored %" PRId32,
                           target, i, classes, a->ignored);
    }
    return TG_OK;
}

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    tg_shape logits = call->inputs[0]->shape, targets = call->inputs[1]->shape;
    tg_shape rows = logits;
    rows.rank -= 1;
    if (logits.rank < 1 || !tg_shape_equal(rows, targets)) {
        char l[TG_SHAPE_TEXT], t[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE,
                       "cross_entropy: logits %s, targets %s: targets have the logits' shape "
                       "without the last axis",
                       tg_shape_text(logits, l), tg_shape_text(targets, t));
    }
    plan->saved_bytes = (size_t)call->inputs[1]->count * sizeof(row_sums);
    return check_targets(call, error);
}

static int64_t counted(const tg_call *call) {
    const attributes *a = call->attributes;
    const tg_view *targets = call->inputs[1];
    int64_t count = 0;
    for (int64_t i = 0; i < targets->count; i++)
        count += targets->integer[i] != a->ignored;
    return count;
}

/* loss = sum over rows of log(sum exp(x - max)) + max - x[target] */
static void forward(const tg_call *call) {
    const attributes *a = call->attributes;
    const int32_t *targets = call->inputs[1]->integer;
    row_sums *saved = call->saved;
    int64_t rows = call->inputs[1]->count, classes = classes_of(call), count = counted(call);
    double loss = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (targets[i] == a->ignored)
            continue;
        const tg_real *x = call->inputs[0]->real + i * classes;
        row_sums *row = &saved[i];
        row->sum = call->kernels->exp_sum(classes, x, &row->maximum, NULL);
        tg_real log_sum;
        call->kernels->log(1, &row->sum, &log_sum);
        loss += (double)(row->maximum - x[targets[i]]) + (double)log_sum;
    }
    if (a->reduction == TG_MEAN && count > 0)
        loss /= (double)count;
    call->result[0] = (tg_real)loss;
}

/* x_grad = (softmax(x) - onehot(target)) output_grad / count */
static void backward(const tg_call *call) {
    const attributes *a = call->attributes;
    const int32_t *targets = call->inputs[1]->integer;
    const row_sums *saved = call->saved;
    int64_t rows = call->inputs[1]->count, classes = classes_of(call);
    bool accumulate = tgi_accumulates(call, 0);
    tg_real factor = call->output_grad[0];
    if (a->reduction == TG_MEAN)
        factor /= (tg_real)counted(call);
    for (int64_t i = 0; i < rows; i++) {
        tg_real *grad = call->input_grads[0] + i * classes;
        if (targets[i] != a->ignored) {
            call->kernels->exp_scaled(classes, call->inputs[0]->real + i * classes,
                                      saved[i].maximum, factor / saved[i].sum, grad, accumulate);
            grad[targets[i]] -= factor;
        } else if (!accumulate) {
            memset(grad, 0, (size_t)classes * sizeof *grad);
        }
    }
}

static const tg_op op = {
    .name = "cross_entropy",
    .input_count = 2,
    .attribute_bytes = sizeof(attributes),
    .integers = TG_INPUT(1),
    .differentiable = TG_INPUT(0),
    .backward_reads = TG_INPUT(0) | TG_INPUT(1),
    .writes_fresh = true,
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_cross_entropy(tg_var logits, tg_var targets, int32_t ignored, tg_reduction reduction) {
    attributes a = {ignored, reduction};
    return tg_apply(&op, 2, (tg_var[]){logits, targets}, &a);
}
