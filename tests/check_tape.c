/* The tape: leaves, gradients, errors that stick, memory that fails. What the operations compute is
 * tested elsewhere. */
#include "support.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/param.h"
#include "autograd/tape.h"
#include "tensor/context.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* --- what the tests work with --- */

/* Two tapes, and a parameter "weight" of shape (3,) with the values 1, 2, 3. */
typedef struct bench {
    test_memory memory;
    tg_context *context;
    tg_params *params;
    tg_param *weight;
    tg_tape *tape, *other;
} bench;

static const tg_real numbers[6] = {1, 2, 3, 4, 5, 6};
static const int32_t integers[6] = {0, 1, 0, 1, 0, 1};

/* Leaves NaN in the memory that the tape has, so that whoever takes it for cleared is found out. */
static void soil(tg_tape *tape) {
    static tg_real dirt[12000];
    for (int i = 0; i < COUNT(dirt); i++)
        dirt[i] = (tg_real)NAN;
    tg_constant(tape, tg_shape_1d(COUNT(dirt)), dirt);
    ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
}

static void bench_start(bench *b) {
    *b = (bench){.memory = {0}};
    tg_allocator allocator = test_allocator(&b->memory);
    b->context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    b->params = tg_params_create(b->context);
    ck_assert_int_eq(tg_params_add(b->params, "weight", tg_shape_1d(3), &b->weight, NULL), TG_OK);
    memcpy(tg_param_edit(b->weight), numbers, 3 * sizeof(tg_real));
    b->tape = tg_tape_create(b->context);
    b->other = tg_tape_create(b->context);
    ck_assert_ptr_nonnull(b->tape);
    ck_assert_ptr_nonnull(b->other);
    soil(b->tape);
    soil(b->other);
}

static void bench_end(bench *b) {
    tg_tape_free(b->tape);
    tg_tape_free(b->other);
    tg_params_free(b->params);
    tg_context_free(b->context);
    ck_assert_uint_eq(b->memory.live_bytes, 0);
    ck_assert_uint_eq(b->memory.live_blocks, 0);
}

static tg_var variable(tg_tape *tape) {
    return tg_variable(tape, tg_shape_1d(3), numbers);
}

static tg_var constant(tg_tape *tape) {
    return tg_constant(tape, tg_shape_1d(3), numbers);
}

static tg_var integer_leaf(tg_tape *tape) {
    return tg_integers(tape, tg_shape_1d(3), integers);
}

static void assert_elements(const tg_real *actual, int n, const tg_real *expected) {
    ck_assert_ptr_nonnull(actual);
    for (int i = 0; i < n; i++)
        ck_assert_msg(actual[i] == expected[i], "element %d is %g, not %g", i, (double)actual[i],
                      (double)expected[i]);
}

#define assert_reals(actual, ...)                                                                  \
    assert_elements((actual), (int)(sizeof((tg_real[]){__VA_ARGS__}) / sizeof(tg_real)),           \
                    (const tg_real[]){__VA_ARGS__})

/* The tape works: a step on it gives what it has to, and leaves it clean. */
static void assert_works(bench *b) {
    tg_params_zero_grad(b->params);
    ck_assert_int_eq(tg_tape_error(b->tape)->status, TG_OK);
    ck_assert_str_eq(tg_tape_error(b->tape)->message, "");
    tg_var x = variable(b->tape);
    tg_var loss = tg_sum(tg_mul(x, tg_parameter(b->tape, b->weight)));
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    assert_elements(tg_grad(x), 3, tg_param_value(b->weight));
    assert_elements(tg_param_grad(b->weight), 3, numbers);
    ck_assert_int_eq(tg_tape_reset(b->tape), TG_OK);
}

/* --- operations of the test's own --- */

/* result = 1 x0 + 2 x1 + 3 x2 + ..., any number of inputs of one shape */
static tg_status check_same(const tg_call *call, tg_plan *plan, tg_error *error) {
    for (int i = 1; i < call->input_count; i++)
        if (!tg_shape_equal(call->inputs[i]->shape, call->inputs[0]->shape))
            return tg_fail(error, TG_ESHAPE, "weighted: input %d has another shape", i);
    plan->shape = call->inputs[0]->shape;
    return TG_OK;
}

static void weighted_forward(const tg_call *call) {
    for (int64_t j = 0; j < call->output->count; j++) {
        call->result[j] = 0;
        for (int i = 0; i < call->input_count; i++)
            call->result[j] += (tg_real)(i + 1) * call->inputs[i]->real[j];
    }
}

static void weighted_backward(const tg_call *call) {
    for (int i = 0; i < call->input_count; i++)
        for (int64_t j = 0; call->input_grads[i] != NULL && j < call->output->count; j++)
            call->input_grads[i][j] += (tg_real)(i + 1) * call->output_grad[j];
}

static const tg_op weighted_op = {
    .name = "weighted",
    .input_count = TG_ANY_NUMBER,
    .differentiable = TG_EVERY_INPUT,
    .check = check_same,
    .forward = weighted_forward,
    .backward = weighted_backward,
};

/* The same, but declares that it writes fresh gradients, and does so, the last input first. */
static void weighted_backward_fresh(const tg_call *call) {
    for (int i = call->input_count - 1; i >= 0; i--)
        for (int64_t j = 0; call->input_grads[i] != NULL && j < call->output->count; j++) {
            bool fresh = (call->fresh & TG_INPUT(i)) != 0;
            tg_real before = fresh ? 0 : call->input_grads[i][j];
            call->input_grads[i][j] = before + (tg_real)(i + 1) * call->output_grad[j];
        }
}

static const tg_op weighted_fresh_op = {
    .name = "weighted_fresh",
    .input_count = TG_ANY_NUMBER,
    .differentiable = TG_EVERY_INPUT,
    .writes_fresh = true,
    .check = check_same,
    .forward = weighted_forward,
    .backward = weighted_backward_fresh,
};

/* A copy that saves as many bytes as its attributes say and takes as much scratch, and looks in
 * backward whether they are still what forward has written. */
typedef struct saving {
    size_t bytes;
    int *wrong;
} saving;

static tg_status saving_check(const tg_call *call, tg_plan *plan, tg_error *error) {
    const saving *s = call->attributes;
    (void)error;
    plan->shape = call->inputs[0]->shape;
    plan->saved_bytes = plan->scratch_bytes = plan->backward_scratch_bytes = s->bytes;
    return TG_OK;
}

static void saving_forward(const tg_call *call) {
    const saving *s = call->attributes;
    memset(call->saved, 0x5a, s->bytes);
    memset(call->scratch, 0xa5, s->bytes);
    *s->wrong += (uintptr_t)call->saved % 64 != 0;
    memcpy(call->result, call->inputs[0]->real, (size_t)call->output->count * sizeof(tg_real));
}

static void saving_backward(const tg_call *call) {
    const saving *s = call->attributes;
    memset(call->scratch, 0x77, s->bytes);
    for (size_t i = 0; i < s->bytes; i++)
        *s->wrong += ((const unsigned char *)call->saved)[i] != 0x5a ? 1000 : 0;
    for (int64_t i = 0; i < call->output->count; i++)
        call->input_grads[0][i] += call->output_grad[i];
}

static const tg_op saving_op = {
    .name = "saving",
    .input_count = 1,
    .attribute_bytes = sizeof(saving),
    .differentiable = TG_INPUT(0),
    .check = saving_check,
    .forward = saving_forward,
    .backward = saving_backward,
};

/* A copy without a backward. */
static void copy_forward(const tg_call *call) {
    memcpy(call->result, call->inputs[0]->real, (size_t)call->output->count * sizeof(tg_real));
}

static const tg_op one_way_op = {
    .name = "one_way",
    .input_count = 1,
    .differentiable = TG_INPUT(0),
    .check = check_same,
    .forward = copy_forward,
};

/* Comes out as zeros of whatever shape the attributes say. */
static tg_status shape_check(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = *(const tg_shape *)call->attributes;
    return TG_OK;
}

static void zeros_forward(const tg_call *call) {
    memset(call->result, 0, (size_t)call->output->count * sizeof(tg_real));
}

static const tg_op zeros_op = {
    .name = "zeros",
    .input_count = 1,
    .attribute_bytes = sizeof(tg_shape),
    .check = shape_check,
    .forward = zeros_forward,
};

static const tg_op alias_op = {
    .name = "alias",
    .input_count = 1,
    .attribute_bytes = sizeof(tg_shape),
    .aliases_input = true,
    .check = shape_check,
};

