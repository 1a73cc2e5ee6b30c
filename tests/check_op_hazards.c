/* Small inputs on which programs of this kind have failed, with the right values (PyTorch's in
 * double where no other source is given). */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "autograd/ops.h"

static tg_tape *tape;

static void set_up(void) {
    tape = tg_tape_create(NULL);
    ck_assert_ptr_nonnull(tape);
}

static void tear_down(void) {
    tg_tape_free(tape);
}

static tg_var matrix(int64_t rows, int64_t columns, const tg_real *elements) {
    return tg_variable(tape, tg_shape_2d(rows, columns), elements);
}

static tg_var vector(int64_t n, const tg_real *elements) {
    return tg_variable(tape, tg_shape_1d(n), elements);
}

static tg_var scalar(tg_real x) {
    return tg_variable(tape, tg_shape_scalar(), &x);
}

static void assert_elements(const char *name, const tg_real *actual, int64_t n,
                            const double *expected) {
    ck_assert_msg(actual != NULL, "%s: NULL; the tape says: %s", name,
                  tg_tape_error(tape)->message);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(test_near((double)actual[i], expected[i], TEST_TOLERANCE),
                      "%s: element %d is %.17g, not %.17g", name, (int)i, (double)actual[i],
                      expected[i]);
}

/* Attention. */

START_TEST(a_row_masked_throughout_mixes_nothing) {
    static const int32_t mask[] = {0, 0, 1, 1, 1, 1};
    tg_var scores = matrix(2, 3, (const tg_real[]){1, 2, 3, 4, 5, 6});
    tg_var values = matrix(3, 2, (const tg_real[]){1, 0, 0, 1, 2, 2});
    tg_var weights = tg_softmax_masked(scores, tg_integers(tape, tg_shape_2d(2, 3), mask), 1);
    tg_var mix = tg_matmul(weights, values);
    tg_var factors = tg_constant(tape, tg_shape_1d(2), (const tg_real[]){1, 10});
    ck_assert_int_eq(tg_backward(tg_sum(tg_mul(mix, factors))), TG_OK);
    assert_elements("weights", tg_value(weights), 6,
                    (const double[]){0.26894142136999516, 0.7310585786300049, 0, 0, 0, 0});
    assert_elements("mix", tg_value(mix), 4,
                    (const double[]){0.26894142136999516, 0.7310585786300049, 0, 0});
    assert_elements("gradient of the scores", tg_grad(scores), 6,
                    (const double[]){-1.769507399173337, 1.769507399173337, 0, 0, 0, 0});
    assert_elements("gradient of the values", tg_grad(values), 6,
                    (const double[]){0.26894142136999516, 2.6894142136999517, 0.7310585786300049,
                                     7.3105857863000487, 0, 0});
}
END_TEST

START_TEST(a_masked_score_loses_to_any_other) {
    static const int32_t mask[] = {0, 1};
    tg_var scores = vector(2, (const tg_real[]){-15000, -12000});
    tg_var masked = tg_integers(tape, tg_shape_1d(2), mask);
    static const double expected[] = {1, 0};
    assert_elements("masked softmax", tg_value(tg_softmax_masked(scores, masked, 0)), 2, expected);
    tg_var filled = tg_masked_fill(scores, masked, (double)-INFINITY);
    assert_elements("filled with -inf", tg_value(tg_softmax(filled, 0)), 2, expected);
}
END_TEST

START_TEST(what_is_masked_does_not_matter_even_if_not_finite) {
    static const int32_t mask[] = {1, 0, 0, 1, 1};
    tg_var scores =
        vector(5, (const tg_real[]){(tg_real)NAN, 1, 2, (tg_real)INFINITY, (tg_real)-INFINITY});
    tg_var masked = tg_integers(tape, tg_shape_1d(5), mask);
    tg_var weights = tg_softmax_masked(scores, masked, 0);
    static const double expected[] = {0, 0.26894142136999516, 0.7310585786300049, 0, 0};
    assert_elements("weights", tg_value(weights), 5, expected);
    ck_assert_int_eq(tg_backward_from(weights, (const tg_real[]){1, 2, 4, 8, 16}), TG_OK);
    const double slope = -2 * expected[1] * expected[2];
    assert_elements("gradient", tg_grad(scores), 5, (const double[]){0, slope, -slope, 0, 0});
}
END_TEST

START_TEST(the_causal_mask_ends_at_the_diagonal) {
    static const int32_t future[] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
    tg_var queries = matrix(3, 2, (const tg_real[]){1, 0, 0, 1, 1, 1});
    tg_var scores = tg_scale(tg_matmul_transposed(queries, false, queries, true), 1 / sqrt(2));
    tg_var mask = tg_integers(tape, tg_shape_2d(3, 3), future);
    static const double expected[] = {1,
                                      0,
                                      0,
                                      0.33023845067334306,
                                      0.66976154932665688,
                                      0,
                                      0.24825507825772308,
                                      0.24825507825772308,
                                      0.50348984348455383};
    assert_elements("masked softmax", tg_value(tg_softmax_masked(scores, mask, -1)), 9, expected);
    tg_var filled = tg_masked_fill(scores, mask, (double)-INFINITY);
    assert_elements("filled with -inf", tg_value(tg_softmax(filled, -1)), 9, expected);
}
END_TEST

START_TEST(softmax_of_large_numbers_and_of_none) {
    const tg_real inf = (tg_real)INFINITY;
    tg_var x = matrix(5, 3,
                      (const tg_real[]){1000, 0, -1000, -inf, -inf, -inf, -inf, 3, -inf, 1e30f,
                                        1e30f, 1e30f, 1, (tg_real)NAN, 2});
    static const double third = 1.0 / 3, nan = (double)NAN;
    assert_elements(
        "softmax", tg_value(tg_softmax(x, 1)), 15,
        (const double[]){1, 0, 0, nan, nan, nan, 0, 1, 0, third, third, third, nan, nan, nan});
}
END_TEST

