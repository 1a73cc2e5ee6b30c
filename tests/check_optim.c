/* Optimisers: their steps against PyTorch's, what they keep, and what they refuse. */
#include "model_support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "golden/training_values.h"

enum { PARAMS = 3, ELEMENTS = 53, STEPS = 20 };

#ifdef TG_F64
#define STEP_TOLERANCE   1e-12
#define HAZARD_TOLERANCE 1e-9
#define GOLDEN_STEPS(i)  golden_steps_##i
typedef double golden_real;
#else
#define STEP_TOLERANCE   1e-6
#define HAZARD_TOLERANCE 1e-5
#define GOLDEN_STEPS(i)  golden_steps_##i##_f32
typedef float golden_real;
#endif

typedef struct optimizer_case {
    const char *name;
    tg_adam_config adam;
    tg_sgd_config sgd;
    int state_count; /* arrays of each parameter that are compared with PyTorch's */
    const golden_real *expected;
} optimizer_case;

static const optimizer_case cases[] = {
    {"adam", {0.1, 0.9, 0.999, 1e-8, 0}, {0, 0}, 2, GOLDEN_STEPS(0)},
    {"adam", {0.02, 0.8, 0.95, 1e-4, 0.05}, {0, 0}, 2, GOLDEN_STEPS(1)},
    {"adam", {0.05, 0, 0.5, 1e-3, 0}, {0, 0}, 2, GOLDEN_STEPS(2)},
    {"sgd", {0, 0, 0, 0, 0}, {0.1, 0}, 0, GOLDEN_STEPS(3)}, /* PyTorch keeps nothing here */
    {"sgd", {0, 0, 0, 0, 0}, {0.05, 0.9}, 1, GOLDEN_STEPS(4)},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static tg_optimizer *make_optimizer(const optimizer_case *c, const tg_context *context,
                                    tg_param *const *params, size_t count, tg_error *error) {
    if (strcmp(c->name, "adam") == 0)
        return tg_adam_create(context, params, count, &c->adam, error);
    return tg_sgd_create(context, params, count, &c->sgd, error);
}

/* Three parameters of 1, 37 and 15 elements, and their gradients, by the generator of
 * make_training.py. */
typedef struct run {
    tg_params *params;
    tg_optimizer *optimizer;
    uint32_t state;
    int done;
} run;

static run start_run(const optimizer_case *c, const tg_context *context) {
    run r = {.params = tg_params_create(context), .state = 1};
    const tg_shape shapes[PARAMS] = {tg_shape_1d(1), tg_shape_1d(37), tg_shape_2d(3, 5)};
    static const char *const names[PARAMS] = {"one", "vector", "matrix"};
    for (int i = 0; i < PARAMS; i++) {
        tg_param *param;
        ck_assert_int_eq(tg_params_add(r.params, names[i], shapes[i], &param, NULL), TG_OK);
        mixer_fill(&r.state, tg_param_count(param), 1, tg_param_edit(param));
    }
    tg_error error = {0};
    r.optimizer = make_optimizer(c, context, tg_params_list(r.params), PARAMS, &error);
    ck_assert_msg(r.optimizer != NULL, "%s", error.message);
    return r;
}

static void end_run(run *r) {
    tg_optimizer_free(r->optimizer);
    tg_params_free(r->params);
}

/* One step. Every fifth leaves the second parameter without a gradient. */
static void step_run(run *r) {
    r->done++;
    tg_params_zero_grad(r->params);
    for (size_t i = 0; i < PARAMS; i++) {
        tg_param *param = tg_params_at(r->params, i);
        tg_real grad[ELEMENTS];
        mixer_fill(&r->state, tg_param_count(param), 1, grad);
        for (int64_t j = 0; j < tg_param_count(param); j += 7)
            grad[j] *= (tg_real)0x1p-20;
        if (i != 1 || r->done % 5 != 0)
            memcpy(tg_param_grad(param), grad, (size_t)tg_param_count(param) * sizeof *grad);
    }
    tg_optimizer_step(r->optimizer);
    ck_assert_int_eq(tg_optimizer_steps(r->optimizer), r->done);
    if (r->done == STEPS / 2) {
        double half = tg_optimizer_rate(r->optimizer) / 2;
        ck_assert_int_eq(tg_optimizer_set_rate(r->optimizer, half, NULL), TG_OK);
        ck_assert_double_eq(tg_optimizer_rate(r->optimizer), half);
    }
}

static const golden_real *assert_elements(const char *name, const tg_real *actual, int64_t count,
                                          const golden_real *expected) {
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(test_near((double)actual[i], (double)expected[i], STEP_TOLERANCE),
                      "%s[%d] is %.17g, not %.17g", name, (int)i, (double)actual[i],
                      (double)expected[i]);
    return expected + count;
}

static const golden_real *assert_params(const run *r, const golden_real *expected) {
    for (size_t i = 0; i < PARAMS; i++) {
        const tg_param *param = tg_params_at(r->params, i);
        expected = assert_elements(tg_param_name(param), tg_param_value(param),
                                   tg_param_count(param), expected);
    }
    return expected;
}

START_TEST(steps_are_those_of_pytorch) {
    const optimizer_case *c = &cases[_i];
    run r = start_run(c, NULL);
    const golden_real *expected = c->expected;
    while (r.done < STEPS) {
        step_run(&r);
        if (r.done == 1 || r.done == 7 || r.done == STEPS)
            expected = assert_params(&r, expected);
    }
    for (int i = 0; i < c->state_count * PARAMS; i++) {
        tg_optimizer_state state = tg_optimizer_state_at(r.optimizer, (size_t)i);
        expected =
            assert_elements(state.name, state.elements, tg_param_count(state.param), expected);
    }
    end_run(&r);
}
END_TEST

START_TEST(all_kernels_give_the_same_bits) {
    golden_real end[ELEMENTS];
    for (int table = 0; table < tg_kernels_count(); table++) {
        tg_context_options options = {.kernels = tg_kernels_name(table)};
        tg_context *context = tg_context_create(&options, NULL);
        run r = start_run(&cases[_i], context);
        while (r.done < STEPS)
            step_run(&r);
        size_t at = 0;
        for (size_t i = 0; i < PARAMS; i++) {
            const tg_param *param = tg_params_at(r.params, i);
            size_t bytes = (size_t)tg_param_count(param) * sizeof *end;
            if (table == 0)
                memcpy(end + at, tg_param_value(param), bytes);
            ck_assert_mem_eq(end + at, tg_param_value(param), bytes);
            at += (size_t)tg_param_count(param);
        }
        end_run(&r);
        tg_context_free(context);
    }
}
END_TEST

START_TEST(states_have_names_and_owners) {
    static const char *const adam[] = {"first_moment", "second_moment"};
    static const char *const sgd[] = {"velocity"};
    const optimizer_case *c = &cases[_i];
    bool is_adam = strcmp(c->name, "adam") == 0;
    run r = start_run(c, NULL);
    ck_assert_str_eq(tg_optimizer_name(r.optimizer), c->name);
    ck_assert_int_eq(tg_optimizer_steps(r.optimizer), 0);
    ck_assert_double_eq(tg_optimizer_rate(r.optimizer), is_adam ? c->adam.rate : c->sgd.rate);
    size_t count = is_adam ? 2 * PARAMS : PARAMS;
    ck_assert_uint_eq(tg_optimizer_state_count(r.optimizer), count);
    for (size_t i = 0; i < count; i++) {
        tg_optimizer_state state = tg_optimizer_state_at(r.optimizer, i);
        ck_assert_str_eq(state.name, (is_adam ? adam : sgd)[i / PARAMS]);
        ck_assert_ptr_eq(state.param, tg_params_at(r.params, i % PARAMS));
        for (int64_t j = 0; j < tg_param_count(state.param); j++)
            ck_assert_double_eq((double)state.elements[j], 0);
    }
    tg_optimizer_state none = tg_optimizer_state_at(r.optimizer, count);
    ck_assert(none.name == NULL && none.param == NULL && none.elements == NULL);
    end_run(&r);
}
END_TEST

/* The settings by name, with what they are in the configuration. */
START_TEST(settings_have_names) {
    static const char *const adam[] = {"rate", "beta1", "beta2", "epsilon", "weight_decay"};
    static const char *const sgd[] = {"rate", "momentum"};
    const optimizer_case *c = &cases[_i];
    bool is_adam = strcmp(c->name, "adam") == 0;
    const double of_adam[] = {c->adam.rate, c->adam.beta1, c->adam.beta2, c->adam.epsilon,
                              c->adam.weight_decay};
    const double of_sgd[] = {c->sgd.rate, c->sgd.momentum};
    run r = start_run(c, NULL);
    size_t count = is_adam ? 5 : 2;
    ck_assert_uint_eq(tg_optimizer_setting_count(r.optimizer), count);
    for (size_t i = 0; i < count; i++) {
        tg_optimizer_setting setting = tg_optimizer_setting_at(r.optimizer, i);
        ck_assert_str_eq(setting.name, (is_adam ? adam : sgd)[i]);
        ck_assert_double_eq(setting.value, (is_adam ? of_adam : of_sgd)[i]);
    }
    ck_assert_ptr_null(tg_optimizer_setting_at(r.optimizer, count).name);
    ck_assert_ptr_null(tg_optimizer_setting_at(r.optimizer, SIZE_MAX).name);
    end_run(&r);
}
END_TEST

START_TEST(settings_can_be_set) {
    optimizer_case plain = cases[_i];
    plain.adam = (tg_adam_config){.rate = 9};
    plain.sgd = (tg_sgd_config){.rate = 9};
    run made = start_run(&cases[_i], NULL), set = start_run(&plain, NULL);
    for (size_t i = 0; i < tg_optimizer_setting_count(made.optimizer); i++) {
        tg_optimizer_setting s = tg_optimizer_setting_at(made.optimizer, i);
        ck_assert_int_eq(tg_optimizer_set(set.optimizer, s.name, s.value, NULL), TG_OK);
    }
    while (made.done < STEPS) {
        step_run(&made);
        step_run(&set);
    }
    for (size_t i = 0; i < PARAMS; i++)
        ck_assert_mem_eq(tg_param_value(tg_params_at(made.params, i)),
                         tg_param_value(tg_params_at(set.params, i)),
                         (size_t)tg_param_count(tg_params_at(made.params, i)) * sizeof(tg_real));
    end_run(&made);
    end_run(&set);
}
END_TEST

START_TEST(illegal_settings_are_not_set) {
    static const double wrong[] = {-0.1, NAN, INFINITY, -INFINITY};
    run r = start_run(&cases[_i], NULL);
    tg_error error = {0};
    for (size_t i = 0; i < tg_optimizer_setting_count(r.optimizer); i++) {
        tg_optimizer_setting before = tg_optimizer_setting_at(r.optimizer, i);
        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; j++) {
            error = (tg_error){0};
            ck_assert_int_eq(tg_optimizer_set(r.optimizer, before.name, wrong[j], &error),
                             TG_EINVAL);
            ck_assert_ptr_nonnull(strstr(error.message, before.name));
            ck_assert_double_eq(tg_optimizer_setting_at(r.optimizer, i).value, before.value);
        }
        bool below_one = strstr(before.name, "beta") != NULL || strstr(before.name, "mom") != NULL;
        ck_assert_int_eq(tg_optimizer_set(r.optimizer, before.name, 1, NULL),
                         below_one ? TG_EINVAL : TG_OK);
    }
    error = (tg_error){0};
    ck_assert_int_eq(tg_optimizer_set(r.optimizer, "Rate", 0.1, &error), TG_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.message, "Rate"));
    ck_assert_ptr_nonnull(strstr(error.message, cases[_i].name));
    end_run(&r);
}
END_TEST