/* A scalar 0 whose backward needs scratch as large as the attributes say, and adds 1 throughout. */
static tg_status greedy_check(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = tg_shape_scalar();
    plan->backward_scratch_bytes = *(const size_t *)call->attributes;
    return TG_OK;
}

static void greedy_backward(const tg_call *call) {
    for (int i = 0; i < call->input_count; i++)
        for (int64_t j = 0; call->input_grads[i] != NULL && j < call->inputs[i]->count; j++) {
            bool fresh = (call->fresh & TG_INPUT(i)) != 0;
            call->input_grads[i][j] = fresh ? 1 : call->input_grads[i][j] + 1;
        }
}

static const tg_op greedy_op = {
    .name = "greedy",
    .input_count = TG_ANY_NUMBER,
    .attribute_bytes = sizeof(size_t),
    .differentiable = TG_EVERY_INPUT,
    .writes_fresh = true,
    .check = greedy_check,
    .forward = zeros_forward,
    .backward = greedy_backward,
};

/* A scalar 0 that counts in backward, for each input, whether it is given a gradient. */
static tg_status choosy_check(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)call;
    (void)error;
    plan->shape = tg_shape_scalar();
    return TG_OK;
}

static void choosy_backward(const tg_call *call) {
    int *given = *(int *const *)call->attributes;
    for (int i = 0; i < call->input_count; i++)
        given[i] += call->input_grads[i] != NULL;
}

static const tg_op choosy_op = {
    .name = "choosy",
    .input_count = 4,
    .attribute_bytes = sizeof(int *),
    .integers = TG_INPUT(3),
    .differentiable = TG_INPUT(0) | TG_INPUT(2) | TG_INPUT(3),
    .check = choosy_check,
    .forward = zeros_forward,
    .backward = choosy_backward,
};

/* (0, 3), which neither forward nor backward may be asked for. */
static tg_status hollow_check(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)call;
    (void)error;
    plan->shape = tg_shape_2d(0, 3);
    plan->saved_bytes = plan->scratch_bytes = plan->backward_scratch_bytes = 100;
    return TG_OK;
}

static void hollow_forward(const tg_call *call) {
    ck_abort_msg("forward for an output of %d elements", (int)call->output->count);
}

static const tg_op hollow_op = {
    .name = "hollow",
    .input_count = 1,
    .attribute_bytes = sizeof(int *),
    .differentiable = TG_INPUT(0),
    .writes_fresh = true,
    .check = hollow_check,
    .forward = hollow_forward,
    .backward = choosy_backward,
};

static tg_status refuse(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)plan;
    return tg_fail(error, TG_ENOTFOUND, "refusing: %d inputs", call->input_count);
}

static const tg_op refusing_op = {
    .name = "refusing", .input_count = 1, .check = refuse, .forward = copy_forward};

static tg_var zeros_of(tg_var x, tg_shape shape) {
    return tg_apply(&zeros_op, 1, &x, &shape);
}

/* --- leaves --- */

START_TEST(leaves) {
    bench b;
    bench_start(&b);
    tg_real reals[6] = {1, 2, 3, 4, 5, 6};
    int32_t ids[2] = {7, 8};
    tg_var c = tg_constant(b.tape, tg_shape_2d(2, 3), reals);
    tg_var v = tg_variable(b.tape, tg_shape_1d(6), reals);
    tg_var i = tg_integers(b.tape, tg_shape_1d(2), ids);
    tg_var p = tg_parameter(b.tape, b.weight);
    memset(reals, 0, sizeof reals); /* the elements were copied */
    ck_assert_ptr_ne(tg_value(c), tg_value(v));
    assert_elements(tg_value(c), 6, numbers);
    assert_elements(tg_value(v), 6, numbers);
    ck_assert_ptr_null(tg_value(i));
    ck_assert_ptr_eq(tg_value(p), tg_param_value(b.weight)); /* not copied */
    ck_assert(tg_shape_equal(tg_shape_of(c), tg_shape_2d(2, 3)));
    ck_assert(tg_shape_equal(tg_shape_of(i), tg_shape_1d(2)));
    ck_assert(tg_shape_equal(tg_shape_of(p), tg_shape_1d(3)));
    tg_var all[4] = {c, v, i, p};
    for (int k = 0; k < 4; k++) {
        ck_assert(tg_is_valid(all[k]));
        ck_assert_ptr_eq(tg_tape_of(all[k]), b.tape);
        ck_assert_ptr_eq(all[k].tape, b.tape);
    }
    ck_assert_uint_eq(tg_tape_length(b.tape), 4);
    ck_assert_uint_eq(tg_tape_length(b.other), 0);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    ck_assert_uint_eq(tg_tape_length(b.tape), 0);
    assert_works(&b);
    bench_end(&b);
}
END_TEST

START_TEST(empty_leaves) {
    bench b;
    bench_start(&b);
    tg_var x = tg_variable(b.tape, tg_shape_2d(0, 3), NULL);
    tg_var i = tg_integers(b.tape, tg_shape_2d(5, 0), NULL);
    ck_assert(tg_is_valid(x) && tg_is_valid(i));
    ck_assert(tg_shape_equal(tg_shape_of(x), tg_shape_2d(0, 3)));
    tg_var loss = tg_sum(tg_mul(x, x));
    ck_assert(tg_item(loss) == 0);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    ck_assert_ptr_nonnull(tg_grad(x));
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    bench_end(&b);
}
END_TEST

START_TEST(single_elements) {
    bench b;
    bench_start(&b);
    ck_assert(tg_item(tg_constant(b.tape, tg_shape_scalar(), numbers)) == 1);
    ck_assert(tg_item(tg_constant(b.tape, tg_shape_3d(1, 1, 1), numbers)) == 1);
    ck_assert(isnan(tg_item(constant(b.tape))));
    ck_assert(isnan(tg_item(tg_constant(b.tape, tg_shape_1d(0), NULL))));
    ck_assert(isnan(tg_item(tg_integers(b.tape, tg_shape_scalar(), integers))));
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK); /* none of it is an error */
    bench_end(&b);
}
END_TEST

START_TEST(labels) {
    bench b;
    bench_start(&b);
    tg_var x = variable(b.tape), y = constant(b.tape);
    tg_var labelled = tg_label(x, "x");
    ck_assert_mem_eq(&labelled, &x, sizeof x);
    tg_label(y, "again");
    ck_assert_uint_eq(tg_find(b.tape, "x").index, x.index);
    tg_var sum = tg_label(tg_add(x, y), "again"); /* the last of the name is found */
    ck_assert_uint_eq(tg_find(b.tape, "again").index, sum.index);
    ck_assert_ptr_eq(tg_value(tg_find(b.tape, "again")), tg_value(sum));
    ck_assert(!tg_is_valid(tg_find(b.tape, "agai")));
    ck_assert(!tg_is_valid(tg_find(b.tape, "")));
    ck_assert(!tg_is_valid(tg_find(b.tape, NULL)));
    ck_assert(!tg_is_valid(tg_find(b.other, "x")));
    tg_label(x, "renamed");
    ck_assert(!tg_is_valid(tg_find(b.tape, "x")));
    tg_label(x, NULL);
    ck_assert(!tg_is_valid(tg_find(b.tape, "renamed")));
    ck_assert_int_eq(tg_tape_error(b.tape)->status, TG_OK); /* not to be found is no error */
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    ck_assert(!tg_is_valid(tg_find(b.tape, "again")));
    variable(b.tape); /* in the place of the old one, without its name */
    ck_assert(!tg_is_valid(tg_find(b.tape, "again")));
    bench_end(&b);
}
END_TEST

/* More nodes than any block holds, and none of them moves. */
START_TEST(many_vars) {
    enum { MANY = 3000 };
    static tg_var vars[MANY];
    static const tg_real *values[MANY];
    bench b;
    bench_start(&b);
    vars[0] = variable(b.tape);
    values[0] = tg_value(vars[0]);
    for (int i = 1; i < MANY; i++) {
        vars[i] = tg_add(vars[i - 1], vars[0]);
        values[i] = tg_value(vars[i]);
    }
    ck_assert_uint_eq(tg_tape_length(b.tape), MANY);
    for (int i = 0; i < MANY; i++)
        if (tg_value(vars[i]) != values[i] || values[i][1] != (tg_real)(2 * (i + 1)))
            ck_abort_msg("var %d has moved or changed", i);
    ck_assert_int_eq(tg_backward(tg_sum(vars[MANY - 1])), TG_OK);
    assert_reals(tg_grad(vars[0]), MANY, MANY, MANY);
    bench_end(&b);
}
END_TEST