/* Masks and broadcasting. */

START_TEST(a_filled_element_gives_no_gradient) {
    static const int32_t middle[] = {0, 1, 0};
    tg_var x = matrix(2, 3, (const tg_real[]){1, 2, 3, 4, 5, 6});
    tg_var y = tg_masked_fill(x, tg_integers(tape, tg_shape_1d(3), middle), -1);
    assert_elements("filled", tg_value(y), 6, (const double[]){1, -1, 3, 4, -1, 6});
    /* Not even one that is no number. */
    ck_assert_int_eq(tg_backward_from(y, (const tg_real[]){1, 2, 3, 4, (tg_real)NAN, 6}), TG_OK);
    assert_elements("gradient", tg_grad(x), 6, (const double[]){1, 0, 3, 4, 0, 6});
}
END_TEST

START_TEST(a_larger_mask_expands_what_it_fills) {
    static const int32_t mask[] = {1, 0, 0, 0, 1, 1};
    tg_var x = matrix(1, 2, (const tg_real[]){1, 2});
    tg_var y = tg_masked_fill(x, tg_integers(tape, tg_shape_2d(3, 2), mask), 9);
    ck_assert(tg_shape_equal(tg_shape_of(y), tg_shape_2d(3, 2)));
    assert_elements("filled", tg_value(y), 6, (const double[]){9, 2, 1, 2, 9, 9});
    ck_assert_int_eq(tg_backward(tg_sum(y)), TG_OK);
    assert_elements("gradient", tg_grad(x), 2, (const double[]){1, 2});
}
END_TEST

START_TEST(the_gradient_of_what_was_expanded_is_summed) {
    static const tg_real cotangent[] = {1, 2, 3, 4, 5, 6};
    tg_var a = matrix(2, 3, (const tg_real[]){1, 1, 1, 1, 1, 1});
    tg_var b = matrix(2, 1, (const tg_real[]){10, 20});
    ck_assert_int_eq(tg_backward_from(tg_mul(a, b), cotangent), TG_OK);
    assert_elements("factor", tg_grad(a), 6, (const double[]){10, 20, 30, 80, 100, 120});
    assert_elements("expanded factor", tg_grad(b), 2, (const double[]){6, 15});
    tg_tape_reset(tape);
    a = vector(3, (const tg_real[]){1, 2, 3});
    b = matrix(2, 1, (const tg_real[]){10, 20});
    ck_assert_int_eq(tg_backward_from(tg_add(a, b), cotangent), TG_OK);
    assert_elements("row", tg_grad(a), 3, (const double[]){5, 7, 9});
    assert_elements("column", tg_grad(b), 2, (const double[]){6, 15});
}
END_TEST

/* One var used several times. */

static tg_var square(tg_var x) {
    return tg_mul(x, x);
}

static tg_var nothing(tg_var x) {
    return tg_sub(x, x);
}

static tg_var doubled_twice(tg_var a) {
    tg_var b = tg_add(a, a);
    return tg_add(b, b);
}

/* x(xa) + x^2 a + x(xa) at a = 1 */
static tg_var three_ways(tg_var x) {
    tg_var a = scalar(1), xa = tg_mul(x, a);
    return tg_add(tg_add(tg_mul(x, xa), tg_mul(tg_mul(x, x), a)), tg_mul(x, xa));
}

static const struct {
    tg_var (*function)(tg_var x);
    tg_real x;
    double slope;
} repeated[] = {{square, 3, 6}, {nothing, 5, 0}, {doubled_twice, 1, 4}, {three_ways, 1, 6}};

START_TEST(every_use_of_a_var_counts) {
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++) {
        tg_var x = scalar(repeated[i].x);
        ck_assert_int_eq(tg_backward(repeated[i].function(x)), TG_OK);
        assert_elements("slope", tg_grad(x), 1, &repeated[i].slope);
        tg_tape_reset(tape);
    }
    tg_var x = matrix(2, 2, (const tg_real[]){1, 2, 3, 4});
    ck_assert_int_eq(tg_backward(tg_sum(tg_matmul(x, x))), TG_OK);
    assert_elements("X X", tg_grad(x), 4, (const double[]){7, 11, 9, 13});
    tg_tape_reset(tape);
    x = matrix(2, 2, (const tg_real[]){1, 2, 3, 4});
    ck_assert_int_eq(tg_backward(tg_sum(tg_matmul_transposed(x, false, x, true))), TG_OK);
    assert_elements("X X^T", tg_grad(x), 4, (const double[]){8, 12, 8, 12});
}
END_TEST

static tg_param *one_param(tg_params **params, tg_shape shape, const tg_real *value) {
    *params = tg_params_create(NULL);
    tg_param *param;
    ck_assert_int_eq(tg_params_add(*params, "weight", shape, &param, NULL), TG_OK);
    memcpy(tg_param_edit(param), value, (size_t)tg_param_count(param) * sizeof *value);
    return param;
}

START_TEST(gradients_add_up_over_recordings_only) {
    tg_params *params;
    tg_param *param = one_param(&params, tg_shape_scalar(), (const tg_real[]){2});
    for (int i = 1; i <= 2; i++) {
        tg_var y = tg_parameter(tape, param);
        tg_var cube = tg_mul(tg_mul(y, y), y);
        ck_assert_int_eq(tg_backward(cube), TG_OK);
        assert_elements("slope of the cube", tg_param_grad(param), 1, (const double[]){12 * i});
        ck_assert_int_eq(tg_backward(cube), TG_ESTATE); /* or inner gradients would count again */
        assert_elements("slope of the cube", tg_param_grad(param), 1, (const double[]){12 * i});
        tg_tape_reset(tape);
    }
    tg_params_free(params);
}
END_TEST