/* Values, state and steps of `from` into `to`. */
static void copy_run(const run *from, run *to) {
    for (size_t i = 0; i < PARAMS; i++) {
        tg_param *param = tg_params_at(to->params, i);
        memcpy(tg_param_edit(param), tg_param_value(tg_params_at(from->params, i)),
               (size_t)tg_param_count(param) * sizeof(tg_real));
    }
    for (size_t i = 0; i < tg_optimizer_state_count(from->optimizer); i++) {
        tg_optimizer_state state = tg_optimizer_state_at(from->optimizer, i);
        memcpy(tg_optimizer_state_at(to->optimizer, i).elements, state.elements,
               (size_t)tg_param_count(state.param) * sizeof(tg_real));
    }
    int64_t steps = tg_optimizer_steps(from->optimizer);
    ck_assert_int_eq(tg_optimizer_set_steps(to->optimizer, steps, NULL), TG_OK);
    to->state = from->state;
    to->done = from->done;
}

START_TEST(a_restored_optimizer_goes_on_with_the_same_bits) {
    run first = start_run(&cases[_i], NULL), second = start_run(&cases[_i], NULL);
    while (first.done < 6)
        step_run(&first);
    copy_run(&first, &second);
    while (first.done < STEPS) {
        step_run(&first);
        step_run(&second);
    }
    for (size_t i = 0; i < PARAMS; i++)
        ck_assert_mem_eq(tg_param_value(tg_params_at(first.params, i)),
                         tg_param_value(tg_params_at(second.params, i)),
                         (size_t)tg_param_count(tg_params_at(first.params, i)) * sizeof(tg_real));
    end_run(&first);
    end_run(&second);
}
END_TEST

