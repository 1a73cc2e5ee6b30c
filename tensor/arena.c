#include "tensor/arena.h"

#include <stdint.h>

#include "tensor/allocator_internal.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 17 };

#ifdef ARENA_POISONS
static const size_t gap = ALIGNMENT;
#else
static const size_t gap = 0;
#endif

struct tgi_chunk {
    tgi_chunk *next;
    size_t bytes;    /* what the allocator was asked for */
    size_t capacity; /* of data */
    unsigned char *data;
};

/* A chunk that can hold `bytes`, at least twice as large as `last`, so that there are few. */
static tgi_chunk *make_chunk(tgi_arena *arena, const tgi_chunk *last, size_t bytes) {
    size_t capacity = FIRST_CHUNK;
    if (last != NULL)
        capacity = last->capacity <= SIZE_MAX / 4 ? last->capacity * 2 : last->capacity;
    if (capacity < bytes)
        capacity = bytes;
    if (capacity > SIZE_MAX - sizeof(tgi_chunk) - ALIGNMENT)
        return NULL;
    size_t total = sizeof(tgi_chunk) + ALIGNMENT + capacity;
    tgi_chunk *chunk = tgi_allocate(&arena->allocator, total);
    if (chunk == NULL)
        return NULL;
    uintptr_t start = (uintptr_t)(chunk + 1);
    size_t skip = (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
    *chunk = (tgi_chunk){
        .bytes = total, .capacity = capacity, .data = (unsigned char *)(chunk + 1) + skip};
    ASAN_POISON_MEMORY_REGION(chunk->data, chunk->capacity);
    return chunk;
}

static void *take_from(tgi_arena *arena, tgi_chunk *chunk, size_t used, size_t bytes) {
    size_t alignment = bytes < ALIGNMENT ? 16 : ALIGNMENT;
    size_t start = (used + alignment - 1) / alignment * alignment;
    if (start > chunk->capacity || bytes > chunk->capacity - start ||
        gap > chunk->capacity - start - bytes)
        return NULL;
    arena->current = chunk;
    arena->used = start + bytes + gap;
    ASAN_UNPOISON_MEMORY_REGION(chunk->data + start, bytes);
    return chunk->data + start;
}

/* Poisons what was given out from the arena's present place up to `end`. */
static void poison_between(const tgi_arena *arena, tgi_arena_mark end) {
    size_t start = arena->used;
    for (tgi_chunk *chunk = arena->current; chunk != NULL; chunk = chunk->next, start = 0) {
        size_t stop = chunk == end.chunk ? end.used : chunk->capacity;
        ASAN_POISON_MEMORY_REGION(chunk->data + start, stop - start);
        if (chunk == end.chunk)
            return;
    }
}

void *tgi_arena_take(tgi_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX - 2 * ALIGNMENT)
        return NULL;
    tgi_chunk *last = NULL;
    size_t used = arena->used;
    for (tgi_chunk *chunk = arena->current; chunk != NULL; chunk = chunk->next) {
        void *piece = take_from(arena, chunk, used, bytes);
        if (piece != NULL)
            return piece;
        used = 0;
        last = chunk;
    }
    tgi_chunk *chunk = make_chunk(arena, last, bytes + gap);
    if (chunk == NULL)
        return NULL;
    if (last == NULL)
        arena->first = chunk;
    else
        last->next = chunk;
    return take_from(arena, chunk, 0, bytes);
}

tgi_arena_mark tgi_arena_now(const tgi_arena *arena) {
    return (tgi_arena_mark){arena->current, arena->used};
}

void tgi_arena_rewind(tgi_arena *arena, tgi_arena_mark mark) {
    tgi_arena_mark from = {arena->current, arena->used};
    arena->current = mark.chunk != NULL ? mark.chunk : arena->first;
    arena->used = mark.chunk != NULL ? mark.used : 0;
    poison_between(arena, from);
}

void tgi_arena_reset(tgi_arena *arena) {
    tgi_arena_rewind(arena, (tgi_arena_mark){0});
}

void tgi_arena_free(tgi_arena *arena) {
    for (tgi_chunk *chunk = arena->first; chunk != NULL;) {
        tgi_chunk *next = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->capacity);
        tgi_release(&arena->allocator, chunk, chunk->bytes);
        chunk = next;
    }
    arena->first = arena->current = NULL;
    arena->used = 0;
}

size_t tgi_arena_capacity(const tgi_arena *arena) {
    size_t total = 0;
    for (const tgi_chunk *chunk = arena->first; chunk != NULL; chunk = chunk->next)
        total += chunk->capacity;
    return total;
}
