/* Internal: what a context is. */
#ifndef TGI_CONTEXT_INTERNAL_H
#define TGI_CONTEXT_INTERNAL_H

#include "tensor/context.h"

struct tgi_kernels;

struct tg_context {
    tg_allocator allocator;
    const struct tgi_kernels *kernels;
};

/* The context by value; the default where `context` is NULL. */
tg_context tgi_context_of(const tg_context *context);

#endif