/* Id 1 of a table whose transpose gives the logits: both uses count. */
START_TEST(a_weight_tied_to_the_embedding_has_one_gradient) {
    static const int32_t id[] = {1}, target[] = {0};
    tg_params *params;
    tg_param *param = one_param(&params, tg_shape_2d(2, 2), (const tg_real[]){1, 2, 3, 4});
    tg_var table = tg_parameter(tape, param), output = tg_parameter(tape, param);
    tg_var x = tg_embedding(table, tg_integers(tape, tg_shape_1d(1), id));
    tg_var logits = tg_matmul_transposed(x, false, output, true);
    tg_var loss =
        tg_cross_entropy(logits, tg_integers(tape, tg_shape_1d(1), target), TG_IGNORED, TG_MEAN);
    assert_elements("logits", tg_value(logits), 2, (const double[]){11, 25});
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    test_assert_near(tg_item(loss), 14.000000831528373, TEST_TOLERANCE);
    assert_elements("gradient", tg_param_grad(param), 4,
                    (const double[]){-2.9999975054159171, -3.9999966738878894, 4.9999958423598612,
                                     5.9999950108318334});
    tg_params_free(params);
}
END_TEST

START_TEST(repeated_ids_add_up) {
    static const int32_t ids[] = {2, 0, 2, 2};
    tg_var table = matrix(3, 2, (const tg_real[]){0, 1, 2, 3, 4, 5});
    tg_var rows = tg_embedding(table, tg_integers(tape, tg_shape_1d(4), ids));
    assert_elements("rows", tg_value(rows), 8, (const double[]){4, 5, 0, 1, 4, 5, 4, 5});
    ck_assert_int_eq(tg_backward_from(rows, (const tg_real[]){1, 2, 3, 4, 5, 6, 7, 8}), TG_OK);
    assert_elements("gradient", tg_grad(table), 6, (const double[]){3, 4, 0, 0, 13, 16});
}
END_TEST

/* Kinks and limits. */

START_TEST(relu_at_its_kink_and_at_what_is_no_number) {
    tg_var x = vector(4, (const tg_real[]){-1, 0, 2, -(tg_real)0});
    ck_assert_int_eq(tg_backward(tg_sum(tg_relu(x))), TG_OK);
    assert_elements("gradient", tg_grad(x), 4, (const double[]){0, 0, 1, 0});
    tg_tape_reset(tape);
    tg_var y = tg_relu(vector(3, (const tg_real[]){(tg_real)NAN, -1, (tg_real)INFINITY}));
    assert_elements("relu", tg_value(y), 3, (const double[]){(double)NAN, 0, (double)INFINITY});
}
END_TEST

static const struct {
    int64_t classes;
    tg_real logits[3];
    double loss, gradient[3];
} extremes[] = {
    {3, {-431, 279, 427}, 858, {-1, 0, 1}},
    {3, {1000, 0, -1000}, 0, {0, 0, 0}},
    {2, {-1e4f, -1e4f}, 0.69314718055994531, {-0.5, 0.5}},
    {2, {1e8f, 1e8f}, 0.69314718055994531, {-0.5, 0.5}},
    {2, {88.8f, 88.8f}, 0.69314718055994531, {-0.5, 0.5}},
};

START_TEST(cross_entropy_of_extreme_logits) {
    static const int32_t first[] = {0};
    tg_var logits = matrix(1, extremes[_i].classes, extremes[_i].logits);
    tg_var target = tg_integers(tape, tg_shape_1d(1), first);
    tg_var loss = tg_cross_entropy(logits, target, TG_IGNORED, TG_MEAN);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    test_assert_near(tg_item(loss), extremes[_i].loss, TEST_TOLERANCE);
    assert_elements("gradient", tg_grad(logits), extremes[_i].classes, extremes[_i].gradient);
}
END_TEST

static tg_var loss_of_three(tg_var logits, const int32_t *targets) {
    return tg_cross_entropy(logits, tg_integers(tape, tg_shape_1d(3), targets), TG_IGNORED,
                            TG_MEAN);
}

START_TEST(ignored_targets_count_for_nothing) {
    static const tg_real elements[] = {1, 2, 3, 1, 0, 0, 0, 0, 5};
    static const int32_t one_ignored[] = {2, -100, 0}, all_ignored[] = {-100, -100, -100};
    tg_var logits = matrix(3, 3, elements), loss = loss_of_three(logits, one_ignored);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    test_assert_near(tg_item(loss), 2.7104959330829148, TEST_TOLERANCE);
    assert_elements("gradient", tg_grad(logits), 9,
                    (const double[]){0.045015286585190217, 0.12236423552739882,
                                     -0.16737952211258911, 0, 0, 0, -0.49667582276056699,
                                     0.0033241772394330014, 0.49335164552113397});
    tg_tape_reset(tape);
    logits = matrix(3, 3, elements);
    loss = loss_of_three(logits, all_ignored);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    ck_assert(tg_item(loss) == 0);
    assert_elements("gradient", tg_grad(logits), 9, (const double[9]){0});
}
END_TEST

START_TEST(the_mean_of_nothing_is_no_number) {
    tg_var x = matrix(0, 3, NULL);
    ck_assert(isnan(tg_item(tg_mean(x))));
    ck_assert(tg_item(tg_sum(x)) == 0);
    static const double nan = (double)NAN;
    assert_elements("columns", tg_value(tg_mean_axis(x, 0, false)), 3,
                    (const double[]){nan, nan, nan});
    ck_assert_int_eq(tg_backward(tg_mean(x)), TG_OK);
}
END_TEST

/* Long sums: exact in double, and rounded once. */

static tg_real *filled(int64_t n, tg_real x) {
    tg_real *made = malloc((size_t)n * sizeof *made);
    ck_assert_ptr_nonnull(made);
    for (int64_t i = 0; i < n; i++)
        made[i] = x;
    return made;
}

