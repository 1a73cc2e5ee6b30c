/* First values of parameters against those that PyTorch draws. */
#include "model_support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "golden/training_values.h"

enum { SEEDS = 5, TOKENS = 54, POSITIONS = 84, SMALL_LAYER = 18 };

static void assert_float(tg_real value, const char *name, int64_t i) {
    ck_assert_msg((tg_real)(float)value == value, "%s[%d] = %.17g is no float", name, (int)i,
                  (double)value);
}

static void assert_drawn(const tg_param *param, const float *expected, double tolerance) {
    for (int64_t i = 0; i < tg_param_count(param); i++) {
        tg_real value = tg_param_value(param)[i];
        assert_float(value, tg_param_name(param), i);
        ck_assert_msg(fabs((double)value - (double)expected[i]) <= tolerance,
                      "%s[%d] is %.9g, not %.9g", tg_param_name(param), (int)i, (double)value,
                      (double)expected[i]);
    }
}

/* What the generator draws next shows that it has used up as many words as PyTorch's. */
static void assert_next(tg_rng *rng, float expected) {
    tg_real next;
    ck_assert_int_eq(tg_rng_uniform(rng, 1, 0, 1, &next, NULL), TG_OK);
    ck_assert_float_eq((float)next, expected);
}

START_TEST(the_default_is_what_pytorch_draws) {
    tg_rng rng;
    tg_rng_seed(&rng, golden_seeds[_i]);
    tg_params *params = tg_params_create(NULL);
    tg_transformer_config config = tg_transformer_article();
    tg_transformer model;
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, &rng, NULL), TG_OK);
    const float *expected = golden_pytorch[_i];
    for (size_t i = 0; i < tg_params_count(params); i++) {
        const tg_param *param = tg_params_at(params, i);
        bool normal = param == model.token.table || param == model.position.table;
        assert_drawn(param, expected, normal ? 1e-6 : 0);
        expected += tg_param_count(param);
    }
    ck_assert_int_eq(expected - golden_pytorch[_i], ARTICLE_ELEMENTS);
    assert_next(&rng, *expected);
    tg_params_free(params);
}
END_TEST

START_TEST(normal_draws_are_those_of_pytorch) {
    tg_rng rng;
    tg_rng_seed(&rng, golden_seeds[_i]);
    tg_params *params = tg_params_create(NULL);
    tg_transformer_config config = tg_transformer_article();
    config.token = (tg_init){TG_INIT_NORMAL, 1};
    config.position = (tg_init){TG_INIT_NORMAL, 0.1};
    config.weight = (tg_init){TG_INIT_NORMAL, 0.3};
    tg_transformer model;
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, &rng, NULL), TG_OK);
    const float *expected = golden_normal[_i];
    for (size_t i = 0; i < tg_params_count(params); i++) {
        const tg_param *param = tg_params_at(params, i);
        bool bias = tg_param_shape(param).rank == 1;
        assert_drawn(param, expected, bias ? 0 : 1e-6);
        expected += tg_param_count(param);
    }
    assert_next(&rng, *expected);
    tg_params_free(params);
}
END_TEST

START_TEST(small_modules_are_those_of_pytorch) {
    tg_rng rng;
    tg_rng_seed(&rng, golden_seeds[_i]);
    tg_params *params = tg_params_create(NULL);
    tg_linear_layer layer;
    tg_embedding_layer table;
    tg_linear_config linear = {.in = 5, .out = 3};
    tg_embedding_config embedding = {.rows = 3, .width = 4};
    ck_assert_int_eq(tg_linear_init(&layer, params, "layer", &linear, &rng, NULL), TG_OK);
    ck_assert_int_eq(tg_embedding_init(&table, params, "table", &embedding, &rng, NULL), TG_OK);
    const float *expected = golden_small[_i];
    assert_drawn(layer.weight, expected, 0);
    assert_drawn(layer.bias, expected + tg_param_count(layer.weight), 0);
    assert_drawn(table.table, expected + SMALL_LAYER, 1e-6);
    assert_next(&rng, expected[SMALL_LAYER + tg_param_count(table.table)]);
    tg_params_free(params);
}
END_TEST

/* Three parameters with the values 1, 2, ... */
typedef struct three {
    tg_params *params;
    tg_param *weight, *bias, *table;
} three;

static three make_three(void) {
    three p = {.params = tg_params_create(NULL)};
    tg_params_add(p.params, "weight", tg_shape_2d(4, 3), &p.weight, NULL);
    tg_params_add(p.params, "bias", tg_shape_1d(3), &p.bias, NULL);
    tg_params_add(p.params, "table", tg_shape_2d(7, 3), &p.table, NULL);
    for (size_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < tg_param_count(tg_params_at(p.params, i)); j++)
            tg_param_edit(tg_params_at(p.params, i))[j] = (tg_real)(j + 1);
    return p;
}

static void assert_untouched(const three *p) {
    for (size_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < tg_param_count(tg_params_at(p->params, i)); j++)
            ck_assert_int_eq((int64_t)tg_param_value(tg_params_at(p->params, i))[j], j + 1);
}

START_TEST(an_illegal_deviation_is_refused) {
    static const double deviations[] = {-1, -DBL_MIN, NAN, INFINITY, -INFINITY};
    three p = make_three();
    tg_rng rng, before;
    tg_rng_seed(&rng, 7);
    before = rng;
    tg_init init = {TG_INIT_NORMAL, deviations[_i]};
    tg_error error = {0};
    ck_assert_int_eq(tg_init_weight(&init, p.weight, &rng, &error), TG_EINVAL);
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "deviation"));
    error = (tg_error){0};
    ck_assert_int_eq(tg_init_table(&init, p.table, &rng, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "deviation"));
    ck_assert_int_eq(tg_init_table(&init, p.table, &rng, NULL), TG_EINVAL);
    ck_assert_mem_eq(&rng, &before, sizeof rng);
    assert_untouched(&p);
    tg_params_free(p.params);
}
END_TEST

