/* The gradient checker: it must reject wrong gradients of every kind, and pass right ones. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "autograd/ops.h"

static tg_status check_elementwise(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = call->inputs[0]->shape;
    return TG_OK;
}

static void multiply(const tg_call *call) {
    for (int64_t i = 0; i < call->output->count; i++)
        call->result[i] = call->inputs[0]->real[i] * call->inputs[1]->real[i];
}

static void multiply_backward(const tg_call *call) {
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; call->input_grads[k] != NULL && i < call->output->count; i++)
            call->input_grads[k][i] += call->inputs[1 - k]->real[i] * call->output_grad[i];
}

/* The right gradient of input 0, and `factor` times that of input 1. */
static void scaled(const tg_call *call, double factor) {
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; call->input_grads[k] != NULL && i < call->output->count; i++)
            call->input_grads[k][i] +=
                (k == 1 ? factor : 1) * call->inputs[1 - k]->real[i] * call->output_grad[i];
}

static void sign_flipped(const tg_call *call) {
    scaled(call, -1);
}

static void doubled(const tg_call *call) {
    scaled(call, 2);
}

static void a_thousandth_more(const tg_call *call) {
    scaled(call, 1.001);
}

static void zero(const tg_call *call) {
    scaled(call, 0);
}

static void not_a_number(const tg_call *call) {
    scaled(call, (double)NAN);
}

static void infinite(const tg_call *call) {
    scaled(call, (double)INFINITY);
}

static void dropped(const tg_call *call) {
    for (int64_t i = 0; call->input_grads[0] != NULL && i < call->output->count; i++)
        call->input_grads[0][i] += call->inputs[1]->real[i] * call->output_grad[i];
}

static void exchanged(const tg_call *call) {
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; call->input_grads[k] != NULL && i < call->output->count; i++)
            call->input_grads[k][i] += call->inputs[k]->real[i] * call->output_grad[i];
}

static void assigned(const tg_call *call) {
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; call->input_grads[k] != NULL && i < call->output->count; i++)
            call->input_grads[k][i] = call->inputs[1 - k]->real[i] * call->output_grad[i];
}

/* Right as long as both are wanted. */
static void together_only(const tg_call *call) {
    if (call->input_grads[0] != NULL && call->input_grads[1] != NULL)
        multiply_backward(call);
}

/* Input 1 gets what input 0 has gathered until then: right in fresh memory, where that is b g. */
static void through_the_other(const tg_call *call) {
    if (call->input_grads[0] == NULL || call->input_grads[1] == NULL) {
        multiply_backward(call);
        return;
    }
    dropped(call);
    for (int64_t i = 0; i < call->output->count; i++)
        call->input_grads[1][i] +=
            call->input_grads[0][i] / call->inputs[1]->real[i] * call->inputs[0]->real[i];
}

static void shifted(const tg_call *call) {
    multiply_backward(call);
    for (int64_t i = 0; call->input_grads[1] != NULL && i < call->output->count; i++)
        call->input_grads[1][i] += 1e-3;
}

static void one_element_off(const tg_call *call) {
    multiply_backward(call);
    if (call->input_grads[1] != NULL)
        call->input_grads[1][617] += 1e-3;
}

/* For a square matrix. */
static void transposed(const tg_call *call) {
    int64_t n = call->output->shape.extent[0];
    dropped(call);
    for (int64_t i = 0; call->input_grads[1] != NULL && i < n; i++)
        for (int64_t j = 0; j < n; j++)
            call->input_grads[1][j * n + i] +=
                call->inputs[0]->real[i * n + j] * call->output_grad[i * n + j];
}

/* Only for the cotangent of a plain sum. */
static void without_cotangent(const tg_call *call) {
    dropped(call);
    for (int64_t i = 0; call->input_grads[1] != NULL && i < call->output->count; i++)
        call->input_grads[1][i] += call->inputs[0]->real[i];
}

/* An operation of two inputs that multiplies, with this backward. */
#define MULTIPLY(how)                                                                              \
    .name = #how, .input_count = 2, .differentiable = TG_INPUT(0) | TG_INPUT(1),                   \
    .check = check_elementwise, .forward = multiply, .backward = how
#define READS_BOTH .backward_reads = TG_INPUT(0) | TG_INPUT(1)