START_TEST(a_long_sum_does_not_stall) {
    const int64_t n = (1 << 24) + 10;
    tg_real *ones = filled(n, 1);
    tg_var x = tg_constant(tape, tg_shape_1d(n), ones);
    free(ones);
    ck_assert(tg_item(tg_sum(x)) == 16777226);
    ck_assert(tg_item(tg_mean(x)) == 1);
    ck_assert(tg_value(tg_sum_axis(x, 0, true))[0] == 16777226);
}
END_TEST

START_TEST(a_long_sum_of_tenths_is_exact) {
    const int64_t n = 10000000;
    const double whole = 1e7 * (double)0.1f; /* 1000000.0149...: 48 bits, exact */
    tg_real *tenths = filled(n, (tg_real)0.1f);
    tg_var x = tg_constant(tape, tg_shape_2d(n / 2, 2), tenths);
    ck_assert(tg_item(tg_sum(x)) == (tg_real)whole);
    const tg_real *columns = tg_value(tg_sum_axis(x, 0, false));
    ck_assert(columns[0] == (tg_real)(whole / 2) && columns[1] == (tg_real)(whole / 2));
    tg_tape_reset(tape);
    tg_var bias = vector(1, (const tg_real[]){0});
    tg_var y = tg_add(tg_constant(tape, tg_shape_2d(n, 1), tenths), bias);
    ck_assert_int_eq(tg_backward_from(y, tenths), TG_OK);
    ck_assert(tg_grad(bias)[0] == (tg_real)whole);
    free(tenths);
}
END_TEST

START_TEST(a_long_loss_does_not_stall) {
    const int64_t n = 1000000;
    tg_real *zeros = filled(2 * n, 0);
    int32_t *targets = calloc((size_t)n, sizeof *targets);
    ck_assert_ptr_nonnull(targets);
    tg_var logits = tg_constant(tape, tg_shape_2d(n, 2), zeros);
    tg_var loss =
        tg_cross_entropy(logits, tg_integers(tape, tg_shape_1d(n), targets), TG_IGNORED, TG_SUM);
    test_assert_near(tg_item(loss), 693147.18055994531, 1e-7);
    free(zeros);
    free(targets);
}
END_TEST

/* Long recordings. */

enum { DEEP = 500000 };

/* y = y 1 + 0, a million nodes deep. */
static bool deep_graph_works(void) {
    tg_tape *deep = tg_tape_create(NULL);
    const tg_real start = 3, unit = 1, none = 0;
    tg_var x = tg_variable(deep, tg_shape_scalar(), &start), y = x;
    tg_var one = tg_constant(deep, tg_shape_scalar(), &unit);
    tg_var zero = tg_constant(deep, tg_shape_scalar(), &none);
    for (int i = 0; i < DEEP; i++)
        y = tg_add(tg_mul(y, one), zero);
    bool right = tg_tape_length(deep) == 2 * DEEP + 3 && tg_item(y) == 3;
    right = right && tg_backward(y) == TG_OK && tg_grad(x)[0] == 1;
    tg_tape_free(deep);
    return right;
}

START_TEST(a_million_nodes_need_little_stack) {
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {256 * 1024, 256 * 1024};
        _exit(setrlimit(RLIMIT_STACK, &limit) == 0 && deep_graph_works() ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "ended with status %d", status);
}
END_TEST

/* A step of training: forward, backward, and a change of the weight. */
static void step(tg_tape *own, tg_param *param, tg_params *params) {
    static const tg_real inputs[] = {1, -2, 3, 0.5f, 4, -1};
    static const int32_t targets[] = {1, 0}, mask[] = {0, 1};
    tg_var w = tg_parameter(own, param);
    tg_var x = tg_relu(tg_matmul(tg_constant(own, tg_shape_2d(2, 3), inputs), w));
    tg_var y = tg_softmax_masked(x, tg_integers(own, tg_shape_1d(2), mask), 1);
    tg_var loss =
        tg_cross_entropy(tg_add(x, tg_masked_fill(y, tg_integers(own, tg_shape_1d(2), mask), 1)),
                         tg_integers(own, tg_shape_1d(2), targets), TG_IGNORED, TG_MEAN);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    tg_real *value = tg_param_edit(param), *grad = tg_param_grad(param);
    for (int i = 0; i < 6; i++)
        value[i] -= (tg_real)1e-3 * grad[i];
    tg_params_zero_grad(params);
    ck_assert_int_eq(tg_tape_reset(own), TG_OK);
}

START_TEST(memory_does_not_grow_with_the_steps) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    tg_tape *own = tg_tape_create(context);
    tg_params *params;
    tg_param *param =
        one_param(&params, tg_shape_2d(3, 2), (const tg_real[]){1, 2, -1, 0.5f, 0.25f, 1});
    size_t bytes = 0, requests = 0;
    for (int i = 1; i <= 10000; i++) {
        step(own, param, params);
        if (i == 100) {
            bytes = tg_tape_bytes(own);
            requests = memory.requests;
        }
    }
    ck_assert_uint_gt(bytes, 0);
    ck_assert_uint_eq(tg_tape_bytes(own), bytes);
    ck_assert_uint_eq(memory.requests, requests);
    tg_tape_free(own);
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* Errors of the caller. Inputs: x (2,3), y (2,4), v (3,), a scalar s, ids (2,2) with 1 and -1. */
typedef struct operands {
    tg_var x, y, v, s, ids;
} operands;

static tg_var add_misfit(operands o) {
    return tg_add(o.x, o.y);
}

static tg_var sub_misfit(operands o) {
    return tg_sub(o.x, o.y);
}

static tg_var mul_misfit(operands o) {
    return tg_mul(o.y, o.v);
}

