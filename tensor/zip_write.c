#include <limits.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/zip_format.h"

/* zlib counts in uInt what the container counts in 32 bits. */
_Static_assert(UINT_MAX >= TGI_ZIP_LARGEST, "an entry must fit into one call of deflate");

enum {
    DEFLATE_LEVEL = 6,
    DEFLATE_MEMORY = 8, /* zlib's own default */
    VERSION_NEEDED = 20,
    DATE_1980_01_01 = 0x0021,
    GROWTH_STEP = 1 << 14,
};

static void put16(unsigned char *at, uint32_t value) {
    at[0] = (unsigned char)(value & 0xff);
    at[1] = (unsigned char)(value >> 8 & 0xff);
}

static void put32(unsigned char *at, uint32_t value) {
    put16(at, value);
    put16(at + 2, value >> 16);
}

static void put_fields(unsigned char *at, const tgi_zip_fields *fields) {
    put16(at, fields->version);
    put16(at + 2, fields->flags);
    put16(at + 4, fields->method);
    put16(at + 6, 0);
    put16(at + 8, DATE_1980_01_01);
    put32(at + 10, fields->crc);
    put32(at + 14, fields->compressed_size);
    put32(at + 18, fields->size);
    put16(at + 22, fields->name_length);
    put16(at + 24, fields->extra_length);
}

/* Room for `extra` more bytes. */
static tg_status reserve(const tg_allocator *allocator, tgi_zip_buffer *buffer, size_t extra,
                         tg_error *error) {
    if (buffer->capacity - buffer->size >= extra)
        return TG_OK;
    if (buffer->capacity > SIZE_MAX / 4 || extra > SIZE_MAX / 4)
        return tg_fail(error, TG_ENOMEM, "zip: out of memory");
    size_t capacity = 2 * buffer->capacity + extra;
    unsigned char *bytes = tgi_allocate(allocator, capacity);
    if (bytes == NULL)
        return tg_fail(error, TG_ENOMEM, "zip: out of memory for %zu bytes", capacity);
    if (buffer->size > 0)
        memcpy(bytes, buffer->bytes, buffer->size);
    tgi_release(allocator, buffer->bytes, buffer->capacity);
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return TG_OK;
}

void tgi_zip_writer_init(tgi_zip_writer *writer, const tg_allocator *allocator) {
    *writer = (tgi_zip_writer){.allocator = *allocator, .largest = TGI_ZIP_LARGEST};
}

void tgi_zip_writer_free(tgi_zip_writer *writer) {
    tgi_release(&writer->allocator, writer->entries.bytes, writer->entries.capacity);
    tgi_release(&writer->allocator, writer->directory.bytes, writer->directory.capacity);
    *writer = (tgi_zip_writer){0};
}

/* One part through deflate; the end of the stream with Z_FINISH and no bytes. */
static tg_status deflate_bytes(tgi_zip_writer *writer, z_stream *zlib, tgi_zip_part part, int flush,
                               tg_error *error) {
    tgi_zip_buffer *out = &writer->entries;
    zlib->next_in = part.bytes;
    zlib->avail_in = (uInt)part.size;
    int code = Z_OK;
    while (zlib->avail_in > 0 || (flush == Z_FINISH && code != Z_STREAM_END)) {
        tg_status status = reserve(&writer->allocator, out, GROWTH_STEP, error);
        if (status != TG_OK)
            return status;
        size_t room = out->capacity - out->size;
        zlib->next_out = out->bytes + out->size;
        zlib->avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
        uInt offered = zlib->avail_out;
        code = deflate(zlib, flush);
        if (code != Z_OK && code != Z_STREAM_END)
            return tg_fail(error, TG_ESTATE, "zip: deflate answers %d", code);
        out->size += offered - zlib->avail_out;
    }
    return TG_OK;
}

static tg_status deflate_parts(tgi_zip_writer *writer, const tgi_zip_part *parts, int part_count,
                               tg_error *error) {
    z_stream zlib = {0};
    tgi_zip_use_allocator(&zlib, &writer->allocator);
    int code = deflateInit2(&zlib, DEFLATE_LEVEL, Z_DEFLATED, TGI_ZIP_WINDOW_BITS, DEFLATE_MEMORY,
                            Z_DEFAULT_STRATEGY);
    if (code == Z_MEM_ERROR)
        return tg_fail(error, TG_ENOMEM, "zip: out of memory for deflate");
    if (code != Z_OK)
        return tg_fail(error, TG_ESTATE, "zip: deflate cannot begin: zlib answers %d", code);
    tg_status status = TG_OK;
    for (int i = 0; i < part_count && status == TG_OK; i++)
        status = deflate_bytes(writer, &zlib, parts[i], Z_NO_FLUSH, error);
    if (status == TG_OK)
        status = deflate_bytes(writer, &zlib, (tgi_zip_part){0}, Z_FINISH, error);
    deflateEnd(&zlib);
    return status;
}

