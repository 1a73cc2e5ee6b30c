#include <inttypes.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/ops.h"

static tg_status check(const tg_call *call, tg_plan *plan, tg_error *error) {
    const tg_view *table = call->inputs[0], *ids = call->inputs[1];
    if (table->shape.rank != 2 || ids->shape.rank >= TG_MAX_RANK) {
        char t[TG_SHAPE_TEXT], i[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE,
                       "embedding: table %s, ids %s: the table has rank 2, ids rank %d at most",
                       tg_shape_text(table->shape, t), tg_shape_text(ids->shape, i),
                       TG_MAX_RANK - 1);
    }
    for (int64_t i = 0; i < ids->count; i++)
        if (ids->integer[i] < 0 || ids->integer[i] >= table->shape.extent[0])
            return tg_fail(error, TG_ERANGE,
                           "embedding: id %" PRId32 " at element %" PRId64 " outside [0, %" PRId64
                           ")",
                           ids->integer[i], i, table->shape.extent[0]);
    plan->shape = ids->shape;
    plan->shape.extent[plan->shape.rank++] = table->shape.extent[1];
    return TG_OK;
}

static void forward(const tg_call *call) {
    const tg_view *table = call->inputs[0], *ids = call->inputs[1];
    int64_t width = table->shape.extent[1];
    for (int64_t i = 0; i < ids->count; i++) /* result[ids, width] = table[id, width] */
        memcpy(call->result + i * width, table->real + ids->integer[i] * width,
               (size_t)width * sizeof(tg_real));
}

static void backward(const tg_call *call) {
    const tg_view *table = call->inputs[0], *ids = call->inputs[1];
    int64_t width = table->shape.extent[1];
    for (int64_t i = 0; i < ids->count; i++) {
        const tg_real *from = call->output_grad + i * width;
        tg_real *to = call->input_grads[0] + ids->integer[i] * width;
        for (int64_t j = 0; j < width; j++)
            to[j] += from[j];
    }
}

static const tg_op op = {
    .name = "embedding",
    .input_count = 2,
    .integers = TG_INPUT(1),
    .differentiable = TG_INPUT(0),
    .backward_reads = TG_INPUT(1),
    .check = check,
    .forward = forward,
    .backward = backward,
};

tg_var tg_embedding(tg_var table, tg_var ids) {
    return tg_apply(&op, 2, (tg_var[]){table, ids}, NULL);
}
