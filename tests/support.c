#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int test_main(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool test_near(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static void *counted_allocate(void *user, size_t bytes) {
    test_memory *memory = user;
    memory->requests++;
    if (memory->fail_at != 0 && memory->requests >= memory->fail_at)
        return NULL;
    void *block = malloc(bytes);
    if (block != NULL) {
        memory->live_blocks++;
        memory->live_bytes += bytes;
    }
    return block;
}

static void counted_release(void *user, void *block, size_t bytes) {
    test_memory *memory = user;
    memory->live_blocks--;
    memory->live_bytes -= bytes;
    free(block);
}

tg_allocator test_allocator(test_memory *memory) {
    return (tg_allocator){counted_allocate, counted_release, memory};
}

void test_directory_make(char path[256]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/tapegrad-test-XXXXXX", base != NULL ? base : "/tmp");
    ck_assert_msg(mkdtemp(path) != NULL, "no temporary directory at %s", path);
}

void test_directory_remove(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

char *test_read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    long end = ftell(file);
    ck_assert_int_ge(end, 0);
    rewind(file);
    char *bytes = malloc((size_t)end + 1);
    ck_assert_ptr_nonnull(bytes);
    *size = fread(bytes, 1, (size_t)end, file);
    ck_assert_uint_eq(*size, (size_t)end);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

void test_write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "cannot write %s", path);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}
