/* Internal: a whole file read, and a whole file replaced.
 *
 * Every failure of the system is TG_EIO, with the system's own words and the path in the message. */
#ifndef TGI_FILE_H
#define TGI_FILE_H

#include <stddef.h>

#include "tensor/allocator.h"
#include "tensor/status.h"

/* The bytes of the regular file at `path` into a block of `allocator` of *size bytes, which the
 * caller releases. Files of more than `limit` bytes are refused before memory is asked for. */
tg_status tgi_file_read(const tg_allocator *allocator, const char *path, size_t limit,
                        unsigned char **bytes, size_t *size, tg_error *error);

/* Makes the file at `path` hold exactly these bytes, so that a crash at any moment leaves either
 * the old file or the new one: they are written to "<path>.tmp", synced, renamed, and the directory
 * is synced.
 *
 * The temporary is locked while it is written. A second writer of the same path fails instead of
 * mixing its bytes with the first one's, and what a killed process left behind is unlocked, so the
 * next writer takes it over. On failure the temporary is removed and the old file is as it was; the
 * one exception is a directory that cannot be synced, which is reported when the new file is
 * already in place. What is at `path` must be a regular file, or nothing: a device is never
 * replaced. A symbolic link is replaced, not followed. */
tg_status tgi_file_replace(const tg_allocator *allocator, const char *path, const void *bytes,
                           size_t size, tg_error *error);

#endif