/* --- gradients --- */

START_TEST(who_has_a_gradient) {
    bench b;
    bench_start(&b);
    tg_var x = variable(b.tape), c = constant(b.tape), apart = variable(b.tape);
    tg_var w = tg_parameter(b.tape, b.weight);
    tg_var kept = tg_keep_grad(tg_mul(x, c)), plain = tg_mul(kept, w);
    tg_var useless = tg_keep_grad(tg_mul(apart, apart)), dead = tg_keep_grad(tg_mul(c, c));
    tg_var loss = tg_sum(plain);
    ck_assert_ptr_null(tg_grad(x));
    ck_assert_ptr_null(tg_grad(kept));
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    assert_reals(tg_grad(x), 1, 4, 9);    /* c w */
    assert_reals(tg_grad(kept), 1, 2, 3); /* w */
    assert_reals(tg_grad(w), 1, 4, 9);    /* x c */
    ck_assert_ptr_eq(tg_grad(w), tg_param_grad(b.weight));
    tg_var none[] = {c, apart, useless, dead, plain, loss, integer_leaf(b.tape)};
    for (int i = 0; i < COUNT(none); i++)
        ck_assert_ptr_null(tg_grad(none[i]));
    ck_assert_ptr_null(tg_grad(tg_keep_grad(plain))); /* too late */
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    bench_end(&b);
}
END_TEST

/* A var that is used twice, or a gradient that is counted before it is complete, tells. */
START_TEST(vars_used_twice) {
    static const tg_real three = 3, five = 5, one = 1;
    bench b;
    bench_start(&b);
    tg_var x = tg_variable(b.tape, tg_shape_scalar(), &three);
    ck_assert_int_eq(tg_backward(tg_mul(x, x)), TG_OK);
    assert_reals(tg_grad(x), 6);
    tg_tape_reset(b.tape);
    x = tg_variable(b.tape, tg_shape_scalar(), &five);
    ck_assert_int_eq(tg_backward(tg_sub(x, x)), TG_OK);
    assert_reals(tg_grad(x), 0);
    tg_tape_reset(b.tape);
    x = tg_variable(b.tape, tg_shape_scalar(), &one);
    tg_var doubled = tg_add(x, x);
    ck_assert_int_eq(tg_backward(tg_add(doubled, doubled)), TG_OK);
    assert_reals(tg_grad(x), 4);
    tg_tape_reset(b.tape);
    x = tg_variable(b.tape, tg_shape_scalar(), &one);
    tg_var a = tg_variable(b.tape, tg_shape_scalar(), &one), xa = tg_mul(x, a);
    tg_var sum = tg_add(tg_add(tg_mul(x, xa), tg_mul(tg_mul(x, x), a)), tg_mul(x, xa));
    ck_assert_int_eq(tg_backward(sum), TG_OK);
    assert_reals(tg_grad(x), 6);
    assert_reals(tg_grad(a), 3);
    bench_end(&b);
}
END_TEST

/* The same parameter as two vars of one call, which share its gradient. */
START_TEST(parameters_recorded_twice) {
    bench b;
    bench_start(&b);
    tg_params_zero_grad(b.params);
    tg_var first = tg_parameter(b.tape, b.weight), second = tg_parameter(b.tape, b.weight);
    ck_assert_int_eq(tg_backward(tg_sum(tg_mul(first, second))), TG_OK);
    assert_reals(tg_param_grad(b.weight), 2, 4, 6);
    tg_tape_reset(b.tape);
    tg_params_zero_grad(b.params);
    tg_var inputs[3] = {tg_parameter(b.tape, b.weight), variable(b.tape),
                        tg_parameter(b.tape, b.weight)};
    tg_var mixed = tg_apply(&weighted_fresh_op, 3, inputs, NULL);
    ck_assert_int_eq(tg_backward(tg_sum(mixed)), TG_OK);
    assert_reals(tg_param_grad(b.weight), 4, 4, 4);
    assert_reals(tg_grad(inputs[1]), 2, 2, 2);
    bench_end(&b);
}
END_TEST

START_TEST(parameters_sum_up_over_passes_and_tapes) {
    bench b;
    bench_start(&b);
    tg_params_zero_grad(b.params);
    for (int pass = 1; pass <= 4; pass++) {
        tg_tape *tape = pass % 2 == 0 ? b.tape : b.other;
        tg_var w = tg_parameter(tape, b.weight);
        ck_assert_int_eq(tg_backward(tg_sum(tg_mul(w, constant(tape)))), TG_OK);
        ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
        for (int i = 0; i < 3; i++)
            ck_assert(tg_param_grad(b.weight)[i] == (tg_real)pass * numbers[i]);
    }
    tg_var w = tg_parameter(b.tape, b.weight); /* a parameter alone, as the output */
    ck_assert_int_eq(tg_backward_from(w, numbers), TG_OK);
    assert_reals(tg_param_grad(b.weight), 5, 10, 15);
    bench_end(&b);
}
END_TEST

START_TEST(backward_from_any_output) {
    static const tg_real cotangent[3] = {10, -1, 0.5};
    bench b;
    bench_start(&b);
    tg_var x = variable(b.tape), square = tg_keep_grad(tg_mul(x, x));
    tg_var later = tg_mul(square, square); /* recorded after the output: has no part in it */
    ck_assert_int_eq(tg_backward_from(square, cotangent), TG_OK);
    assert_reals(tg_grad(x), 20, -4, 3);
    assert_elements(tg_grad(square), 3, cotangent);
    ck_assert_ptr_null(tg_grad(later));
    tg_tape_reset(b.tape);
    x = variable(b.tape); /* a leaf is its own output */
    ck_assert_int_eq(tg_backward_from(x, cotangent), TG_OK);
    assert_elements(tg_grad(x), 3, cotangent);
    tg_tape_reset(b.tape);
    x = tg_variable(b.tape, tg_shape_2d(4, 0), NULL);
    ck_assert_int_eq(tg_backward_from(tg_mul(x, x), NULL), TG_OK);
    tg_tape_reset(b.tape);
    x = tg_variable(b.tape, tg_shape_3d(1, 1, 1), numbers); /* one element, whatever the rank */
    ck_assert_int_eq(tg_backward(tg_scale(x, 4)), TG_OK);
    assert_reals(tg_grad(x), 4);
    bench_end(&b);
}
END_TEST

/* Recording goes on after backward; what backward has given stays. */
START_TEST(recording_after_backward) {
    bench b;
    bench_start(&b);
    tg_var x = variable(b.tape);
    tg_var loss = tg_sum(tg_mul(x, x));
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    tg_var after = tg_add(x, x);
    assert_reals(tg_value(after), 2, 4, 6);
    assert_reals(tg_grad(x), 2, 4, 6);
    assert_reals(tg_value(x), 1, 2, 3);
    ck_assert(tg_item(loss) == 14);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    bench_end(&b);
}
END_TEST

/* --- gradients whose memory is used again --- */

static uint64_t state;

static int below(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 11) % (uint64_t)n);
}

/* One more var, made of some of the `n` that there are, which have lengths of all kinds. */
static tg_var random_step(const tg_var *vars, int n) {
    tg_var a = vars[below(n)], b = vars[below(n)];
    tg_var fitting = tg_shape_equal(tg_shape_of(a), tg_shape_of(b)) ? b : tg_mean(b);
    switch (below(6)) {
    case 0:
        return tg_add(a, fitting);
    case 1:
        return tg_sub(fitting, a);
    case 2:
        return tg_scale(tg_mul(a, fitting), 0.25);
    case 3:
        return tg_relu(a);
    case 4:
        return tg_softmax(a, 0);
    default:
        return tg_reshape(tg_scale(a, -0.5), tg_shape_1d(-1));
    }
}

