/* Internal: an arena, memory that is given out piece by piece and taken back all at once.
 *
 * Chunks never move. Rewinding keeps them, so that a loop of equal steps allocates in the first
 * alone. Under the address sanitizer what is not given out is poisoned, and a gap is left behind
 * each piece, so that a kernel that writes past its buffer is caught. */
#ifndef TGI_ARENA_H
#define TGI_ARENA_H

#include <stddef.h>

#include "tensor/allocator.h"

typedef struct tgi_chunk tgi_chunk;

/* Start as {.allocator = ...}. */
typedef struct tgi_arena {
    tg_allocator allocator;
    tgi_chunk *first;
    tgi_chunk *current;
    size_t used; /* of the current chunk */
} tgi_arena;

/* A moment to which the arena can be rewound. */
typedef struct tgi_arena_mark {
    tgi_chunk *chunk;
    size_t used;
} tgi_arena_mark;

/* A piece of `bytes`, not cleared, aligned to 64 bytes (to 16 where it is smaller than 64); NULL
 * when memory is out, with the arena as it was. 0 bytes give a valid address. */
void *tgi_arena_take(tgi_arena *arena, size_t bytes);

/* The moment now; what is taken from here on goes with the rewind. Marks nest. */
tgi_arena_mark tgi_arena_now(const tgi_arena *arena);
void tgi_arena_rewind(tgi_arena *arena, tgi_arena_mark mark);

/* Takes everything back and keeps the chunks. */
void tgi_arena_reset(tgi_arena *arena);

/* Gives the chunks back to the allocator. */
void tgi_arena_free(tgi_arena *arena);

/* Bytes of all chunks. */
size_t tgi_arena_capacity(const tgi_arena *arena);

#endif
