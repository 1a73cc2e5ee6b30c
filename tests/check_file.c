/* Files read and replaced while the system does not do as it is told: the functions below stand in
 * front of the C library's, and fail, stop short or are interrupted on demand. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/file.h"

/* What the calls do from now on; {0} lets them all do their work. */
typedef struct faults {
    int write_error; /* errno of the failure, 0 for none */
    int write_at;    /* how many calls succeed before */
    int sync_error;  /* the same for fsync: the file is call 0, the directory call 1 */
    int sync_at;
    int rename_error;
    int read_error;
    bool interrupt;    /* every other call of read, write and fsync ends in EINTR */
    bool one_byte;     /* read and write move one byte */
    bool write_none;   /* write moves nothing and says so */
    bool read_none;    /* the file ends here */
    bool finish_other; /* lstat: another writer renames its file just before */
    int calls;
} faults;

static faults now;

static bool interrupted(void) {
    if (!now.interrupt || now.calls++ % 2 == 1)
        return false;
    errno = EINTR;
    return true;
}

/* True when this call fails: the error in errno. */
static bool fails(int error, int *successes_left) {
    if (error == 0 || (*successes_left)-- > 0)
        return false;
    errno = error;
    return true;
}

ssize_t write(int file, const void *bytes, size_t size) {
    if (interrupted() || fails(now.write_error, &now.write_at))
        return -1;
    if (now.write_none)
        return 0;
    struct iovec part = {(void *)bytes, now.one_byte ? 1 : size};
    return writev(file, &part, 1);
}

ssize_t read(int file, void *bytes, size_t size) {
    int none = 0;
    if (interrupted() || fails(now.read_error, &none))
        return -1;
    if (now.read_none)
        return 0;
    struct iovec part = {bytes, now.one_byte ? 1 : size};
    return readv(file, &part, 1);
}

int fsync(int file) {
    if (interrupted() || fails(now.sync_error, &now.sync_at))
        return -1;
    return fdatasync(file);
}

