/* syscall() */
#define _DEFAULT_SOURCE

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comma_locale.h"
#include "train/csv.h"

/* The library's calls of write, fsync and close come through here. Bytes that may still be written
 * before the disk is full (-1: no end), whether each write is interrupted first and then takes only
 * two bytes, and whether a full disk shows only at fsync or at close. */
static long room = -1;
static bool stutters, full_at_sync, full_at_close;

ssize_t write(int file, const void *bytes, size_t size) {
    static bool interrupt;
    if (stutters) {
        interrupt = !interrupt;
        size = size < 2 ? size : 2;
    }
    if (stutters && interrupt) {
        errno = EINTR;
        return -1;
    }
    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (room > 0) {
        size = (long)size < room ? size : (size_t)room;
        room -= (long)size;
    }
    return syscall(SYS_write, file, bytes, size);
}

static int full_or(bool full, int result) {
    if (full)
        errno = ENOSPC;
    return full ? -1 : result;
}

int fsync(int file) {
    return full_or(full_at_sync, (int)syscall(SYS_fsync, file));
}

int close(int file) {
    return full_or(full_at_close, (int)syscall(SYS_close, file));
}

static const char *const columns[2] = {"loss", "rate"};
static char directory[256], path[300];

static void setup(void) {
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/log.csv", directory);
}

static void teardown(void) {
    test_directory_remove(directory);
}

static void assert_file(const char *wanted) {
    size_t size;
    char *text = test_read_file(path, &size);
    ck_assert_str_eq(text, wanted);
    ck_assert_uint_eq(size, strlen(wanted));
    free(text);
}

static void write_text(const char *text) {
    test_write_file(path, text, strlen(text));
}

static void add_row(tg_csv *csv, int64_t step, double loss, double rate) {
    double values[2] = {loss, rate};
    ck_assert_int_eq(tg_csv_row(csv, step, values, NULL), TG_OK);
}

static void check_numbers(void) {
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    ck_assert_ptr_nonnull(csv);
    assert_file("step,loss,rate\n");
    add_row(csv, 0, 3.5, -0.0);
    assert_file("step,loss,rate\n0,3.5,-0\n");
    add_row(csv, 1000000, (double)0.1f, 1e-20);
    add_row(csv, 1000001, NAN, INFINITY);
    add_row(csv, INT64_MAX, -INFINITY, -2.2250738585072014e-308);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    /* Python: format(numpy.float32(0.1), ".9g") and so on */
    assert_file("step,loss,rate\n0,3.5,-0\n1000000,0.100000001,1e-20\n1000001,nan,inf\n"
                "9223372036854775807,-inf,-2.22507386e-308\n");
}

START_TEST(numbers) {
    check_numbers();
}
END_TEST

START_TEST(numbers_where_the_point_is_a_comma) {
    comma_locale_enter(directory);
    check_numbers();
}
END_TEST

START_TEST(a_fresh_log_replaces_an_old_one) {
    write_text("something longer than the header\n");
    tg_csv *csv = tg_csv_create(NULL, path, columns, 1, NULL);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    assert_file("step,loss\n");
    ck_assert_int_eq(tg_csv_close(NULL, NULL), TG_OK);
}
END_TEST