/* A random graph over five leaves; `keeping` in 100 of its gradients are kept. */
static void random_graph(tg_tape *tape, uint64_t seed, int keeping, tg_real *grads) {
    static const int64_t lengths[5] = {1, 5, 17, 100, 300};
    tg_real elements[300];
    tg_var vars[120], total = {0};
    state = seed;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 300; j++)
            elements[j] = (tg_real)(below(2000) - 1000) / 500;
        vars[i] = tg_variable(tape, tg_shape_1d(lengths[i]), elements);
    }
    for (int i = 5; i < 120; i++)
        vars[i] = random_step(vars, i);
    for (int i = 0; i < 120; i++) {
        total = i == 0 ? tg_sum(vars[0]) : tg_add(total, tg_sum(vars[i]));
        if ((i * 37 + (int)seed) % 100 < keeping)
            tg_keep_grad(vars[i]);
    }
    ck_assert_int_eq(tg_backward(total), TG_OK);
    for (int i = 0; i < 5; grads += lengths[i++])
        memcpy(grads, tg_grad(vars[i]), (size_t)lengths[i] * sizeof *grads);
    ck_assert_int_eq(tg_tape_reset(tape), TG_OK);
}

/* Kept gradients have memory of their own; the others may not come out differently. */
START_TEST(keeping_changes_no_gradient) {
    bench b;
    bench_start(&b);
    tg_real kept[423], half[423], reused[423];
    for (uint64_t seed = 1; seed < 200; seed++) {
        random_graph(b.tape, seed * 1000003, 100, kept);
        random_graph(b.tape, seed * 1000003, 50, half);
        random_graph(b.tape, seed * 1000003, 0, reused);
        if (memcmp(kept, half, sizeof kept) != 0 || memcmp(kept, reused, sizeof kept) != 0)
            ck_abort_msg("seed %d", (int)seed);
    }
    bench_end(&b);
}
END_TEST

/* --- operations from outside --- */

/* Up to the 31st input each has a bit of its own; the others share the last. One of those has a
 * contribution from elsewhere, which comes first in backward. */
START_TEST(forty_inputs) {
    static const tg_op *const ops[2] = {&weighted_op, &weighted_fresh_op};
    bench b;
    bench_start(&b);
    tg_var inputs[40];
    for (int i = 0; i < 40; i++)
        inputs[i] = i % 7 == 4 ? constant(b.tape) : variable(b.tape);
    tg_var twice[2] = {tg_apply(ops[_i], 40, inputs, NULL), tg_apply(ops[_i], 40, inputs, NULL)};
    assert_reals(tg_value(twice[0]), 820, 1640, 2460);
    tg_var total = tg_add(tg_sum(tg_add(twice[0], twice[1])), tg_sum(inputs[35]));
    ck_assert_int_eq(tg_backward(total), TG_OK);
    for (int i = 0; i < 40; i++) {
        const tg_real *grad = tg_grad(inputs[i]);
        tg_real each = (tg_real)(2 * (i + 1) + (i == 35));
        if (i % 7 == 4)
            ck_assert_ptr_null(grad);
        else
            assert_reals(grad, each, each, each);
    }
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    for (int i = 0; i < 40; i++)
        inputs[i] = i == 0 ? variable(b.tape) : inputs[0];
    ck_assert_int_eq(tg_backward(tg_sum(tg_apply(ops[_i], 40, inputs, NULL))), TG_OK);
    assert_reals(tg_grad(inputs[0]), 820, 820, 820);
    bench_end(&b);
}
END_TEST

/* Of four inputs the first alone wants a gradient and has one: the second is not differentiable, the
 * third a constant, the fourth integers. */
START_TEST(gradients_that_nobody_wants) {
    bench b;
    bench_start(&b);
    int given[4] = {0};
    int *attributes = given;
    tg_var inputs[4] = {variable(b.tape), variable(b.tape), constant(b.tape), integer_leaf(b.tape)};
    tg_var y = tg_apply(&choosy_op, 4, inputs, &attributes);
    ck_assert_int_eq(tg_backward(y), TG_OK);
    ck_assert_int_eq(given[0], 1);
    ck_assert_int_eq(given[1] + given[2] + given[3], 0);
    assert_reals(tg_grad(inputs[0]), 0, 0, 0);
    ck_assert_ptr_null(tg_grad(inputs[1]));
    bench_end(&b);
}
END_TEST

/* No input, no tape: nobody can be told, and nothing happens. */
START_TEST(no_inputs) {
    tg_var none = tg_apply(&weighted_op, 0, NULL, NULL);
    ck_assert(!tg_is_valid(none));
    ck_assert_int_ne(tg_backward(none), TG_OK);
}
END_TEST

/* What forward saves is there in backward, whole and where the header says, also where most of it
 * is never used; scratch comes and goes around it. */
START_TEST(saved_memory) {
    static const size_t sizes[] = {1, 4, 16, 32, 48, 63, 64, 100, 1000, 200000};
    bench b;
    bench_start(&b);
    int wrong = 0;
    saving attributes = {sizes[_i], &wrong};
    tg_var x = variable(b.tape), y = x;
    for (int i = 0; i < 5; i++)
        y = tg_mul(tg_apply(&saving_op, 1, &y, &attributes), constant(b.tape));
    ck_assert_int_eq(tg_backward(tg_sum(y)), TG_OK);
    assert_reals(tg_grad(x), 1, 32, 243);
    ck_assert_msg(wrong < 1000, "%d bytes changed", wrong / 1000);
    ck_assert_msg(wrong == 0, "%d of 5 pieces of %zu bytes not aligned to 64", wrong, sizes[_i]);
    bench_end(&b);
}
END_TEST

/* Neither forward nor backward is called for an output without elements, and the gradients that
 * depend on nothing else are zeros. */
START_TEST(outputs_without_elements) {
    int *no_count = NULL; /* which backward would count in */
    bench b;
    bench_start(&b);
    tg_var x = variable(b.tape);
    tg_var y = tg_apply(&hollow_op, 1, &x, &no_count);
    ck_assert(tg_is_valid(y));
    ck_assert_int_eq(tg_backward_from(y, NULL), TG_OK);
    assert_reals(tg_grad(x), 0, 0, 0);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    x = variable(b.tape);
    tg_var total = tg_add(tg_sum(tg_apply(&hollow_op, 1, &x, &no_count)), tg_sum(tg_mul(x, x)));
    ck_assert_int_eq(tg_backward(total), TG_OK);
    assert_reals(tg_grad(x), 2, 4, 6);
    bench_end(&b);
}
END_TEST

/* Scratch is taken back after each operation. */
START_TEST(scratch_is_used_again) {
    size_t scratch = 1 << 20;
    bench b;
    bench_start(&b);
    tg_var x = variable(b.tape), total = tg_sum(x);
    for (int i = 0; i < 50; i++)
        total = tg_add(total, tg_apply(&greedy_op, 1, &x, &scratch));
    ck_assert_int_eq(tg_backward(total), TG_OK);
    assert_reals(tg_grad(x), 51, 51, 51);
    ck_assert_uint_lt(tg_tape_bytes(b.tape), 10 << 20);
    bench_end(&b);
}
END_TEST

/* Without a backward to come, nothing is kept for it. */
START_TEST(nothing_is_saved_for_constants) {
    bench b;
    bench_start(&b);
    int wrong = 0;
    saving attributes = {1 << 20, &wrong};
    tg_var y = constant(b.tape);
    for (int i = 0; i < 50; i++)
        y = tg_apply(&saving_op, 1, &y, &attributes);
    assert_reals(tg_value(y), 1, 2, 3);
    ck_assert_uint_lt(tg_tape_bytes(b.tape), 10 << 20);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    bench_end(&b);
}
END_TEST

/* An operation without backward is fine where no gradient is wanted. */
START_TEST(one_way_operations) {
    bench b;
    bench_start(&b);
    tg_var c = constant(b.tape);
    assert_reals(tg_value(tg_apply(&one_way_op, 1, &c, NULL)), 1, 2, 3);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
    bench_end(&b);
}
END_TEST

/* --- errors --- */

static void used_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    tg_add(variable(b->tape), x);
}

static void used_after_many_resets(bench *b) {
    tg_var x = variable(b->tape);
    for (int i = 0; i < 1000; i++)
        tg_tape_reset(b->tape);
    variable(b->tape);
    tg_relu(x);
}

static void value_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    ck_assert(!tg_is_valid(x));
    ck_assert_ptr_null(tg_value(x));
}

static void grad_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_backward(tg_sum(x));
    tg_tape_reset(b->tape);
    ck_assert_ptr_null(tg_grad(x));
}

static void item_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    ck_assert(isnan(tg_item(x)));
}

static void shape_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    ck_assert(tg_shape_equal(tg_shape_of(x), tg_shape_scalar()));
}

static void label_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    tg_label(x, "x");
}

static void kept_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    tg_keep_grad(x);
}

