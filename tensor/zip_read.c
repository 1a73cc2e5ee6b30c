#include <limits.h>
#include <string.h>

#include "tensor/zip_format.h"

_Static_assert(UINT_MAX >= TGI_ZIP_LARGEST, "an entry must fit into one call of inflate");

/* A field of all ones: the value is in a zip64 record. */
#define ZIP64_SIZE  0xffffffffu
#define ZIP64_COUNT 0xffffu

enum {
    ZIP64_LOCATOR_SIZE = 20,
    ZIP64_EXTRA = 1,
    /* 4.5: zip64, which newer Pythons declare for what numpy.savez writes */
    NEWEST_VERSION = 45,
    /* Deflate's shortest code is two bits, for at most 258 bytes. */
    LARGEST_RATIO = 258 * 8 / 2,
};

#define ZIP64_LOCATOR_SIGNATURE 0x07064b50u

enum {
    FLAG_ENCRYPTED = 0x0001,
    FLAG_DEFLATE_LEVEL = 0x0006, /* says how hard the compressor tried */
    FLAG_DATA_DESCRIPTOR = 0x0008,
};

static uint32_t get16(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at) {
    return get16(at) | get16(at + 2) << 16;
}

static uint64_t get64(const unsigned char *at) {
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

static tgi_zip_fields get_fields(const unsigned char *at) {
    return (tgi_zip_fields){
        .version = get16(at),
        .flags = get16(at + 2),
        .method = get16(at + 4),
        .crc = get32(at + 10),
        .compressed_size = get32(at + 14),
        .size = get32(at + 18),
        .name_length = get16(at + 22),
        .extra_length = get16(at + 24),
    };
}

/* ---- the directory ---- */

static tg_status check_filled(const tgi_zip_reader *reader, tg_error *error) {
    if (reader->left > 0)
        return TG_OK;
    if (reader->directory != reader->directory_end)
        return tg_fail(error, TG_EFORMAT, "zip: %zu bytes behind the last directory entry",
                       reader->directory_end - reader->directory);
    if (reader->next_entry != reader->directory_begin)
        return tg_fail(error, TG_EFORMAT, "zip: %zu bytes between entries and directory",
                       reader->directory_begin - reader->next_entry);
    return TG_OK;
}

static tg_status check_end_record(const unsigned char *at, bool after_locator, tg_error *error) {
    if (get32(at) != TGI_ZIP_END_SIGNATURE || get16(at + 20) != 0)
        return tg_fail(error, TG_EFORMAT,
                       "zip: no end record in the last %d bytes: not a ZIP file, cut short, or "
                       "followed by something else",
                       TGI_ZIP_END_SIZE);
    if (after_locator || get16(at + 10) == ZIP64_COUNT || get32(at + 12) == ZIP64_SIZE ||
        get32(at + 16) == ZIP64_SIZE)
        return tg_fail(error, TG_EFORMAT, "zip: a zip64 archive, which is not supported");
    if (get16(at + 4) != 0 || get16(at + 6) != 0 || get16(at + 8) != get16(at + 10))
        return tg_fail(error, TG_EFORMAT, "zip: an archive of several disks is not supported");
    return TG_OK;
}

tg_status tgi_zip_open(tgi_zip_reader *reader, const unsigned char *bytes, size_t size,
                       tg_error *error) {
    if (size < TGI_ZIP_END_SIZE)
        return tg_fail(error, TG_EFORMAT, "zip: %zu bytes are too few for a ZIP file", size);
    size_t end = size - TGI_ZIP_END_SIZE;
    const unsigned char *at = bytes + end;
    bool after_locator =
        end >= ZIP64_LOCATOR_SIZE && get32(at - ZIP64_LOCATOR_SIZE) == ZIP64_LOCATOR_SIGNATURE;
    tg_status status = check_end_record(at, after_locator, error);
    if (status != TG_OK)
        return status;
    size_t count = get16(at + 10), directory_size = get32(at + 12), begin = get32(at + 16);
    if (begin > end || directory_size != end - begin)
        return tg_fail(error, TG_EFORMAT,
                       "zip: the directory is not where the end record says: bytes are missing, "
                       "or there are some too many");
    if (count > directory_size / TGI_ZIP_CENTRAL_SIZE)
        return tg_fail(error, TG_EFORMAT, "zip: %zu entries in a directory of %zu bytes", count,
                       directory_size);
    *reader = (tgi_zip_reader){.bytes = bytes,
                               .directory = begin,
                               .directory_begin = begin,
                               .directory_end = end,
                               .left = count};
    return check_filled(reader, error);
}

static tg_status fail_entry(tg_error *error, const tgi_zip_entry *entry, const char *what) {
    return tg_fail(error, TG_EFORMAT, "zip: \"%.*s\": %s",
                   tgi_zip_shown(entry->name, entry->name_length), entry->name, what);
}

static tg_status check_features(const tgi_zip_entry *entry, const tgi_zip_fields *fields,
                                tg_error *error) {
    const uint32_t known = FLAG_DEFLATE_LEVEL | TGI_ZIP_FLAG_UTF8;
    if (fields->flags & FLAG_ENCRYPTED)
        return fail_entry(error, entry, "encrypted entries are not supported");
    if (fields->flags & FLAG_DATA_DESCRIPTOR)
        return fail_entry(error, entry,
                          "data descriptors (ZIP written to a pipe) are not supported");
    if (fields->method != TGI_ZIP_STORED && fields->method != TGI_ZIP_DEFLATED)
        return fail_entry(error, entry, "compressed in another way than deflate");
    if ((fields->flags & ~known) != 0 || (fields->version & 0xff) > NEWEST_VERSION)
        return fail_entry(error, entry, "needs a newer ZIP reader");
    if (fields->size == ZIP64_SIZE || fields->compressed_size == ZIP64_SIZE)
        return fail_entry(error, entry, "a zip64 entry (4 GB or more), which is not supported");
    if (tgi_zip_beyond_ascii(entry->name, entry->name_length) &&
        (fields->flags & TGI_ZIP_FLAG_UTF8) == 0)
        return fail_entry(error, entry, "the name is not ASCII and not marked as UTF-8");
    return TG_OK;
}

/* What the sizes claim must be possible, before anybody asks for memory on their word. */
static tg_status check_sizes(const tgi_zip_entry *entry, tg_error *error) {
    if (!entry->deflated && entry->size != entry->compressed_size)
        return fail_entry(error, entry, "stored, but with two sizes");
    if (entry->deflated && entry->size / LARGEST_RATIO > entry->compressed_size)
        return fail_entry(error, entry, "claims more bytes than its deflated data can hold");
    return TG_OK;
}

/* A directory entry, and where it says that its local header is. */
static tg_status read_central(tgi_zip_reader *reader, tgi_zip_entry *entry, tgi_zip_fields *fields,
                              size_t *offset, tg_error *error) {
    const unsigned char *at = reader->bytes + reader->directory;
    size_t room = reader->directory_end - reader->directory;
    if (room < TGI_ZIP_CENTRAL_SIZE || get32(at) != TGI_ZIP_CENTRAL_SIGNATURE)
        return tg_fail(error, TG_EFORMAT, "zip: no directory entry at byte %zu", reader->directory);
    *fields = get_fields(at + 6);
    *offset = get32(at + 42);
    size_t size = TGI_ZIP_CENTRAL_SIZE + (size_t)fields->name_length + fields->extra_length;
    if (size > room)
        return tg_fail(error, TG_EFORMAT, "zip: the directory ends inside an entry");
    *entry = (tgi_zip_entry){.name = (const char *)at + TGI_ZIP_CENTRAL_SIZE,
                             .name_length = fields->name_length,
                             .compressed_size = fields->compressed_size,
                             .size = fields->size,
                             .crc = fields->crc,
                             .deflated = fields->method == TGI_ZIP_DEFLATED};
    reader->directory += size;
    tg_status status = check_features(entry, fields, error);
    if (status != TG_OK)
        return status;
    if (get16(at + 32) != 0 || get16(at + 34) != 0)
        return fail_entry(error, entry, "comments and several disks are not supported");
    return check_sizes(entry, error);
}

/* numpy.savez writes the local sizes into a zip64 field even where they are small. */
static bool zip64_sizes_agree(const unsigned char *extra, size_t length,
                              const tgi_zip_entry *entry) {
    while (length >= 4) {
        size_t size = get16(extra + 2);
        if (size > length - 4)
            return false;
        if (get16(extra) == ZIP64_EXTRA)
            return size == 16 && get64(extra + 4) == entry->size &&
                   get64(extra + 12) == entry->compressed_size;
        extra += 4 + size;
        length -= 4 + size;
    }
    return false;
}

static bool local_agrees(const unsigned char *at, const tgi_zip_fields *local,
                         const tgi_zip_fields *central, const tgi_zip_entry *entry) {
    const unsigned char *name = at + TGI_ZIP_LOCAL_SIZE;
    if (local->flags != central->flags || local->method != central->method ||
        local->crc != central->crc || local->name_length != central->name_length ||
        memcmp(name, entry->name, entry->name_length) != 0)
        return false;
    if (local->size == ZIP64_SIZE && local->compressed_size == ZIP64_SIZE)
        return zip64_sizes_agree(name + local->name_length, local->extra_length, entry);
    return local->size == central->size && local->compressed_size == central->compressed_size;
}

/* The local header, which must say the same as the directory, and the data behind it. */
static tg_status read_local(tgi_zip_reader *reader, const tgi_zip_fields *central,
                            tgi_zip_entry *entry, tg_error *error) {
    const unsigned char *at = reader->bytes + reader->next_entry;
    size_t room = reader->directory_begin - reader->next_entry;
    if (room < TGI_ZIP_LOCAL_SIZE || get32(at) != TGI_ZIP_LOCAL_SIGNATURE)
        return fail_entry(error, entry, "no local header where the directory says");
    tgi_zip_fields local = get_fields(at + 4);
    size_t header_size = TGI_ZIP_LOCAL_SIZE + (size_t)local.name_length + local.extra_length;
    if (header_size > room || entry->compressed_size > room - header_size)
        return fail_entry(error, entry, "reaches into the directory");
    if (!local_agrees(at, &local, central, entry))
        return fail_entry(error, entry, "the local header and the directory disagree");
    entry->data = at + header_size;
    reader->next_entry += header_size + entry->compressed_size;
    return TG_OK;
}

tg_status tgi_zip_next(tgi_zip_reader *reader, tgi_zip_entry *entry, tg_error *error) {
    tgi_zip_fields central = {0};
    size_t offset = 0;
    tg_status status = read_central(reader, entry, &central, &offset, error);
    if (status != TG_OK)
        return status;
    if (offset != reader->next_entry)
        return fail_entry(error, entry, "does not begin where the entry before it ends");
    status = read_local(reader, &central, entry, error);
    if (status != TG_OK)
        return status;
    reader->left--;
    return check_filled(reader, error);
}

/* ---- the content of an entry ---- */

tg_status tgi_zip_stream_open(tgi_zip_stream *stream, const tg_allocator *allocator,
                              const tgi_zip_entry *entry, tg_error *error) {
    *stream = (tgi_zip_stream){.entry = *entry, .allocator = *allocator, .left = entry->size};
    stream->crc = (uint32_t)crc32_z(0, Z_NULL, 0);
    stream->zlib.next_in = entry->data;
    stream->zlib.avail_in = (uInt)entry->compressed_size;
    if (!entry->deflated)
        return TG_OK;
    tgi_zip_use_allocator(&stream->zlib, &stream->allocator);
    int code = inflateInit2(&stream->zlib, TGI_ZIP_WINDOW_BITS);
    if (code == Z_MEM_ERROR)
        return tg_fail(error, TG_ENOMEM, "zip: out of memory for inflate");
    if (code != Z_OK)
        return tg_fail(error, TG_ESTATE, "zip: inflate cannot begin: zlib answers %d", code);
    return TG_OK;
}

void tgi_zip_stream_close(tgi_zip_stream *stream) {
    if (stream->entry.deflated)
        inflateEnd(&stream->zlib);
}

static tg_status inflate_bytes(tgi_zip_stream *stream, void *out, size_t size, tg_error *error) {
    z_stream *zlib = &stream->zlib;
    zlib->next_out = out;
    zlib->avail_out = (uInt)size;
    int code = inflate(zlib, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR)
        return tg_fail(error, TG_ENOMEM, "zip: out of memory for inflate");
    if (code == Z_DATA_ERROR || code == Z_NEED_DICT)
        return fail_entry(error, &stream->entry, "the deflated data is corrupt");
    if (zlib->avail_out > 0)
        return fail_entry(error, &stream->entry, "the deflated data ends too early");
    return TG_OK;
}

tg_status tgi_zip_stream_read(tgi_zip_stream *stream, void *out, size_t size, tg_error *error) {
    if (size > stream->left)
        return fail_entry(error, &stream->entry, "the content ends too early");
    if (size == 0)
        return TG_OK;
    if (stream->entry.deflated) {
        tg_status status = inflate_bytes(stream, out, size, error);
        if (status != TG_OK)
            return status;
    } else {
        memcpy(out, stream->zlib.next_in, size);
        stream->zlib.next_in += size;
    }
    stream->crc = (uint32_t)crc32_z(stream->crc, out, size);
    stream->left -= size;
    return TG_OK;
}

/* The end of the deflated data. One byte of room: a stream that has more to say gets no further. */
static tg_status finish_inflating(tgi_zip_stream *stream, tg_error *error) {
    z_stream *zlib = &stream->zlib;
    Bytef surplus;
    zlib->next_out = &surplus;
    zlib->avail_out = 1;
    int code = inflate(zlib, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR)
        return tg_fail(error, TG_ENOMEM, "zip: out of memory for inflate");
    if (zlib->avail_out == 0)
        return fail_entry(error, &stream->entry, "holds more bytes than it claims");
    if (code != Z_STREAM_END)
        return fail_entry(error, &stream->entry, "the deflated data has no end");
    if (zlib->avail_in > 0)
        return fail_entry(error, &stream->entry, "has bytes behind its deflated data");
    return TG_OK;
}

tg_status tgi_zip_stream_finish(tgi_zip_stream *stream, tg_error *error) {
    if (stream->left > 0)
        return fail_entry(error, &stream->entry, "holds more bytes than its content needs");
    if (stream->entry.deflated) {
        tg_status status = finish_inflating(stream, error);
        if (status != TG_OK)
            return status;
    }
    if (stream->crc != stream->entry.crc)
        return fail_entry(error, &stream->entry, "the checksum is wrong");
    return TG_OK;
}
