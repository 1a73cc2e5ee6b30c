#include "tensor/zip_format.h"

#include <stdalign.h>

#include "tensor/allocator_internal.h"

int tgi_zip_shown(const char *name, size_t length) {
    int shown = 0;
    while (shown < 120 && (size_t)shown < length && (unsigned char)name[shown] >= 0x20 &&
           name[shown] != 0x7f)
        shown++;
    return shown;
}

bool tgi_zip_beyond_ascii(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] > 0x7f)
            return true;
    return false;
}

/* zlib does not say how large a block is that it gives back, so the size lies before each. */
enum {
    BLOCK_HEADER = alignof(max_align_t) > sizeof(size_t) ? alignof(max_align_t) : sizeof(size_t)
};

static voidpf allocate_for_zlib(voidpf opaque, uInt items, uInt item_size) {
    if (item_size != 0 && items > (SIZE_MAX - BLOCK_HEADER) / item_size)
        return Z_NULL;
    size_t bytes = BLOCK_HEADER + (size_t)items * item_size;
    unsigned char *block = tgi_allocate(opaque, bytes);
    if (block == NULL)
        return Z_NULL;
    *(size_t *)(void *)block = bytes;
    return block + BLOCK_HEADER;
}

static void release_for_zlib(voidpf opaque, voidpf address) {
    unsigned char *block = (unsigned char *)address - BLOCK_HEADER;
    tgi_release(opaque, block, *(size_t *)(void *)block);
}

void tgi_zip_use_allocator(z_stream *stream, tg_allocator *allocator) {
    stream->zalloc = allocate_for_zlib;
    stream->zfree = release_for_zlib;
    stream->opaque = allocator;
}