static tg_var matmul_misfit(operands o) {
    return tg_matmul(o.x, o.x);
}

static tg_var matmul_transposed_misfit(operands o) {
    return tg_matmul_transposed(o.x, false, o.y, true);
}

static tg_var matmul_of_a_vector(operands o) {
    return tg_matmul(o.x, o.v);
}

static tg_var matmul_of_batches(operands o) {
    return tg_matmul(tg_reshape(o.x, tg_shape_3d(2, 1, 3)), tg_reshape(o.x, tg_shape_3d(3, 1, 2)));
}

static tg_var matmul_of_misfit_batches(operands o) {
    return tg_matmul(tg_reshape(o.x, tg_shape_3d(2, 3, 1)), tg_reshape(o.x, tg_shape_3d(3, 1, 2)));
}

static tg_var linear_misfit(operands o) {
    return tg_linear(o.x, o.y, o.v);
}

static tg_var linear_of_a_scalar(operands o) {
    return tg_linear(o.s, o.x, o.v);
}

static tg_var reshape_misfit(operands o) {
    return tg_reshape(o.x, tg_shape_1d(7));
}

static tg_var reshape_that_leaves_a_rest(operands o) {
    return tg_reshape(o.x, tg_shape_2d(4, -1));
}

static tg_var reshape_with_two_open(operands o) {
    return tg_reshape(o.x, tg_shape_2d(-1, -1));
}

static tg_var reshape_to_a_negative(operands o) {
    return tg_reshape(o.x, tg_shape_2d(-2, -3));
}

static tg_var reshape_to_nine_axes(operands o) {
    return tg_reshape(o.x, (tg_shape){.rank = 9, .extent = {1, 1, 1, 1, 1, 6}});
}

static tg_var reshape_past_counting(operands o) {
    return tg_reshape(o.x, tg_shape_3d(INT64_MAX, INT64_MAX, -1));
}

static tg_var transpose_axis_9(operands o) {
    return tg_transpose(o.x, 0, 9);
}

static tg_var transpose_of_a_scalar(operands o) {
    return tg_transpose(o.s, 0, 0);
}

static tg_var softmax_axis_9(operands o) {
    return tg_softmax(o.x, 9);
}

static tg_var softmax_of_a_scalar(operands o) {
    return tg_softmax(o.s, -1);
}

static tg_var softmax_masked_misfit(operands o) {
    return tg_softmax_masked(o.x, o.ids, 1);
}

static tg_var softmax_masked_larger_mask(operands o) {
    return tg_softmax_masked(tg_sum_axis(o.x, 1, true), o.ids, 1);
}

static tg_var softmax_masked_axis(operands o) {
    return tg_softmax_masked(o.x, o.ids, -3);
}

static tg_var masked_fill_misfit(operands o) {
    return tg_masked_fill(o.x, o.ids, 0);
}

static tg_var embedding_in_a_vector(operands o) {
    return tg_embedding(o.v, o.ids);
}

static tg_var embedding_of_a_negative_id(operands o) {
    return tg_embedding(o.x, o.ids);
}

static tg_var embedding_of_an_id_too_large(operands o) {
    return tg_embedding(o.x, tg_integers(tape, tg_shape_1d(2), (const int32_t[]){1, 2}));
}

static tg_var embedding_of_seven_axes(operands o) {
    tg_shape ids = tg_shape_make(6, (const int64_t[]){1, 1, 1, 1, 1, 1});
    return tg_embedding(o.x, tg_integers(tape, ids, (const int32_t[]){1}));
}

static tg_var sum_axis_9(operands o) {
    return tg_sum_axis(o.x, 9, false);
}

static tg_var mean_axis_below(operands o) {
    return tg_mean_axis(o.x, -3, true);
}

static tg_var cross_entropy_misfit(operands o) {
    return tg_cross_entropy(o.x, o.ids, TG_IGNORED, TG_MEAN);
}

static tg_var cross_entropy_of_a_scalar(operands o) {
    return tg_cross_entropy(o.s, o.ids, TG_IGNORED, TG_MEAN);
}

static tg_var cross_entropy_label_3(operands o) {
    return tg_cross_entropy(o.x, tg_integers(tape, tg_shape_1d(2), (const int32_t[]){0, 3}),
                            TG_IGNORED, TG_MEAN);
}

static tg_var cross_entropy_label_below(operands o) {
    return tg_cross_entropy(o.x, tg_integers(tape, tg_shape_1d(2), (const int32_t[]){-4, 0}),
                            TG_IGNORED, TG_SUM);
}

static tg_var integers_for_reals(operands o) {
    return tg_add(o.s, o.ids);
}

static tg_var reals_for_integers(operands o) {
    return tg_embedding(o.x, o.x);
}

static tg_var no_var(operands o) {
    return tg_mul(o.x, (tg_var){0});
}

static tg_var no_var_first(operands o) {
    return tg_linear((tg_var){0}, o.x, o.v);
}

