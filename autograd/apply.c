/* Recording one operation. */
#include <string.h>

#include "autograd/tape_internal.h"
#include "tensor/tensor_internal.h"

/* The tape that is to hear of an error: that of the first input that has one. */
static tg_tape *tape_of(int input_count, const tg_var *inputs) {
    for (int i = 0; i < input_count && inputs != NULL; i++)
        if (inputs[i].tape != NULL)
            return inputs[i].tape;
    return NULL;
}

static tg_status no_memory(tg_tape *tape, const tg_op *op) {
    return tg_tape_fail(tape, TG_ENOMEM, "%s: out of memory", op->name);
}

/* One piece of the arena for the lists of inputs and gradients and the attributes. */
static tg_status take_lists(tg_tape *tape, const tg_op *op, int input_count, const void *attributes,
                            tgi_node *node) {
    size_t list = (size_t)input_count * sizeof(void *);
    size_t offset = (2 * list + 15) / 16 * 16;
    unsigned char *piece = tgi_arena_take(&tape->arena, offset + op->attribute_bytes);
    if (piece == NULL)
        return no_memory(tape, op);
    node->op = op;
    node->input_count = input_count;
    node->inputs = (const tg_view **)(void *)piece;
    node->input_grads = (tg_real **)(void *)(piece + list);
    node->attributes = piece + offset;
    if (op->attribute_bytes > 0)
        memcpy(node->attributes, attributes, op->attribute_bytes);
    return TG_OK;
}

static tg_status gather_inputs(tg_tape *tape, const tg_op *op, const tg_var *inputs,
                               tgi_node *node) {
    for (int i = 0; i < node->input_count; i++) {
        if (inputs[i].tape != tape)
            return tg_tape_fail(tape, TG_EINVAL,
                                inputs[i].tape == NULL ? "%s: input %d is no var"
                                                       : "%s: input %d is of another tape",
                                op->name, i);
        tgi_node *input = tgi_node_of(inputs[i], op->name);
        if (input == NULL)
            return tape->error.status;
        tg_type wanted = (op->integers & TG_INPUT(i)) != 0 ? TG_INT32 : TG_REAL;
        if (input->view.type != wanted)
            return tg_tape_fail(tape, TG_EMISMATCH, "%s: input %d is to be %s", op->name, i,
                                wanted == TG_REAL ? "reals, not integers" : "integers, not reals");
        node->inputs[i] = &input->view;
        node->wants_grad |= input->wants_grad && (op->differentiable & TG_INPUT(i)) != 0;
    }
    if (node->wants_grad && op->backward == NULL)
        return tg_tape_fail(tape, TG_EINVAL, "%s: has no backward, and an input wants a gradient",
                            op->name);
    return TG_OK;
}

static tg_status plan(tg_tape *tape, const tg_op *op, tgi_node *node, tg_plan *planned) {
    const tg_call call = {
        .input_count = node->input_count, .inputs = node->inputs, .attributes = node->attributes};
    tg_error error = {TG_OK, ""};
    size_t bytes;
    tg_status status = op->check(&call, planned, &error);
    if (status != TG_OK && error.message[0] == '\0')
        return tg_tape_fail(tape, status, "%s: %s", op->name, tg_status_text(status));
    if (status != TG_OK)
        return tg_tape_fail(tape, status, "%s", error.message);
    status = tgi_array_size(TG_REAL, planned->shape, &node->view.count, &bytes, &error);
    if (status != TG_OK)
        return tg_tape_fail(tape, status, "%s: %.200s", op->name, error.message);
    if (op->aliases_input && node->view.count != node->inputs[0]->count)
        return tg_tape_fail(tape, TG_ESHAPE, "%s: the output has not its input's elements",
                            op->name);
    node->view.shape = planned->shape;
    node->view.type = TG_REAL;
    node->backward_scratch_bytes = planned->backward_scratch_bytes;
    return TG_OK;
}

/* Memory for the output, and for what forward saves: that lasts only if there will be a backward.
 * *keep is the moment up to which the arena is to be kept. */
static tg_status take_output(tg_tape *tape, const tg_op *op, const tg_plan *planned, tgi_node *node,
                             tgi_arena_mark *keep) {
    if (op->aliases_input) {
        node->view.data = node->inputs[0]->data;
    } else {
        node->view.data = tgi_arena_take(&tape->arena, (size_t)node->view.count * sizeof(tg_real));
        if (node->view.data == NULL)
            return no_memory(tape, op);
    }
    *keep = tgi_arena_now(&tape->arena);
    if (planned->saved_bytes > 0) {
        size_t least = 64; /* from here on the arena aligns to 64 bytes */
        size_t bytes = planned->saved_bytes > least ? planned->saved_bytes : least;
        node->saved = tgi_arena_take(&tape->arena, bytes);
        if (node->saved == NULL)
            return no_memory(tape, op);
        if (node->wants_grad)
            *keep = tgi_arena_now(&tape->arena);
    }
    return TG_OK;
}

static tg_status run(tg_tape *tape, const tg_op *op, const tg_plan *planned, const tgi_node *node) {
    if (op->forward == NULL || node->view.count == 0)
        return TG_OK;
    tg_call call = {.input_count = node->input_count,
                    .inputs = node->inputs,
                    .attributes = node->attributes,
                    .output = &node->view,
                    .saved = node->saved,
                    .kernels = tape->context.kernels,
                    .result = (tg_real *)(uintptr_t)node->view.data};
    if (planned->scratch_bytes > 0) {
        call.scratch = tgi_arena_take(&tape->arena, planned->scratch_bytes);
        if (call.scratch == NULL)
            return no_memory(tape, op);
    }
    op->forward(&call);
    return TG_OK;
}

static tg_status record(tg_tape *tape, const tg_op *op, int input_count, const tg_var *inputs,
                        const void *attributes, tgi_node *node) {
    tg_plan planned = {.shape = {.rank = 0}};
    tgi_arena_mark keep;
    tg_status status = take_lists(tape, op, input_count, attributes, node);
    if (status == TG_OK)
        status = gather_inputs(tape, op, inputs, node);
    if (status == TG_OK)
        status = plan(tape, op, node, &planned);
    if (status == TG_OK)
        status = take_output(tape, op, &planned, node, &keep);
    if (status == TG_OK)
        status = run(tape, op, &planned, node);
    if (status == TG_OK)
        tgi_arena_rewind(&tape->arena, keep);
    return status;
}

tg_var tg_apply(const tg_op *op, int input_count, const tg_var *inputs, const void *attributes) {
    tg_tape *tape = tape_of(input_count, inputs);
    if (tape == NULL || tape->error.status != TG_OK)
        return tgi_no_var(tape);
    if (op->input_count != TG_ANY_NUMBER && op->input_count != input_count) {
        tg_tape_fail(tape, TG_EINVAL, "%s: takes %d inputs, not %d", op->name, op->input_count,
                     input_count);
        return tgi_no_var(tape);
    }
    bool aliases_well = !op->aliases_input || (op->integers & TG_INPUT(0)) == 0;
    if (op->check == NULL || (op->forward == NULL) != op->aliases_input || !aliases_well ||
        (op->attribute_bytes > 0 && attributes == NULL)) {
        tg_tape_fail(tape, TG_EINVAL,
                     "%s: lacks its check, its forward or its attributes, or has one too many",
                     op->name);
        return tgi_no_var(tape);
    }
    tgi_node node = {.op = op};
    if (record(tape, op, input_count, inputs, attributes, &node) != TG_OK)
        return tgi_no_var(tape);
    return tgi_tape_append(tape, &node, op->name);
}
