#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/archive_table.h"
#include "tensor/context_internal.h"
#include "tensor/file.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

struct tg_archive {
    tgi_archive_table table;
};

/* ---- opening ---- */

/* A NUL lies behind the data, so that a text is a C string. */
static size_t block_size(const tg_array *array) {
    return (size_t)array->count * array->element_size + 1;
}

/* The header, and that what it describes is just what is left of the entry: nothing is allocated on
 * the word of a header alone. */
static tg_status read_header(tgi_zip_stream *stream, tg_array *array, tg_error *error) {
    unsigned char magic[TGI_NPY_MAGIC_SIZE], length[TGI_NPY_LENGTH_MOST];
    tg_status status = tgi_zip_stream_read(stream, magic, sizeof magic, error);
    if (status != TG_OK)
        return status;
    int length_size = tgi_npy_length_size(magic);
    if (length_size == 0)
        return tg_fail(error, TG_EFORMAT, "archive: \"%.120s\" is no .npy of version 1, 2 or 3",
                       array->name);
    status = tgi_zip_stream_read(stream, length, (size_t)length_size, error);
    if (status != TG_OK)
        return status;
    char text[TGI_NPY_TEXT_MOST];
    size_t text_length = tgi_npy_text_length(length, length_size);
    if (text_length > sizeof text)
        return tg_fail(error, TG_EFORMAT, "archive: \"%.120s\" has a header of %zu bytes",
                       array->name, text_length);
    status = tgi_zip_stream_read(stream, text, text_length, error);
    if (status == TG_OK)
        status = tgi_npy_parse(text, text_length, array, error);
    if (status == TG_OK && (stream->left % array->element_size != 0 ||
                            stream->left / array->element_size != (uint64_t)array->count))
        return tg_fail(error, TG_EFORMAT,
                       "archive: \"%.120s\" has %zu bytes for %" PRId64 " elements of %zu",
                       array->name, stream->left, array->count, array->element_size);
    return status;
}

static tg_status read_data(tgi_zip_stream *stream, const tg_allocator *allocator, tg_array *array,
                           tg_error *error) {
    size_t size = stream->left;
    unsigned char *data = tgi_allocate(allocator, block_size(array));
    if (data == NULL)
        return tg_fail(error, TG_ENOMEM, "archive: out of memory for the %zu bytes of \"%.120s\"",
                       size, array->name);
    tg_status status = tgi_zip_stream_read(stream, data, size, error);
    if (status == TG_OK)
        status = tgi_zip_stream_finish(stream, error);
    if (status != TG_OK) {
        tgi_release(allocator, data, block_size(array));
        return status;
    }
    data[size] = '\0';
    array->data = data;
    return TG_OK;
}

static tg_status read_content(const tgi_zip_entry *entry, const tg_allocator *allocator,
                              tg_array *array, tg_error *error) {
    tgi_zip_stream stream;
    tg_status status = tgi_zip_stream_open(&stream, allocator, entry, error);
    if (status != TG_OK)
        return status;
    status = read_header(&stream, array, error);
    if (status == TG_OK)
        status = read_data(&stream, allocator, array, error);
    tgi_zip_stream_close(&stream);
    return status;
}

/* The array's name, owned by the caller, and where the table wants it. */
static tg_status name_of_entry(const tgi_archive_table *table, const tgi_zip_entry *entry,
                               char **out, size_t *position, tg_error *error) {
    const size_t suffix = sizeof TGI_ARCHIVE_SUFFIX - 1;
    size_t length = entry->name_length >= suffix ? entry->name_length - suffix : 0;
    if (memcmp(entry->name + length, TGI_ARCHIVE_SUFFIX, suffix) != 0)
        return tg_fail(error, TG_EFORMAT, "archive: entry %zu is not an .npy", table->count);
    const char *fault = tgi_archive_name_fault(entry->name, length);
    if (fault != NULL)
        return tg_fail(error, TG_EFORMAT, "archive: the name of entry %zu %s", table->count, fault);
    char *name = tgi_archive_table_copy_name(table, entry->name, length);
    if (name == NULL)
        return tg_fail(error, TG_ENOMEM, "archive: out of memory for a name");
    if (tgi_archive_table_find(table, name, position)) {
        tg_status status =
            tg_fail(error, TG_EFORMAT, "archive: two arrays are called \"%.120s\"", name);
        tgi_archive_table_release_name(table, name);
        return status;
    }
    *out = name;
    return TG_OK;
}

