#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/archive_table.h"
#include "tensor/context_internal.h"
#include "tensor/file.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

/* The table holds the names alone: the data is in the ZIP file at once. */
struct tg_archive_writer {
    tgi_archive_table table;
    tgi_zip_writer zip;
};

tg_archive_writer *tg_archive_writer_create(const tg_context *context, tg_error *error) {
    tg_allocator allocator = tgi_context_of(context).allocator;
    tg_archive_writer *writer = tgi_allocate(&allocator, sizeof *writer);
    if (writer == NULL) {
        tg_fail(error, TG_ENOMEM, "archive: out of memory");
        return NULL;
    }
    *writer = (tg_archive_writer){.table = {.allocator = allocator}};
    tgi_zip_writer_init(&writer->zip, &allocator);
    return writer;
}

void tg_archive_writer_free(tg_archive_writer *writer) {
    if (writer == NULL)
        return;
    tg_allocator allocator = writer->table.allocator;
    tgi_zip_writer_free(&writer->zip);
    tgi_archive_table_free(&writer->table);
    tgi_release(&allocator, writer, sizeof *writer);
}

/* Makes `entry` the array as it will be read, but for its data; *size becomes the bytes of that. */
static tg_status describe(const tg_array *array, tg_array *entry, size_t *size, tg_error *error) {
    *entry = (tg_array){.name = array->name, .element = array->element, .shape = array->shape};
    if ((unsigned)array->element > TG_ELEMENT_BYTES)
        return tg_fail(error, TG_EINVAL, "archive: \"%.120s\": no element type has number %d",
                       array->name, (int)array->element);
    entry->element_size =
        array->element == TG_ELEMENT_BYTES ? array->element_size : tgi_element_size(array->element);
    tg_status status = tg_shape_count(array->shape, &entry->count, error);
    if (status != TG_OK)
        return status;
    if (entry->element_size == 0)
        return tg_fail(error, TG_EINVAL, "archive: \"%.120s\" has elements of 0 bytes",
                       array->name);
    if (entry->element_size > TGI_ZIP_LARGEST ||
        (uint64_t)entry->count > TGI_ZIP_LARGEST / entry->element_size)
        return tg_fail(error, TG_EINVAL, "archive: \"%.120s\" has more than %u bytes", array->name,
                       TGI_ZIP_LARGEST);
    if (array->data == NULL && entry->count > 0)
        return tg_fail(error, TG_EINVAL, "archive: \"%.120s\" has no data", array->name);
    *size = (size_t)entry->count * entry->element_size;
    return TG_OK;
}

static tg_status check_name(const tg_archive_writer *writer, const char *name, size_t *position,
                            tg_error *error) {
    if (name == NULL)
        return tg_fail(error, TG_EINVAL, "archive: an array without a name");
    const char *fault = tgi_archive_name_fault(name, strlen(name));
    if (fault != NULL)
        return tg_fail(error, TG_EINVAL, "archive: the name \"%.120s\" %s", name, fault);
    if (tgi_archive_table_find(&writer->table, name, position))
        return tg_fail(error, TG_EINVAL, "archive: there is a \"%.120s\" already", name);
    return TG_OK;
}

static tg_status add_entry(tg_archive_writer *writer, const tg_array *entry, const void *data,
                           size_t size, tg_error *error) {
    char header[TGI_NPY_HEADER_MOST];
    const tgi_zip_part parts[] = {{header, tgi_npy_write(entry, header)}, {data, size}};
    char name[TGI_ARCHIVE_NAME_MOST + sizeof TGI_ARCHIVE_SUFFIX];
    size_t length = strlen(entry->name);
    memcpy(name, entry->name, length);
    memcpy(name + length, TGI_ARCHIVE_SUFFIX, sizeof TGI_ARCHIVE_SUFFIX);
    return tgi_zip_add(&writer->zip, name, parts, 2, error);
}

tg_status tg_archive_writer_add(tg_archive_writer *writer, const tg_array *array, tg_error *error) {
    if (writer == NULL || array == NULL)
        return tg_fail(error, TG_EINVAL, "archive: no writer, or no array");
    size_t position, size = 0;
    tg_array entry;
    tg_status status = check_name(writer, array->name, &position, error);
    if (status == TG_OK)
        status = describe(array, &entry, &size, error);
    if (status == TG_OK)
        status = tgi_archive_table_reserve(&writer->table, error);
    if (status != TG_OK)
        return status;
    char *name = tgi_archive_table_copy_name(&writer->table, array->name, strlen(array->name));
    if (name == NULL)
        return tg_fail(error, TG_ENOMEM, "archive: out of memory for \"%.120s\"", array->name);
    entry.name = name;
    status = add_entry(writer, &entry, array->data, size, error);
    if (status == TG_OK)
        tgi_archive_table_insert(&writer->table, &entry, position);
    else
        tgi_archive_table_release_name(&writer->table, name);
    return status;
}

tg_status tg_archive_writer_add_view(tg_archive_writer *writer, const char *name, tg_view view,
                                     tg_error *error) {
    const tg_array array = {.name = name,
                            .element = view.type == TG_REAL ? TG_ELEMENT_REAL : TG_ELEMENT_INT32,
                            .shape = view.shape,
                            .data = view.data};
    return tg_archive_writer_add(writer, &array, error);
}

tg_status tg_archive_writer_add_int64(tg_archive_writer *writer, const char *name, int64_t value,
                                      tg_error *error) {
    const tg_array array = {.name = name, .element = TG_ELEMENT_INT64, .data = &value};
    return tg_archive_writer_add(writer, &array, error);
}

tg_status tg_archive_writer_add_float64(tg_archive_writer *writer, const char *name, double value,
                                        tg_error *error) {
    const tg_array array = {.name = name, .element = TG_ELEMENT_FLOAT64, .data = &value};
    return tg_archive_writer_add(writer, &array, error);
}

tg_status tg_archive_writer_add_text(tg_archive_writer *writer, const char *name, const char *text,
                                     tg_error *error) {
    if (text == NULL)
        return tg_fail(error, TG_EINVAL, "archive: no text");
    /* NumPy has no strings of 0 bytes: an empty text is stored as its final NUL, and read as "". */
    size_t length = strlen(text);
    const tg_array array = {.name = name,
                            .element = TG_ELEMENT_BYTES,
                            .element_size = length > 0 ? length : 1,
                            .data = text};
    return tg_archive_writer_add(writer, &array, error);
}

tg_status tg_archive_writer_bytes(tg_archive_writer *writer, const void **bytes, size_t *size,
                                  tg_error *error) {
    if (writer == NULL)
        return tg_fail(error, TG_EINVAL, "archive: no writer");
    const unsigned char *image;
    tg_status status = tgi_zip_image(&writer->zip, &image, size, error);
    if (status == TG_OK)
        *bytes = image;
    return status;
}

tg_status tg_archive_writer_save(tg_archive_writer *writer, const char *path, tg_error *error) {
    if (writer == NULL || path == NULL)
        return tg_fail(error, TG_EINVAL, "archive: no writer, or no path");
    const void *bytes;
    size_t size;
    tg_status status = tg_archive_writer_bytes(writer, &bytes, &size, error);
    if (status != TG_OK)
        return status;
    return tgi_file_replace(&writer->table.allocator, path, bytes, size, error);
}