static void backward_after_the_reset(bench *b) {
    tg_var loss = tg_sum(variable(b->tape));
    tg_tape_reset(b->tape);
    ck_assert_int_eq(tg_backward(loss), TG_ESTATE);
}

static void backward_from_after_the_reset(bench *b) {
    tg_var x = variable(b->tape);
    tg_tape_reset(b->tape);
    ck_assert_int_eq(tg_backward_from(x, numbers), TG_ESTATE);
}

static void var_of_another_tape(bench *b) {
    tg_add(variable(b->tape), variable(b->other));
    ck_assert_int_eq(tg_tape_reset(b->other), TG_OK);
}

static void first_var_of_none(bench *b) {
    tg_add((tg_var){0}, variable(b->tape));
}

static void second_var_of_none(bench *b) {
    tg_add(variable(b->tape), (tg_var){0});
}

static void result_of_a_failed_step(bench *b) {
    tg_var failed = tg_add(variable(b->tape), (tg_var){0});
    tg_tape_reset(b->tape);
    tg_relu(failed);
}

static void what_was_not_found(bench *b) {
    tg_relu(tg_find(b->tape, "nothing"));
}

static void backward_twice(bench *b) {
    tg_var loss = tg_sum(variable(b->tape));
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    ck_assert_int_eq(tg_backward(loss), TG_ESTATE);
}

static void backward_from_twice(bench *b) {
    tg_var x = variable(b->tape), y = tg_mul(x, x);
    ck_assert_int_eq(tg_backward(tg_sum(y)), TG_OK);
    ck_assert_int_eq(tg_backward_from(y, numbers), TG_ESTATE);
}

static void edit_between(bench *b) {
    tg_var loss = tg_sum(tg_parameter(b->tape, b->weight));
    tg_param_edit(b->weight)[0] = 100;
    ck_assert_int_eq(tg_backward(loss), TG_ESTATE);
}

static void loss_of_many_elements(bench *b) {
    tg_var x = tg_variable(b->tape, tg_shape_2d(2, 3), numbers);
    ck_assert_int_eq(tg_backward(tg_mul(x, x)), TG_ESHAPE);
}

static void loss_of_no_elements(bench *b) {
    ck_assert_int_eq(tg_backward(tg_variable(b->tape, tg_shape_1d(0), NULL)), TG_ESHAPE);
}

static void loss_of_constants(bench *b) {
    ck_assert_int_eq(tg_backward(tg_sum(constant(b->tape))), TG_EINVAL);
}

static void loss_of_integers(bench *b) {
    tg_var i = tg_integers(b->tape, tg_shape_scalar(), integers);
    ck_assert_int_eq(tg_backward(i), TG_EINVAL);
}

static void no_cotangent(bench *b) {
    ck_assert_int_eq(tg_backward_from(variable(b->tape), NULL), TG_EINVAL);
}

static void integers_for_reals(bench *b) {
    tg_add(integer_leaf(b->tape), variable(b->tape));
}

static void reals_for_integers(bench *b) {
    tg_embedding(tg_variable(b->tape, tg_shape_2d(2, 3), numbers), variable(b->tape));
}

static void too_many_inputs(bench *b) {
    tg_var inputs[2] = {variable(b->tape), variable(b->tape)};
    tg_apply(&one_way_op, 2, inputs, NULL);
}

static void no_backward(bench *b) {
    tg_var x = tg_mul(variable(b->tape), constant(b->tape));
    tg_apply(&one_way_op, 1, &x, NULL);
}

static void no_check(bench *b) {
    static const tg_op op = {.name = "unchecked", .input_count = 1, .forward = copy_forward};
    tg_var c = constant(b->tape);
    tg_apply(&op, 1, &c, NULL);
}

static void no_forward(bench *b) {
    static const tg_op op = {.name = "idle", .input_count = 1, .check = check_same};
    tg_var c = constant(b->tape);
    tg_apply(&op, 1, &c, NULL);
}

static void no_attributes(bench *b) {
    tg_var c = constant(b->tape);
    tg_apply(&zeros_op, 1, &c, NULL);
}

static void refused_by_check(bench *b) {
    tg_var c = constant(b->tape);
    tg_apply(&refusing_op, 1, &c, NULL);
}

static void alias_of_another_size(bench *b) {
    tg_var c = constant(b->tape);
    tg_apply(&alias_op, 1, &c, &(tg_shape){.rank = 2, .extent = {3, 2}});
}

static void inner_extents(bench *b) {
    static const tg_real zeros[84] = {0};
    tg_matmul(tg_constant(b->tape, tg_shape_2d(14, 6), zeros),
              tg_constant(b->tape, tg_shape_2d(5, 9), zeros));
}

static void no_broadcast(bench *b) {
    static const tg_real zeros[8] = {0};
    tg_add(tg_constant(b->tape, tg_shape_2d(2, 3), zeros),
           tg_constant(b->tape, tg_shape_2d(2, 4), zeros));
}

/* Empty operands, and a product with 2^64 elements. */
static void result_too_large(bench *b) {
    int64_t far = INT64_C(1) << 32;
    tg_matmul(tg_constant(b->tape, tg_shape_2d(far, 0), NULL),
              tg_constant(b->tape, tg_shape_2d(0, far), NULL));
}

static void result_of_a_wrong_rank(bench *b) {
    zeros_of(constant(b->tape), tg_shape_make(7, NULL));
}

static void result_of_a_negative_extent(bench *b) {
    zeros_of(constant(b->tape), tg_shape_2d(3, -1));
}

static void reshape_to_a_wrong_rank(bench *b) {
    tg_reshape(constant(b->tape), (tg_shape){.rank = 9, .extent = {1, 1, 1, 1, 1, 3}});
}

static void constant_without_elements(bench *b) {
    tg_constant(b->tape, tg_shape_1d(3), NULL);
}

static void variable_without_elements(bench *b) {
    tg_variable(b->tape, tg_shape_scalar(), NULL);
}

static void integers_without_elements(bench *b) {
    tg_integers(b->tape, tg_shape_2d(1, 1), NULL);
}

static void leaf_that_overflows(bench *b) {
    tg_constant(b->tape, tg_shape_2d(INT64_C(1) << 32, INT64_C(1) << 32), numbers);
}

static void leaf_of_a_wrong_rank(bench *b) {
    tg_integers(b->tape, tg_shape_make(-1, NULL), integers);
}

static void no_parameter(bench *b) {
    tg_parameter(b->tape, NULL);
}

/* What the tape says to each: its status, and two pieces of its message. */
static const struct {
    void (*mistake)(bench *b);
    tg_status status;
    const char *says, *too;
} mistakes[] = {
    {used_after_the_reset, TG_ESTATE, "add", "reset"},
    {used_after_many_resets, TG_ESTATE, "relu", "reset"},
    {value_after_the_reset, TG_ESTATE, "value", "reset"},
    {grad_after_the_reset, TG_ESTATE, "grad", "reset"},
    {item_after_the_reset, TG_ESTATE, "item", "reset"},
    {shape_after_the_reset, TG_ESTATE, "shape_of", "reset"},
    {label_after_the_reset, TG_ESTATE, "label", "reset"},
    {kept_after_the_reset, TG_ESTATE, "keep_grad", "reset"},
    {backward_after_the_reset, TG_ESTATE, "backward", "reset"},
    {backward_from_after_the_reset, TG_ESTATE, "backward_from", "reset"},
    {var_of_another_tape, TG_EINVAL, "add: input 1", "another tape"},
    {first_var_of_none, TG_EINVAL, "add: input 0", "no var"},
    {second_var_of_none, TG_EINVAL, "add: input 1", "no var"},
    {result_of_a_failed_step, TG_EINVAL, "relu", "never recorded"},
    {what_was_not_found, TG_EINVAL, "relu", "never recorded"},
    {backward_twice, TG_ESTATE, "backward", "already"},
    {backward_from_twice, TG_ESTATE, "backward", "already"},
    {edit_between, TG_ESTATE, "backward", "weight"},
    {loss_of_many_elements, TG_ESHAPE, "backward", "(2, 3)"},
    {loss_of_no_elements, TG_ESHAPE, "backward", "(0,)"},
    {loss_of_constants, TG_EINVAL, "backward", "gradient"},
    {loss_of_integers, TG_EINVAL, "backward", "gradient"},
    {no_cotangent, TG_EINVAL, "backward_from", "NULL"},
    {integers_for_reals, TG_EMISMATCH, "add: input 0", "reals, not integers"},
    {reals_for_integers, TG_EMISMATCH, "embedding: input 1", "integers, not reals"},
    {too_many_inputs, TG_EINVAL, "one_way", "1 inputs, not 2"},
    {no_backward, TG_EINVAL, "one_way", "no backward"},
    {no_check, TG_EINVAL, "unchecked", "check"},
    {no_forward, TG_EINVAL, "idle", "forward"},
    {no_attributes, TG_EINVAL, "zeros", "attributes"},
    {refused_by_check, TG_ENOTFOUND, "refusing: 1 inputs", ""},
    {alias_of_another_size, TG_ESHAPE, "alias", "elements"},
    {inner_extents, TG_ESHAPE, "matmul: (14, 6) x (5, 9)", "inner extents 6 and 5 differ"},
    {no_broadcast, TG_ESHAPE, "add: (2, 3) and (2, 4)", ""},
    {result_too_large, TG_ESHAPE, "matmul", "(4294967296, 4294967296)"},
    {result_of_a_wrong_rank, TG_ESHAPE, "zeros", "rank 7"},
    {result_of_a_negative_extent, TG_ESHAPE, "zeros", "(3, -1)"},
    {reshape_to_a_wrong_rank, TG_ESHAPE, "reshape", "(3,)"},
    {constant_without_elements, TG_EINVAL, "constant", "NULL"},
    {variable_without_elements, TG_EINVAL, "variable", "NULL"},
    {integers_without_elements, TG_EINVAL, "integers", "NULL"},
    {leaf_that_overflows, TG_ESHAPE, "constant", "(4294967296, 4294967296)"},
    {leaf_of_a_wrong_rank, TG_ESHAPE, "integers", "rank -1"},
    {no_parameter, TG_EINVAL, "parameter", "NULL"},
};