static const tg_op sign_flipped_op = {MULTIPLY(sign_flipped), READS_BOTH};
static const tg_op doubled_op = {MULTIPLY(doubled), READS_BOTH};
static const tg_op a_thousandth_more_op = {MULTIPLY(a_thousandth_more), READS_BOTH};
static const tg_op zero_op = {MULTIPLY(zero), READS_BOTH};
static const tg_op not_a_number_op = {MULTIPLY(not_a_number), READS_BOTH};
static const tg_op infinite_op = {MULTIPLY(infinite), READS_BOTH};
static const tg_op dropped_op = {MULTIPLY(dropped), READS_BOTH};
static const tg_op exchanged_op = {MULTIPLY(exchanged), READS_BOTH};
static const tg_op assigned_op = {MULTIPLY(assigned), READS_BOTH};
static const tg_op together_only_op = {MULTIPLY(together_only), READS_BOTH};
static const tg_op through_the_other_op = {MULTIPLY(through_the_other), READS_BOTH};
static const tg_op shifted_op = {MULTIPLY(shifted), READS_BOTH};
static const tg_op one_element_off_op = {MULTIPLY(one_element_off), READS_BOTH};
static const tg_op transposed_op = {MULTIPLY(transposed), READS_BOTH};
static const tg_op without_cotangent_op = {MULTIPLY(without_cotangent), READS_BOTH};

/* Right arithmetic, wrong declarations. */
static const tg_op first_undeclared_op = {MULTIPLY(multiply_backward),
                                          .backward_reads = TG_INPUT(1)};
static const tg_op second_undeclared_op = {MULTIPLY(multiply_backward),
                                           .backward_reads = TG_INPUT(0)};
static const tg_op adds_to_fresh_op = {MULTIPLY(multiply_backward), READS_BOTH,
                                       .writes_fresh = true};
static const tg_op always_fresh_op = {MULTIPLY(assigned), READS_BOTH, .writes_fresh = true};
static const tg_op not_differentiable_op = {.name = "not_differentiable",
                                            .input_count = 2,
                                            .differentiable = TG_INPUT(0),
                                            READS_BOTH,
                                            .check = check_elementwise,
                                            .forward = multiply,
                                            .backward = dropped};

static void exponential(const tg_call *call) {
    for (int64_t i = 0; i < call->output->count; i++)
        call->result[i] = exp(call->inputs[0]->real[i]);
}

static void exponential_backward(const tg_call *call) {
    for (int64_t i = 0; i < call->output->count; i++)
        call->input_grads[0][i] += call->output->real[i] * call->output_grad[i];
}

static const tg_op output_undeclared_op = {.name = "output_undeclared",
                                           .input_count = 1,
                                           .differentiable = TG_INPUT(0),
                                           .check = check_elementwise,
                                           .forward = exponential,
                                           .backward = exponential_backward};

/* Softmax over all elements. */
static void softmax(const tg_call *call) {
    double sum = 0;
    exponential(call);
    for (int64_t i = 0; i < call->output->count; i++)
        sum += call->result[i];
    for (int64_t i = 0; i < call->output->count; i++)
        call->result[i] /= sum;
}

/* -7 times too large, and 0 all the same under a plain sum. */
static void softmax_backward(const tg_call *call) {
    const tg_real *y = call->output->real, *g = call->output_grad;
    double dot = 0;
    for (int64_t i = 0; i < call->output->count; i++)
        dot += y[i] * g[i];
    for (int64_t i = 0; i < call->output->count; i++)
        call->input_grads[0][i] += -7 * y[i] * (g[i] - dot);
}

static const tg_op softmax_op = {.name = "softmax",
                                 .input_count = 1,
                                 .differentiable = TG_INPUT(0),
                                 .backward_reads_output = true,
                                 .check = check_elementwise,
                                 .forward = softmax,
                                 .backward = softmax_backward};

/* a[rows, columns] + b[columns] */
static void add_row(const tg_call *call) {
    int64_t columns = call->inputs[1]->count;
    for (int64_t i = 0; i < call->output->count; i++)
        call->result[i] = call->inputs[0]->real[i] + call->inputs[1]->real[i % columns];
}

/* The gradient of the row is that of the last one. */
static void add_row_backward(const tg_call *call) {
    int64_t columns = call->inputs[1]->count, last = call->output->count - columns;
    for (int64_t i = 0; call->input_grads[0] != NULL && i < call->output->count; i++)
        call->input_grads[0][i] += call->output_grad[i];
    for (int64_t j = 0; call->input_grads[1] != NULL && j < columns; j++)
        call->input_grads[1][j] += call->output_grad[last + j];
}

