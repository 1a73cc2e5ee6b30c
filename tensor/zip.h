/* Internal: the ZIP container, read from memory and written to memory (PKWARE's APPNOTE.TXT).
 *
 * What is written is the plain form: deflated entries back to back, the directory, the end record;
 * no extra fields, no comments, one fixed time, so equal contents are equal bytes. What is read is
 * that form and what NumPy and the usual tools write beyond it: stored entries, extra fields, and
 * the local 64-bit sizes that numpy.savez always writes. Nothing may lie before, between or behind
 * the parts. Compression is zlib's, and its memory comes from the allocator too. */
#ifndef TGI_ZIP_H
#define TGI_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define ZLIB_CONST /* input is const */
#include <zlib.h>

#include "tensor/allocator.h"
#include "tensor/status.h"

/* Sizes and offsets have 32 bits, the number of entries 16; all ones stands for "see zip64". */
#define TGI_ZIP_LARGEST      0xfffffffeu
#define TGI_ZIP_MOST_ENTRIES 0xfffeu

/* Bytes that may still grow. */
typedef struct tgi_zip_buffer {
    unsigned char *bytes;
    size_t size;
    size_t capacity;
} tgi_zip_buffer;

typedef struct tgi_zip_writer {
    tg_allocator allocator;
    tgi_zip_buffer entries;
    tgi_zip_buffer directory;
    uint32_t count;
    uint64_t largest; /* size of an image that may not be exceeded: TGI_ZIP_LARGEST */
} tgi_zip_writer;

/* The content of an entry is given in parts, so that a header need not be copied before data. */
typedef struct tgi_zip_part {
    const void *bytes;
    size_t size;
} tgi_zip_part;

void tgi_zip_writer_init(tgi_zip_writer *writer, const tg_allocator *allocator);
void tgi_zip_writer_free(tgi_zip_writer *writer);

/* Deflates one more entry. Names are not checked here, except for their length. On failure
 * (TG_ENOMEM; TG_EINVAL beyond the format's limits) the writer is as it was. */
tg_status tgi_zip_add(tgi_zip_writer *writer, const char *name, const tgi_zip_part *parts,
                      int part_count, tg_error *error);

/* The archive with what was added so far, valid until the next call with the writer. */
tg_status tgi_zip_image(tgi_zip_writer *writer, const unsigned char **bytes, size_t *size,
                        tg_error *error);

/* An entry of an image, checked as far as that goes without inflating it. */
typedef struct tgi_zip_entry {
    const char *name; /* in the image: not NUL-terminated */
    size_t name_length;
    const unsigned char *data; /* in the image */
    size_t compressed_size;
    size_t size; /* at most 1032 times the compressed size */
    uint32_t crc;
    bool deflated;
} tgi_zip_entry;

typedef struct tgi_zip_reader {
    const unsigned char *bytes;
    size_t directory; /* where the next directory entry begins */
    size_t directory_begin;
    size_t directory_end;
    size_t next_entry; /* where the next local header must begin */
    size_t left;       /* entries that tgi_zip_next has not given yet */
} tgi_zip_reader;

/* Finds the directory of an image, which is borrowed until the last entry has been read. */
tg_status tgi_zip_open(tgi_zip_reader *reader, const unsigned char *bytes, size_t size,
                       tg_error *error);

/* The next of reader->left entries, in the order of the directory. The last one is given only when
 * directory and entries fill the whole image. Both may fail with TG_EFORMAT. */
tg_status tgi_zip_next(tgi_zip_reader *reader, tgi_zip_entry *entry, tg_error *error);

/* The content of an entry on its way out. It points into itself: it is not to be copied. */
typedef struct tgi_zip_stream {
    tgi_zip_entry entry;
    tg_allocator allocator;
    z_stream zlib;
    size_t left; /* bytes of the content not read yet */
    uint32_t crc;
} tgi_zip_stream;

/* TG_ENOMEM; then there is nothing to close. */
tg_status tgi_zip_stream_open(tgi_zip_stream *stream, const tg_allocator *allocator,
                              const tgi_zip_entry *entry, tg_error *error);

/* The next `size` bytes. TG_EFORMAT where the content ends before. */
tg_status tgi_zip_stream_read(tgi_zip_stream *stream, void *out, size_t size, tg_error *error);

/* Once all has been read: that the content ends here, in exactly the bytes that the entry claims,
 * and that its checksum is right. Until then nothing that was read may be relied on. */
tg_status tgi_zip_stream_finish(tgi_zip_stream *stream, tg_error *error);

void tgi_zip_stream_close(tgi_zip_stream *stream);

#endif
