/* What the tests share. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "tensor/allocator.h"
#include "tensor/real.h"

/* How near to an independent value: single precision is compared at 1e-5, double at 1e-10. */
#ifdef TG_F64
#define TEST_TOLERANCE 1e-10
#else
#define TEST_TOLERANCE 1e-5
#endif

/* Runs the suite of one test program, with a line for each failure and Check's closing line;
 * returns what main returns. Slow cases set their own limit with tcase_set_timeout. */
int test_main(Suite *suite);

/* |a - b| <= tolerance * max(1, |b|), or both NaN, or equal infinities. */
bool test_near(double a, double b, double tolerance);

#define test_assert_near(actual, expected, tolerance)                                              \
    ck_assert_msg(test_near((double)(actual), (double)(expected), (tolerance)),                    \
                  "%s is %.17g, not %.17g", #actual, (double)(actual), (double)(expected))

/* An allocator over malloc that counts, and fails from the `fail_at`-th request on (counted from 1;
 * 0 never fails). `live` bytes must be 0 at the end of a test. */
typedef struct test_memory {
    size_t requests;
    size_t fail_at;
    size_t live_blocks;
    size_t live_bytes;
} test_memory;

tg_allocator test_allocator(test_memory *memory);

/* A fresh directory below TMPDIR (or /tmp) into `path`, and its removal with all that is in it. */
void test_directory_make(char path[256]);
void test_directory_remove(const char *path);

/* The bytes of a file, owned by the caller (free), NUL-terminated behind `*size`; fails the test
 * when it cannot be read. */
char *test_read_file(const char *path, size_t *size);
void test_write_file(const char *path, const void *bytes, size_t size);

#endif