/* The size and checksum of the content, and what else is known before it is deflated. */
static tg_status describe(const tgi_zip_writer *writer, const char *name, const tgi_zip_part *parts,
                          int part_count, tgi_zip_fields *fields, tg_error *error) {
    size_t name_length = strlen(name);
    if (name_length > UINT16_MAX)
        return tg_fail(error, TG_EINVAL, "zip: a name of %zu bytes", name_length);
    if (writer->count == TGI_ZIP_MOST_ENTRIES)
        return tg_fail(error, TG_EINVAL, "zip: more than %u entries", TGI_ZIP_MOST_ENTRIES);
    uint64_t size = 0;
    for (int i = 0; i < part_count; i++) {
        if (parts[i].size > TGI_ZIP_LARGEST - size)
            return tg_fail(error, TG_EINVAL, "zip: \"%.*s\" has more than %u bytes",
                           tgi_zip_shown(name, name_length), name, TGI_ZIP_LARGEST);
        size += parts[i].size;
    }
    uLong crc = crc32_z(0, Z_NULL, 0);
    for (int i = 0; i < part_count; i++)
        if (parts[i].size > 0)
            crc = crc32_z(crc, parts[i].bytes, parts[i].size);
    *fields = (tgi_zip_fields){
        .version = VERSION_NEEDED,
        .flags = tgi_zip_beyond_ascii(name, name_length) ? TGI_ZIP_FLAG_UTF8 : 0,
        .method = TGI_ZIP_DEFLATED,
        .crc = (uint32_t)crc,
        .size = (uint32_t)size,
        .name_length = (uint32_t)name_length,
    };
    return TG_OK;
}

/* The image as it would be with this entry. */
static tg_status check_image_size(const tgi_zip_writer *writer, const char *name,
                                  const tgi_zip_fields *fields, tg_error *error) {
    uint64_t size = (uint64_t)writer->entries.size + writer->directory.size + TGI_ZIP_CENTRAL_SIZE +
                    fields->name_length + TGI_ZIP_END_SIZE;
    if (size > writer->largest)
        return tg_fail(error, TG_EINVAL, "zip: with \"%.*s\" the archive has more than %llu bytes",
                       tgi_zip_shown(name, fields->name_length), name,
                       (unsigned long long)writer->largest);
    return TG_OK;
}

/* Local header, name and content behind the entries. The header is filled in last: only then is the
 * compressed size known. */
static tg_status append_entry(tgi_zip_writer *writer, const char *name, const tgi_zip_part *parts,
                              int part_count, tgi_zip_fields *fields, tg_error *error) {
    size_t begin = writer->entries.size;
    size_t header_size = TGI_ZIP_LOCAL_SIZE + (size_t)fields->name_length;
    tg_status status = reserve(&writer->allocator, &writer->entries, header_size, error);
    if (status != TG_OK)
        return status;
    writer->entries.size += header_size;
    status = deflate_parts(writer, parts, part_count, error);
    if (status == TG_OK)
        status = check_image_size(writer, name, fields, error);
    if (status != TG_OK)
        return status;
    fields->compressed_size = (uint32_t)(writer->entries.size - begin - header_size);
    unsigned char *at = writer->entries.bytes + begin;
    put32(at, TGI_ZIP_LOCAL_SIGNATURE);
    put_fields(at + 4, fields);
    memcpy(at + TGI_ZIP_LOCAL_SIZE, name, fields->name_length);
    return TG_OK;
}

static tg_status append_directory(tgi_zip_writer *writer, const char *name, size_t offset,
                                  const tgi_zip_fields *fields, tg_error *error) {
    tgi_zip_buffer *directory = &writer->directory;
    size_t size = TGI_ZIP_CENTRAL_SIZE + (size_t)fields->name_length;
    tg_status status = reserve(&writer->allocator, directory, size, error);
    if (status != TG_OK)
        return status;
    unsigned char *at = directory->bytes + directory->size;
    memset(at, 0, TGI_ZIP_CENTRAL_SIZE);
    put32(at, TGI_ZIP_CENTRAL_SIGNATURE);
    put16(at + 4, VERSION_NEEDED); /* made by: a program that knows this much */
    put_fields(at + 6, fields);
    put32(at + 42, (uint32_t)offset);
    memcpy(at + TGI_ZIP_CENTRAL_SIZE, name, fields->name_length);
    directory->size += size;
    return TG_OK;
}

tg_status tgi_zip_add(tgi_zip_writer *writer, const char *name, const tgi_zip_part *parts,
                      int part_count, tg_error *error) {
    tgi_zip_fields fields = {0};
    tg_status status = describe(writer, name, parts, part_count, &fields, error);
    if (status != TG_OK)
        return status;
    size_t begin = writer->entries.size;
    status = append_entry(writer, name, parts, part_count, &fields, error);
    if (status == TG_OK)
        status = append_directory(writer, name, begin, &fields, error);
    if (status == TG_OK)
        writer->count++;
    else
        writer->entries.size = begin;
    return status;
}

tg_status tgi_zip_image(tgi_zip_writer *writer, const unsigned char **bytes, size_t *size,
                        tg_error *error) {
    const tgi_zip_buffer *directory = &writer->directory;
    tgi_zip_buffer *entries = &writer->entries;
    tg_status status =
        reserve(&writer->allocator, entries, directory->size + TGI_ZIP_END_SIZE, error);
    if (status != TG_OK)
        return status;
    /* Behind the entries, but not counted to them: the next entry will overwrite it. */
    unsigned char *at = entries->bytes + entries->size;
    if (directory->size > 0)
        memcpy(at, directory->bytes, directory->size);
    at += directory->size;
    memset(at, 0, TGI_ZIP_END_SIZE);
    put32(at, TGI_ZIP_END_SIGNATURE);
    put16(at + 8, writer->count); /* on this disk, and on all */
    put16(at + 10, writer->count);
    put32(at + 12, (uint32_t)directory->size);
    put32(at + 16, (uint32_t)entries->size);
    *bytes = entries->bytes;
    *size = entries->size + directory->size + TGI_ZIP_END_SIZE;
    return TG_OK;
}
