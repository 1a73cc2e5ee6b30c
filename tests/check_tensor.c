/* Tensors, and what they are made with: the allocator, the context, the version. */
#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/context.h"
#include "tensor/context_internal.h"
#include "tensor/kernels/kernels.h"
#include "tensor/tensor.h"
#include "tensor/tensor_internal.h"
#include "tensor/version.h"

static tg_context *context_over(test_memory *memory) {
    tg_allocator allocator = test_allocator(memory);
    tg_context *context =
        tg_context_create(&(tg_context_options){.allocator = &allocator, .kernels = NULL}, NULL);
    ck_assert_ptr_nonnull(context);
    return context;
}

/* An allocator that hands out dirty memory once, and refuses what is larger than it has. */
typedef struct dirty {
    _Alignas(64) unsigned char bytes[4096];
    size_t asked, returned;
} dirty;

static void *take_dirty(void *user, size_t bytes) {
    dirty *d = user;
    d->asked = bytes;
    memset(d->bytes, 0xa5, sizeof d->bytes);
    return bytes <= sizeof d->bytes ? d->bytes : NULL;
}

static void give_dirty(void *user, void *block, size_t bytes) {
    dirty *d = user;
    ck_assert_ptr_eq(block, d->bytes);
    d->returned = bytes;
}

START_TEST(default_allocator) {
    tg_allocator heap = tg_allocator_default();
    unsigned char *block = heap.allocate(heap.user, 1000);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % _Alignof(max_align_t), 0);
    memset(block, 1, 1000);
    heap.release(heap.user, block, 1000);
}
END_TEST

START_TEST(requests_are_never_empty_and_releases_match) {
    dirty d = {.asked = 99};
    tg_allocator allocator = {take_dirty, give_dirty, &d};
    static const struct { size_t bytes, asked; } rows[] = {{0, 1}, {1, 1}, {100, 100}};
    for (int i = 0; i < 3; i++) {
        void *block = tgi_allocate(&allocator, rows[i].bytes);
        ck_assert_uint_eq(d.asked, rows[i].asked);
        tgi_release(&allocator, block, rows[i].bytes);
        ck_assert_uint_eq(d.returned, rows[i].asked);
    }
    unsigned char *zeroed = tgi_allocate_zeroed(&allocator, 100);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(zeroed[i], 0);
    ck_assert_uint_eq(zeroed[100], 0xa5);
    d.returned = 7;
    tgi_release(&allocator, NULL, 100);
    ck_assert_uint_eq(d.returned, 7);
    ck_assert_ptr_null(tgi_allocate(&allocator, 5000));
    ck_assert_ptr_null(tgi_allocate_zeroed(&allocator, 5000));
}
END_TEST

START_TEST(tensors_are_zeros_of_their_type) {
    static const struct {
        tg_type type;
        size_t size;
    } types[] = {{TG_REAL, sizeof(tg_real)}, {TG_INT32, sizeof(int32_t)}};
    dirty d = {.asked = 0};
    tg_allocator allocator = {take_dirty, give_dirty, &d};
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    ck_assert_ptr_nonnull(context);
    tg_context own = *context; /* its block is the one that the tensor gets */
    ck_assert_uint_eq(tg_type_size(types[_i].type), types[_i].size);
    tg_tensor tensor;
    memset(&tensor, 0xee, sizeof tensor);
    ck_assert_int_eq(tg_tensor_init(&tensor, &own, types[_i].type, tg_shape_3d(2, 3, 4), NULL),
                     TG_OK);
    ck_assert_uint_eq(d.asked, 24 * types[_i].size);
    ck_assert_int_eq(tensor.count, 24);
    ck_assert_int_eq(tensor.type, types[_i].type);
    ck_assert(tg_shape_equal(tensor.shape, tg_shape_3d(2, 3, 4)));
    for (size_t i = 0; i < 24 * types[_i].size; i++)
        ck_assert_uint_eq(((unsigned char *)tensor.data)[i], 0);
    tg_view view = tg_tensor_view(&tensor);
    ck_assert_ptr_eq(view.data, tensor.data);
    ck_assert_int_eq(view.count, 24);
    ck_assert_int_eq(view.type, types[_i].type);
    ck_assert(tg_shape_equal(view.shape, tensor.shape));
    tg_tensor_free(&tensor);
    ck_assert_uint_eq(d.returned, 24 * types[_i].size);
    ck_assert_ptr_null(tensor.data);
    ck_assert_int_eq(tensor.count, 0);
    tg_tensor_free(&tensor);
    tg_tensor_free(NULL);
}
END_TEST