/* A scalar parameter of value 1. */
static tg_params *make_one(tg_param **param) {
    tg_params *params = tg_params_create(NULL);
    ck_assert_int_eq(tg_params_add(params, "p", tg_shape_scalar(), param, NULL), TG_OK);
    tg_param_edit(*param)[0] = 1;
    return params;
}

/* The parameter after steps with these gradients. */
static double after(tg_optimizer *optimizer, tg_param *param, int count, const double *grads) {
    for (int i = 0; i < count; i++) {
        tg_param_grad(param)[0] = (tg_real)grads[i];
        tg_optimizer_step(optimizer);
    }
    return (double)tg_param_value(param)[0];
}

static void assert_relative(double actual, double expected) {
    ck_assert_msg(fabs(actual - expected) <= HAZARD_TOLERANCE * fabs(expected), "%.17g, not %.17g",
                  actual, expected);
}

START_TEST(moments_and_steps_are_restored) {
    static const double grads[] = {0.5, -0.25, 1, 0.125};
    static const double values[] = {0.900000002, 0.8733662987, 0.8075551397, 0.7476574665};
    tg_param *param;
    tg_params *params = make_one(&param);
    tg_adam_config config = tg_adam_defaults(0.1);
    tg_optimizer *first = tg_adam_create(NULL, &param, 1, &config, NULL);
    for (int i = 0; i < 2; i++)
        assert_relative(after(first, param, 1, grads + i), values[i]);
    tg_optimizer *second = tg_adam_create(NULL, &param, 1, &config, NULL);
    ck_assert_int_eq(tg_optimizer_set_steps(second, tg_optimizer_steps(first), NULL), TG_OK);
    for (size_t i = 0; i < 2; i++)
        *tg_optimizer_state_at(second, i).elements = *tg_optimizer_state_at(first, i).elements;
    tg_optimizer_free(first);
    for (int i = 2; i < 4; i++)
        assert_relative(after(second, param, 1, grads + i), values[i]);
    tg_optimizer_free(second);
    tg_params_free(params);
}
END_TEST