/* On a tape in error every call does nothing, and its result is a var with which others do so too:
 * the first error stays, and is what backward and the reset return. */
static void assert_stuck(bench *b, tg_status status) {
    tg_error first = *tg_tape_error(b->tape);
    size_t length = tg_tape_length(b->tape);
    tg_var vars[] = {constant(b->tape), variable(b->tape), integer_leaf(b->tape),
                     tg_parameter(b->tape, b->weight)};
    tg_var results[] = {tg_add(vars[0], vars[1]), tg_matmul(vars[0], vars[2]), tg_relu(vars[3]),
                        tg_sum((tg_var){b->tape, 0, 1}), tg_add(vars[1], (tg_var){0})};
    for (int i = 0; i < COUNT(vars); i++)
        ck_assert(!tg_is_valid(vars[i]));
    for (int i = 0; i < COUNT(results); i++) {
        ck_assert(!tg_is_valid(results[i]));
        ck_assert_ptr_null(tg_value(results[i]));
        ck_assert_ptr_null(tg_grad(tg_keep_grad(tg_label(results[i], "result"))));
        ck_assert(isnan(tg_item(results[i])));
        ck_assert_int_eq(tg_shape_of(results[i]).rank, 0);
        ck_assert_int_eq(tg_backward(results[i]), status);
        ck_assert_int_eq(tg_backward_from(results[i], numbers), status);
    }
    ck_assert_int_eq(tg_tape_fail(b->tape, TG_EIO, "a later error"), status);
    ck_assert_uint_eq(tg_tape_length(b->tape), length);
    ck_assert_int_eq(tg_tape_error(b->tape)->status, status);
    ck_assert_str_eq(tg_tape_error(b->tape)->message, first.message);
}

START_TEST(mistakes_are_errors_that_stick) {
    bench b;
    bench_start(&b);
    mistakes[_i].mistake(&b);
    const tg_error *error = tg_tape_error(b.tape);
    ck_assert_msg(error->status == mistakes[_i].status, "%s, not %s: \"%s\"",
                  tg_status_name(error->status), tg_status_name(mistakes[_i].status),
                  error->message);
    ck_assert_msg(strstr(error->message, mistakes[_i].says) != NULL &&
                      strstr(error->message, mistakes[_i].too) != NULL,
                  "\"%s\" does not say \"%s\" and \"%s\"", error->message, mistakes[_i].says,
                  mistakes[_i].too);
    assert_stuck(&b, mistakes[_i].status);
    ck_assert_int_eq(tg_tape_reset(b.tape), mistakes[_i].status);
    assert_works(&b);
    bench_end(&b);
}
END_TEST

START_TEST(errors_of_modules) {
    bench b;
    bench_start(&b);
    ck_assert_int_eq(tg_tape_fail(b.tape, TG_ERANGE, "attention: %d heads", 3), TG_ERANGE);
    ck_assert_str_eq(tg_tape_error(b.tape)->message, "attention: 3 heads");
    assert_stuck(&b, TG_ERANGE);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_ERANGE);
    char longer[1000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    tg_tape_fail(b.tape, TG_EINVAL, "%s", longer);
    ck_assert_uint_eq(strlen(tg_tape_error(b.tape)->message), TG_MESSAGE_SIZE - 1);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_EINVAL);
    assert_works(&b);
    bench_end(&b);
}
END_TEST

/* A var with an error behind it does no harm to a sum on another tape. */
START_TEST(tapes_are_apart) {
    bench b;
    bench_start(&b);
    tg_var x = variable(b.other);
    tg_add(variable(b.tape), (tg_var){0});
    tg_var loss = tg_sum(tg_mul(x, x));
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    assert_reals(tg_grad(x), 2, 4, 6);
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_EINVAL);
    assert_reals(tg_grad(x), 2, 4, 6);
    bench_end(&b);
}
END_TEST

/* A var without a tape gives others of its kind, and nothing else. */
static void assert_of_none(tg_var x) {
    tg_var all[] = {x,
                    tg_add(x, x),
                    tg_sub(x, x),
                    tg_mul(x, x),
                    tg_scale(x, 2),
                    tg_matmul(x, x),
                    tg_linear(x, x, x),
                    tg_reshape(x, tg_shape_1d(1)),
                    tg_transpose(x, 0, 1),
                    tg_softmax(x, -1),
                    tg_masked_fill(x, x, 1),
                    tg_relu(x),
                    tg_embedding(x, x),
                    tg_sum(x),
                    tg_mean_axis(x, 0, true),
                    tg_cross_entropy(x, x, TG_IGNORED, TG_SUM),
                    tg_keep_grad(x),
                    tg_label(x, "x")};
    for (int i = 0; i < COUNT(all); i++) {
        ck_assert(!tg_is_valid(all[i]));
        ck_assert_ptr_null(tg_tape_of(all[i]));
        ck_assert_ptr_null(tg_value(all[i]));
        ck_assert_ptr_null(tg_grad(all[i]));
        ck_assert(isnan(tg_item(all[i])));
        ck_assert_int_eq(tg_shape_of(all[i]).rank, 0);
        ck_assert_int_eq(tg_backward(all[i]), TG_ENOMEM);
        ck_assert_int_eq(tg_backward_from(all[i], numbers), TG_ENOMEM);
    }
}

START_TEST(no_tape) {
    bench b;
    bench_start(&b);
    tg_tape_free(NULL);
    ck_assert_int_eq(tg_tape_reset(NULL), TG_ENOMEM);
    ck_assert_int_eq(tg_tape_error(NULL)->status, TG_ENOMEM);
    ck_assert_str_ne(tg_tape_error(NULL)->message, "");
    ck_assert_int_eq(tg_tape_fail(NULL, TG_EINVAL, "nobody hears"), TG_ENOMEM);
    ck_assert_uint_eq(tg_tape_length(NULL), 0);
    ck_assert_uint_eq(tg_tape_bytes(NULL), 0);
    assert_of_none(tg_find(NULL, "x"));
    assert_of_none(constant(NULL));
    assert_of_none(variable(NULL));
    assert_of_none(integer_leaf(NULL));
    assert_of_none(tg_parameter(NULL, b.weight));
    assert_of_none(tg_parameter(NULL, NULL));
    assert_of_none((tg_var){0});
    bench_end(&b);
}
END_TEST