int rename(const char *from, const char *to) {
    int none = 0;
    if (fails(now.rename_error, &none))
        return -1;
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static char directory[256], path[300], temporary[310];

int lstat(const char *name, struct stat *about) {
    if (now.finish_other) {
        now.finish_other = false;
        renameat(AT_FDCWD, temporary, AT_FDCWD, path);
    }
    return fstatat(AT_FDCWD, name, about, AT_SYMLINK_NOFOLLOW);
}

/* ---- a directory with an old file ---- */

static const char old_text[] = "old\n", new_text[] = "something new\n";

static void setup(void) {
    now = (faults){0};
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/file", directory);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    test_write_file(path, old_text, strlen(old_text));
}

static void teardown(void) {
    now = (faults){0};
    test_directory_remove(directory);
}

static bool exists(const char *name) {
    struct stat about;
    return lstat(name, &about) == 0;
}

static void assert_holds(const char *name, const char *text) {
    size_t size;
    char *bytes = test_read_file(name, &size);
    ck_assert_str_eq(bytes, text);
    free(bytes);
}

static tg_status replace(const char *name, tg_error *error) {
    tg_allocator heap = tg_allocator_default();
    return tgi_file_replace(&heap, name, new_text, strlen(new_text), error);
}

static void assert_replaced(void) {
    tg_error error = {0};
    ck_assert_msg(replace(path, &error) == TG_OK, "%s", error.message);
    assert_holds(path, new_text);
    ck_assert(!exists(temporary));
}

/* It fails for this reason, says where, and leaves the old file alone. */
static void assert_kept(const char *reason) {
    tg_error error = {0};
    ck_assert_int_eq(replace(path, &error), TG_EIO);
    now = (faults){0};
    ck_assert_msg(strstr(error.message, reason) != NULL && strstr(error.message, path) != NULL,
                  "%s", error.message);
    assert_holds(path, old_text);
}

/* ---- replacing ---- */

START_TEST(old_and_new_files) {
    assert_replaced();
    ck_assert_int_eq(unlink(path), 0);
    assert_replaced();
}
END_TEST

START_TEST(a_name_in_the_working_directory) {
    ck_assert_int_eq(chdir(directory), 0);
    tg_error error = {0};
    ck_assert_msg(replace("file", &error) == TG_OK, "%s", error.message);
    assert_holds(path, new_text);
    ck_assert(!exists(temporary));
}
END_TEST

START_TEST(failures_keep_the_old_file) {
    const struct {
        faults faults;
        const char *reason;
    } cases[] = {
        {{.write_error = ENOSPC}, "cannot write: No space left on device"},
        {{.write_error = EIO, .write_at = 5, .one_byte = true}, "cannot write: Input/output error"},
        {{.write_none = true}, "cannot write: Input/output error"},
        {{.sync_error = EIO}, "cannot sync: Input/output error"},
        {{.sync_error = EDQUOT}, "cannot sync: Disk quota exceeded"},
        {{.rename_error = EXDEV}, "cannot rename: "},
    };
    now = cases[_i].faults;
    assert_kept(cases[_i].reason);
    ck_assert(!exists(temporary));
    assert_replaced();
}
END_TEST

/* Here the new file is in place already; all that is in doubt is a power cut. */
START_TEST(a_directory_that_does_not_sync) {
    tg_error error = {0};
    now = (faults){.sync_error = EIO, .sync_at = 1};
    ck_assert_int_eq(replace(path, &error), TG_EIO);
    ck_assert_ptr_nonnull(strstr(error.message, "cannot sync the directory of: Input/output"));
    assert_holds(path, new_text);
    ck_assert(!exists(temporary));
}
END_TEST

START_TEST(a_directory_that_knows_no_sync) {
    now = (faults){.sync_error = EINVAL, .sync_at = 1};
    assert_replaced();
}
END_TEST

START_TEST(short_and_interrupted_calls) {
    now = (faults){.one_byte = _i & 1, .interrupt = _i & 2};
    assert_replaced();
}
END_TEST

/* The signal of the limit would end the program: it must not be raised. */
START_TEST(the_size_limit_of_the_process) {
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit small = {4, 4};
        signal(SIGXFSZ, SIG_DFL);
        tg_error error = {0};
        if (setrlimit(RLIMIT_FSIZE, &small) != 0 || replace(path, &error) != TG_EIO)
            _exit(1);
        _exit(strstr(error.message, "File too large") != NULL ? 0 : 2);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    assert_holds(path, old_text);
    ck_assert(!exists(temporary));
}
END_TEST

START_TEST(what_a_killed_program_left) {
    test_write_file(temporary, "much more than what is written now, and half of it", 50);
    assert_replaced();
}
END_TEST

START_TEST(a_second_writer_is_refused) {
    test_write_file(temporary, "the first writer is not done", 28);
    int file = open(temporary, O_RDWR);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(flock(file, LOCK_EX), 0);
    assert_kept("another writer");
    assert_holds(temporary, "the first writer is not done");
    close(file);
    assert_replaced();
}
END_TEST

/* We open the other writer's temporary, and lock it only when it has become the file itself. */
START_TEST(another_writer_finishes_meanwhile) {
    char other[310];
    snprintf(other, sizeof other, "%s/other", directory);
    test_write_file(temporary, "written by another", 18);
    ck_assert_int_eq(link(temporary, other), 0);
    now = (faults){.finish_other = true};
    assert_replaced();
    assert_holds(other, "written by another");
}
END_TEST

/* Things under the temporary's name that are no leftover of ours. */
START_TEST(strange_temporaries) {
    char target[310];
    snprintf(target, sizeof target, "%s/target", directory);
    test_write_file(target, "precious", 8);
    ck_assert_int_eq(symlink(target, temporary), 0);
    assert_kept("cannot create: ");
    assert_holds(target, "precious");
    ck_assert_int_eq(unlink(temporary), 0);
    ck_assert_int_eq(mkdir(temporary, 0700), 0);
    assert_kept("cannot create: Is a directory");
    ck_assert_int_eq(rmdir(temporary), 0);
    ck_assert_int_eq(mkfifo(temporary, 0600), 0);
    assert_kept("cannot write: Invalid argument");
}
END_TEST

/* ---- paths ---- */

static void assert_unwritable(const char *name, const char *reason) {
    tg_error error = {0};
    ck_assert_int_eq(replace(name, &error), TG_EIO);
    ck_assert_msg(strstr(error.message, reason) != NULL && strstr(error.message, name) != NULL,
                  "%s", error.message);
}

START_TEST(paths_that_cannot_be_written) {
    char name[700];
    assert_unwritable(directory, "Is a directory");
    assert_unwritable("", "");
    snprintf(name, sizeof name, "%s/pipe", directory);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    assert_unwritable(name, "not a regular file");
    snprintf(name, sizeof name, "%s/none/file", directory);
    assert_unwritable(name, "No such file or directory");
    snprintf(name, sizeof name, "%s/none/", directory);
    assert_unwritable(name, "No such file or directory");
    snprintf(name, sizeof name, "%s/file", path);
    assert_unwritable(name, "Not a directory");
    tg_error error = {0};
    int used = snprintf(name, sizeof name, "%s/", directory);
    memset(name + used, 'x', 300);
    name[used + 300] = '\0';
    ck_assert_int_eq(replace(name, &error), TG_EIO);
    ck_assert_ptr_nonnull(strstr(error.message, "File name too long"));
    if (geteuid() != 0) { /* root may write anywhere */
        ck_assert_int_eq(chmod(directory, 0500), 0);
        assert_kept("Permission denied");
        ck_assert_int_eq(chmod(directory, 0700), 0);
    }
    assert_holds(path, old_text);
}
END_TEST

START_TEST(symbolic_links) {
    char link[310];
    snprintf(link, sizeof link, "%s/link", directory);
    ck_assert_int_eq(symlink("/dev/null", link), 0);
    assert_unwritable(link, "not a regular file");
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink(path, link), 0);
    tg_error error = {0};
    ck_assert_msg(replace(link, &error) == TG_OK, "%s", error.message);
    assert_holds(link, new_text);
    assert_holds(path, old_text);
}
END_TEST

