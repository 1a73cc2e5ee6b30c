/* Whole training runs of the article's model, laid beside PyTorch's. */
#include "model_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "golden/training_values.h"

enum { SEEDS = 5, STEPS = 200, COMPARED = 50 };

/* The model on all its sentences at once, and Adam. */
typedef struct training {
    article article;
    tg_optimizer *optimizer;
} training;

static void start_training(training *t, const tg_context *context) {
    article_open(&t->article, context);
    tg_adam_config config = tg_adam_defaults(0.01);
    tg_params *params = t->article.params;
    t->optimizer =
        tg_adam_create(context, tg_params_list(params), tg_params_count(params), &config, NULL);
    ck_assert_ptr_nonnull(t->optimizer);
}

static void end_training(training *t) {
    tg_optimizer_free(t->optimizer);
    article_close(&t->article);
}

/* Draws the first values as a user does, in the order in which the model does it. */
static void draw_params(training *t, uint64_t seed) {
    tg_rng rng;
    tg_rng_seed(&rng, seed);
    tg_params *params = tg_params_create(NULL);
    tg_transformer_config config = tg_transformer_article();
    tg_transformer drawn;
    ck_assert_int_eq(tg_transformer_init(&drawn, params, "", &config, &rng, NULL), TG_OK);
    for (size_t i = 0; i < tg_params_count(params); i++) {
        const tg_param *from = tg_params_at(params, i);
        memcpy(tg_param_edit(tg_params_at(t->article.params, i)), tg_param_value(from),
               (size_t)tg_param_count(from) * sizeof(tg_real));
    }
    tg_params_free(params);
}

/* One step; the loss before it. */
static double step(training *t) {
    tg_params_zero_grad(t->article.params);
    tg_var loss = article_loss(&t->article);
    ck_assert_msg(tg_backward(loss) == TG_OK, "%s", tg_tape_error(t->article.tape)->message);
    tg_optimizer_step(t->optimizer);
    return (double)tg_item(loss);
}

static void copy_values(const training *t, tg_real values[ARTICLE_ELEMENTS]) {
    for (size_t i = 0; i < tg_params_count(t->article.params); i++) {
        const tg_param *param = tg_params_at(t->article.params, i);
        memcpy(values, tg_param_value(param), (size_t)tg_param_count(param) * sizeof *values);
        values += tg_param_count(param);
    }
}

#ifdef TG_F64

/* In double nothing but the rounding of the last bit differs: from the very floats that PyTorch
 * drew, the runs stay together to the end. */
START_TEST(a_run_is_that_of_pytorch) {
    training t;
    start_training(&t, NULL);
    set_params(t.article.params, golden_pytorch[_i]);
    double worst = 0;
    for (int i = 0; i < STEPS; i++) {
        double difference = fabs(step(&t) - training_losses[_i][i]);
        ck_assert_msg(difference <= 1e-9, "seed %d, step %d: the loss is off by %g", _i, i + 1,
                      difference);
        worst = fmax(worst, difference);
    }
    printf("training in double, seed %u: %d losses within %.1e of PyTorch's\n",
           (unsigned)golden_seeds[_i], STEPS, worst);
    tg_real values[ARTICLE_ELEMENTS];
    copy_values(&t, values);
    for (int i = 0; i < ARTICLE_ELEMENTS && _i == 0; i++)
        test_assert_near(values[i], training_end[i], 1e-9);
    end_training(&t);
}
END_TEST

#else

/* In float, from the library's own draws: training magnifies every rounding, so that only the
 * beginning can be held to be equal. */
START_TEST(a_run_is_that_of_pytorch) {
    training t;
    start_training(&t, NULL);
    draw_params(&t, golden_seeds[_i]);
    double worst = 0, last = 0;
    for (int i = 0; i < STEPS; i++) {
        last = fabs(step(&t) - (double)training_losses_f32[_i][i]);
        worst = i < COMPARED ? fmax(worst, last) : worst;
        ck_assert_msg(i >= COMPARED || last <= 1e-5, "seed %d, step %d: the loss is off by %g", _i,
                      i + 1, last);
    }
    printf("training in float, seed %u: %d losses within %.1e of PyTorch's, at step %d off by "
           "%.1e\n",
           (unsigned)golden_seeds[_i], COMPARED, worst, STEPS, last);
    end_training(&t);
}
END_TEST

#endif

START_TEST(all_kernels_train_to_the_same_bits) {
    tg_real end[ARTICLE_ELEMENTS], values[ARTICLE_ELEMENTS];
    for (int table = 0; table < tg_kernels_count(); table++) {
        tg_context_options options = {.kernels = tg_kernels_name(table)};
        tg_context *context = tg_context_create(&options, NULL);
        ck_assert_str_eq(tg_context_kernels(context), options.kernels);
        training t;
        start_training(&t, context);
        draw_params(&t, golden_seeds[_i]);
        for (int i = 0; i < STEPS; i++)
            step(&t);
        copy_values(&t, table == 0 ? end : values);
        for (int i = 0; i < ARTICLE_ELEMENTS && table > 0; i++)
            ck_assert_msg(memcmp(&values[i], &end[i], sizeof end[i]) == 0,
                          "element %d: %s gives %a, %s %a", i, options.kernels, (double)values[i],
                          tg_kernels_name(0), (double)end[i]);
        end_training(&t);
        tg_context_free(context);
    }
}
END_TEST

START_TEST(a_run_again_has_the_same_bits) {
    double losses[STEPS];
    tg_real end[ARTICLE_ELEMENTS], values[ARTICLE_ELEMENTS];
    for (int again = 0; again < 2; again++) {
        training t;
        start_training(&t, NULL);
        draw_params(&t, 42);
        for (int i = 0; i < STEPS; i++) {
            double loss = step(&t);
            ck_assert(again == 0 || loss == losses[i]);
            losses[i] = loss;
        }
        copy_values(&t, again ? values : end);
        end_training(&t);
    }
    ck_assert_mem_eq(values, end, sizeof end);
}
END_TEST

START_TEST(steps_allocate_nothing_after_the_first) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    training t;
    start_training(&t, context);
    draw_params(&t, 42);
    ck_assert_uint_gt(memory.requests, 0);
    step(&t);
    step(&t);
    size_t requests = memory.requests, bytes = tg_tape_bytes(t.article.tape);
    for (int i = 0; i < STEPS; i++) {
        step(&t);
        ck_assert_uint_eq(memory.requests, requests);
    }
    ck_assert_uint_eq(tg_tape_bytes(t.article.tape), bytes);
    end_training(&t);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("training");
    TCase *runs = tcase_create("runs");
    tcase_add_loop_test(runs, a_run_is_that_of_pytorch, 0, SEEDS);
    tcase_add_loop_test(runs, all_kernels_train_to_the_same_bits, 0, SEEDS);
    tcase_add_test(runs, a_run_again_has_the_same_bits);
    tcase_add_test(runs, steps_allocate_nothing_after_the_first);
    tcase_set_timeout(runs, 120);
    suite_add_tcase(s, runs);
    return s;
}

int main(void) {
    return test_main(suite());
}