static const struct {
    tg_var (*record)(operands o);
    tg_status status;
    const char *message; /* how it begins */
} faults[] = {
    {add_misfit, TG_ESHAPE, "add: (2, 3) and (2, 4) do not broadcast"},
    {sub_misfit, TG_ESHAPE, "sub: (2, 3) and (2, 4) do not broadcast"},
    {mul_misfit, TG_ESHAPE, "mul: (2, 4) and (3,) do not broadcast"},
    {matmul_misfit, TG_ESHAPE, "matmul: (2, 3) x (2, 3): inner extents 3 and 2 differ"},
    {matmul_transposed_misfit, TG_ESHAPE, "matmul: (2, 3) x (2, 4)^T: inner extents 3 and 4"},
    {matmul_of_a_vector, TG_ESHAPE, "matmul: (2, 3) x (3,): both have rank 2"},
    {matmul_of_batches, TG_ESHAPE, "matmul: (2, 1, 3) x (3, 1, 2): inner extents 3 and 1"},
    {matmul_of_misfit_batches, TG_ESHAPE, "matmul: (2, 3, 1) x (3, 1, 2): the batches"},
    {linear_misfit, TG_ESHAPE, "linear: (2, 3) x (2, 4) + (3,)"},
    {linear_of_a_scalar, TG_ESHAPE, "linear: () x (2, 3) + (3,)"},
    {reshape_misfit, TG_ESHAPE, "reshape: (2, 3), 6 elements, does not become (7,)"},
    {reshape_that_leaves_a_rest, TG_ESHAPE, "reshape: (2, 3), 6 elements, does not become (4, -1)"},
    {reshape_with_two_open, TG_ESHAPE, "reshape: (2, 3), 6 elements, does not become (-1, -1)"},
    {reshape_to_a_negative, TG_ESHAPE, "reshape: (2, 3), 6 elements, does not become (-2, -3)"},
    {reshape_to_nine_axes, TG_ESHAPE, "reshape: (2, 3), 6 elements, does not become (rank 9)"},
    {reshape_past_counting, TG_ESHAPE, "reshape: (2, 3), 6 elements, does not become ("},
    {transpose_axis_9, TG_ERANGE, "transpose: axis 9 outside [-2, 2) of shape (2, 3)"},
    {transpose_of_a_scalar, TG_ERANGE, "transpose: axis 0 outside [0, 0) of shape ()"},
    {softmax_axis_9, TG_ERANGE, "softmax: axis 9 outside [-2, 2) of shape (2, 3)"},
    {softmax_of_a_scalar, TG_ERANGE, "softmax: axis -1 outside [0, 0) of shape ()"},
    {softmax_masked_misfit, TG_ESHAPE,
     "softmax_masked: mask (2, 2) does not broadcast to x (2, 3)"},
    {softmax_masked_larger_mask, TG_ESHAPE,
     "softmax_masked: mask (2, 2) does not broadcast to x (2, 1)"},
    {softmax_masked_axis, TG_ERANGE, "softmax_masked: axis -3 outside [-2, 2) of shape (2, 3)"},
    {masked_fill_misfit, TG_ESHAPE, "masked_fill: (2, 3) and (2, 2) do not broadcast"},
    {embedding_in_a_vector, TG_ESHAPE, "embedding: table (3,), ids (2, 2)"},
    {embedding_of_a_negative_id, TG_ERANGE, "embedding: id -1 at element 1 outside [0, 2)"},
    {embedding_of_an_id_too_large, TG_ERANGE, "embedding: id 2 at element 1 outside [0, 2)"},
    {embedding_of_seven_axes, TG_ESHAPE, "embedding: table (2, 3), ids (1, 1, 1, 1, 1, 1)"},
    {sum_axis_9, TG_ERANGE, "sum: axis 9 outside [-2, 2) of shape (2, 3)"},
    {mean_axis_below, TG_ERANGE, "mean: axis -3 outside [-2, 2) of shape (2, 3)"},
    {cross_entropy_misfit, TG_ESHAPE, "cross_entropy: logits (2, 3), targets (2, 2)"},
    {cross_entropy_of_a_scalar, TG_ESHAPE, "cross_entropy: logits (), targets (2, 2)"},
    {cross_entropy_label_3, TG_ERANGE, "cross_entropy: target 3 at element 1 outside [0, 3)"},
    {cross_entropy_label_below, TG_ERANGE, "cross_entropy: target -4 at element 0 outside [0, 3)"},
    {integers_for_reals, TG_EMISMATCH, "add: input 1 is to be reals"},
    {reals_for_integers, TG_EMISMATCH, "embedding: input 1 is to be integers"},
    {no_var, TG_EINVAL, "mul: input 1 is no var"},
    {no_var_first, TG_EINVAL, "linear: input 0 is no var"},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

START_TEST(a_mistake_of_the_caller_is_an_error_with_the_shapes) {
    static const tg_real numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};
    operands o = {matrix(2, 3, numbers), matrix(2, 4, numbers), vector(3, numbers), scalar(1),
                  tg_integers(tape, tg_shape_2d(2, 2), (const int32_t[]){1, -1, 0, 0})};
    tg_var made = faults[_i].record(o);
    ck_assert(!tg_is_valid(made));
    const tg_error *error = tg_tape_error(tape);
    ck_assert_msg(error->status == faults[_i].status, "%s: %s", tg_status_name(error->status),
                  error->message);
    ck_assert_msg(strncmp(error->message, faults[_i].message, strlen(faults[_i].message)) == 0,
                  "\"%s\" does not begin with \"%s\"", error->message, faults[_i].message);
    ck_assert_int_eq(tg_backward(tg_sum(made)), faults[_i].status);
    ck_assert_int_eq(tg_tape_reset(tape), faults[_i].status);
    tg_var x = scalar(3);
    ck_assert_int_eq(tg_backward(square(x)), TG_OK);
    ck_assert(tg_grad(x)[0] == 6);
}
END_TEST

START_TEST(without_any_tape_nothing_is_recorded) {
    tg_var none = {0};
    ck_assert(!tg_is_valid(tg_relu(none)));
    ck_assert(!tg_is_valid(tg_linear(none, none, none)));
    ck_assert_int_ne(tg_backward(tg_sum(tg_matmul(none, none))), TG_OK);
    ck_assert_ptr_null(tg_value(none));
    ck_assert_ptr_null(tg_grad(none));
    ck_assert(isnan(tg_item(none)));
    ck_assert_int_eq(tg_shape_of(none).rank, 0);
}
END_TEST

/* Operations of others that break their own promises. */

static tg_status plan_a_negative_extent(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)call, (void)error;
    plan->shape = tg_shape_2d(2, -1);
    return TG_OK;
}

