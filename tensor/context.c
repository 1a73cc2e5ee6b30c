#include "tensor/context_internal.h"

#include "tensor/allocator_internal.h"
#include "tensor/kernels/kernels.h"

tg_context tgi_context_of(const tg_context *context) {
    if (context != NULL)
        return *context;
    return (tg_context){.allocator = tg_allocator_default(), .kernels = tgi_kernels_best()};
}

tg_context *tg_context_create(const tg_context_options *options, tg_error *error) {
    tg_context made = tgi_context_of(NULL);
    if (options != NULL && options->allocator != NULL)
        made.allocator = *options->allocator;
    if (made.allocator.allocate == NULL || made.allocator.release == NULL) {
        tg_fail(error, TG_EINVAL, "context: the allocator lacks a function");
        return NULL;
    }
    if (options != NULL && options->kernels != NULL)
        made.kernels = tgi_kernels_named(options->kernels);
    if (made.kernels == NULL) {
        tg_fail(error, TG_EINVAL, "context: no kernels \"%s\" on this processor", options->kernels);
        return NULL;
    }
    tg_context *context = tgi_allocate(&made.allocator, sizeof *context);
    if (context == NULL) {
        tg_fail(error, TG_ENOMEM, "context: out of memory");
        return NULL;
    }
    *context = made;
    return context;
}

void tg_context_free(tg_context *context) {
    if (context == NULL)
        return;
    tg_allocator allocator = context->allocator;
    tgi_release(&allocator, context, sizeof *context);
}

const char *tg_context_kernels(const tg_context *context) {
    return tgi_context_of(context).kernels->name;
}