static tg_status read_entry(tg_archive *archive, const tgi_zip_entry *entry, tg_error *error) {
    tgi_archive_table *table = &archive->table;
    tg_status status = tgi_archive_table_reserve(table, error);
    if (status != TG_OK)
        return status;
    char *name = NULL;
    size_t position = 0;
    status = name_of_entry(table, entry, &name, &position, error);
    if (status != TG_OK)
        return status;
    tg_array array = {.name = name};
    status = read_content(entry, &table->allocator, &array, error);
    if (status == TG_OK)
        tgi_archive_table_insert(table, &array, position);
    else
        tgi_archive_table_release_name(table, name);
    return status;
}

static tg_status read_image(tg_archive *archive, const unsigned char *bytes, size_t size,
                            tg_error *error) {
    tgi_zip_reader reader;
    tg_status status = tgi_zip_open(&reader, bytes, size, error);
    while (status == TG_OK && reader.left > 0) {
        tgi_zip_entry entry;
        status = tgi_zip_next(&reader, &entry, error);
        if (status == TG_OK)
            status = read_entry(archive, &entry, error);
    }
    return status;
}

tg_archive *tg_archive_open_memory(const tg_context *context, const void *bytes, size_t size,
                                   tg_error *error) {
    tg_allocator allocator = tgi_context_of(context).allocator;
    if (bytes == NULL) {
        tg_fail(error, TG_EINVAL, "archive: no bytes");
        return NULL;
    }
    tg_archive *archive = tgi_allocate(&allocator, sizeof *archive);
    if (archive == NULL) {
        tg_fail(error, TG_ENOMEM, "archive: out of memory");
        return NULL;
    }
    *archive = (tg_archive){.table = {.allocator = allocator}};
    if (read_image(archive, bytes, size, error) != TG_OK) {
        tg_archive_free(archive);
        return NULL;
    }
    return archive;
}

tg_archive *tg_archive_open(const tg_context *context, const char *path, tg_error *error) {
    tg_allocator allocator = tgi_context_of(context).allocator;
    if (path == NULL) {
        tg_fail(error, TG_EINVAL, "archive: no path");
        return NULL;
    }
    unsigned char *bytes;
    size_t size;
    if (tgi_file_read(&allocator, path, TGI_ZIP_LARGEST, &bytes, &size, error) != TG_OK)
        return NULL;
    tg_error reason = {0};
    tg_archive *archive = tg_archive_open_memory(context, bytes, size, &reason);
    tgi_release(&allocator, bytes, size);
    if (archive == NULL)
        tg_fail(error, reason.status, "%s: %s", reason.message, path);
    return archive;
}

void tg_archive_free(tg_archive *archive) {
    if (archive == NULL)
        return;
    tg_allocator allocator = archive->table.allocator;
    for (size_t i = 0; i < archive->table.count; i++) {
        const tg_array *array = &archive->table.arrays[i];
        tgi_release(&allocator, (void *)array->data, block_size(array));
    }
    tgi_archive_table_free(&archive->table);
    tgi_release(&allocator, archive, sizeof *archive);
}

/* ---- what is there ---- */

int64_t tg_archive_count(const tg_archive *archive) {
    return archive != NULL ? (int64_t)archive->table.count : 0;
}

const tg_array *tg_archive_at(const tg_archive *archive, int64_t i) {
    if (i < 0 || i >= tg_archive_count(archive))
        return NULL;
    return &archive->table.arrays[i];
}

const tg_array *tg_archive_find(const tg_archive *archive, const char *name) {
    size_t position;
    if (archive == NULL || name == NULL ||
        !tgi_archive_table_find(&archive->table, name, &position))
        return NULL;
    return &archive->table.arrays[archive->table.by_name[position]];
}

