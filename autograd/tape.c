#include "autograd/tape_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/tensor_internal.h"

static const tg_error no_error = {TG_OK, ""};
static const tg_error no_tape = {TG_ENOMEM, "tape: a tape that could not be made"};

static void refuse_other_real(tg_tape *tape) {
    if (tape->other_real)
        tg_tape_fail(tape, TG_EMISMATCH,
                     "tape: the caller's tg_real is not the library's %s: link tapegrad for float, "
                     "tapegrad_f64 for double",
                     sizeof(tg_real) == sizeof(float) ? "float" : "double");
}

tg_tape *tg_tape_create_for(const tg_context *context, size_t real_size) {
    tg_context own = tgi_context_of(context);
    tg_tape *tape = tgi_allocate_zeroed(&own.allocator, sizeof *tape);
    if (tape == NULL)
        return NULL;
    tape->context = own;
    tape->arena.allocator = own.allocator;
    tape->epoch = 1;
    tape->other_real = real_size != sizeof(tg_real);
    refuse_other_real(tape);
    return tape;
}

void tg_tape_free(tg_tape *tape) {
    if (tape == NULL)
        return;
    tg_allocator allocator = tape->context.allocator;
    for (size_t i = 0; i < tape->block_count; i++)
        tgi_release(&allocator, tape->blocks[i], TGI_NODE_BLOCK * sizeof(tgi_node));
    tgi_release(&allocator, tape->blocks, tape->block_capacity * sizeof *tape->blocks);
    tgi_arena_free(&tape->arena);
    tgi_release(&allocator, tape, sizeof *tape);
}

tg_status tg_tape_reset(tg_tape *tape) {
    if (tape == NULL)
        return TG_ENOMEM;
    tg_status status = tape->error.status;
    tgi_arena_reset(&tape->arena);
    tape->length = 0;
    tape->epoch = tape->epoch == UINT32_MAX ? 1 : tape->epoch + 1; /* 0 is no epoch */
    tape->went_backward = false;
    tape->error = no_error;
    refuse_other_real(tape);
    return status;
}

const tg_error *tg_tape_error(const tg_tape *tape) {
    return tape == NULL ? &no_tape : &tape->error;
}

size_t tg_tape_length(const tg_tape *tape) {
    return tape == NULL ? 0 : tape->length;
}

size_t tg_tape_bytes(const tg_tape *tape) {
    if (tape == NULL)
        return 0;
    return sizeof *tape + tape->block_capacity * sizeof *tape->blocks +
           tape->block_count * TGI_NODE_BLOCK * sizeof(tgi_node) + tgi_arena_capacity(&tape->arena);
}

tg_status tg_tape_fail(tg_tape *tape, tg_status status, const char *format, ...) {
    if (tape == NULL)
        return TG_ENOMEM;
    if (tape->error.status != TG_OK)
        return tape->error.status;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(tape->error.message, sizeof tape->error.message, format, arguments) < 0)
        tape->error.message[0] = '\0';
    va_end(arguments);
    return tape->error.status = status;
}

bool tg_is_valid(tg_var var) {
    return var.tape != NULL && var.epoch == var.tape->epoch && var.index < var.tape->length;
}

tgi_node *tgi_node_of(tg_var var, const char *caller) {
    if (var.tape == NULL || var.tape->error.status != TG_OK)
        return NULL;
    if (tg_is_valid(var))
        return tgi_node_at(var.tape, var.index);
    if (var.epoch != var.tape->epoch && var.epoch != 0)
        tg_tape_fail(var.tape, TG_ESTATE, "%s: a var from before the tape's last reset", caller);
    else
        tg_tape_fail(var.tape, TG_EINVAL, "%s: a var that was never recorded", caller);
    return NULL;
}

/* Room for one more block of nodes. */
static tg_status add_block(tg_tape *tape) {
    const tg_allocator *allocator = &tape->context.allocator;
    if (tape->block_count == tape->block_capacity) {
        size_t capacity = tape->block_capacity == 0 ? 4 : tape->block_capacity * 2;
        tgi_node **blocks = tgi_allocate(allocator, capacity * sizeof *blocks);
        if (blocks == NULL)
            return TG_ENOMEM;
        if (tape->block_count > 0)
            memcpy(blocks, tape->blocks, tape->block_count * sizeof *blocks);
        tgi_release(allocator, tape->blocks, tape->block_capacity * sizeof *blocks);
        tape->blocks = blocks;
        tape->block_capacity = capacity;
    }
    tgi_node *block = tgi_allocate(allocator, TGI_NODE_BLOCK * sizeof *block);
    if (block == NULL)
        return TG_ENOMEM;
    tape->blocks[tape->block_count++] = block;
    return TG_OK;
}

tg_var tgi_tape_append(tg_tape *tape, const tgi_node *node, const char *caller) {
    if (tape->length == tape->block_count * TGI_NODE_BLOCK &&
        (tape->length >= UINT32_MAX - TGI_NODE_BLOCK || add_block(tape) != TG_OK)) {
        tg_tape_fail(tape, TG_ENOMEM, "%s: no memory for var %u", caller, tape->length);
        return tgi_no_var(tape);
    }
    *tgi_node_at(tape, tape->length) = *node;
    return (tg_var){tape, tape->length++, tape->epoch};
}