static tg_status plan_nine_axes(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)call, (void)error;
    plan->shape.rank = 9;
    return TG_OK;
}

static tg_status plan_too_many(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)call, (void)error;
    plan->shape = tg_shape_2d((int64_t)1 << 32, (int64_t)1 << 32);
    return TG_OK;
}

static tg_status plan_another_count(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = tg_shape_1d(call->inputs[0]->count + 1);
    return TG_OK;
}

static tg_status plan_like_input(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = call->inputs[0]->shape;
    return TG_OK;
}

static tg_status refuse(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)call, (void)plan;
    return tg_fail(error, TG_EINVAL, "stranger: not today");
}

static void first_of_both(const tg_call *call) {
    memcpy(call->result, call->inputs[0]->real, (size_t)call->output->count * sizeof(tg_real));
}

/* Counts on getting no gradient to write for an input that wants none. */
static void first_of_both_backward(const tg_call *call) {
    for (int64_t i = 0; call->input_grads[0] != NULL && i < call->output->count; i++)
        call->input_grads[0][i] += call->output_grad[i];
    if (call->input_grads[1] != NULL)
        call->input_grads[1][0] += 7;
}

#define STRANGER(plans)                                                                            \
    {                                                                                              \
        .name = "stranger", .input_count = 2, .differentiable = TG_EVERY_INPUT, .check = plans,    \
        .forward = first_of_both, .backward = first_of_both_backward                               \
    }

static const tg_op negative_extent_op = STRANGER(plan_a_negative_extent);
static const tg_op nine_axes_op = STRANGER(plan_nine_axes);
static const tg_op too_many_op = STRANGER(plan_too_many);
static const tg_op refusing_op = STRANGER(refuse);
static const tg_op right_op = STRANGER(plan_like_input);
static const tg_op aliasing_op = {.name = "stranger",
                                  .input_count = 2,
                                  .differentiable = TG_EVERY_INPUT,
                                  .aliases_input = true,
                                  .check = plan_another_count,
                                  .backward = first_of_both_backward};

static const struct {
    const tg_op *op;
    int inputs;
    tg_status status;
    const char *message;
} strangers[] = {
    {&right_op, 1, TG_EINVAL, "stranger: takes 2 inputs, not 1"},
    {&right_op, 3, TG_EINVAL, "stranger: takes 2 inputs, not 3"},
    {&negative_extent_op, 2, TG_ESHAPE, "stranger: shape (2, -1): negative extent"},
    {&nine_axes_op, 2, TG_ESHAPE, "stranger: shape: rank 9 outside 0..6"},
    {&too_many_op, 2, TG_ESHAPE, "stranger: shape (4294967296, 4294967296): more elements"},
    {&aliasing_op, 2, TG_ESHAPE, "stranger: the output has not its input's elements"},
    {&refusing_op, 2, TG_EINVAL, "stranger: not today"},
};

enum { STRANGERS = sizeof strangers / sizeof strangers[0] };

START_TEST(an_operation_at_fault_is_named) {
    tg_var x = vector(2, (const tg_real[]){1, 2});
    tg_var made = tg_apply(strangers[_i].op, strangers[_i].inputs, (const tg_var[]){x, x, x}, NULL);
    ck_assert(!tg_is_valid(made));
    const tg_error *error = tg_tape_error(tape);
    ck_assert_int_eq(error->status, strangers[_i].status);
    ck_assert_msg(strncmp(error->message, strangers[_i].message, strlen(strangers[_i].message)) ==
                      0,
                  "\"%s\" does not begin with \"%s\"", error->message, strangers[_i].message);
}
END_TEST

START_TEST(who_wants_no_gradient_gets_none) {
    static const tg_real elements[] = {1, 2};
    for (int wanted = 0; wanted < 2; wanted++) {
        tg_var x[2];
        for (int k = 0; k < 2; k++)
            x[k] = k == wanted ? vector(2, elements) : tg_constant(tape, tg_shape_1d(2), elements);
        ck_assert_int_eq(tg_backward(tg_sum(tg_apply(&right_op, 2, x, NULL))), TG_OK);
        assert_elements("gradient", tg_grad(x[wanted]), 2,
                        wanted == 0 ? (const double[]){1, 1} : (const double[]){7, 0});
        ck_assert_ptr_null(tg_grad(x[1 - wanted]));
        tg_tape_reset(tape);
    }
}
END_TEST

/* No elements, and giant extents beside the empty one: nothing to do. */

static tg_var giant(int64_t extent) {
    return tg_variable(tape, tg_shape_3d(0, (int64_t)1 << 40, extent), NULL);
}

static tg_var giant_ending_in_0(int64_t extent) {
    return tg_variable(tape, tg_shape_3d((int64_t)1 << 40, extent, 0), NULL);
}

static tg_var giant_add(int64_t extent) {
    return tg_add(giant(extent), scalar(1));
}

static tg_var giant_mul(int64_t extent) {
    return tg_mul(giant(extent), giant(extent));
}

static tg_var giant_masked_fill(int64_t extent) {
    return tg_masked_fill(giant(extent), tg_integers(tape, tg_shape_scalar(), (int32_t[]){1}), 2);
}

static tg_var giant_softmax_0(int64_t extent) {
    return tg_softmax(giant(extent), 0);
}

static tg_var giant_softmax_1(int64_t extent) {
    return tg_softmax(giant(extent), 1);
}

static tg_var giant_softmax_last(int64_t extent) {
    return tg_softmax(giant_ending_in_0(extent), -1);
}

static tg_var giant_sum(int64_t extent) {
    return tg_sum(giant_ending_in_0(extent));
}

static tg_var giant_sum_axis(int64_t extent) {
    return tg_sum_axis(giant(extent), 1, false);
}

static tg_var giant_transpose(int64_t extent) {
    return tg_transpose(giant(extent), 0, 2);
}

