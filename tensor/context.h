/* The context: where memory comes from and which kernels run. Given to whatever is made (a tape,
 * parameters, an optimiser), which copies what it needs; NULL stands for the default everywhere. */
#ifndef TG_CONTEXT_H
#define TG_CONTEXT_H

#include <stddef.h>

#include "tensor/allocator.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_context tg_context;

typedef struct tg_context_options {
    /* NULL: malloc and free. Copied; its `user` must outlive all that is made with the context. */
    const tg_allocator *allocator;
    /* NULL: the best that this processor runs. Otherwise a name of tg_kernels_name. */
    const char *kernels;
} tg_context_options;

/* A context, owned by the caller; `options` may be NULL. It may be freed once the last thing made
 * with it has been freed. NULL, with the reason in `error`, when memory is out or when `kernels`
 * names a table that does not exist or that this processor cannot run. */
tg_context *tg_context_create(const tg_context_options *options, tg_error *error);

/* NULL is legal. */
void tg_context_free(tg_context *context);

/* The name of the kernels in use: "baseline", "avx2" or "avx512". NULL asks about the default. */
const char *tg_context_kernels(const tg_context *context);

/* The kernel tables that this processor runs, slowest first; `tg_kernels_name(i)` is NULL from
 * tg_kernels_count() on. All give the same bits. */
int tg_kernels_count(void);
const char *tg_kernels_name(int i);

#ifdef __cplusplus
}
#endif

#endif