/* What the restoring above is told from: the step or all of it lost. */
START_TEST(what_is_not_restored_shows) {
    static const double grads[] = {0.5, -0.25, 1, 0.125};
    static const double ends[] = {0.6936462145, 0.6976439859};
    tg_param *param;
    tg_params *params = make_one(&param);
    tg_adam_config config = tg_adam_defaults(0.1);
    tg_optimizer *optimizer = tg_adam_create(NULL, &param, 1, &config, NULL);
    after(optimizer, param, 2, grads);
    ck_assert_int_eq(tg_optimizer_set_steps(optimizer, 0, NULL), TG_OK);
    for (size_t i = 0; i < 2 && _i == 1; i++)
        *tg_optimizer_state_at(optimizer, i).elements = 0;
    assert_relative(after(optimizer, param, 2, grads + 2), ends[_i]);
    tg_optimizer_free(optimizer);
    tg_params_free(params);
}
END_TEST

START_TEST(epsilon_is_added_to_the_corrected_root) {
    static const double tiny = 1e-8, none = 0;
    tg_adam_config config = tg_adam_defaults(0.1);
    ck_assert_double_eq(config.epsilon, 1e-8);
    tg_param *param;
    tg_params *params = make_one(&param);
    tg_optimizer *optimizer = tg_adam_create(NULL, &param, 1, &config, NULL);
    assert_relative(after(optimizer, param, 1, &tiny), 0.95);
    tg_optimizer_free(optimizer);
    tg_param_edit(param)[0] = 1;
    optimizer = tg_adam_create(NULL, &param, 1, &config, NULL);
    ck_assert_double_eq(after(optimizer, param, 1, &none), 1);
    tg_optimizer_free(optimizer);
    tg_params_free(params);
}
END_TEST