START_TEST(steps_grow) {
    static const double values[2] = {1, 2};
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    tg_error error = {0};
    ck_assert_int_eq(tg_csv_row(csv, -1, values, &error), TG_EINVAL);
    add_row(csv, 7, 1, 2);
    ck_assert_int_eq(tg_csv_row(csv, 7, values, &error), TG_EINVAL);
    ck_assert_msg(strstr(error.message, "step 7 is not greater than 7") != NULL, "%s",
                  error.message);
    ck_assert_msg(strstr(error.message, path) != NULL, "%s", error.message);
    ck_assert_int_eq(tg_csv_row(csv, 6, values, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_csv_row(csv, 9, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_csv_row(NULL, 9, values, NULL), TG_EINVAL);
    add_row(csv, 8, 1, 2);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    assert_file("step,loss,rate\n7,1,2\n8,1,2\n");
}
END_TEST

static const struct {
    const char *columns[2];
    int count;
    const char *message;
} bad_columns[] = {
    {{"a", "b"}, 0, "0 columns"},        {{"a", "b"}, -1, "-1 columns"},
    {{"a", "b"}, 257, "257 columns"},    {{"a", ""}, 2, "column 1 has no name"},
    {{NULL, "b"}, 1, "column 0 has no"}, {{"a,b", "b"}, 1, "column 0 has byte 0x2c"},
    {{"a", "b\n"}, 2, "0x0a"},           {{"a", "\"b"}, 2, "0x22"},
};

START_TEST(what_is_no_header) {
    tg_error error = {0};
    ck_assert_ptr_null(
        tg_csv_create(NULL, path, bad_columns[_i].columns, bad_columns[_i].count, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_msg(strstr(error.message, bad_columns[_i].message) != NULL, "%s", error.message);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_ptr_null(tg_csv_create(NULL, NULL, columns, 1, &error));
    ck_assert_ptr_null(tg_csv_create(NULL, path, NULL, 1, &error));
}
END_TEST

/* ---- resuming ---- */

static const struct {
    const char *before;
    int64_t last_step;
    const char *after;
} resumes[] = {
    /* the tail behind the checkpoint is dropped; all is kept; nothing is kept */
    {"step,loss,rate\n10,1,2\n20,nan,-inf\n30,1e-05,-2.5\n", 20,
     "step,loss,rate\n10,1,2\n20,nan,-inf\n"},
    {"step,loss,rate\n10,1,2\n20,3,4\n", 25, "step,loss,rate\n10,1,2\n20,3,4\n"},
    {"step,loss,rate\n10,1,2\n20,3,4\n", 0, "step,loss,rate\n"},
    {"step,loss,rate\n0,1,2\n", 0, "step,loss,rate\n0,1,2\n"},
    {"step,loss,rate\n0,1,2\n", -1, "step,loss,rate\n"},
    /* torn last lines, one of which looks whole */
    {"step,loss,rate\n10,1,2\n20,3,4", 99, "step,loss,rate\n10,1,2\n"},
    {"step,loss,rate\n10,1,2\n2", 99, "step,loss,rate\n10,1,2\n"},
    {"step,loss,rate\n10,1,2\n20,1.2e", 99, "step,loss,rate\n10,1,2\n"},
    {"step,loss,rate", 99, "step,loss,rate\n"},
    {"ste", 99, "step,loss,rate\n"},
    {"", 99, "step,loss,rate\n"},
    /* a log that went on without being cut: one header, each step once */
    {"step,loss,rate\n10,1,2\n20,3,4\n30,5,6\nstep,loss,rate\n20,3,4\n30,5,6\n40,7,8\n", 40,
     "step,loss,rate\n10,1,2\n20,3,4\n30,5,6\n40,7,8\n"},
};

START_TEST(resume) {
    write_text(resumes[_i].before);
    tg_error error = {0};
    tg_csv *csv = tg_csv_resume(NULL, path, columns, 2, resumes[_i].last_step, &error);
    ck_assert_msg(csv != NULL, "%s", error.message);
    assert_file(resumes[_i].after);
    add_row(csv, 1234, 0.5, 0.25);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    char wanted[400];
    snprintf(wanted, sizeof wanted, "%s1234,0.5,0.25\n", resumes[_i].after);
    assert_file(wanted);
}
END_TEST

static const struct {
    const char *text;
    tg_status status;
    const char *message;
} bad_logs[] = {
    {"step,loss\n", TG_EMISMATCH, "does not begin with \"step,loss,rate\""},
    {"step,rate,loss\n10,1,2\n", TG_EMISMATCH, "does not begin with"},
    {"\nstep,loss,rate\n", TG_EMISMATCH, "does not begin with"},
    {"step,loss,rate\r\n10,1,2\r\n", TG_EMISMATCH, "does not begin with"},
    {"step,loss,ratio", TG_EMISMATCH, "does not begin with"},
    {"step,loss,rate\n10,1,2\n20,3\n30,5,6\n", TG_EFORMAT, "line 3 is no row: it has too few"},
    {"step,loss,rate\n10,1,2,3\n", TG_EFORMAT, "line 2 is no row: it has too many columns"},
    {"step,loss,rate\n10,1,x\n", TG_EFORMAT, "no number"},
    {"step,loss,rate\n10,1,\n", TG_EFORMAT, "no number"},
    {"step,loss,rate\n10,1,2e\n", TG_EFORMAT, "no number"},
    {"step,loss,rate\n10,1,2.\n", TG_EFORMAT, "no number"},
    {"step,loss,rate\n10,1,na\n", TG_EFORMAT, "no number"},
    {"step,loss,rate\n10,1,2 \n", TG_EFORMAT, "no number"},
    {"step,loss,rate\n10.5,1,2\n", TG_EFORMAT, "too few"},
    {"step,loss,rate\n\n", TG_EFORMAT, "begin with a step"},
    {"step,loss,rate\n-1,1,2\n", TG_EFORMAT, "begin with a step"},
    {"step,loss,rate\n9223372036854775808,1,2\n", TG_EFORMAT, "begin with a step"},
};

START_TEST(resume_of_what_is_no_log) {
    write_text(bad_logs[_i].text);
    tg_error error = {0};
    ck_assert_ptr_null(tg_csv_resume(NULL, path, columns, 2, 99, &error));
    ck_assert_int_eq(error.status, bad_logs[_i].status);
    ck_assert_msg(strstr(error.message, bad_logs[_i].message) != NULL, "%s", error.message);
    ck_assert_msg(strstr(error.message, path) != NULL, "%s", error.message);
    assert_file(bad_logs[_i].text);
}
END_TEST

START_TEST(resume_of_nothing) {
    tg_error error = {0};
    ck_assert_ptr_null(tg_csv_resume(NULL, path, columns, 2, 99, &error));
    ck_assert_int_eq(error.status, TG_ENOTFOUND);
    ck_assert_msg(strstr(error.message, path) != NULL, "%s", error.message);
    ck_assert_ptr_null(tg_csv_resume(NULL, directory, columns, 2, 99, &error));
    ck_assert_int_eq(error.status, TG_EIO);
}
END_TEST

START_TEST(a_resumed_log_is_that_of_a_run_without_a_stop) {
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    for (int step = 1; step <= 40; step++)
        add_row(csv, step, 1.0 / step, step * 0.1);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    size_t size, resumed_size;
    char *text = test_read_file(path, &size);

    csv = tg_csv_create(NULL, path, columns, 2, NULL);
    for (int step = 1; step <= 27; step++)
        add_row(csv, step, 1.0 / step, step * 0.1);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    csv = tg_csv_resume(NULL, path, columns, 2, 20, NULL);
    ck_assert_ptr_nonnull(csv);
    for (int step = 21; step <= 40; step++)
        add_row(csv, step, 1.0 / step, step * 0.1);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    char *resumed = test_read_file(path, &resumed_size);
    ck_assert_str_eq(resumed, text);
    free(text);
    free(resumed);
}
END_TEST

START_TEST(resumed_steps_grow_from_the_last_kept) {
    static const double values[2] = {1, 2};
    write_text("step,loss,rate\n10,1,2\n20,3,4\n30,5,6\n");
    tg_csv *csv = tg_csv_resume(NULL, path, columns, 2, 20, NULL);
    ck_assert_int_eq(tg_csv_row(csv, 20, values, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_csv_row(csv, 21, values, NULL), TG_OK);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
}
END_TEST

/* ---- what cannot be written ---- */

START_TEST(a_path_that_cannot_be_opened) {
    snprintf(path, sizeof path, "%s/missing/log.csv", directory);
    tg_error error = {0};
    ck_assert_ptr_null(tg_csv_create(NULL, path, columns, 2, &error));
    ck_assert_int_eq(error.status, TG_EIO);
    ck_assert_msg(strstr(error.message, strerror(ENOENT)) != NULL, "%s", error.message);
    ck_assert_msg(strstr(error.message, path) != NULL, "%s", error.message);
}
END_TEST

START_TEST(dev_full) {
    tg_error error = {0};
    ck_assert_ptr_null(tg_csv_create(NULL, "/dev/full", columns, 2, &error));
    ck_assert_int_eq(error.status, TG_EIO);
    ck_assert_str_eq(error.message,
                     "csv: cannot write a whole line: No space left on device: /dev/full");
}
END_TEST

START_TEST(a_disk_that_fills_leaves_whole_rows) {
    static const double values[2] = {3, 4};
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    add_row(csv, 1, 1, 2);
    room = _i; /* a row of 6 bytes and its newline */
    tg_error error = {0};
    ck_assert_int_eq(tg_csv_row(csv, 2, values, &error), _i < 6 ? TG_EIO : TG_OK);
    room = -1;
    if (_i < 6) {
        ck_assert_msg(strstr(error.message, strerror(ENOSPC)) != NULL, "%s", error.message);
        ck_assert_msg(strstr(error.message, path) != NULL, "%s", error.message);
        tg_error again = {0};
        ck_assert_int_eq(tg_csv_row(csv, 3, values, &again), TG_EIO);
        ck_assert_str_eq(again.message, error.message);
    }
    memset(&error, 0, sizeof error);
    ck_assert_int_eq(tg_csv_close(csv, &error), _i < 6 ? TG_EIO : TG_OK);
    ck_assert_int_eq(error.status, _i < 6 ? TG_EIO : TG_OK);
    assert_file(_i < 6 ? "step,loss,rate\n1,1,2\n" : "step,loss,rate\n1,1,2\n2,3,4\n");
}
END_TEST

START_TEST(a_disk_that_is_full_only_at_the_close) {
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    add_row(csv, 1, 1, 2);
    full_at_sync = _i == 0;
    full_at_close = _i == 1;
    tg_error error = {0};
    tg_status status = tg_csv_close(csv, &error);
    full_at_sync = full_at_close = false;
    ck_assert_int_eq(status, TG_EIO);
    ck_assert_msg(strstr(error.message, strerror(ENOSPC)) != NULL, "%s", error.message);
    ck_assert_msg(strstr(error.message, path) != NULL, "%s", error.message);
}
END_TEST

START_TEST(writes_that_are_short_and_interrupted) {
    stutters = true;
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    add_row(csv, 1, 1.5, 2.5);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    stutters = false;
    assert_file("step,loss,rate\n1,1.5,2.5\n");
}
END_TEST

/* ulimit -f: the signal that it sends would end the program. Check writes to files too, so nothing
 * is asserted while the limit is in force. */
START_TEST(the_limit_of_a_file_size) {
    static const double values[2] = {3, 4};
    struct rlimit limit, before;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 24;
    setrlimit(RLIMIT_FSIZE, &limit);
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    tg_status first = tg_csv_row(csv, 1, values, NULL);
    tg_error error = {0};
    tg_status second = tg_csv_row(csv, 2, values, &error);
    tg_status closed = tg_csv_close(csv, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(first, TG_OK);
    ck_assert_int_eq(second, TG_EIO);
    ck_assert_msg(strstr(error.message, strerror(EFBIG)) != NULL, "%s", error.message);
    ck_assert_int_eq(closed, TG_EIO);
    assert_file("step,loss,rate\n1,3,4\n");
}
END_TEST

/* What the program then prints as an error must not land in the log. */
START_TEST(a_program_without_stderr) {
    int kept = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    tg_csv *csv = tg_csv_create(NULL, path, columns, 2, NULL);
    ssize_t put = write(STDERR_FILENO, "lost", 4);
    dup2(kept, STDERR_FILENO);
    ck_assert_int_eq(put, -1);
    add_row(csv, 1, 1, 2);
    ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
    assert_file("step,loss,rate\n1,1,2\n");
}
END_TEST

START_TEST(out_of_memory_at_every_allocation) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    for (int resumed = 0; resumed < 2; resumed++) {
        tg_csv *csv = NULL;
        size_t failures = 0;
        while (csv == NULL) {
            write_text("step,loss,rate\n10,1,2\n20,3,4\n");
            memory.requests = 0;
            memory.fail_at = failures + 1;
            tg_error error = {0};
            csv = resumed ? tg_csv_resume(context, path, columns, 2, 10, &error)
                          : tg_csv_create(context, path, columns, 2, &error);
            if (csv == NULL) {
                ck_assert_int_eq(error.status, TG_ENOMEM);
                ck_assert_uint_eq(memory.live_blocks, 1);
                assert_file("step,loss,rate\n10,1,2\n20,3,4\n");
                failures++;
            }
        }
        ck_assert_uint_ge(failures, 4);
        memory.fail_at = 1; /* a row allocates nothing */
        add_row(csv, 11, 1, 2);
        ck_assert_int_eq(tg_csv_close(csv, NULL), TG_OK);
        ck_assert_uint_eq(memory.live_blocks, 1);
    }
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static TCase *writing(void) {
    TCase *tests = tcase_create("writing");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, numbers);
    tcase_add_test(tests, numbers_where_the_point_is_a_comma);
    tcase_add_test(tests, a_fresh_log_replaces_an_old_one);
    tcase_add_test(tests, steps_grow);
    tcase_add_loop_test(tests, what_is_no_header, 0,
                        (int)(sizeof bad_columns / sizeof bad_columns[0]));
    tcase_add_test(tests, out_of_memory_at_every_allocation);
    return tests;
}

static TCase *resuming(void) {
    TCase *tests = tcase_create("resuming");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, resume, 0, (int)(sizeof resumes / sizeof resumes[0]));
    tcase_add_loop_test(tests, resume_of_what_is_no_log, 0,
                        (int)(sizeof bad_logs / sizeof bad_logs[0]));
    tcase_add_test(tests, resume_of_nothing);
    tcase_add_test(tests, a_resumed_log_is_that_of_a_run_without_a_stop);
    tcase_add_test(tests, resumed_steps_grow_from_the_last_kept);
    return tests;
}

static TCase *failing(void) {
    TCase *tests = tcase_create("failing");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_path_that_cannot_be_opened);
    tcase_add_test(tests, dev_full);
    tcase_add_loop_test(tests, a_disk_that_fills_leaves_whole_rows, 0, 7);
    tcase_add_loop_test(tests, a_disk_that_is_full_only_at_the_close, 0, 2);
    tcase_add_test(tests, writes_that_are_short_and_interrupted);
    tcase_add_test(tests, the_limit_of_a_file_size);
    tcase_add_test(tests, a_program_without_stderr);
    return tests;
}

static Suite *suite(void) {
    Suite *made = suite_create("csv");
    suite_add_tcase(made, writing());
    suite_add_tcase(made, resuming());
    suite_add_tcase(made, failing());
    return made;
}

int main(void) {
    return test_main(suite());
}