/* A caller that was compiled for the other number type gets an error, never misread numbers. */
START_TEST(another_number_type) {
    size_t other = sizeof(tg_real) == sizeof(float) ? sizeof(double) : sizeof(float);
    bench b;
    bench_start(&b);
    tg_tape_free(b.tape);
    b.tape = tg_tape_create_for(b.context, other);
    ck_assert_ptr_nonnull(b.tape);
    for (int step = 0; step < 3; step++) { /* a reset does not mend it */
        const tg_error *error = tg_tape_error(b.tape);
        ck_assert_int_eq(error->status, TG_EMISMATCH);
        ck_assert_ptr_nonnull(strstr(error->message, "tg_real"));
        ck_assert_ptr_nonnull(strstr(error->message, "tapegrad_f64"));
        assert_stuck(&b, TG_EMISMATCH);
        ck_assert_int_eq(tg_tape_reset(b.tape), TG_EMISMATCH);
    }
    bench_end(&b);
    tg_tape *fitting = tg_tape_create_for(NULL, sizeof(tg_real));
    ck_assert_int_eq(tg_tape_error(fitting)->status, TG_OK);
    tg_tape_free(fitting);
}
END_TEST

/* --- memory --- */

enum { ROWS = 40, WIDE = 300, NARROW = 100 };

/* What a small training step needs: its parameters, and the inputs by value. */
typedef struct model {
    tg_param *weight, *bias, *gain, *table;
    int64_t rows; /* that are used: ROWS at most */
    tg_real x[ROWS * WIDE];
    int32_t mask[ROWS * NARROW], ids[ROWS];
} model;

static void model_start(model *m, tg_params *params) {
    state = 12345;
    m->rows = ROWS;
    tg_params_add(params, "layer.weight", tg_shape_2d(WIDE, NARROW), &m->weight, NULL);
    tg_params_add(params, "layer.bias", tg_shape_1d(NARROW), &m->bias, NULL);
    tg_params_add(params, "layer.gain", tg_shape_1d(NARROW), &m->gain, NULL);
    tg_params_add(params, "layer.table", tg_shape_2d(7, NARROW), &m->table, NULL);
    tg_param *all[4] = {m->weight, m->bias, m->gain, m->table};
    for (int k = 0; k < 4; k++) {
        ck_assert_ptr_nonnull(all[k]);
        for (int64_t i = 0; i < tg_param_count(all[k]); i++)
            tg_param_edit(all[k])[i] = (tg_real)(below(2001) - 1000) / 8000;
    }
    for (int i = 0; i < ROWS * WIDE; i++)
        m->x[i] = (tg_real)(below(2001) - 1000) / 1000;
    for (int i = 0; i < ROWS * NARROW; i++)
        m->mask[i] = below(3) == 0;
    for (int i = 0; i < ROWS; i++)
        m->ids[i] = below(7);
}

/* One step with operations of every kind: saved memory, scratch both ways, aliases, integers, and
 * with every buffer large enough to need memory of its own. */
static tg_status model_step(const model *m, tg_tape *tape, tg_real *loss) {
    tg_var x = tg_constant(tape, tg_shape_2d(m->rows, WIDE), m->x);
    tg_var mask = tg_integers(tape, tg_shape_2d(m->rows, NARROW), m->mask);
    tg_var ids = tg_integers(tape, tg_shape_1d(m->rows), m->ids);
    tg_var h = tg_linear(x, tg_parameter(tape, m->weight), tg_parameter(tape, m->bias));
    h = tg_mul(tg_relu(h), tg_parameter(tape, m->gain)); /* broadcast: scratch in backward */
    h = tg_add(h, tg_embedding(tg_parameter(tape, m->table), ids));
    tg_var filled = tg_keep_grad(tg_masked_fill(h, mask, -1));
    tg_var weights = tg_softmax_masked(tg_scale(h, 2), mask, 0); /* across: scratch in forward */
    tg_var mixed =
        tg_reshape(tg_transpose(tg_mul(filled, weights), 0, 1), tg_shape_2d(m->rows, NARROW));
    tg_var entropy = tg_cross_entropy(mixed, ids, TG_IGNORED, TG_MEAN);
    tg_var total = tg_add(entropy, tg_mean(tg_mul(h, h)));
    tg_status status = tg_backward(total);
    *loss = tg_item(total);
    return status;
}

static void run_reference(const model *m, bench *b, tg_real *loss, tg_real *grad) {
    tg_params_zero_grad(b->params);
    ck_assert_int_eq(model_step(m, b->tape, loss), TG_OK);
    ck_assert(isfinite(*loss));
    memcpy(grad, tg_param_grad(m->weight), WIDE * NARROW * sizeof *grad);
    ck_assert_int_eq(tg_tape_reset(b->tape), TG_OK);
}

static model the_model;
static tg_real reference_grad[WIDE * NARROW];

/* Steps on a new tape, after a leaf of `filler` bytes, with memory for `allowed` more requests; then
 * again with all that it wants, which does what it did before. Whether the first came through. */
static bool step_in_want(bench *b, size_t filler, size_t allowed, tg_real reference,
                         tg_error *error) {
    static const int32_t zeros[1 << 15];
    tg_real loss;
    tg_tape_free(b->tape);
    b->tape = tg_tape_create(b->context);
    if (filler > 0)
        tg_integers(b->tape, tg_shape_1d((int64_t)(filler / sizeof *zeros)), zeros);
    b->memory.fail_at = b->memory.requests + allowed + 1;
    tg_status status = model_step(&the_model, b->tape, &loss);
    b->memory.fail_at = 0;
    *error = *tg_tape_error(b->tape);
    ck_assert(status == TG_OK || status == TG_ENOMEM);
    ck_assert_int_eq(error->status, status);
    ck_assert_int_eq(tg_tape_reset(b->tape), status);
    tg_params_zero_grad(b->params);
    ck_assert_int_eq(model_step(&the_model, b->tape, &loss), TG_OK);
    ck_assert(loss == reference);
    ck_assert_mem_eq(tg_param_grad(the_model.weight), reference_grad, sizeof reference_grad);
    ck_assert_int_eq(tg_tape_reset(b->tape), TG_OK);
    return status == TG_OK;
}

/* With batches of many sizes, so that the chunks run out at many places. */
START_TEST(every_allocation_of_a_step_fails_in_turn) {
    size_t failures = 0;
    bench b;
    bench_start(&b);
    model_start(&the_model, b.params);
    for (the_model.rows = 1; the_model.rows <= ROWS; the_model.rows++) {
        tg_real reference;
        run_reference(&the_model, &b, &reference, reference_grad);
        tg_error error;
        for (size_t allowed = 0; !step_in_want(&b, 0, allowed, reference, &error); allowed++)
            failures++;
    }
    ck_assert_uint_ge(failures, 3 * ROWS);
    bench_end(&b);
}
END_TEST

/* The first chunk is filled up to many a degree and there is no second: so that whatever a step
 * takes from the arena is what fails once. */
START_TEST(everything_taken_in_a_step_fails_in_turn) {
    static const char *const places[] = {"constant",
                                         "integers",
                                         "linear",
                                         "relu",
                                         "mul",
                                         "embedding",
                                         "add",
                                         "masked_fill",
                                         "scale",
                                         "transpose",
                                         "reshape",
                                         "softmax_masked",
                                         "mean",
                                         "backward: no memory for the gradients",
                                         "backward: no memory for the scratch",
                                         "cross_entropy"};
    int seen[COUNT(places)] = {0};
    bench b;
    bench_start(&b);
    model_start(&the_model, b.params);
    the_model.rows = 3;
    tg_real reference;
    run_reference(&the_model, &b, &reference, reference_grad);
    for (size_t filler = 1 << 15; filler <= 1 << 17; filler += 32) {
        tg_error error;
        step_in_want(&b, filler, 0, reference, &error);
        for (int i = 0; i < COUNT(places); i++)
            seen[i] += strncmp(error.message, places[i], strlen(places[i])) == 0;
    }
    for (int i = 0; i < COUNT(places); i++)
        ck_assert_msg(seen[i] > 0, "never failed: %s", places[i]);
    bench_end(&b);
}
END_TEST

