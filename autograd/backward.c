/* Walking the tape back. */
#include <string.h>

#include "autograd/tape_internal.h"

/* Gradients of intermediates whose node is done, by size, to be used again. A class holds sizes of
 * k 2^s units with k from 4 to 8, so that at most a quarter of a buffer is not needed. */
enum { UNIT = 64, CLASSES = 240 };

typedef struct free_grad {
    struct free_grad *next;
} free_grad;

typedef struct pool {
    free_grad *free[CLASSES];
} pool;

static int size_class(size_t bytes, size_t *rounded) {
    size_t units = bytes > 0 ? (bytes + UNIT - 1) / UNIT : 1;
    int shift = 0;
    while (units >> shift >= 8)
        shift++;
    size_t k = (units + ((size_t)1 << shift) - 1) >> shift;
    *rounded = (k << shift) * UNIT;
    return shift * 4 + (int)k;
}

static tg_real *take_grad(tg_tape *tape, pool *spare, int64_t count) {
    size_t rounded;
    int class = size_class((size_t)count * sizeof(tg_real), &rounded);
    free_grad *grad = spare->free[class];
    if (grad == NULL)
        return tgi_arena_take(&tape->arena, rounded);
    spare->free[class] = grad->next;
    return (tg_real *)(void *)grad;
}

static void return_grad(pool *spare, tgi_node *node) {
    size_t rounded;
    int class = size_class((size_t)node->view.count * sizeof(tg_real), &rounded);
    free_grad *grad = (free_grad *)(void *)node->grad.data;
    grad->next = spare->free[class];
    spare->free[class] = grad;
    node->grad = (tgi_grad){0};
}

static tgi_grad *grad_of(tgi_node *node) {
    return node->param != NULL ? &node->param->grad : &node->grad;
}

/* Whether input i has its gradient for itself within this call. */
static bool unshared(const tgi_node *node, int i) {
    const tgi_grad *own = grad_of(tgi_node_of_view(node->inputs[i]));
    for (int j = 0; j < node->input_count; j++)
        if (j != i && grad_of(tgi_node_of_view(node->inputs[j])) == own)
            return false;
    return true;
}

/* Fills node->input_grads; *fresh gets the bits of those that backward is to write first. */
static tg_status take_input_grads(tg_tape *tape, pool *spare, tgi_node *node, uint32_t *fresh) {
    *fresh = 0;
    for (int i = 0; i < node->input_count; i++) {
        tgi_node *input = tgi_node_of_view(node->inputs[i]);
        node->input_grads[i] = NULL;
        if (!input->wants_grad || (node->op->differentiable & TG_INPUT(i)) == 0)
            continue;
        tgi_grad *grad = grad_of(input);
        if (grad->data == NULL)
            grad->data = take_grad(tape, spare, input->view.count);
        if (grad->data == NULL)
            return tg_tape_fail(tape, TG_ENOMEM, "backward: no memory for the gradients of %s",
                                node->op->name);
        if (!grad->written && node->op->writes_fresh && node->view.count > 0 && i < 31 &&
            unshared(node, i))
            *fresh |= TG_INPUT(i);
        else if (!grad->written)
            memset(grad->data, 0, (size_t)input->view.count * sizeof(tg_real));
        grad->written = true;
        node->input_grads[i] = grad->data;
    }
    return TG_OK;
}

/* Runs the operation's backward. An output without elements has nothing to say to any gradient. */
static tg_status run_backward(tg_tape *tape, const tgi_node *node, tg_call *call) {
    if (node->view.count == 0)
        return TG_OK;
    tgi_arena_mark before = tgi_arena_now(&tape->arena);
    if (node->backward_scratch_bytes > 0) {
        call->scratch = tgi_arena_take(&tape->arena, node->backward_scratch_bytes);
        if (call->scratch == NULL)
            return tg_tape_fail(tape, TG_ENOMEM, "backward: no memory for the scratch of %s",
                                node->op->name);
    }
    node->op->backward(call);
    tgi_arena_rewind(&tape->arena, before);
    return TG_OK;
}