/* The array, which must have this shape. */
static tg_status find_shaped(const tg_archive *archive, const char *name, tg_shape expected,
                             const tg_array **array, tg_error *error) {
    *array = tg_archive_find(archive, name);
    if (archive == NULL || name == NULL)
        return tg_fail(error, TG_EINVAL, "archive: no archive, or no name");
    if (*array == NULL)
        return tg_fail(error, TG_ENOTFOUND, "archive: there is no \"%.120s\"", name);
    if (tg_shape_equal((*array)->shape, expected))
        return TG_OK;
    char there[TG_SHAPE_TEXT], wanted[TG_SHAPE_TEXT];
    return tg_fail(error, TG_EMISMATCH, "archive: \"%.120s\" is of shape %s, expected is %s", name,
                   tg_shape_text((*array)->shape, there), tg_shape_text(expected, wanted));
}

static tg_status fail_type(tg_error *error, const tg_array *array, const char *expected) {
    return tg_fail(error, TG_EMISMATCH, "archive: \"%.120s\" is %s, expected is %s", array->name,
                   tgi_element_name(array->element), expected);
}

/* ---- copying out ---- */

static tg_status check_range(const tg_array *array, tg_error *error) {
    const double *from = array->data;
    for (int64_t i = 0; i < array->count; i++)
        if (isfinite(from[i]) && !isfinite((tg_real)from[i]))
            return tg_fail(error, TG_EMISMATCH,
                           "archive: \"%.120s\": element %" PRId64 " is beyond single precision",
                           array->name, i);
    return TG_OK;
}

tg_status tg_archive_read_reals(const tg_archive *archive, const char *name, tg_shape expected,
                                tg_real *out, tg_error *error) {
    const tg_array *array;
    tg_status status = find_shaped(archive, name, expected, &array, error);
    if (status != TG_OK)
        return status;
    if (array->element == TG_ELEMENT_FLOAT32) {
        const float *from = array->data;
        for (int64_t i = 0; i < array->count; i++)
            out[i] = (tg_real)from[i];
        return TG_OK;
    }
    if (array->element != TG_ELEMENT_FLOAT64)
        return fail_type(error, array, "float32 or float64");
    status = check_range(array, error);
    const double *from = array->data;
    for (int64_t i = 0; status == TG_OK && i < array->count; i++)
        out[i] = (tg_real)from[i];
    return status;
}

tg_status tg_archive_read_int32s(const tg_archive *archive, const char *name, tg_shape expected,
                                 int32_t *out, tg_error *error) {
    const tg_array *array;
    tg_status status = find_shaped(archive, name, expected, &array, error);
    if (status != TG_OK)
        return status;
    if (array->element != TG_ELEMENT_INT32)
        return fail_type(error, array, "int32");
    if (array->count > 0)
        memcpy(out, array->data, (size_t)array->count * sizeof *out);
    return TG_OK;
}

tg_status tg_archive_read_int64(const tg_archive *archive, const char *name, int64_t *out,
                                tg_error *error) {
    const tg_array *array;
    tg_status status = find_shaped(archive, name, tg_shape_scalar(), &array, error);
    if (status != TG_OK)
        return status;
    if (array->element == TG_ELEMENT_INT64)
        *out = *(const int64_t *)array->data;
    else if (array->element == TG_ELEMENT_INT32)
        *out = *(const int32_t *)array->data;
    else
        return fail_type(error, array, "int32 or int64");
    return TG_OK;
}

tg_status tg_archive_read_float64(const tg_archive *archive, const char *name, double *out,
                                  tg_error *error) {
    const tg_array *array;
    tg_status status = find_shaped(archive, name, tg_shape_scalar(), &array, error);
    if (status != TG_OK)
        return status;
    if (array->element == TG_ELEMENT_FLOAT64)
        *out = *(const double *)array->data;
    else if (array->element == TG_ELEMENT_FLOAT32)
        *out = (double)*(const float *)array->data;
    else
        return fail_type(error, array, "float32 or float64");
    return TG_OK;
}

tg_status tg_archive_read_text(const tg_archive *archive, const char *name, const char **text,
                               tg_error *error) {
    const tg_array *array;
    tg_status status = find_shaped(archive, name, tg_shape_scalar(), &array, error);
    if (status != TG_OK)
        return status;
    if (array->element != TG_ELEMENT_BYTES)
        return fail_type(error, array, "bytes");
    const char *bytes = array->data;
    size_t length = strlen(bytes);
    for (size_t i = length; i < array->element_size; i++)
        if (bytes[i] != '\0')
            return tg_fail(error, TG_EMISMATCH, "archive: \"%.120s\" has a NUL inside its text",
                           name);
    *text = bytes;
    return TG_OK;
}
