/* Internal: what a tape and its nodes are. */
#ifndef TGI_TAPE_INTERNAL_H
#define TGI_TAPE_INTERNAL_H

#include <stdbool.h>

#include "autograd/op.h"
#include "autograd/param_internal.h"
#include "autograd/tape.h"
#include "tensor/arena.h"
#include "tensor/context_internal.h"

/* One recorded value, and what made it. Nodes never move. */
typedef struct tgi_node {
    tg_view view;    /* first: a pointer to it is a pointer to its node */
    const tg_op *op; /* NULL for a leaf */
    const tg_view **inputs;
    tg_real **input_grads; /* room for backward's list */
    void *attributes;
    void *saved;
    size_t backward_scratch_bytes;
    tg_param *param; /* of a leaf that is a parameter */
    uint64_t param_version;
    tgi_grad grad; /* unused where there is a param: its own is */
    const char *label;
    int32_t input_count;
    bool wants_grad;
    bool keeps_grad;
} tgi_node;

enum { TGI_NODE_BLOCK = 256 };

struct tg_tape {
    tg_context context;
    tgi_arena arena;
    tgi_node **blocks;
    size_t block_count, block_capacity;
    uint32_t length;
    uint32_t epoch;
    bool went_backward;
    bool other_real; /* the caller was compiled for another tg_real: nothing works */
    tg_error error;
};

/* The node of a var that can be used; NULL, with the tape in error, for one that cannot (`caller`
 * opens the message), or when the tape is in error already. */
tgi_node *tgi_node_of(tg_var var, const char *caller);

/* The i-th node, i < length. */
static inline tgi_node *tgi_node_at(const tg_tape *tape, uint32_t i) {
    return &tape->blocks[i / TGI_NODE_BLOCK][i % TGI_NODE_BLOCK];
}

/* The node that a view is the first member of. */
static inline tgi_node *tgi_node_of_view(const tg_view *view) {
    return (tgi_node *)(uintptr_t)view;
}

/* Appends a node and gives its var; a var that cannot be used, and TG_ENOMEM, when memory is out. */
tg_var tgi_tape_append(tg_tape *tape, const tgi_node *node, const char *caller);

/* A leaf of this shape whose elements the caller fills in, through *elements. */
tg_var tgi_tape_leaf(tg_tape *tape, tg_type type, tg_shape shape, bool wants_grad,
                     const char *caller, void **elements);

/* A var of this tape that cannot be used. */
static inline tg_var tgi_no_var(tg_tape *tape) {
    return (tg_var){tape, UINT32_MAX, 0};
}

#endif
