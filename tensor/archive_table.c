#include "tensor/archive_table.h"

#include <string.h>

#include "tensor/allocator_internal.h"

void tgi_archive_table_free(tgi_archive_table *table) {
    for (size_t i = 0; i < table->count; i++)
        tgi_archive_table_release_name(table, (char *)table->arrays[i].name);
    tgi_release(&table->allocator, table->arrays, table->capacity * sizeof *table->arrays);
    tgi_release(&table->allocator, table->by_name, table->capacity * sizeof *table->by_name);
    *table = (tgi_archive_table){0};
}

tg_status tgi_archive_table_reserve(tgi_archive_table *table, tg_error *error) {
    if (table->count < table->capacity)
        return TG_OK;
    /* The container ends at 65534 entries, so none of this can overflow. */
    size_t capacity = 2 * table->capacity + 16;
    tg_array *arrays = tgi_allocate(&table->allocator, capacity * sizeof *arrays);
    uint32_t *by_name = tgi_allocate(&table->allocator, capacity * sizeof *by_name);
    if (arrays == NULL || by_name == NULL) {
        tgi_release(&table->allocator, arrays, capacity * sizeof *arrays);
        tgi_release(&table->allocator, by_name, capacity * sizeof *by_name);
        return tg_fail(error, TG_ENOMEM, "archive: out of memory for %zu names", capacity);
    }
    if (table->count > 0) {
        memcpy(arrays, table->arrays, table->count * sizeof *arrays);
        memcpy(by_name, table->by_name, table->count * sizeof *by_name);
    }
    tgi_release(&table->allocator, table->arrays, table->capacity * sizeof *arrays);
    tgi_release(&table->allocator, table->by_name, table->capacity * sizeof *by_name);
    table->arrays = arrays;
    table->by_name = by_name;
    table->capacity = capacity;
    return TG_OK;
}

bool tgi_archive_table_find(const tgi_archive_table *table, const char *name, size_t *position) {
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(table->arrays[table->by_name[middle]].name, name);
        if (order == 0) {
            *position = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *position = low;
    return false;
}

char *tgi_archive_table_copy_name(const tgi_archive_table *table, const char *name, size_t length) {
    char *copy = tgi_allocate(&table->allocator, length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, name, length);
    copy[length] = '\0';
    return copy;
}

void tgi_archive_table_release_name(const tgi_archive_table *table, char *name) {
    if (name != NULL)
        tgi_release(&table->allocator, name, strlen(name) + 1);
}

void tgi_archive_table_insert(tgi_archive_table *table, const tg_array *array, size_t position) {
    uint32_t *at = table->by_name + position;
    memmove(at + 1, at, (table->count - position) * sizeof *at);
    *at = (uint32_t)table->count;
    table->arrays[table->count++] = *array;
}

/* Bytes of the UTF-8 sequence that begins here, and its character; 0 where there is none (RFC 3629:
 * no overlong forms, no surrogates, nothing beyond U+10FFFF). */
static size_t utf8_sequence(const unsigned char *at, size_t left, uint32_t *character) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (length == 0 || length > left || at[0] > 0xf4)
        return 0;
    uint32_t value = length == 1 ? at[0] : at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    if (value < least[length] || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff)
        return 0;
    *character = value;
    return length;
}

static const char *character_fault(const char *name, size_t length) {
    for (size_t i = 0; i < length;) {
        uint32_t character = 0;
        size_t used = utf8_sequence((const unsigned char *)name + i, length - i, &character);
        if (used == 0)
            return "is not UTF-8";
        if (character < 0x20 || (character >= 0x7f && character < 0xa0))
            return "has a control character";
        if (character == '\\')
            return "has a backslash";
        i += used;
    }
    return NULL;
}

/* A part between slashes that a file system would not take as a name. */
static const char *part_fault(const char *part, size_t length) {
    if (length == 0)
        return "has an empty part";
    if (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')))
        return "has a part \".\" or \"..\"";
    return NULL;
}

const char *tgi_archive_name_fault(const char *name, size_t length) {
    if (length == 0)
        return "is empty";
    if (length > TGI_ARCHIVE_NAME_MOST)
        return "has more than 255 bytes";
    const char *fault = character_fault(name, length);
    for (size_t begin = 0; fault == NULL && begin <= length;) {
        const char *slash = memchr(name + begin, '/', length - begin);
        size_t end = slash != NULL ? (size_t)(slash - name) : length;
        fault = part_fault(name + begin, end - begin);
        begin = end + 1;
    }
    return fault;
}
