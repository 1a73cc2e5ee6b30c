#include "common/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, NAME_ROOM = 32 };

tg_status make_directory(const char *path, tg_error *error) {
    char part[PATH_SIZE];
    size_t length = strlen(path);
    if (length >= sizeof part - NAME_ROOM)
        return tg_fail(error, TG_EINVAL, "the path of the directory has %zu bytes", length);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return tg_fail(error, TG_EIO, "cannot make the directory %.150s: %s", part,
                           strerror(errno));
    }
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return tg_fail(error, TG_EIO, "%.200s is not a directory", path);
    return TG_OK;
}