/* Making things fails as well: NULL is passed on, and the end tells. */
START_TEST(every_allocation_of_a_program_fails_in_turn) {
    for (size_t fail_at = 1, done = 0; !done; fail_at++) {
        test_memory memory = {.fail_at = fail_at};
        tg_allocator allocator = test_allocator(&memory);
        tg_error error = {TG_OK, ""};
        tg_context *context =
            tg_context_create(&(tg_context_options){.allocator = &allocator}, &error);
        if (context == NULL) {
            ck_assert_int_eq(error.status, TG_ENOMEM);
            ck_assert_uint_eq(memory.live_blocks, 0);
            continue;
        }
        tg_params *params = tg_params_create(context);
        tg_param *weight;
        tg_status added = tg_params_add(params, "w", tg_shape_1d(3), &weight, NULL);
        tg_tape *tape = tg_tape_create(context);
        tg_var loss = tg_sum(tg_mul(tg_parameter(tape, weight), constant(tape)));
        tg_status status = tg_backward(loss);
        tg_status reset = tg_tape_reset(tape);
        ck_assert_int_eq(status, reset);
        done = added == TG_OK && status == TG_OK;
        ck_assert(added == TG_OK || added == TG_ENOMEM);
        /* A parameter that could not be made is a mistake to the tape, or the tape is none. */
        ck_assert(done || added != TG_OK || status == TG_ENOMEM);
        ck_assert(added == TG_OK || status != TG_OK);
        tg_tape_free(tape);
        tg_params_free(params);
        tg_context_free(context);
        ck_assert_uint_eq(memory.live_bytes, 0);
        ck_assert_uint_eq(memory.live_blocks, 0);
    }
}
END_TEST

/* A gradient that was forgotten stays so when memory runs out before anything was added to it: what
 * it held before does not come back. First it is the scratch that fails; then the gradient of the
 * second input, which as an alias of a large parameter needs memory in backward alone. */
START_TEST(a_failed_backward_brings_back_no_old_gradient) {
    size_t scratch = _i == 0 ? 1 << 20 : 0;
    bench b;
    bench_start(&b);
    tg_param *large;
    tg_params_add(b.params, "large", tg_shape_1d(1 << 18), &large, NULL);
    for (int i = 0; i < 3; i++)
        tg_param_grad(b.weight)[i] = 777;
    tg_params_zero_grad(b.params);
    tg_var inputs[2] = {tg_parameter(b.tape, b.weight),
                        tg_reshape(tg_parameter(b.tape, large), tg_shape_2d(2, -1))};
    tg_var loss = tg_apply(&greedy_op, 1 + _i, inputs, &scratch);
    b.memory.fail_at = b.memory.requests + 1;
    ck_assert_int_eq(tg_backward(loss), TG_ENOMEM);
    b.memory.fail_at = 0;
    ck_assert_int_eq(tg_tape_reset(b.tape), TG_ENOMEM);
    assert_reals(tg_param_grad(b.weight), 0, 0, 0);
    inputs[0] = tg_parameter(b.tape, b.weight);
    ck_assert_int_eq(tg_backward(tg_apply(&greedy_op, 1, inputs, &scratch)), TG_OK);
    assert_reals(tg_param_grad(b.weight), 1, 1, 1);
    bench_end(&b);
}
END_TEST

/* After the first step no memory is asked for, and every step gives the same bits. */
START_TEST(steady_state_allocates_nothing) {
    bench b;
    bench_start(&b);
    model_start(&the_model, b.params);
    tg_real loss, reference;
    run_reference(&the_model, &b, &reference, reference_grad);
    run_reference(&the_model, &b, &reference, reference_grad);
    size_t requests = b.memory.requests, bytes = tg_tape_bytes(b.tape);
    for (int step = 0; step < 20; step++) {
        tg_params_zero_grad(b.params);
        ck_assert_int_eq(model_step(&the_model, b.tape, &loss), TG_OK);
        ck_assert(loss == reference);
        ck_assert_mem_eq(tg_param_grad(the_model.weight), reference_grad, sizeof reference_grad);
        ck_assert_int_eq(tg_tape_reset(b.tape), TG_OK);
        ck_assert_uint_eq(b.memory.requests, requests);
        ck_assert_uint_eq(tg_tape_bytes(b.tape), bytes);
    }
    bench_end(&b);
}
END_TEST

START_TEST(bytes_of_a_tape) {
    bench b;
    bench_start(&b);
    model_start(&the_model, b.params);
    tg_tape_free(b.tape);
    size_t others = b.memory.live_bytes;
    b.tape = tg_tape_create(b.context);
    ck_assert_uint_eq(tg_tape_bytes(b.tape), b.memory.live_bytes - others);
    tg_real loss;
    ck_assert_int_eq(model_step(&the_model, b.tape, &loss), TG_OK);
    size_t held = b.memory.live_bytes - others;
    ck_assert_uint_le(tg_tape_bytes(b.tape), held);
    ck_assert_uint_ge(tg_tape_bytes(b.tape), held - 2048); /* but for what chunks need themselves */
    bench_end(&b);
}
END_TEST

/* Forced through the context, every kernel table gives the same step. */
START_TEST(every_kernel_table_gives_the_same_step) {
    bench b;
    bench_start(&b);
    model_start(&the_model, b.params);
    tg_real loss, reference = 0;
    for (int i = 0; i < tg_kernels_count(); i++) {
        tg_context *context = tg_context_create(
            &(tg_context_options){.allocator = NULL, .kernels = tg_kernels_name(i)}, NULL);
        tg_tape *tape = tg_tape_create(context);
        tg_params_zero_grad(b.params);
        ck_assert_int_eq(model_step(&the_model, tape, &loss), TG_OK);
        if (i == 0) {
            reference = loss;
            memcpy(reference_grad, tg_param_grad(the_model.weight), sizeof reference_grad);
        }
        ck_assert(loss == reference);
        ck_assert_mem_eq(tg_param_grad(the_model.weight), reference_grad, sizeof reference_grad);
        tg_tape_free(tape);
        tg_context_free(context);
    }
    bench_end(&b);
}
END_TEST

START_TEST(no_memory_for_a_tape) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    memory.fail_at = memory.requests + 1;
    ck_assert_ptr_null(tg_tape_create(context));
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

static void add_gradient_tests(TCase *tests) {
    tcase_add_test(tests, who_has_a_gradient);
    tcase_add_test(tests, vars_used_twice);
    tcase_add_test(tests, parameters_recorded_twice);
    tcase_add_test(tests, parameters_sum_up_over_passes_and_tapes);
    tcase_add_test(tests, backward_from_any_output);
    tcase_add_test(tests, recording_after_backward);
    tcase_add_test(tests, keeping_changes_no_gradient);
    tcase_add_loop_test(tests, forty_inputs, 0, 2);
    tcase_add_test(tests, gradients_that_nobody_wants);
    tcase_add_test(tests, no_inputs);
    tcase_add_loop_test(tests, saved_memory, 0, 10);
    tcase_add_test(tests, outputs_without_elements);
    tcase_add_test(tests, scratch_is_used_again);
    tcase_add_test(tests, nothing_is_saved_for_constants);
    tcase_add_test(tests, one_way_operations);
}

static void add_memory_tests(TCase *tests) {
    tcase_add_test(tests, every_allocation_of_a_step_fails_in_turn);
    tcase_add_test(tests, everything_taken_in_a_step_fails_in_turn);
    tcase_add_test(tests, every_allocation_of_a_program_fails_in_turn);
    tcase_add_loop_test(tests, a_failed_backward_brings_back_no_old_gradient, 0, 2);
    tcase_add_test(tests, steady_state_allocates_nothing);
    tcase_add_test(tests, bytes_of_a_tape);
    tcase_add_test(tests, every_kernel_table_gives_the_same_step);
    tcase_add_test(tests, no_memory_for_a_tape);
}

static Suite *suite(void) {
    Suite *made = suite_create("tape");
    TCase *leaf_tests = tcase_create("leaves");
    tcase_add_test(leaf_tests, leaves);
    tcase_add_test(leaf_tests, empty_leaves);
    tcase_add_test(leaf_tests, single_elements);
    tcase_add_test(leaf_tests, labels);
    tcase_add_test(leaf_tests, many_vars);
    suite_add_tcase(made, leaf_tests);
    TCase *gradients = tcase_create("gradients");
    tcase_set_timeout(gradients, 30);
    add_gradient_tests(gradients);
    suite_add_tcase(made, gradients);
    TCase *errors = tcase_create("errors");
    tcase_add_loop_test(errors, mistakes_are_errors_that_stick, 0, COUNT(mistakes));
    tcase_add_test(errors, errors_of_modules);
    tcase_add_test(errors, tapes_are_apart);
    tcase_add_test(errors, no_tape);
    tcase_add_test(errors, another_number_type);
    suite_add_tcase(made, errors);
    TCase *memory = tcase_create("memory");
    tcase_set_timeout(memory, 60);
    add_memory_tests(memory);
    suite_add_tcase(made, memory);
    return made;
}

int main(void) {
    return test_main(suite());
}
