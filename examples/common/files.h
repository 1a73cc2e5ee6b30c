/* Files and directories of the example programs. */
#ifndef COMMON_FILES_H
#define COMMON_FILES_H

#include "tensor/status.h"

/* Makes the directory `path` and those above it that are missing; one that is there already is
 * taken. TG_EINVAL for a path too long for files in it to be named (4064 bytes and more), TG_EIO
 * with the path and the cause where a directory cannot be made, or `path` is something else. */
tg_status make_directory(const char *path, tg_error *error);

#endif
