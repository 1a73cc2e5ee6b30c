/* Internal: what a parameter is. */
#ifndef TGI_PARAM_INTERNAL_H
#define TGI_PARAM_INTERNAL_H

#include <stdbool.h>

#include "autograd/param.h"

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

#endif