START_TEST(defaults_are_those_of_pytorch) {
    tg_adam_config config = tg_adam_defaults(0.25);
    ck_assert_double_eq(config.rate, 0.25);
    ck_assert_double_eq(config.beta1, 0.9);
    ck_assert_double_eq(config.beta2, 0.999);
    ck_assert_double_eq(config.epsilon, 1e-8);
    ck_assert_double_eq(config.weight_decay, 0);
}
END_TEST

typedef struct refusal {
    const char *name; /* in the message */
    tg_adam_config adam;
} refusal;

START_TEST(illegal_settings_of_adam_are_refused) {
    static const refusal refusals[] = {
        {"rate", {-1e-9, 0.9, 0.999, 1e-8, 0}},      {"rate", {NAN, 0.9, 0.999, 1e-8, 0}},
        {"rate", {INFINITY, 0.9, 0.999, 1e-8, 0}},   {"rate", {-INFINITY, 0.9, 0.999, 1e-8, 0}},
        {"beta1", {0.1, 1, 0.999, 1e-8, 0}},         {"beta1", {0.1, -0.1, 0.999, 1e-8, 0}},
        {"beta1", {0.1, NAN, 0.999, 1e-8, 0}},       {"beta1", {0.1, INFINITY, 0.999, 1e-8, 0}},
        {"beta2", {0.1, 0.9, 1, 1e-8, 0}},           {"beta2", {0.1, 0.9, -0.1, 1e-8, 0}},
        {"beta2", {0.1, 0.9, NAN, 1e-8, 0}},         {"beta2", {0.1, 0.9, 1.5, 1e-8, 0}},
        {"epsilon", {0.1, 0.9, 0.999, -1e-8, 0}},    {"epsilon", {0.1, 0.9, 0.999, NAN, 0}},
        {"epsilon", {0.1, 0.9, 0.999, INFINITY, 0}}, {"decay", {0.1, 0.9, 0.999, 1e-8, -0.1}},
        {"decay", {0.1, 0.9, 0.999, 1e-8, NAN}},     {"decay", {0.1, 0.9, 0.999, 1e-8, INFINITY}},
    };
    tg_param *param;
    tg_params *params = make_one(&param);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        tg_error error = {0};
        ck_assert_ptr_null(tg_adam_create(NULL, &param, 1, &refusals[i].adam, &error));
        ck_assert_int_eq(error.status, TG_EINVAL);
        ck_assert_ptr_nonnull(strstr(error.message, "adam"));
        ck_assert_msg(strstr(error.message, refusals[i].name) != NULL, "refusal %d: %s", (int)i,
                      error.message);
        ck_assert_ptr_null(tg_adam_create(NULL, &param, 1, &refusals[i].adam, NULL));
    }
    ck_assert_double_eq((double)tg_param_value(param)[0], 1);
    tg_params_free(params);
}
END_TEST

START_TEST(illegal_settings_of_sgd_are_refused) {
    static const tg_sgd_config refusals[] = {{-1, 0},    {NAN, 0},   {INFINITY, 0},  {0.1, 1},
                                             {0.1, -.1}, {0.1, NAN}, {0.1, INFINITY}};
    tg_param *param;
    tg_params *params = make_one(&param);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        tg_error error = {0};
        ck_assert_ptr_null(tg_sgd_create(NULL, &param, 1, &refusals[i], &error));
        ck_assert_int_eq(error.status, TG_EINVAL);
        ck_assert_msg(strstr(error.message, i < 3 ? "rate" : "momentum") != NULL, "%s",
                      error.message);
    }
    tg_params_free(params);
}
END_TEST