static tg_var giant_reshape(int64_t extent) {
    return tg_reshape(giant(extent), tg_shape_2d((int64_t)1 << 40, 0));
}

static tg_var giant_matmul(int64_t extent) {
    return tg_matmul(giant(extent), tg_variable(tape, tg_shape_3d(0, extent, 2), NULL));
}

static tg_var giant_matmul_tall(int64_t extent) {
    return tg_matmul(giant_ending_in_0(extent), matrix(0, 0, NULL));
}

static tg_var giant_matmul_transposed(int64_t extent) {
    tg_var x = tg_variable(tape, tg_shape_3d((int64_t)1 << 40, 0, extent), NULL);
    return tg_matmul_transposed(x, true, matrix(0, 0, NULL), false);
}

static tg_var giant_linear(int64_t extent) {
    return tg_linear(giant_ending_in_0(extent), matrix(0, 0, NULL), vector(0, NULL));
}

static tg_var (*const giants[])(int64_t extent) = {
    giant_add,
    giant_mul,
    giant_masked_fill,
    giant_softmax_0,
    giant_softmax_1,
    giant_softmax_last,
    giant_sum,
    giant_sum_axis,
    giant_transpose,
    giant_reshape,
    giant_matmul,
    giant_matmul_tall,
    giant_matmul_transposed,
    giant_linear,
};

enum { GIANTS = sizeof giants / sizeof giants[0] };

START_TEST(nothing_of_a_giant_shape_is_no_work) {
    tg_var made = giants[_i]((int64_t)1 << 20);
    ck_assert_msg(tg_is_valid(made), "%s", tg_tape_error(tape)->message);
    ck_assert_int_eq(tg_backward(tg_sum(made)), TG_OK);
}
END_TEST

/* Where the other extents' product does not fit an int64_t, the shape may be refused as well. */
START_TEST(nothing_of_an_uncountable_shape_is_no_work_or_an_error) {
    tg_status status = tg_backward(tg_sum(giants[_i]((int64_t)1 << 40)));
    ck_assert_msg(status == TG_OK || status == TG_ESHAPE, "%s", tg_tape_error(tape)->message);
}
END_TEST

#ifndef TG_F64
static tg_var as_it_is(tg_tape *own, const tg_var *vars, void *user) {
    (void)own, (void)user;
    return vars[0];
}

START_TEST(single_precision_is_no_ground_for_checking_gradients) {
    static const tg_real hundred = 100;
    tg_view view = {.type = TG_REAL, .count = 1, .real = &hundred};
    tg_error error = {0};
    ck_assert_int_eq(tg_gradcheck(NULL, as_it_is, NULL, 1, &view, NULL, NULL, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "tapegrad_f64"));
}
END_TEST
#endif

static void add_values(TCase *tests) {
    tcase_add_test(tests, a_row_masked_throughout_mixes_nothing);
    tcase_add_test(tests, a_masked_score_loses_to_any_other);
    tcase_add_test(tests, what_is_masked_does_not_matter_even_if_not_finite);
    tcase_add_test(tests, the_causal_mask_ends_at_the_diagonal);
    tcase_add_test(tests, softmax_of_large_numbers_and_of_none);
    tcase_add_test(tests, a_filled_element_gives_no_gradient);
    tcase_add_test(tests, a_larger_mask_expands_what_it_fills);
    tcase_add_test(tests, the_gradient_of_what_was_expanded_is_summed);
    tcase_add_test(tests, every_use_of_a_var_counts);
    tcase_add_test(tests, gradients_add_up_over_recordings_only);
    tcase_add_test(tests, a_weight_tied_to_the_embedding_has_one_gradient);
    tcase_add_test(tests, repeated_ids_add_up);
    tcase_add_test(tests, relu_at_its_kink_and_at_what_is_no_number);
    tcase_add_loop_test(tests, cross_entropy_of_extreme_logits, 0,
                        (int)(sizeof extremes / sizeof extremes[0]));
    tcase_add_test(tests, ignored_targets_count_for_nothing);
    tcase_add_test(tests, the_mean_of_nothing_is_no_number);
}

static void add_errors(TCase *tests) {
    tcase_add_loop_test(tests, a_mistake_of_the_caller_is_an_error_with_the_shapes, 0, FAULTS);
    tcase_add_test(tests, without_any_tape_nothing_is_recorded);
    tcase_add_loop_test(tests, an_operation_at_fault_is_named, 0, STRANGERS);
    tcase_add_test(tests, who_wants_no_gradient_gets_none);
    tcase_add_loop_test(tests, nothing_of_a_giant_shape_is_no_work, 0, GIANTS);
    tcase_add_loop_test(tests, nothing_of_an_uncountable_shape_is_no_work_or_an_error, 0, GIANTS);
#ifndef TG_F64
    tcase_add_test(tests, single_precision_is_no_ground_for_checking_gradients);
#endif
}

static void add_long(TCase *tests) {
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_long_sum_does_not_stall);
    tcase_add_test(tests, a_long_sum_of_tenths_is_exact);
    tcase_add_test(tests, a_long_loss_does_not_stall);
    tcase_add_test(tests, a_million_nodes_need_little_stack);
    tcase_add_test(tests, memory_does_not_grow_with_the_steps);
}

static Suite *suite(void) {
    static const struct {
        const char *name;
        void (*add)(TCase *tests);
    } cases[] = {{"values", add_values}, {"errors", add_errors}, {"long", add_long}};
    Suite *made = suite_create("op_hazards");
    for (int i = 0; i < 3; i++) {
        TCase *tests = tcase_create(cases[i].name);
        tcase_add_checked_fixture(tests, set_up, tear_down);
        cases[i].add(tests);
        suite_add_tcase(made, tests);
    }
    return made;
}

int main(void) {
    return test_main(suite());
}