START_TEST(scalars_and_empty_tensors) {
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    size_t before = memory.live_bytes;
    static const int64_t far[2] = {0, INT64_MAX};
    tg_shape shapes[] = {tg_shape_scalar(), tg_shape_1d(0), tg_shape_make(2, far)};
    static const int64_t elements[] = {1, 0, 0};
    for (int i = 0; i < 3; i++) {
        tg_tensor tensor;
        ck_assert_int_eq(tg_tensor_init(&tensor, context, TG_REAL, shapes[i], NULL), TG_OK);
        ck_assert_int_eq(tensor.count, elements[i]);
        ck_assert_ptr_nonnull(tensor.data);
        tg_tensor_free(&tensor);
        ck_assert_uint_eq(memory.live_bytes, before);
    }
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* Sizes that no memory holds are refused before anybody is asked for memory. */
START_TEST(shapes_that_overflow) {
    static const int64_t sixteen[4] = {65536, 65536, 65536, 65536};
    tg_shape shapes[] = {tg_shape_2d(INT64_C(1) << 32, INT64_C(1) << 32),
                         tg_shape_make(4, sixteen),
                         tg_shape_2d(INT64_MAX, 2),
                         tg_shape_1d(-1),
                         tg_shape_make(7, NULL),
                         tg_shape_1d(INT64_MAX),
                         tg_shape_1d(INT64_MAX / 4 + 1),
                         tg_shape_2d(INT64_C(1) << 61, 1)};
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    size_t requests = memory.requests;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        tg_tensor tensor;
        tg_error error = {TG_OK, ""};
        memset(&tensor, 0xee, sizeof tensor);
        ck_assert_int_eq(tg_tensor_init(&tensor, context, TG_REAL, shapes[i], &error), TG_ESHAPE);
        ck_assert_int_eq(error.status, TG_ESHAPE);
        ck_assert_ptr_null(tensor.data);
        ck_assert_int_eq(tensor.count, 0);
        int64_t count;
        size_t bytes;
        ck_assert_int_eq(tgi_array_size(TG_INT32, shapes[i], &count, &bytes, NULL), TG_ESHAPE);
    }
    ck_assert_uint_eq(memory.requests, requests);
    tg_context_free(context);
}
END_TEST

START_TEST(sizes_of_arrays) {
    int64_t count;
    size_t bytes;
    ck_assert_int_eq(tgi_array_size(TG_INT32, tg_shape_2d(46341, 46341), &count, &bytes, NULL),
                     TG_OK);
    ck_assert_int_eq(count, INT64_C(2147488281));
    ck_assert_uint_eq(bytes, (size_t)8589953124u);
    int64_t most = (int64_t)(PTRDIFF_MAX / sizeof(tg_real));
    ck_assert_int_eq(tgi_array_size(TG_REAL, tg_shape_1d(most), &count, &bytes, NULL), TG_OK);
    ck_assert_uint_eq(bytes, (size_t)most * sizeof(tg_real));
    ck_assert_int_eq(tgi_array_size(TG_REAL, tg_shape_1d(most + 1), &count, &bytes, NULL),
                     TG_ESHAPE);
}
END_TEST

