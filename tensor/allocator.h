/* Where memory comes from: a struct of functions, so that a program can count, limit or fail it. */
#ifndef TG_ALLOCATOR_H
#define TG_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_allocator {
    /* A block of `bytes` (never 0) aligned for any C object, or NULL when there is none. */
    void *(*allocate)(void *user, size_t bytes);
    /* Takes back a block of allocate's; `bytes` is what was asked for. `block` is never NULL. */
    void (*release)(void *user, void *block, size_t bytes);
    /* Given to both. */
    void *user;
} tg_allocator;

/* malloc and free. */
tg_allocator tg_allocator_default(void);

#ifdef __cplusplus
}
#endif

#endif