START_TEST(settings_at_the_edge_are_legal) {
    static const tg_adam_config adam = {0, 0, 0, 0, 0};
    static const tg_sgd_config sgd = {0, 0};
    static const double grad = 3;
    tg_param *param;
    tg_params *params = make_one(&param);
    tg_optimizer *optimizer = tg_adam_create(NULL, &param, 1, &adam, NULL);
    ck_assert_double_eq(after(optimizer, param, 1, &grad), 1);
    ck_assert_int_eq(tg_optimizer_set_rate(optimizer, 0.5, NULL), TG_OK);
    ck_assert_double_eq(after(optimizer, param, 1, &grad), 0.5); /* a step of rate times the sign */
    tg_optimizer_free(optimizer);
    optimizer = tg_sgd_create(NULL, &param, 1, &sgd, NULL);
    ck_assert_double_eq(after(optimizer, param, 1, &grad), 0.5);
    tg_optimizer_free(optimizer);
    tg_params_free(params);
}
END_TEST

START_TEST(illegal_rates_and_steps_are_refused) {
    static const double rates[] = {-1e-300, -1, NAN, INFINITY, -INFINITY};
    run r = start_run(&cases[_i], NULL);
    double rate = tg_optimizer_rate(r.optimizer);
    step_run(&r);
    tg_error error = {0};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        error = (tg_error){0};
        ck_assert_int_eq(tg_optimizer_set_rate(r.optimizer, rates[i], &error), TG_EINVAL);
        ck_assert_ptr_nonnull(strstr(error.message, cases[_i].name));
        ck_assert_double_eq(tg_optimizer_rate(r.optimizer), rate);
    }
    error = (tg_error){0};
    ck_assert_int_eq(tg_optimizer_set_steps(r.optimizer, -3, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "-3"));
    ck_assert_int_eq(tg_optimizer_steps(r.optimizer), 1);
    end_run(&r);
}
END_TEST

START_TEST(illegal_parameters_are_refused) {
    run r = start_run(&cases[_i], NULL);
    tg_param *one = tg_params_at(r.params, 0), *vector = tg_params_at(r.params, 1);
    tg_param *const twice[] = {one, vector, one}, *const null[] = {one, NULL};
    tg_error error = {0};
    ck_assert_ptr_null(make_optimizer(&cases[_i], NULL, twice, 3, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "one"));
    error = (tg_error){0};
    ck_assert_ptr_null(make_optimizer(&cases[_i], NULL, null, 2, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "NULL"));
    end_run(&r);
}
END_TEST

START_TEST(an_optimizer_of_nothing_is_legal) {
    tg_params *params = tg_params_create(NULL);
    tg_optimizer *none = make_optimizer(&cases[_i], NULL, tg_params_list(params), 0, NULL);
    ck_assert_ptr_nonnull(none);
    tg_optimizer_step(none);
    ck_assert_int_eq(tg_optimizer_steps(none), 1);
    ck_assert_uint_eq(tg_optimizer_state_count(none), 0);
    ck_assert_ptr_null(tg_optimizer_state_at(none, 0).elements);
    tg_optimizer_free(none);
    tg_optimizer_free(NULL);
    tg_param *empty;
    ck_assert_int_eq(tg_params_add(params, "e", tg_shape_2d(0, 3), &empty, NULL), TG_OK);
    tg_optimizer *of_empty = make_optimizer(&cases[_i], NULL, &empty, 1, NULL);
    ck_assert_ptr_nonnull(of_empty);
    tg_optimizer_step(of_empty);
    tg_optimizer_free(of_empty);
    tg_params_free(params);
}
END_TEST

START_TEST(the_list_of_parameters_is_copied) {
    tg_param *param;
    tg_params *params = make_one(&param);
    tg_param *list[1] = {param};
    static const double grad = 1;
    tg_sgd_config config = {.rate = 0.25};
    tg_optimizer *optimizer = tg_sgd_create(NULL, list, 1, &config, NULL);
    list[0] = NULL;
    ck_assert_double_eq(after(optimizer, param, 1, &grad), 0.75);
    tg_optimizer_free(optimizer);
    tg_params_free(params);
}
END_TEST