tg_var tgi_tape_leaf(tg_tape *tape, tg_type type, tg_shape shape, bool wants_grad,
                     const char *caller, void **elements) {
    if (tape == NULL || tape->error.status != TG_OK)
        return tgi_no_var(tape);
    tgi_node node = {
        .view = {.shape = shape, .type = type}, .wants_grad = wants_grad, .keeps_grad = wants_grad};
    size_t bytes;
    tg_error error;
    if (tgi_array_size(type, shape, &node.view.count, &bytes, &error) != TG_OK) {
        tg_tape_fail(tape, error.status, "%s: %.200s", caller, error.message);
        return tgi_no_var(tape);
    }
    *elements = tgi_arena_take(&tape->arena, bytes);
    if (*elements == NULL) {
        char text[TG_SHAPE_TEXT];
        tg_tape_fail(tape, TG_ENOMEM, "%s: no memory for %s", caller, tg_shape_text(shape, text));
        return tgi_no_var(tape);
    }
    node.view.data = *elements;
    return tgi_tape_append(tape, &node, caller);
}

/* A leaf with a copy of the elements. */
static tg_var leaf(tg_tape *tape, tg_type type, tg_shape shape, const void *elements,
                   bool wants_grad, const char *caller) {
    int64_t count;
    if (elements == NULL && tg_shape_count(shape, &count, NULL) == TG_OK && count > 0) {
        tg_tape_fail(tape, TG_EINVAL, "%s: the elements are NULL", caller);
        return tgi_no_var(tape);
    }
    void *copy = NULL;
    tg_var var = tgi_tape_leaf(tape, type, shape, wants_grad, caller, &copy);
    if (elements != NULL && tg_is_valid(var))
        memcpy(copy, elements,
               (size_t)tgi_node_at(tape, var.index)->view.count * tg_type_size(type));
    return var;
}

tg_var tg_constant(tg_tape *tape, tg_shape shape, const tg_real *elements) {
    return leaf(tape, TG_REAL, shape, elements, false, "constant");
}

tg_var tg_variable(tg_tape *tape, tg_shape shape, const tg_real *elements) {
    return leaf(tape, TG_REAL, shape, elements, true, "variable");
}

tg_var tg_integers(tg_tape *tape, tg_shape shape, const int32_t *elements) {
    return leaf(tape, TG_INT32, shape, elements, false, "integers");
}

tg_var tg_parameter(tg_tape *tape, tg_param *param) {
    if (tape == NULL || tape->error.status != TG_OK)
        return tgi_no_var(tape);
    if (param == NULL) {
        tg_tape_fail(tape, TG_EINVAL, "parameter: NULL");
        return tgi_no_var(tape);
    }
    tgi_node node = {.view = {.shape = param->shape,
                              .type = TG_REAL,
                              .count = param->count,
                              .real = param->value},
                     .param = param,
                     .param_version = param->version,
                     .wants_grad = true,
                     .keeps_grad = true};
    return tgi_tape_append(tape, &node, "parameter");
}

tg_var tg_keep_grad(tg_var var) {
    tgi_node *node = tgi_node_of(var, "keep_grad");
    if (node != NULL)
        node->keeps_grad = true;
    return var;
}

const tg_real *tg_value(tg_var var) {
    const tgi_node *node = tgi_node_of(var, "value");
    return node != NULL && node->view.type == TG_REAL ? node->view.real : NULL;
}

const tg_real *tg_grad(tg_var var) {
    const tgi_node *node = tgi_node_of(var, "grad");
    if (node == NULL || !node->keeps_grad)
        return NULL;
    const tgi_grad *grad = node->param != NULL ? &node->param->grad : &node->grad;
    return grad->written ? grad->data : NULL;
}

tg_shape tg_shape_of(tg_var var) {
    const tgi_node *node = tgi_node_of(var, "shape_of");
    return node != NULL ? node->view.shape : tg_shape_scalar();
}

tg_real tg_item(tg_var var) {
    const tgi_node *node = tgi_node_of(var, "item");
    if (node == NULL || node->view.type != TG_REAL || node->view.count != 1)
        return (tg_real)NAN;
    return node->view.real[0];
}

tg_var tg_label(tg_var var, const char *name) {
    tgi_node *node = tgi_node_of(var, "label");
    if (node != NULL)
        node->label = name;
    return var;
}

tg_var tg_find(tg_tape *tape, const char *name) {
    if (tape == NULL || name == NULL)
        return tgi_no_var(tape);
    for (uint32_t i = tape->length; i-- > 0;) {
        const char *label = tgi_node_at(tape, i)->label;
        if (label != NULL && strcmp(label, name) == 0)
            return (tg_var){tape, i, tape->epoch};
    }
    return tgi_no_var(tape);
}