START_TEST(no_memory_for_a_tensor) {
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    memory.fail_at = memory.requests + 1;
    tg_tensor tensor;
    tg_error error = {TG_OK, ""};
    memset(&tensor, 0xee, sizeof tensor);
    ck_assert_int_eq(tg_tensor_init(&tensor, context, TG_INT32, tg_shape_2d(3, 4), &error),
                     TG_ENOMEM);
    ck_assert_str_eq(error.message, "tensor (3, 4): out of memory");
    ck_assert_ptr_null(tensor.data);
    ck_assert_int_eq(tensor.count, 0);
    tg_tensor_free(&tensor);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(contexts) {
    const char *best = tg_context_kernels(NULL);
    ck_assert_str_eq(best, tgi_kernels_best()->name);
    tg_context *plain = tg_context_create(NULL, NULL);
    ck_assert_ptr_nonnull(plain);
    ck_assert_str_eq(tg_context_kernels(plain), best);
    tg_context_free(plain);
    tg_context_free(NULL);
    for (int i = 0; i < tg_kernels_count(); i++) {
        const char *name = tg_kernels_name(i);
        tg_context *context = tg_context_create(&(tg_context_options){.kernels = name}, NULL);
        ck_assert_ptr_nonnull(context);
        ck_assert_str_eq(tg_context_kernels(context), name);
        ck_assert_ptr_eq(tgi_context_of(context).kernels, tgi_kernels_named(name));
        tg_context_free(context);
    }
}
END_TEST

START_TEST(contexts_that_cannot_be) {
    static const char *const names[] = {"", "avx", "AVX2", "baseline ", "neon2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tg_error error = {TG_OK, ""};
        char quoted[32];
        ck_assert_ptr_null(tg_context_create(&(tg_context_options){.kernels = names[i]}, &error));
        ck_assert_int_eq(error.status, TG_EINVAL);
        snprintf(quoted, sizeof quoted, "\"%s\"", names[i]);
        ck_assert_ptr_nonnull(strstr(error.message, quoted));
        ck_assert_ptr_null(tg_context_create(&(tg_context_options){.kernels = names[i]}, NULL));
    }
    tg_allocator lacking[2] = {{NULL, give_dirty, NULL}, {take_dirty, NULL, NULL}};
    for (int i = 0; i < 2; i++) {
        tg_error error = {TG_OK, ""};
        ck_assert_ptr_null(
            tg_context_create(&(tg_context_options){.allocator = &lacking[i]}, &error));
        ck_assert_int_eq(error.status, TG_EINVAL);
    }
    test_memory memory = {.fail_at = 1};
    tg_allocator allocator = test_allocator(&memory);
    tg_error error = {TG_OK, ""};
    ck_assert_ptr_null(tg_context_create(&(tg_context_options){.allocator = &allocator}, &error));
    ck_assert_int_eq(error.status, TG_ENOMEM);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(lists_of_kernels) {
    int count = tg_kernels_count();
    ck_assert_int_ge(count, 1);
    ck_assert_str_eq(tg_kernels_name(0), "baseline");
    ck_assert_str_eq(tg_kernels_name(count - 1), tg_context_kernels(NULL));
    static const int outside[] = {-1, 1000, INT32_MAX, -INT32_MAX - 1};
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_null(tg_kernels_name(outside[i]));
    ck_assert_ptr_null(tg_kernels_name(count));
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(tg_kernels_name(i), tg_kernels_name(j));
}
END_TEST

/* The tensor keeps its allocator: the context may be gone before it. */
START_TEST(a_tensor_outlives_its_context) {
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    tg_tensor tensor;
    ck_assert_int_eq(tg_tensor_init(&tensor, context, TG_REAL, tg_shape_1d(9), NULL), TG_OK);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 1);
    tensor.real[8] = 3;
    tg_tensor_free(&tensor);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(version) {
    const char *text = tg_version();
    int numbers = 1;
    for (const char *c = text; *c != '\0'; c++) {
        ck_assert_msg((*c >= '0' && *c <= '9') || *c == '.', "version %s", text);
        numbers += *c == '.';
    }
    ck_assert_int_eq(numbers, 3);
    size_t size;
    char *build = test_read_file(TG_TEST_SOURCE "/CMakeLists.txt", &size);
    char declared[64];
    snprintf(declared, sizeof declared, "VERSION %s ", text);
    ck_assert_msg(strstr(build, declared) != NULL, "CMakeLists.txt does not say %s", declared);
    free(build);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("tensor");
    TCase *tests = tcase_create("tensor");
    tcase_add_test(tests, default_allocator);
    tcase_add_test(tests, requests_are_never_empty_and_releases_match);
    tcase_add_loop_test(tests, tensors_are_zeros_of_their_type, 0, 2);
    tcase_add_test(tests, scalars_and_empty_tensors);
    tcase_add_test(tests, shapes_that_overflow);
    tcase_add_test(tests, sizes_of_arrays);
    tcase_add_test(tests, no_memory_for_a_tensor);
    tcase_add_test(tests, contexts);
    tcase_add_test(tests, contexts_that_cannot_be);
    tcase_add_test(tests, lists_of_kernels);
    tcase_add_test(tests, a_tensor_outlives_its_context);
    tcase_add_test(tests, version);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