START_TEST(memory_that_runs_out) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    tg_param *param;
    tg_params *params = make_one(&param);
    memory.requests = 0;
    tg_optimizer_free(make_optimizer(&cases[_i], context, &param, 1, NULL));
    size_t needed = memory.requests;
    ck_assert_uint_ge(needed, 3);
    for (size_t k = 1; k <= needed; k++) {
        memory.requests = 0;
        memory.fail_at = k;
        tg_error error = {0};
        ck_assert_ptr_null(make_optimizer(&cases[_i], context, &param, 1, &error));
        ck_assert_int_eq(error.status, TG_ENOMEM);
        ck_assert_ptr_nonnull(strstr(error.message, cases[_i].name));
        ck_assert_uint_eq(memory.live_blocks, 1);
    }
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* Steps and everything asked of an optimiser take no memory. */
START_TEST(steps_allocate_nothing) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    run r = start_run(&cases[_i], context);
    memory.requests = 0;
    while (r.done < STEPS)
        step_run(&r);
    ck_assert_uint_eq(memory.requests, 0);
    end_run(&r);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* p^2, recorded with the value that p has. */
static tg_var square(tg_tape *tape, tg_param *param) {
    tg_var p = tg_parameter(tape, param);
    return tg_mul(p, p);
}

START_TEST(a_recording_does_not_go_back_over_a_step) {
    tg_param *param;
    tg_params *params = make_one(&param);
    tg_tape *tape = tg_tape_create(NULL);
    tg_optimizer *optimizer = make_optimizer(&cases[_i], NULL, &param, 1, NULL);
    tg_var loss = square(tape, param);
    tg_optimizer_step(optimizer);
    ck_assert_int_eq(tg_backward(loss), TG_ESTATE);
    ck_assert_ptr_nonnull(strstr(tg_tape_error(tape)->message, "parameter p"));
    ck_assert_int_eq(tg_tape_reset(tape), TG_ESTATE);
    tg_params_zero_grad(params);
    loss = square(tape, param);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    test_assert_near(tg_param_grad(param)[0], 2 * (double)tg_param_value(param)[0], 1e-6);
    tg_optimizer_free(optimizer);
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

/* A parameter without a gradient is moved by what is kept of earlier ones, as by a gradient of
 * zeros. */
START_TEST(no_gradient_counts_as_zeros) {
    run without = start_run(&cases[_i], NULL), zeros = start_run(&cases[_i], NULL);
    for (int i = 0; i < 3; i++) {
        step_run(&without);
        step_run(&zeros);
    }
    tg_params_zero_grad(without.params);
    for (size_t i = 0; i < PARAMS; i++) {
        tg_param *param = tg_params_at(zeros.params, i);
        for (int64_t j = 0; j < tg_param_count(param); j++)
            tg_param_grad(param)[j] = 0;
    }
    tg_optimizer_step(without.optimizer);
    tg_optimizer_step(zeros.optimizer);
    for (size_t i = 0; i < PARAMS; i++)
        ck_assert_mem_eq(tg_param_value(tg_params_at(without.params, i)),
                         tg_param_value(tg_params_at(zeros.params, i)),
                         (size_t)tg_param_count(tg_params_at(zeros.params, i)) * sizeof(tg_real));
    end_run(&without);
    end_run(&zeros);
}
END_TEST

/* A count of steps that would overflow, and settings that a float cannot hold. */
START_TEST(numbers_beyond_all_use_are_refused) {
    tg_params *params = tg_params_create(NULL);
    tg_param *param;
    const tg_adam_config config = tg_adam_defaults(0.1), huge = tg_adam_defaults(1e300);
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(tg_params_add(params, "p", tg_shape_1d(1), &param, NULL), TG_OK);
    ck_assert_ptr_null(tg_adam_create(NULL, tg_params_list(params), 1, &huge, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    tg_optimizer *adam = tg_adam_create(NULL, tg_params_list(params), 1, &config, NULL);
    ck_assert_int_eq(tg_optimizer_set_steps(adam, INT64_MAX, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_optimizer_set_steps(adam, INT64_C(1) << 53, NULL), TG_OK);
    tg_optimizer_step(adam);
    ck_assert_int_eq(tg_optimizer_steps(adam), (INT64_C(1) << 53) + 1);
    ck_assert_double_eq((double)tg_param_value(param)[0], 0);
    ck_assert_int_eq(tg_optimizer_set(adam, "weight_decay", 1e39, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_optimizer_set(adam, NULL, 0.1, NULL), TG_ENOTFOUND);
    tg_optimizer_free(adam);
    tg_params_free(params);
}
END_TEST

/* What a create that failed gives can be used like any other, and asked. */
START_TEST(an_optimizer_that_could_not_be_made_is_legal) {
    tg_error error = {TG_OK, ""};
    const tg_adam_config config = tg_adam_defaults(0.1);
    tg_optimizer *none = tg_adam_create(NULL, NULL, 2, &config, &error);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(error.status, TG_EINVAL);
    tg_optimizer_step(none);
    tg_optimizer_free(none);
    ck_assert_double_eq(tg_optimizer_rate(none), 0);
    ck_assert_int_eq(tg_optimizer_steps(none), 0);
    ck_assert_str_eq(tg_optimizer_name(none), "");
    ck_assert_uint_eq(tg_optimizer_setting_count(none), 0);
    ck_assert_uint_eq(tg_optimizer_state_count(none), 0);
    ck_assert_ptr_null(tg_optimizer_state_at(none, 0).elements);
    ck_assert_int_eq(tg_optimizer_set_rate(none, 0.1, NULL), TG_ENOMEM);
    ck_assert_int_eq(tg_optimizer_set_steps(none, 1, NULL), TG_ENOMEM);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("optim");
    TCase *steps = tcase_create("steps");
    tcase_add_loop_test(steps, steps_are_those_of_pytorch, 0, CASES);
    tcase_add_loop_test(steps, all_kernels_give_the_same_bits, 0, CASES);
    tcase_add_test(steps, moments_and_steps_are_restored);
    tcase_add_loop_test(steps, what_is_not_restored_shows, 0, 2);
    tcase_add_test(steps, epsilon_is_added_to_the_corrected_root);
    tcase_add_loop_test(steps, a_restored_optimizer_goes_on_with_the_same_bits, 0, CASES);
    tcase_add_loop_test(steps, no_gradient_counts_as_zeros, 0, CASES);
    tcase_add_loop_test(steps, a_recording_does_not_go_back_over_a_step, 0, CASES);
    suite_add_tcase(s, steps);
    TCase *edges = tcase_create("edges");
    tcase_add_loop_test(edges, states_have_names_and_owners, 0, CASES);
    tcase_add_loop_test(edges, settings_have_names, 0, CASES);
    tcase_add_loop_test(edges, settings_can_be_set, 0, CASES);
    tcase_add_loop_test(edges, illegal_settings_are_not_set, 0, CASES);
    tcase_add_test(edges, defaults_are_those_of_pytorch);
    tcase_add_test(edges, illegal_settings_of_adam_are_refused);
    tcase_add_test(edges, illegal_settings_of_sgd_are_refused);
    tcase_add_test(edges, settings_at_the_edge_are_legal);
    tcase_add_loop_test(edges, illegal_rates_and_steps_are_refused, 0, CASES);
    tcase_add_loop_test(edges, illegal_parameters_are_refused, 0, CASES);
    tcase_add_loop_test(edges, an_optimizer_of_nothing_is_legal, 0, CASES);
    tcase_add_test(edges, numbers_beyond_all_use_are_refused);
    tcase_add_test(edges, an_optimizer_that_could_not_be_made_is_legal);
    tcase_add_test(edges, the_list_of_parameters_is_copied);
    tcase_add_loop_test(edges, memory_that_runs_out, 0, CASES);
    tcase_add_loop_test(edges, steps_allocate_nothing, 0, CASES);
    suite_add_tcase(s, edges);
    return s;
}

int main(void) {
    return test_main(suite());
}