/* ---- reading ---- */

static tg_status read_file(const char *name, size_t limit, char text[64], tg_error *error) {
    tg_allocator heap = tg_allocator_default();
    unsigned char *bytes;
    size_t size;
    tg_status status = tgi_file_read(&heap, name, limit, &bytes, &size, error);
    if (status != TG_OK)
        return status;
    ck_assert_uint_lt(size, 64);
    memcpy(text, bytes, size);
    text[size] = '\0';
    free(bytes);
    return TG_OK;
}

START_TEST(reading) {
    char text[64];
    tg_error error = {0};
    now = (faults){.one_byte = _i & 1, .interrupt = _i & 2};
    ck_assert_msg(read_file(path, 4, text, &error) == TG_OK, "%s", error.message);
    ck_assert_str_eq(text, old_text);
}
END_TEST

static void assert_unreadable(const char *name, size_t limit, const char *reason) {
    char text[64];
    tg_error error = {0};
    ck_assert_int_eq(read_file(name, limit, text, &error), TG_EIO);
    now = (faults){0};
    ck_assert_msg(strstr(error.message, reason) != NULL && strstr(error.message, name) != NULL,
                  "%s", error.message);
}

START_TEST(files_that_cannot_be_read) {
    assert_unreadable(path, 3, "4 bytes, more than the 3");
    assert_unreadable(temporary, 99, "cannot open: No such file or directory");
    assert_unreadable(directory, 99999, "cannot read: Is a directory");
    assert_unreadable("/dev/null", 99, "not a regular file");
    now = (faults){.read_error = EIO};
    assert_unreadable(path, 99, "cannot read: Input/output error");
    now = (faults){.read_none = true};
    assert_unreadable(path, 99, "ends at byte 0 of 4");
    ck_assert_int_eq(mkfifo(temporary, 0600), 0); /* nobody writes: this must not wait */
    assert_unreadable(temporary, 99, "not a regular file");
}
END_TEST

START_TEST(a_huge_file_is_refused_unread) {
    ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
    assert_unreadable(path, 0xfffffffe, "1099511627776 bytes, more than the 4294967294");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("file");
    TCase *replacing = tcase_create("replacing");
    tcase_add_checked_fixture(replacing, setup, teardown);
    tcase_add_test(replacing, old_and_new_files);
    tcase_add_test(replacing, a_name_in_the_working_directory);
    tcase_add_loop_test(replacing, failures_keep_the_old_file, 0, 6);
    tcase_add_test(replacing, a_directory_that_does_not_sync);
    tcase_add_test(replacing, a_directory_that_knows_no_sync);
    tcase_add_loop_test(replacing, short_and_interrupted_calls, 1, 4);
    tcase_add_test(replacing, the_size_limit_of_the_process);
    tcase_add_test(replacing, what_a_killed_program_left);
    tcase_add_test(replacing, a_second_writer_is_refused);
    tcase_add_test(replacing, another_writer_finishes_meanwhile);
    tcase_add_test(replacing, strange_temporaries);
    tcase_add_test(replacing, paths_that_cannot_be_written);
    tcase_add_test(replacing, symbolic_links);
    suite_add_tcase(suite, replacing);
    TCase *reads = tcase_create("reading");
    tcase_add_checked_fixture(reads, setup, teardown);
    tcase_add_loop_test(reads, reading, 0, 4);
    tcase_add_test(reads, files_that_cannot_be_read);
    tcase_add_test(reads, a_huge_file_is_refused_unread);
    suite_add_tcase(suite, reads);
    return suite;
}

int main(void) {
    return test_main(suite());
}
