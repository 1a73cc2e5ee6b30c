#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "autograd/ops.h"
#include "autograd/param_internal.h"
#include "autograd/tape.h"
#include "tensor/context.h"

static tg_context *context_over(test_memory *memory) {
    tg_allocator allocator = test_allocator(memory);
    tg_context *context =
        tg_context_create(&(tg_context_options){.allocator = &allocator, .kernels = NULL}, NULL);
    ck_assert_ptr_nonnull(context);
    return context;
}

/* A parameter that has to work. */
static tg_param *added(tg_params *params, const char *name, tg_shape shape) {
    tg_param *param = NULL;
    ck_assert_int_eq(tg_params_add(params, name, shape, &param, NULL), TG_OK);
    ck_assert_ptr_nonnull(param);
    return param;
}

START_TEST(a_new_parameter) {
    tg_params *params = tg_params_create(NULL);
    char name[] = "blocks.0.attention.query";
    tg_param *param = added(params, name, tg_shape_2d(3, 5));
    name[0] = '#'; /* the name was copied */
    ck_assert_str_eq(tg_param_name(param), "blocks.0.attention.query");
    ck_assert(tg_shape_equal(tg_param_shape(param), tg_shape_2d(3, 5)));
    ck_assert_int_eq(tg_param_count(param), 15);
    ck_assert_uint_eq((uintptr_t)tg_param_value(param) % 16, 0);
    for (int i = 0; i < 15; i++) {
        ck_assert(tg_param_value(param)[i] == 0);
        ck_assert(tg_param_grad(param)[i] == 0);
    }
    ck_assert_ptr_eq(tg_param_edit(param), tg_param_value(param));
    ck_assert_ptr_ne(tg_param_grad(param), tg_param_value(param));
    tg_params_free(params);
}
END_TEST

START_TEST(shapes) {
    tg_params *params = tg_params_create(NULL);
    tg_param *scalar = added(params, "scalar", tg_shape_scalar());
    tg_param *empty = added(params, "empty", tg_shape_2d(0, INT64_MAX));
    ck_assert_int_eq(tg_param_count(scalar), 1);
    ck_assert_int_eq(tg_param_count(empty), 0);
    ck_assert_ptr_nonnull(tg_param_grad(empty));
    const tg_shape refused[] = {tg_shape_2d(INT64_C(1) << 32, INT64_C(1) << 32),
                                tg_shape_2d(INT64_MAX, 2), tg_shape_1d(-1), tg_shape_1d(INT64_MAX),
                                tg_shape_make(7, NULL)};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        tg_param *param = scalar;
        tg_error error = {TG_OK, ""};
        ck_assert_int_eq(tg_params_add(params, "refused", refused[i], &param, &error), TG_ESHAPE);
        ck_assert_int_eq(error.status, TG_ESHAPE);
        ck_assert_ptr_null(param);
    }
    ck_assert_uint_eq(tg_params_count(params), 2);
    ck_assert_int_eq(tg_params_elements(params), 1);
    tg_params_free(params);
}
END_TEST

