/* Internal: calling an allocator. */
#ifndef TGI_ALLOCATOR_INTERNAL_H
#define TGI_ALLOCATOR_INTERNAL_H

#include "tensor/allocator.h"

/* A block of `bytes`, or NULL. A request for 0 bytes gets a block of 1. */
void *tgi_allocate(const tg_allocator *allocator, size_t bytes);

/* The same, filled with zeros. */
void *tgi_allocate_zeroed(const tg_allocator *allocator, size_t bytes);

/* Takes back a block of tgi_allocate's with the same `bytes`. NULL is legal. */
void tgi_release(const tg_allocator *allocator, void *block, size_t bytes);

#endif
