/* Internal: what a parameter is. */
#ifndef TGI_PARAM_INTERNAL_H
#define TGI_PARAM_INTERNAL_H

#include <stdbool.h>

#include "autograd/param.h"
#include "tensor/arena.h"

/* A gradient and whether anything has been written to it; without that it counts as zeros. */
typedef struct tgi_grad {
    tg_real *data;
    bool written;
} tgi_grad;

struct tg_param {
    const char *name;
    tg_shape shape;
    int64_t count;
    tg_real *value;
    tgi_grad grad;
    uint64_t version; /* counts the edits of the value */
};

/* A moment to which a set can be taken back: parameters added since are gone, and so is what
 * tg_params_allocate gave. NULL is legal. */
typedef struct tgi_params_mark {
    size_t count;
    tgi_arena_mark arena;
} tgi_params_mark;

tgi_params_mark tgi_params_now(const tg_params *params);
void tgi_params_rewind(tg_params *params, tgi_params_mark mark);

#endif