START_TEST(legal_names) {
    static const char *const names[] = {"a", "Z",  "0",       ".",          "_",
                                        "-", "..", "a-b_c.9", "blocks.11.w"};
    tg_params *params = tg_params_create(NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        added(params, names[i], tg_shape_1d(1));
    char longest[128];
    memset(longest, 'x', 127);
    longest[127] = '\0';
    ck_assert_str_eq(tg_param_name(added(params, longest, tg_shape_1d(1))), longest);
    longest[126] = 'y'; /* the whole name counts */
    added(params, longest, tg_shape_1d(1));
    tg_params_free(params);
}
END_TEST

START_TEST(illegal_names) {
    static const char *const names[] = {NULL,    "",      " ",           "a b",  "a/b",     "a\\b",
                                        "a\n",   "\t",    "caf\xc3\xa9", "a:b",  "a,b",     "a*",
                                        "a\x7f", "\"a\"", "[0]",         "a%sb", "\xff\xfe"};
    tg_params *params = tg_params_create(NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tg_param *param = NULL;
        tg_error error = {TG_OK, ""};
        ck_assert_int_eq(tg_params_add(params, names[i], tg_shape_1d(1), &param, &error),
                         TG_EINVAL);
        ck_assert_int_eq(error.status, TG_EINVAL);
        ck_assert_ptr_null(param);
        if (names[i] != NULL && names[i][0] != '\0')
            ck_assert_ptr_nonnull(strstr(error.message, names[i]));
    }
    char longer[4000];
    for (size_t length = 128; length < sizeof longer; length += length < 130 ? 1 : 1000) {
        memset(longer, 'x', length);
        longer[length] = '\0';
        tg_param *param = NULL;
        ck_assert_int_eq(tg_params_add(params, longer, tg_shape_1d(1), &param, NULL), TG_EINVAL);
        ck_assert_ptr_null(param);
    }
    ck_assert_uint_eq(tg_params_count(params), 0);
    tg_params_free(params);
}
END_TEST

START_TEST(names_are_taken_once) {
    tg_params *params = tg_params_create(NULL);
    tg_param *first = added(params, "weight", tg_shape_1d(4)), *second = first;
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(tg_params_add(params, "weight", tg_shape_1d(4), &second, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "\"weight\""));
    ck_assert_ptr_null(second);
    ck_assert_uint_eq(tg_params_count(params), 1);
    added(params, "Weight", tg_shape_1d(4)); /* letters of either size differ */
    added(params, "weight2", tg_shape_1d(4));
    ck_assert_ptr_eq(tg_params_find(params, "weight"), first);
    ck_assert_ptr_null(tg_params_find(params, "weigh"));
    ck_assert_ptr_null(tg_params_find(params, ""));
    ck_assert_ptr_null(tg_params_find(params, NULL));
    tg_params_free(params);
}
END_TEST

/* What modules hold stays where it is, however many come after. */
START_TEST(growing_moves_nothing) {
    enum { MANY = 1000 };
    static tg_param *kept[MANY];
    static const tg_real *values[MANY];
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    tg_params *params = tg_params_create(context);
    int64_t elements = 0;
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d", i);
        kept[i] = added(params, name, tg_shape_1d(i % 700));
        values[i] = tg_param_value(kept[i]);
        for (int j = 0; j < i % 700; j++)
            tg_param_edit(kept[i])[j] = tg_param_grad(kept[i])[j] = (tg_real)(i + j);
        elements += i % 700;
    }
    ck_assert_uint_eq(tg_params_count(params), MANY);
    ck_assert_int_eq(tg_params_elements(params), elements);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d", i);
        ck_assert_ptr_eq(tg_params_at(params, (size_t)i), kept[i]);
        ck_assert_ptr_eq(tg_params_list(params)[i], kept[i]);
        ck_assert_ptr_eq(tg_params_find(params, name), kept[i]);
        ck_assert_ptr_eq(tg_param_value(kept[i]), values[i]);
        for (int j = 0; j < i % 700; j++)
            if (values[i][j] != (tg_real)(i + j) || tg_param_grad(kept[i])[j] != (tg_real)(i + j))
                ck_abort_msg("element %d of %s has changed", j, name);
    }
    ck_assert_ptr_null(tg_params_at(params, MANY));
    ck_assert_ptr_null(tg_params_at(params, SIZE_MAX));
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(forgotten_gradients_read_as_zeros) {
    tg_params *params = tg_params_create(NULL);
    tg_param *a = added(params, "a", tg_shape_1d(3)), *b = added(params, "b", tg_shape_1d(2));
    tg_real *grad = tg_param_grad(a);
    grad[0] = 1, grad[1] = 2, grad[2] = 3;
    ck_assert_ptr_eq(tg_param_grad(a), grad);
    ck_assert(tg_param_grad(a)[1] == 2); /* reading again changes nothing */
    tg_param_grad(b)[1] = 7;
    tg_params_zero_grad(params);
    ck_assert_ptr_eq(tg_param_grad(a), grad);
    for (int i = 0; i < 3; i++)
        ck_assert(tg_param_grad(a)[i] == 0);
    for (int i = 0; i < 2; i++)
        ck_assert(tg_param_grad(b)[i] == 0);
    tg_param_grad(a)[2] = 5;
    ck_assert(tg_param_grad(a)[2] == 5);
    tg_params_zero_grad(params);
    tg_params_zero_grad(params);
    ck_assert(tg_param_grad(a)[2] == 0);
    tg_params_free(params);
}
END_TEST