START_TEST(an_illegal_deviation_is_refused_by_the_model) {
    tg_rng rng;
    tg_rng_seed(&rng, 7);
    tg_params *params = tg_params_create(NULL);
    tg_transformer_config config = tg_transformer_article();
    tg_init *const inits[] = {&config.token, &config.position, &config.weight};
    *inits[_i] = (tg_init){TG_INIT_NORMAL, -0.5};
    tg_transformer model;
    tg_error error = {0};
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, &rng, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "-0.5"));
    tg_params_free(params);
}
END_TEST

START_TEST(without_a_generator_values_stay) {
    static const tg_init inits[] = {{TG_INIT_PYTORCH, 0}, {TG_INIT_NORMAL, 0.5}};
    three p = make_three();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(tg_init_weight(&inits[i], p.weight, NULL, NULL), TG_OK);
        ck_assert_int_eq(tg_init_bias(&inits[i], p.bias, 4, NULL, NULL), TG_OK);
        ck_assert_int_eq(tg_init_table(&inits[i], p.table, NULL, NULL), TG_OK);
    }
    assert_untouched(&p);
    tg_params_free(p.params);
}
END_TEST

START_TEST(a_generator_that_was_never_seeded_is_refused) {
    three p = make_three();
    tg_rng rng = {0};
    tg_init init = {0};
    ck_assert_int_eq(tg_init_weight(&init, p.weight, &rng, NULL), TG_ESTATE);
    ck_assert_int_eq(tg_init_bias(&init, p.bias, 4, &rng, NULL), TG_ESTATE);
    ck_assert_int_eq(tg_init_table(&init, p.table, &rng, NULL), TG_ESTATE);
    assert_untouched(&p);
    tg_params_free(p.params);
}
END_TEST

START_TEST(deviation_zero_gives_zeros) {
    three p = make_three();
    tg_rng rng;
    tg_rng_seed(&rng, 7);
    tg_init init = {TG_INIT_NORMAL, 0};
    ck_assert_int_eq(tg_init_weight(&init, p.weight, &rng, NULL), TG_OK);
    ck_assert_int_eq(tg_init_table(&init, p.table, &rng, NULL), TG_OK);
    for (int64_t i = 0; i < tg_param_count(p.weight); i++)
        ck_assert_double_eq((double)tg_param_value(p.weight)[i], 0);
    for (int64_t i = 0; i < tg_param_count(p.table); i++)
        ck_assert_double_eq((double)tg_param_value(p.table)[i], 0);
    tg_params_free(p.params);
}
END_TEST

START_TEST(misuse_is_refused) {
    tg_params *params = tg_params_create(NULL);
    tg_param *matrix, *vector;
    tg_rng rng;
    const tg_init normal = {TG_INIT_NORMAL, 1}, broken = {TG_INIT_NORMAL, (double)NAN};
    tg_init unknown = {TG_INIT_PYTORCH, 0};
    unknown.kind = 9;
    tg_rng_seed(&rng, 1);
    ck_assert_int_eq(tg_params_add(params, "m", tg_shape_2d(2, 3), &matrix, NULL), TG_OK);
    ck_assert_int_eq(tg_params_add(params, "v", tg_shape_1d(3), &vector, NULL), TG_OK);
    ck_assert_int_eq(tg_init_weight(&normal, vector, &rng, NULL), TG_ESHAPE);
    ck_assert_int_eq(tg_init_table(&normal, vector, &rng, NULL), TG_ESHAPE);
    ck_assert_int_eq(tg_init_bias(&normal, matrix, 2, &rng, NULL), TG_ESHAPE);
    ck_assert_int_eq(tg_init_weight(&unknown, matrix, &rng, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_init_weight(&broken, matrix, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_init_bias(&broken, vector, 2, &rng, NULL), TG_EINVAL);
    tg_param_edit(vector)[1] = 5;
    ck_assert_int_eq(tg_init_bias(&normal, vector, 2, &rng, NULL), TG_OK);
    ck_assert_double_eq((double)tg_param_value(vector)[1], 0);
    tg_params_free(params);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("init");
    TCase *drawn = tcase_create("drawn");
    tcase_add_loop_test(drawn, the_default_is_what_pytorch_draws, 0, SEEDS);
    tcase_add_loop_test(drawn, normal_draws_are_those_of_pytorch, 0, SEEDS);
    tcase_add_loop_test(drawn, small_modules_are_those_of_pytorch, 0, SEEDS);
    suite_add_tcase(s, drawn);
    TCase *edges = tcase_create("edges");
    tcase_add_loop_test(edges, an_illegal_deviation_is_refused, 0, 5);
    tcase_add_loop_test(edges, an_illegal_deviation_is_refused_by_the_model, 0, 3);
    tcase_add_test(edges, without_a_generator_values_stay);
    tcase_add_test(edges, a_generator_that_was_never_seeded_is_refused);
    tcase_add_test(edges, deviation_zero_gives_zeros);
    tcase_add_test(edges, misuse_is_refused);
    suite_add_tcase(s, edges);
    return s;
}

int main(void) {
    return test_main(suite());
}
