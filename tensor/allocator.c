#include "tensor/allocator_internal.h"

#include <stdlib.h>
#include <string.h>

static void *allocate_from_heap(void *user, size_t bytes) {
    (void)user;
    return malloc(bytes);
}

static void release_to_heap(void *user, void *block, size_t bytes) {
    (void)user;
    (void)bytes;
    free(block);
}

tg_allocator tg_allocator_default(void) {
    tg_allocator heap = {allocate_from_heap, release_to_heap, NULL};
    return heap;
}

void *tgi_allocate(const tg_allocator *allocator, size_t bytes) {
    return allocator->allocate(allocator->user, bytes > 0 ? bytes : 1);
}

void *tgi_allocate_zeroed(const tg_allocator *allocator, size_t bytes) {
    void *block = tgi_allocate(allocator, bytes);
    if (block != NULL)
        memset(block, 0, bytes);
    return block;
}

void tgi_release(const tg_allocator *allocator, void *block, size_t bytes) {
    if (block != NULL)
        allocator->release(allocator->user, block, bytes > 0 ? bytes : 1);
}