/* A forgotten gradient is never added to: what it held does not come back. */
START_TEST(forgotten_gradients_and_backward) {
    static const tg_real factors[2] = {10, 20};
    tg_params *params = tg_params_create(NULL);
    tg_param *p = added(params, "p", tg_shape_1d(2)), *idle = added(params, "idle", tg_shape_1d(1));
    tg_tape *tape = tg_tape_create(NULL);
    for (int pass = 0; pass < 4; pass++) {
        if (pass == 2)
            tg_params_zero_grad(params); /* 10, 20; then 10, 20 again */
        tg_var product = tg_mul(tg_parameter(tape, p), tg_constant(tape, tg_shape_1d(2), factors));
        ck_assert_int_eq(tg_backward(tg_sum(product)), TG_OK);
        ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
        tg_real times = (tg_real)(pass % 2 + 1);
        ck_assert(tg_param_grad(p)[0] == 10 * times && tg_param_grad(p)[1] == 20 * times);
        ck_assert(tg_param_grad(idle)[0] == 0);
    }
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

/* Records (p + q) and edits between forward and backward, or elsewhere. */
static tg_status backward_with_edit(tg_tape *tape, tg_param *p, tg_param *q, tg_param *edited,
                                    bool before) {
    if (before && edited != NULL)
        tg_param_edit(edited)[0] += 1;
    tg_var sum = tg_sum(tg_add(tg_parameter(tape, p), tg_parameter(tape, q)));
    if (!before && edited != NULL)
        tg_param_edit(edited)[0] += 1;
    return tg_backward(sum);
}

START_TEST(edits_and_a_recording) {
    tg_params *params = tg_params_create(NULL);
    tg_param *p = added(params, "p", tg_shape_1d(2)),
             *q = added(params, "q.weight", tg_shape_1d(2));
    tg_param *other = added(params, "other", tg_shape_1d(2));
    tg_tape *tape = tg_tape_create(NULL);
    ck_assert_int_eq(backward_with_edit(tape, p, q, NULL, false), TG_OK);
    ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
    ck_assert_int_eq(backward_with_edit(tape, p, q, p, true), TG_OK);
    ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
    ck_assert_int_eq(backward_with_edit(tape, p, q, other, false), TG_OK);
    ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
    ck_assert(tg_param_grad(p)[0] == 3);
    ck_assert_int_eq(backward_with_edit(tape, p, q, q, false), TG_ESTATE);
    ck_assert_ptr_nonnull(strstr(tg_tape_error(tape)->message, "q.weight"));
    ck_assert_int_eq(tg_tape_reset(tape), TG_ESTATE);
    ck_assert(tg_param_grad(p)[0] == 3 && tg_param_grad(q)[0] == 3); /* nothing was added */
    ck_assert_int_eq(backward_with_edit(tape, p, q, NULL, false), TG_OK);
    ck_assert(tg_param_grad(p)[0] == 4);
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

/* Reading a value or touching a gradient is no edit. */
START_TEST(what_is_no_edit) {
    tg_params *params = tg_params_create(NULL);
    tg_param *p = added(params, "p", tg_shape_1d(2));
    tg_tape *tape = tg_tape_create(NULL);
    tg_var sum = tg_sum(tg_parameter(tape, p));
    ck_assert(tg_param_value(p)[0] == 0);
    tg_param_grad(p)[0] = 9;
    added(params, "later", tg_shape_1d(100000));
    ck_assert_int_eq(tg_backward(sum), TG_OK);
    ck_assert(tg_param_grad(p)[0] == 10 && tg_param_grad(p)[1] == 1);
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

START_TEST(memory_for_modules) {
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    tg_params *params = tg_params_create(context);
    unsigned char *pieces[100];
    for (size_t i = 0; i < 100; i++) {
        pieces[i] = tg_params_allocate(params, i * 50);
        ck_assert_ptr_nonnull(pieces[i]);
        ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
        for (size_t j = 0; j < i * 50; j++)
            if (pieces[i][j] != 0)
                ck_abort_msg("byte %zu of piece %zu is not 0", j, i);
        memset(pieces[i], (int)i, i * 50);
        char name[16];
        snprintf(name, sizeof name, "p%zu", i);
        added(params, name, tg_shape_1d(10));
    }
    for (size_t i = 0; i < 100; i++)
        for (size_t j = 0; j < i * 50; j++)
            if (pieces[i][j] != i)
                ck_abort_msg("byte %zu of piece %zu has changed", j, i);
    ck_assert_ptr_null(tg_params_allocate(params, SIZE_MAX));
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

START_TEST(no_set) {
    tg_param *param = (tg_param *)1;
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(tg_params_add(NULL, "p", tg_shape_1d(1), &param, &error), TG_ENOMEM);
    ck_assert_int_eq(error.status, TG_ENOMEM);
    ck_assert_ptr_null(param);
    ck_assert_uint_eq(tg_params_count(NULL), 0);
    ck_assert_ptr_null(tg_params_at(NULL, 0));
    ck_assert_ptr_null(tg_params_list(NULL));
    ck_assert_ptr_null(tg_params_find(NULL, "p"));
    ck_assert_int_eq(tg_params_elements(NULL), 0);
    ck_assert_ptr_null(tg_params_allocate(NULL, 8));
    tg_params_zero_grad(NULL);
    tg_params_free(NULL);
    tg_params *params = tg_params_create(NULL);
    ck_assert_ptr_null(tg_params_list(params));
    ck_assert_ptr_null(tg_params_at(params, 0));
    tg_params_zero_grad(params);
    tg_params_free(params);
}
END_TEST

/* Adds parameters of all sizes until one fails; returns how many there are. */
static int add_until_failure(tg_params *params) {
    int i = 0;
    for (; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        tg_param *param = (tg_param *)1;
        tg_error error = {TG_OK, ""};
        tg_shape shape = tg_shape_1d(i % 3 == 0 ? 3 : 3000 * i);
        tg_status status = tg_params_add(params, name, shape, &param, &error);
        ck_assert_int_eq(error.status, status);
        if (status != TG_OK) {
            ck_assert_int_eq(status, TG_ENOMEM);
            ck_assert_ptr_null(param);
            ck_assert(params == NULL || strstr(error.message, name) != NULL);
            break;
        }
        tg_param_edit(param)[0] = (tg_real)(i + 1);
    }
    return i;
}

/* After a failure the set is as it was, and goes on once there is memory. */
static void check_whole(tg_params *params, int count) {
    ck_assert_uint_eq(tg_params_count(params), (size_t)count);
    char name[16];
    snprintf(name, sizeof name, "p%d", count);
    ck_assert_ptr_null(tg_params_find(params, name));
    if (params == NULL)
        return;
    tg_param *param = added(params, name, tg_shape_1d(50000));
    for (int i = 0; i < 50000; i++)
        tg_param_edit(param)[i] = -1;
    for (int i = 0; i < count; i++) {
        ck_assert(tg_param_value(tg_params_at(params, (size_t)i))[0] == (tg_real)(i + 1));
        ck_assert(tg_param_grad(tg_params_at(params, (size_t)i))[0] == 0);
    }
}

START_TEST(every_allocation_fails_in_turn) {
    size_t failures = 0;
    for (size_t fail_at = 1;; fail_at++) {
        test_memory memory = {0};
        tg_context *context = context_over(&memory);
        memory.fail_at = memory.requests + fail_at;
        tg_params *params = tg_params_create(context);
        int count = add_until_failure(params);
        memory.fail_at = 0;
        check_whole(params, count);
        tg_params_free(params);
        tg_context_free(context);
        ck_assert_uint_eq(memory.live_bytes, 0);
        ck_assert_uint_eq(memory.live_blocks, 0);
        if (count == 40)
            break;
        failures++;
    }
    ck_assert_uint_ge(failures, 8);
}
END_TEST

/* A set is taken back to what it was: what came since is gone, its name is free, and so is its
 * room; what was there before stays whole. */
START_TEST(taking_back) {
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    tg_params *params = tg_params_create(context);
    tgi_params_mark empty = tgi_params_now(params);
    tg_param *first = added(params, "first", tg_shape_1d(3));
    tg_param_edit(first)[2] = 5;
    size_t requests = 0;
    for (int round = 0; round < 50; round++) {
        tgi_params_mark before = tgi_params_now(params);
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, "p%d", i);
            added(params, name, tg_shape_1d(1000));
        }
        ck_assert_ptr_nonnull(tg_params_allocate(params, 5000));
        tgi_params_rewind(params, before);
        ck_assert_uint_eq(tg_params_count(params), 1);
        ck_assert_ptr_null(tg_params_find(params, "p0"));
        ck_assert_ptr_eq(tg_params_find(params, "first"), first);
        ck_assert(tg_param_value(first)[2] == 5);
        ck_assert(round == 0 || memory.requests == requests);
        requests = memory.requests;
    }
    tgi_params_rewind(params, empty);
    ck_assert_uint_eq(tg_params_count(params), 0);
    ck_assert(tg_param_value(added(params, "first", tg_shape_1d(3)))[2] == 0);
    tgi_params_rewind(NULL, tgi_params_now(NULL));
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* What fails leaves nothing behind: not even thousands of failures use up the room that is left. */
START_TEST(failures_use_no_memory) {
    test_memory memory = {0};
    tg_context *context = context_over(&memory);
    tg_params *params = tg_params_create(context);
    added(params, "first", tg_shape_1d(1));
    memory.fail_at = memory.requests + 1;
    for (int i = 0; i < 5000; i++) {
        tg_param *param;
        ck_assert_int_eq(tg_params_add(params, "large", tg_shape_1d(1 << 20), &param, NULL),
                         TG_ENOMEM);
    }
    added(params, "second", tg_shape_1d(1));
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("param");
    TCase *tests = tcase_create("param");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, a_new_parameter);
    tcase_add_test(tests, shapes);
    tcase_add_test(tests, legal_names);
    tcase_add_test(tests, illegal_names);
    tcase_add_test(tests, names_are_taken_once);
    tcase_add_test(tests, growing_moves_nothing);
    tcase_add_test(tests, forgotten_gradients_read_as_zeros);
    tcase_add_test(tests, forgotten_gradients_and_backward);
    tcase_add_test(tests, edits_and_a_recording);
    tcase_add_test(tests, what_is_no_edit);
    tcase_add_test(tests, memory_for_modules);
    tcase_add_test(tests, no_set);
    tcase_add_test(tests, every_allocation_fails_in_turn);
    tcase_add_test(tests, failures_use_no_memory);
    tcase_add_test(tests, taking_back);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
