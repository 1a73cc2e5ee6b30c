/* flock is not in POSIX: glibc and the BSDs show it anyway, macOS when it is asked to. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif

#include "tensor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/allocator_internal.h"

#define TEMPORARY_SUFFIX ".tmp"

/* Some systems refuse to move more than INT_MAX bytes in one call. */
#define LARGEST_TRANSFER ((size_t)1 << 30)

/* The cause comes before the path: a long path may be cut off the end of the message. */
static tg_status fail(tg_error *error, const char *action, int cause, const char *path) {
    char text[96];
    if (strerror_r(cause, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", cause);
    return tg_fail(error, TG_EIO, "file: cannot %s: %s: %s", action, text, path);
}

static int open_retrying(const char *path, int flags) {
    int file;
    do
        file = open(path, flags | O_CLOEXEC, 0666);
    while (file < 0 && errno == EINTR);
    return file;
}

static void close_if_open(int file) {
    if (file >= 0)
        close(file);
}

/* ---- reading ---- */

static tg_status size_of_file(int file, const char *path, size_t limit, size_t *size,
                              tg_error *error) {
    struct stat about;
    if (fstat(file, &about) != 0)
        return fail(error, "read", errno, path);
    if (S_ISDIR(about.st_mode))
        return fail(error, "read", EISDIR, path);
    if (!S_ISREG(about.st_mode))
        return tg_fail(error, TG_EIO, "file: not a regular file: %s", path);
    if (about.st_size < 0 || (uintmax_t)about.st_size > limit)
        return tg_fail(error, TG_EIO, "file: %jd bytes, more than the %zu that are read: %s",
                       (intmax_t)about.st_size, limit, path);
    *size = (size_t)about.st_size;
    return TG_OK;
}

static tg_status read_all(int file, const char *path, unsigned char *bytes, size_t size,
                          tg_error *error) {
    for (size_t done = 0; done < size;) {
        size_t wanted = size - done < LARGEST_TRANSFER ? size - done : LARGEST_TRANSFER;
        ssize_t got = read(file, bytes + done, wanted);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(error, "read", errno, path);
        if (got == 0)
            return tg_fail(error, TG_EIO, "file: ends at byte %zu of %zu: %s", done, size, path);
        done += (size_t)got;
    }
    return TG_OK;
}

tg_status tgi_file_read(const tg_allocator *allocator, const char *path, size_t limit,
                        unsigned char **bytes, size_t *size, tg_error *error) {
    /* O_NONBLOCK, or a pipe without a writer would hold the program here. */
    int file = open_retrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return fail(error, "open", errno, path);
    unsigned char *block = NULL;
    tg_status status = size_of_file(file, path, limit, size, error);
    if (status == TG_OK) {
        block = tgi_allocate(allocator, *size);
        status = block != NULL ? read_all(file, path, block, *size, error)
                               : tg_fail(error, TG_ENOMEM, "file: out of memory for %zu bytes: %s",
                                         *size, path);
    }
    close(file);
    if (status != TG_OK)
        tgi_release(allocator, block, *size);
    else
        *bytes = block;
    return status;
}

/* ---- replacing ---- */

static tg_status check_replaceable(const char *path, tg_error *error) {
    struct stat about;
    if (stat(path, &about) != 0)
        return TG_OK; /* nothing is there, or opening the temporary will say what is wrong */
    if (S_ISDIR(about.st_mode))
        return fail(error, "write", EISDIR, path);
    if (!S_ISREG(about.st_mode))
        return tg_fail(error, TG_EIO, "file: not a regular file: %s", path);
    return TG_OK;
}

static bool still_named(int file, const char *name) {
    struct stat held, named;
    return fstat(file, &held) == 0 && lstat(name, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/* The temporary, open and locked. Another writer may rename the file between our opening and our
 * locking it; then we hold the lock of a finished file, must not touch it, and begin again. */
static tg_status open_locked(const char *name, int *out, tg_error *error) {
    for (int attempt = 0; attempt < 100; attempt++) {
        int file = open_retrying(name, O_RDWR | O_CREAT | O_NOFOLLOW);
        if (file < 0)
            return fail(error, "create", errno, name);
        /* A file system without locks (some network ones) is written without. */
        bool locked_by_another = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!locked_by_another && still_named(file, name)) {
            *out = file;
            return TG_OK;
        }
        close(file);
        if (locked_by_another)
            break;
    }
    return tg_fail(error, TG_EIO, "file: another writer is at work on %s", name);
}

/* The process's own limit is asked first: to write past it raises SIGXFSZ, which ends a program
 * that does not expect it. */
static tg_status check_size_limit(const char *name, size_t size, tg_error *error) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size > limit.rlim_cur)
        return fail(error, "write", EFBIG, name);
    return TG_OK;
}

static tg_status write_all(int file, const char *name, const unsigned char *bytes, size_t size,
                           tg_error *error) {
    if (ftruncate(file, 0) != 0)
        return fail(error, "write", errno, name);
    tg_status status = check_size_limit(name, size, error);
    for (size_t done = 0; status == TG_OK && done < size;) {
        size_t wanted = size - done < LARGEST_TRANSFER ? size - done : LARGEST_TRANSFER;
        ssize_t put = write(file, bytes + done, wanted);
        if (put > 0)
            done += (size_t)put;
        else if (put == 0 || errno != EINTR)
            status = fail(error, "write", put == 0 ? EIO : errno, name);
    }
    return status;
}

static int sync_retrying(int file) {
    int result;
    do
        result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result;
}

static tg_status write_and_rename(int file, const char *temporary, const char *path,
                                  const void *bytes, size_t size, tg_error *error) {
    tg_status status = write_all(file, temporary, bytes, size, error);
    if (status == TG_OK && sync_retrying(file) != 0)
        status = fail(error, "sync", errno, temporary);
    if (status == TG_OK && rename(temporary, path) != 0)
        status = fail(error, "rename", errno, temporary);
    if (status != TG_OK)
        unlink(temporary); /* while the lock is held, so it is ours */
    return status;
}

/* EINVAL: the file system has no such thing as syncing a directory. */
static tg_status sync_directory(int directory, const char *path, tg_error *error) {
    if (sync_retrying(directory) != 0 && errno != EINVAL)
        return fail(error, "sync the directory of", errno, path);
    return TG_OK;
}

/* `directory_name` is "path" cut behind its last slash, or empty. */
static tg_status replace(const char *path, const char *directory_name, const char *temporary,
                         const void *bytes, size_t size, tg_error *error) {
    tg_status status = check_replaceable(path, error);
    if (status != TG_OK)
        return status;
    int directory =
        open_retrying(directory_name[0] != '\0' ? directory_name : ".", O_RDONLY | O_DIRECTORY);
    if (directory < 0)
        return fail(error, "open the directory of", errno, path);
    int file = -1;
    status = open_locked(temporary, &file, error);
    if (status == TG_OK)
        status = write_and_rename(file, temporary, path, bytes, size, error);
    if (status == TG_OK)
        status = sync_directory(directory, path, error);
    close_if_open(file);
    close_if_open(directory);
    return status;
}

tg_status tgi_file_replace(const tg_allocator *allocator, const char *path, const void *bytes,
                           size_t size, tg_error *error) {
    size_t length = strlen(path);
    size_t block_size = 2 * length + sizeof TEMPORARY_SUFFIX + 1;
    char *temporary = tgi_allocate(allocator, block_size);
    if (temporary == NULL)
        return tg_fail(error, TG_ENOMEM, "file: out of memory for the name of %s", path);
    memcpy(temporary, path, length);
    memcpy(temporary + length, TEMPORARY_SUFFIX, sizeof TEMPORARY_SUFFIX);
    char *directory_name = temporary + length + sizeof TEMPORARY_SUFFIX;
    const char *slash = strrchr(path, '/');
    size_t directory_length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    memcpy(directory_name, path, directory_length);
    directory_name[directory_length] = '\0';
    tg_status status = replace(path, directory_name, temporary, bytes, size, error);
    tgi_release(allocator, temporary, block_size);
    return status;
}
