/* Internal: the arrays of an archive, kept in their order and found by name; and which names are
 * legal. */
#ifndef TGI_ARCHIVE_TABLE_H
#define TGI_ARCHIVE_TABLE_H

#include <stdbool.h>

#include "tensor/allocator.h"
#include "tensor/archive.h"

enum { TGI_ARCHIVE_NAME_MOST = 255 };

/* What an entry of the ZIP file is called behind the name of its array. */
#define TGI_ARCHIVE_SUFFIX ".npy"

typedef struct tgi_archive_table {
    tg_allocator allocator;
    tg_array *arrays;  /* in the order in which they came; the names are the table's own */
    uint32_t *by_name; /* their numbers, sorted by name */
    size_t count;
    size_t capacity;
} tgi_archive_table;

/* Gives back the names, not the data. */
void tgi_archive_table_free(tgi_archive_table *table);

/* Room for one more array. TG_ENOMEM: the table is as it was. */
tg_status tgi_archive_table_reserve(tgi_archive_table *table, tg_error *error);

/* Where the name is in by_name, or, when false, where it would have to be. */
bool tgi_archive_table_find(const tgi_archive_table *table, const char *name, size_t *position);

/* A copy of a name of `length` bytes, NUL-terminated, from the table's allocator; NULL without
 * memory. It is given back with tgi_archive_table_release_name, or by the table that took it. */
char *tgi_archive_table_copy_name(const tgi_archive_table *table, const char *name, size_t length);
void tgi_archive_table_release_name(const tgi_archive_table *table, char *name);

/* Puts the array behind the others and at `position` of the sorted ones. The name becomes the
 * table's. There must be room, and the name must not be there yet. */
void tgi_archive_table_insert(tgi_archive_table *table, const tg_array *array, size_t position);

/* NULL, or what is wrong with the name, in words that fit behind "the name". */
const char *tgi_archive_name_fault(const char *name, size_t length);

#endif