static const tg_op add_row_op = {.name = "add_row",
                                 .input_count = 2,
                                 .differentiable = TG_INPUT(0) | TG_INPUT(1),
                                 .check = check_elementwise,
                                 .forward = add_row,
                                 .backward = add_row_backward};

static tg_var apply(tg_tape *tape, const tg_var *inputs, void *user) {
    (void)tape;
    const tg_op *op;
    memcpy(&op, user, sizeof op);
    return tg_apply(op, op->input_count, inputs, NULL);
}

enum { MOST = 1000 };

/* Views of one or two inputs of a shape, the second a row of the first where `row`; filled with
 * numbers between 0.3 and 1.7. */
typedef struct inputs {
    tg_real elements[2][MOST];
    tg_view views[2];
} inputs;

static void fill(inputs *in, tg_shape shape, bool row) {
    tg_shape last = tg_shape_1d(shape.extent[shape.rank - 1]);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < MOST; i++)
            in->elements[k][i] = 1 + 0.7 * sin(12.9898 * (i + 1) + 78.233 * k);
        in->views[k] = (tg_view){
            .shape = k == 1 && row ? last : shape, .type = TG_REAL, .real = in->elements[k]};
        ck_assert_int_eq(tg_shape_count(in->views[k].shape, &in->views[k].count, NULL), TG_OK);
    }
}

static const struct {
    const tg_op *op;
    int input; /* where the fault is */
    int64_t rows, columns;
    const char *message; /* how it is found */
} wrong[] = {
    {&sign_flipped_op, 1, 2, 3, "input 1: "},
    {&doubled_op, 1, 2, 3, "input 1: "},
    {&a_thousandth_more_op, 1, 2, 3, "input 1: "},
    {&zero_op, 1, 2, 3, "input 1: the gradient gives a slope of 0,"},
    {&not_a_number_op, 1, 2, 3, "input 1: the gradient gives a slope of "},
    {&infinite_op, 1, 2, 3, "input 1: "},
    {&dropped_op, 1, 2, 3, "input 1: the gradient gives a slope of 0,"},
    {&exchanged_op, 0, 2, 3, "input 0: "},
    {&assigned_op, 0, 2, 3, "input 0, added to another contribution: "},
    {&together_only_op, 0, 2, 3, "input 0, wanted alone: the gradient gives a slope of 0,"},
    {&through_the_other_op, 1, 2, 3, "input 1, added to another contribution: "},
    {&shifted_op, 1, 2, 3, "input 1: "},
    {&one_element_off_op, 1, 10, 100, "input 1: "},
    {&transposed_op, 1, 3, 3, "input 1: "},
    {&without_cotangent_op, 1, 2, 3, "input 1: "},
    {&first_undeclared_op, 1, 2, 3, "input 1: "},
    {&second_undeclared_op, 0, 2, 3, "input 0: "},
    {&output_undeclared_op, 0, 2, 3, "input 0: "},
    {&adds_to_fresh_op, 0, 2, 3, "input 0"},
    {&always_fresh_op, 0, 2, 3, "input 0, added to another contribution: "},
    {&not_differentiable_op, 1, 2, 3, "input 1: the gradient gives a slope of 0,"},
    {&softmax_op, 0, 2, 3, "input 0: "},
    {&add_row_op, 1, 3, 2, "input 1: "},
};

enum { WRONG = sizeof wrong / sizeof wrong[0] };

/* With several seeds: what is found must not hang on the draw. */
START_TEST(a_wrong_gradient_is_rejected) {
    const tg_op *op = wrong[_i].op;
    static inputs in;
    fill(&in, tg_shape_2d(wrong[_i].rows, wrong[_i].columns), op == &add_row_op);
    for (uint64_t seed = 0; seed < 20; seed++) {
        tg_gradcheck_options options = {.seed = seed};
        tg_gradcheck_report report = {0};
        tg_error error = {0};
        tg_status status =
            tg_gradcheck(NULL, apply, &op, op->input_count, in.views, &options, &report, &error);
        ck_assert_msg(status == TG_EMISMATCH, "%s passes with seed %d", op->name, (int)seed);
        ck_assert_int_eq(error.status, TG_EMISMATCH);
        ck_assert_int_eq(report.worst_input, wrong[_i].input);
        ck_assert_msg(strstr(error.message, wrong[_i].message) != NULL, "%s: \"%s\" lacks \"%s\"",
                      op->name, error.message, wrong[_i].message);
        ck_assert(!(report.worst_error <= 1e-6));
    }
}
END_TEST