/* Backward did not run: what it was to write first still holds anything. */
static void forget_fresh(const tgi_node *node, uint32_t fresh) {
    for (int i = 0; i < node->input_count; i++)
        if (i < 31 && (fresh & TG_INPUT(i)) != 0)
            grad_of(tgi_node_of_view(node->inputs[i]))->written = false;
}

static tg_status step_back(tg_tape *tape, pool *spare, tgi_node *node) {
    tg_call call = {.input_count = node->input_count,
                    .inputs = node->inputs,
                    .attributes = node->attributes,
                    .output = &node->view,
                    .saved = node->saved,
                    .kernels = tape->context.kernels,
                    .output_grad = node->grad.data,
                    .input_grads = node->input_grads};
    tg_status status = take_input_grads(tape, spare, node, &call.fresh);
    if (status == TG_OK)
        status = run_backward(tape, node, &call);
    if (status != TG_OK) {
        forget_fresh(node, call.fresh);
        return status;
    }
    if (!node->keeps_grad)
        return_grad(spare, node);
    return TG_OK;
}

/* Whether the recording can still go backward: once only, and with the parameters as they were. */
static tg_status check_state(tg_tape *tape, const tgi_node *output) {
    if (tape->went_backward)
        return tg_tape_fail(tape, TG_ESTATE,
                            "backward: this recording has gone backward already; reset the tape");
    if (!output->wants_grad)
        return tg_tape_fail(tape, TG_EINVAL,
                            "backward: nothing that the output depends on wants a gradient");
    for (uint32_t i = 0; i < tape->length; i++) {
        const tgi_node *node = tgi_node_at(tape, i);
        if (node->param != NULL && node->param->version != node->param_version)
            return tg_tape_fail(tape, TG_ESTATE,
                                "backward: parameter %s was changed after it was used",
                                node->param->name);
    }
    return TG_OK;
}

static tg_status walk_back(tg_tape *tape, uint32_t index, const tg_real *cotangent) {
    pool spare = {{NULL}};
    tgi_node *output = tgi_node_at(tape, index);
    tgi_grad *seed = grad_of(output);
    if (seed->data == NULL)
        seed->data = take_grad(tape, &spare, output->view.count);
    if (seed->data == NULL)
        return tg_tape_fail(tape, TG_ENOMEM, "backward: out of memory");
    for (int64_t i = 0; i < output->view.count; i++)
        seed->data[i] = cotangent[i] + (seed->written ? seed->data[i] : 0);
    seed->written = true;
    for (uint32_t i = index + 1; i-- > 0;) {
        tgi_node *node = tgi_node_at(tape, i);
        if (node->op == NULL || !node->grad.written)
            continue;
        tg_status status = step_back(tape, &spare, node);
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

static tg_status backward(tg_var output, const tgi_node *node, const tg_real *cotangent) {
    tg_tape *tape = output.tape;
    tg_status status = check_state(tape, node);
    if (status != TG_OK)
        return status;
    tape->went_backward = true;
    return walk_back(tape, output.index, cotangent);
}

tg_status tg_backward(tg_var loss) {
    static const tg_real one = 1;
    const tgi_node *node = tgi_node_of(loss, "backward");
    if (node == NULL)
        return tg_tape_error(loss.tape)->status;
    if (node->view.count != 1) {
        char text[TG_SHAPE_TEXT];
        return tg_tape_fail(loss.tape, TG_ESHAPE,
                            "backward: a loss has one element, not the shape %s",
                            tg_shape_text(node->view.shape, text));
    }
    return backward(loss, node, &one);
}

tg_status tg_backward_from(tg_var output, const tg_real *cotangent) {
    const tgi_node *node = tgi_node_of(output, "backward_from");
    if (node == NULL)
        return tg_tape_error(output.tape)->status;
    if (cotangent == NULL && node->view.count > 0)
        return tg_tape_fail(output.tape, TG_EINVAL, "backward_from: the cotangent is NULL");
    return backward(output, node, cotangent);
}