/* What a right operation may use: attributes, memory between forward and backward, scratch in
 * both, any number of inputs, `fresh`. */

/* y[i] = cos(rate x[i]) along the last axis; saves the sines. */
static tg_status check_cosine(const tg_call *call, tg_plan *plan, tg_error *error) {
    (void)error;
    plan->shape = call->inputs[0]->shape;
    plan->saved_bytes = (size_t)call->inputs[0]->count * sizeof(tg_real);
    plan->scratch_bytes = plan->saved_bytes;
    plan->backward_scratch_bytes = plan->saved_bytes;
    return TG_OK;
}

static void cosine(const tg_call *call) {
    const double *rate = call->attributes;
    tg_real *sines = call->saved, *angles = call->scratch;
    for (int64_t i = 0; i < call->output->count; i++)
        angles[i] = *rate * call->inputs[0]->real[i];
    for (int64_t i = 0; i < call->output->count; i++) {
        sines[i] = sin(angles[i]);
        call->result[i] = cos(angles[i]);
    }
}

static void cosine_backward(const tg_call *call) {
    const double *rate = call->attributes;
    const tg_real *sines = call->saved;
    tg_real *slopes = call->scratch;
    for (int64_t i = 0; i < call->output->count; i++)
        slopes[i] = -*rate * sines[i];
    for (int64_t i = 0; i < call->output->count; i++) {
        tg_real *grad = &call->input_grads[0][i];
        tg_real added = slopes[i] * call->output_grad[i];
        *grad = (call->fresh & TG_INPUT(0)) != 0 ? added : *grad + added;
    }
}

static const tg_op cosine_op = {.name = "cosine",
                                .input_count = 1,
                                .attribute_bytes = sizeof(double),
                                .differentiable = TG_INPUT(0),
                                .writes_fresh = true,
                                .check = check_cosine,
                                .forward = cosine,
                                .backward = cosine_backward};

/* The product of any number of inputs. */
static void product(const tg_call *call) {
    for (int64_t i = 0; i < call->output->count; i++) {
        call->result[i] = 1;
        for (int k = 0; k < call->input_count; k++)
            call->result[i] *= call->inputs[k]->real[i];
    }
}

static void product_backward(const tg_call *call) {
    for (int k = 0; k < call->input_count; k++)
        for (int64_t i = 0; call->input_grads[k] != NULL && i < call->output->count; i++)
            call->input_grads[k][i] +=
                call->output->real[i] / call->inputs[k]->real[i] * call->output_grad[i];
}

static const tg_op product_op = {.name = "product",
                                 .input_count = TG_ANY_NUMBER,
                                 .differentiable = TG_EVERY_INPUT,
                                 .backward_reads = TG_EVERY_INPUT,
                                 .backward_reads_output = true,
                                 .check = check_elementwise,
                                 .forward = product,
                                 .backward = product_backward};

/* Serves the second input first, which is wrong as soon as `fresh` lets it write what the first has
 * yet to write, too. */
static void second_first(const tg_call *call) {
    for (int k = 1; k >= 0; k--)
        for (int64_t i = 0; call->input_grads[k] != NULL && i < call->output->count; i++) {
            tg_real *grad = &call->input_grads[k][i];
            tg_real added = call->inputs[1 - k]->real[i] * call->output_grad[i];
            *grad = (call->fresh & TG_INPUT(k)) != 0 ? added : *grad + added;
        }
}

static const tg_op second_first_op = {MULTIPLY(second_first), READS_BOTH, .writes_fresh = true};
static const tg_op right_multiply_op = {MULTIPLY(multiply_backward), READS_BOTH};
static const tg_op without_backward_op = {.name = "without_backward",
                                          .input_count = 2,
                                          .differentiable = TG_INPUT(0) | TG_INPUT(1),
                                          .check = check_elementwise,
                                          .forward = multiply};

static tg_var apply_cosine(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    double rate = 1.5;
    return tg_apply(&cosine_op, 1, vars, &rate);
}

/* The first input three times among 34, past what one word of bits can tell apart. */
static tg_var apply_product(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    tg_var many[34];
    for (int i = 0; i < 34; i++)
        many[i] = i < 3 ? vars[0] : i < 32 ? tg_scale(vars[1], 1 + 0.01 * i) : vars[1];
    return tg_apply(&product_op, 34, many, NULL);
}

static tg_var apply_multiply(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    return tg_apply(&right_multiply_op, 2, vars, NULL);
}

static tg_var apply_to_itself(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    return tg_apply(&second_first_op, 2, (tg_var[]){vars[0], vars[0]}, NULL);
}

/* Memory that two names share, read by backward under one of them. */
static tg_var apply_to_reshaped(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    tg_var flat = tg_reshape(tg_mul(vars[0], vars[1]), tg_shape_1d(-1));
    return tg_apply(&right_multiply_op, 2, (tg_var[]){flat, flat}, NULL);
}

static tg_var without_the_second(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    return tg_mul(vars[0], vars[0]);
}

static tg_var constant_function(tg_tape *tape, const tg_var *vars, void *user) {
    (void)vars, (void)user;
    return tg_constant(tape, tg_shape_1d(2), (const tg_real[]){1, 2});
}

static const struct {
    const char *name;
    tg_gradcheck_function function;
} right[] = {
    {"saved, scratch, attributes, fresh", apply_cosine},
    {"any number of inputs", apply_product},
    {"two inputs", apply_multiply},
    {"one var for two inputs", apply_to_itself},
    {"a shared memory", apply_to_reshaped},
    {"an input without influence", without_the_second},
    {"no influence at all", constant_function},
};

enum { RIGHT = sizeof right / sizeof right[0] };

START_TEST(a_right_gradient_passes) {
    static inputs in;
    fill(&in, tg_shape_2d(2, 3), false);
    for (uint64_t seed = 0; seed < 20; seed++) {
        tg_gradcheck_options options = {.seed = seed};
        tg_gradcheck_report report = {.worst_error = 1};
        tg_error error = {0};
        tg_status status =
            tg_gradcheck(NULL, right[_i].function, NULL, 2, in.views, &options, &report, &error);
        ck_assert_msg(status == TG_OK, "%s: %s", right[_i].name, error.message);
        ck_assert_int_eq(error.status, TG_OK);
        ck_assert(report.worst_error <= 1e-7);
    }
    ck_assert_int_eq(tg_gradcheck(NULL, right[_i].function, NULL, 2, in.views, NULL, NULL, NULL),
                     TG_OK);
}
END_TEST

static tg_var squared(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    return tg_mul(vars[0], vars[0]);
}

START_TEST(the_slope_of_a_square_at_100_is_200) {
    static const tg_real hundred = 100;
    tg_view view = {.type = TG_REAL, .count = 1, .real = &hundred};
    const double steps[] = {1e-6, 1e-4, 1e-2};
    for (int i = 0; i < 3; i++) {
        tg_gradcheck_options options = {.step = steps[i], .seed = 3};
        tg_gradcheck_report report = {0};
        ck_assert_int_eq(tg_gradcheck(NULL, squared, NULL, 1, &view, &options, &report, NULL),
                         TG_OK);
        ck_assert(report.analytic != 0);
        test_assert_near(200 * report.numeric / report.analytic, 200, 1e-7);
        test_assert_near(report.worst_error,
                         fabs(report.analytic - report.numeric) /
                             fmax(fabs(report.analytic), fabs(report.numeric)),
                         1e-12);
    }
}
END_TEST

START_TEST(the_tolerance_is_the_callers) {
    const tg_op *op = &a_thousandth_more_op;
    static inputs in;
    fill(&in, tg_shape_2d(2, 3), false);
    tg_gradcheck_report report;
    ck_assert_int_eq(tg_gradcheck(NULL, apply, &op, 2, in.views,
                                  &(tg_gradcheck_options){.tolerance = 1.1e-3}, &report, NULL),
                     TG_OK);
    ck_assert(report.worst_error > 0.9e-3 && report.worst_error < 1.1e-3);
    ck_assert_int_eq(report.worst_input, 1);
    ck_assert_int_eq(tg_gradcheck(NULL, apply, &op, 2, in.views,
                                  &(tg_gradcheck_options){.tolerance = 0.9e-3}, NULL, NULL),
                     TG_EMISMATCH);
}
END_TEST

static tg_var misfit(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    return tg_matmul(vars[0], vars[1]);
}

/* Works until the first input has moved to one side. */
static tg_var edge(tg_tape *tape, const tg_var *vars, void *user) {
    const tg_real *start = user;
    (void)tape;
    if (tg_value(vars[0])[0] > *start)
        return tg_reshape(vars[0], tg_shape_1d(7));
    return tg_scale(vars[0], 2);
}

static tg_var infinite_function(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)user;
    return tg_scale(vars[0], (double)INFINITY);
}

static tg_var no_var(tg_tape *tape, const tg_var *vars, void *user) {
    (void)tape, (void)vars, (void)user;
    return (tg_var){0};
}

START_TEST(what_cannot_be_checked_is_an_error) {
    static inputs in;
    tg_error error = {0};
    fill(&in, tg_shape_2d(2, 3), false);
    const tg_op *op = &without_backward_op;
    ck_assert_int_eq(tg_gradcheck(NULL, apply, &op, 2, in.views, NULL, NULL, &error), TG_EINVAL);
    ck_assert_str_eq(error.message,
                     "gradcheck: without_backward: has no backward, and an input wants a gradient");
    ck_assert_int_eq(tg_gradcheck(NULL, misfit, NULL, 2, in.views, NULL, NULL, &error), TG_ESHAPE);
    ck_assert_msg(strstr(error.message, "matmul: (2, 3) x (2, 3)") != NULL, "%s", error.message);
    ck_assert_int_eq(tg_gradcheck(NULL, edge, in.elements[0], 2, in.views, NULL, NULL, &error),
                     TG_ESHAPE);
    ck_assert_int_eq(tg_gradcheck(NULL, infinite_function, NULL, 2, in.views, NULL, NULL, &error),
                     TG_EMISMATCH);
    ck_assert_int_ne(tg_gradcheck(NULL, no_var, NULL, 2, in.views, NULL, NULL, &error), TG_OK);
    ck_assert_int_eq(tg_gradcheck(NULL, NULL, NULL, 2, in.views, NULL, NULL, &error), TG_EINVAL);
    ck_assert_int_eq(tg_gradcheck(NULL, squared, NULL, 0, in.views, NULL, NULL, &error), TG_EINVAL);
    ck_assert_int_eq(tg_gradcheck(NULL, squared, NULL, 2, NULL, NULL, NULL, &error), TG_EINVAL);
}
END_TEST

static tg_var identity(tg_tape *tape, const tg_var *in, void *user) {
    (void)tape;
    (void)user;
    return tg_scale(in[0], 1);
}

/* Options and views that would check nothing, or read what is not there. */
START_TEST(a_check_that_checks_nothing_is_refused) {
    const tg_real x[2] = {1, 2};
    const int32_t ids[2] = {0, 1};
    tg_view real = {.shape = tg_shape_1d(2), .type = TG_REAL, .count = 2, .real = x};
    tg_view integer = {.shape = tg_shape_1d(2), .type = TG_INT32, .count = 2, .integer = ids};
    tg_gradcheck_options options = {.trials = -1};
    ck_assert_int_eq(tg_gradcheck(NULL, identity, NULL, 1, &real, &options, NULL, NULL), TG_EINVAL);
    options = (tg_gradcheck_options){.tolerance = NAN};
    ck_assert_int_eq(tg_gradcheck(NULL, identity, NULL, 1, &real, &options, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_gradcheck(NULL, identity, NULL, 1, &integer, NULL, NULL, NULL), TG_EINVAL);
    real.count = 0;
    ck_assert_int_eq(tg_gradcheck(NULL, identity, NULL, 1, &real, NULL, NULL, NULL), TG_EINVAL);
    real.count = 2;
    ck_assert_int_eq(tg_gradcheck(NULL, identity, NULL, 1, &real, NULL, NULL, NULL), TG_OK);
    ck_assert_int_eq(tg_gradcheck_for(4, NULL, identity, NULL, 1, &real, NULL, NULL, NULL),
                     TG_EINVAL);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("gradcheck");
    TCase *tests = tcase_create("gradcheck");
    tcase_add_loop_test(tests, a_wrong_gradient_is_rejected, 0, WRONG);
    tcase_add_loop_test(tests, a_right_gradient_passes, 0, RIGHT);
    tcase_add_test(tests, the_slope_of_a_square_at_100_is_200);
    tcase_add_test(tests, the_tolerance_is_the_callers);
    tcase_add_test(tests, what_cannot_be_checked_is_an_error);
    tcase_add_test(tests, a_check_that_checks_nothing_is_refused);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
