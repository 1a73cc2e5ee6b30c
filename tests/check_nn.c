/* Modules: values and gradients against PyTorch's, what they refuse, and memory that runs out. */
#include "model_support.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "golden/training_values.h"

enum { ROWS = 8, LENGTH = 14, WORDS = 9 };

static void assert_values(const char *name, const tg_real *actual, int64_t count,
                          const double *expected) {
    ck_assert_msg(actual != NULL, "%s is NULL", name);
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(test_near((double)actual[i], expected[i], TEST_TOLERANCE),
                      "%s[%d] is %.17g, not %.17g", name, (int)i, (double)actual[i], expected[i]);
}

/* The gradients of all parameters, one behind the other. */
static void assert_grads(tg_params *params, const double *expected) {
    for (size_t i = 0; i < tg_params_count(params); i++) {
        tg_param *param = tg_params_at(params, i);
        assert_values(tg_param_name(param), tg_param_grad(param), tg_param_count(param), expected);
        expected += tg_param_count(param);
    }
}

static void assert_all_equal(const tg_real *values, int64_t count, double expected) {
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg((double)values[i] == expected, "element %d is %.17g, not %g", (int)i,
                      (double)values[i], expected);
}

/* The article's model with PyTorch's first values. */
static article open_article(const tg_context *context) {
    article a;
    article_open(&a, context);
    set_params(a.params, golden_pytorch[0]);
    return a;
}

static double golden_factor(int64_t i) {
    return (double)(i * 29 % 31 - 15) / 16;
}

static void assert_var(tg_tape *tape, const golden_var *golden) {
    tg_var var = tg_find(tape, golden->label);
    ck_assert_msg(tg_is_valid(var), "nothing is labelled %s", golden->label);
    int64_t count;
    ck_assert_int_eq(tg_shape_count(tg_shape_of(var), &count, NULL), TG_OK);
    ck_assert_int_eq(count, ROWS * golden->count);
    const tg_real *value = tg_value(var);
    for (int i = 0; i < 2; i++)
        assert_values(golden->label, value + golden_shown[i] * golden->count, golden->count,
                      golden_vars_shown + golden->first + i * golden->count);
    for (int row = 0; row < ROWS; row++) {
        double product = 0;
        for (int64_t i = 0; i < golden->count; i++)
            product += golden_factor(i) * (double)value[row * golden->count + i];
        ck_assert_msg(test_near(product, golden->products[row], 4 * TEST_TOLERANCE),
                      "sentence %d of %s: the product is %.17g, not %.17g", row, golden->label,
                      product, golden->products[row]);
    }
}

START_TEST(values_and_gradients_are_those_of_pytorch) {
    article a = open_article(NULL);
    tg_var loss = article_loss(&a);
    for (size_t i = 0; i < sizeof golden_vars / sizeof golden_vars[0]; i++)
        assert_var(a.tape, &golden_vars[i]);
    test_assert_near(tg_item(loss), golden_loss, TEST_TOLERANCE);
    tg_params_zero_grad(a.params);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    assert_grads(a.params, golden_grads);
    article_close(&a);
}
END_TEST

START_TEST(gradients_of_several_passes_add_up) {
    article a = open_article(NULL);
    tg_params_zero_grad(a.params);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(tg_backward(article_loss(&a)), TG_OK);
    double thrice[ARTICLE_ELEMENTS];
    for (int i = 0; i < ARTICLE_ELEMENTS; i++)
        thrice[i] = 3 * golden_grads[i];
    assert_grads(a.params, thrice);
    article_close(&a);
}
END_TEST

START_TEST(masked_scores_are_the_scores_up_to_the_diagonal) {
    article a = open_article(NULL);
    article_loss(&a);
    const tg_real *scores = tg_value(tg_find(a.tape, "blocks.0.attention.scores"));
    const tg_real *masked = tg_value(tg_find(a.tape, "blocks.0.attention.masked_scores"));
    const tg_real *weights = tg_value(tg_find(a.tape, "blocks.0.attention.weights"));
    for (int64_t i = 0; i < ROWS * LENGTH; i++)
        for (int64_t j = 0; j < LENGTH; j++) {
            bool hidden = j > i % LENGTH;
            int64_t at = i * LENGTH + j;
            ck_assert_double_eq((double)masked[at], hidden ? -INFINITY : (double)scores[at]);
            ck_assert(hidden ? weights[at] == 0 : weights[at] > 0);
        }
    article_close(&a);
}
END_TEST

START_TEST(labels_have_their_shapes) {
    static const struct {
        const char *label;
        int64_t last;
    } labels[] = {
        {"input", 6},
        {"blocks.0.attention.query", 6},
        {"blocks.0.attention.key", 6},
        {"blocks.0.attention.value", 6},
        {"blocks.0.attention.scores", 14},
        {"blocks.0.attention.masked_scores", 14},
        {"blocks.0.attention.weights", 14},
        {"blocks.0.attention.mix", 6},
        {"blocks.0.hidden", 6},
        {"blocks.0.feed_forward.hidden", 12},
        {"blocks.0.output", 6},
        {"logits", 9},
    };
    article a = open_article(NULL);
    article_loss(&a);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        tg_var var = tg_find(a.tape, labels[i].label);
        ck_assert_msg(tg_is_valid(var), "nothing is labelled %s", labels[i].label);
        ck_assert_msg(tg_shape_equal(tg_shape_of(var), tg_shape_3d(8, 14, labels[i].last)),
                      "the shape of %s", labels[i].label);
    }
    article_close(&a);
}
END_TEST

/* Two blocks whose widths all differ. */
static const tg_transformer_config two_blocks = {
    .vocabulary = 11, .context = 9, .width = 8, .key_width = 5, .hidden = 7, .layers = 2};

enum { TWO_BLOCKS_IDS = 21 };

/* The model and what it is given, by the generator of make_training.py. */
static tg_params *make_two_blocks(tg_transformer *model, const char *name,
                                  int32_t ids[TWO_BLOCKS_IDS], int32_t targets[TWO_BLOCKS_IDS]) {
    uint32_t state = 1;
    tg_params *params = tg_params_create(NULL);
    ck_assert_int_eq(tg_transformer_init(model, params, name, &two_blocks, NULL, NULL), TG_OK);
    for (size_t i = 0; i < tg_params_count(params); i++) {
        tg_param *param = tg_params_at(params, i);
        mixer_fill(&state, tg_param_count(param), 0.5, tg_param_edit(param));
    }
    for (int i = 0; i < TWO_BLOCKS_IDS; i++)
        ids[i] = (int32_t)(mixer_word(&state) % 11);
    for (int i = 0; i < TWO_BLOCKS_IDS; i++)
        targets[i] = i % 4 == 3 ? TG_IGNORED : (int32_t)(mixer_word(&state) % 11);
    return params;
}

START_TEST(two_blocks_of_other_widths_are_those_of_pytorch) {
    int32_t ids[TWO_BLOCKS_IDS], targets[TWO_BLOCKS_IDS];
    tg_transformer model;
    tg_params *params = make_two_blocks(&model, "model", ids, targets);
    tg_tape *tape = tg_tape_create(NULL);
    tg_shape shape = tg_shape_2d(3, 7);
    tg_var logits = tg_transformer_forward(&model, tg_integers(tape, shape, ids));
    ck_assert(tg_shape_equal(tg_shape_of(logits), tg_shape_3d(3, 7, 11)));
    assert_values("logits", tg_value(logits), 231, two_blocks_logits);
    tg_var weights = tg_find(tape, "model.blocks.1.attention.weights");
    assert_values("weights", tg_value(weights), 147, two_blocks_weights);
    tg_var loss = tg_cross_entropy(logits, tg_integers(tape, shape, targets), TG_IGNORED, TG_MEAN);
    test_assert_near(tg_item(loss), two_blocks_loss, TEST_TOLERANCE);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    ck_assert_int_eq(tg_params_elements(params), sizeof two_blocks_grads / sizeof(double));
    assert_grads(params, two_blocks_grads);
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

#ifdef TG_F64
/* Of each element of each parameter, with a quotient of fourth order. */
START_TEST(gradients_are_slopes) {
    const double step = 1e-4;
    article a = open_article(NULL);
    tg_params_zero_grad(a.params);
    ck_assert_int_eq(tg_backward(article_loss(&a)), TG_OK);
    int moved = 0;
    for (size_t i = 0; i < tg_params_count(a.params); i++) {
        tg_param *param = tg_params_at(a.params, i);
        for (int64_t j = 0; j < tg_param_count(param); j++) {
            double kept = tg_param_value(param)[j], at[5];
            for (int k = -2; k <= 2; k++) {
                tg_param_edit(param)[j] = kept + k * step;
                at[k + 2] = tg_item(article_loss(&a));
            }
            tg_param_edit(param)[j] = kept;
            double slope = (8 * (at[3] - at[1]) - (at[4] - at[0])) / (12 * step);
            double grad = tg_param_grad(param)[j];
            double scale = fmax(fmax(fabs(slope), fabs(grad)), 1e-4);
            ck_assert_msg(fabs(slope - grad) <= 1e-6 * scale, "%s[%d]: gradient %.17g, slope %.17g",
                          tg_param_name(param), (int)j, grad, slope);
            moved += grad != 0;
        }
    }
    ck_assert_int_gt(moved, ARTICLE_ELEMENTS * 3 / 4);
    article_close(&a);
}
END_TEST
#endif

/* The logits of ids (rows, length), or (length,) where rows is 0. */
static const tg_real *logits_of(article *a, int64_t rows, int64_t length, const int32_t *ids) {
    tg_shape shape = rows > 0 ? tg_shape_2d(rows, length) : tg_shape_1d(length);
    tg_tape_reset(a->tape);
    tg_var logits = tg_transformer_forward(&a->model, tg_integers(a->tape, shape, ids));
    ck_assert_msg(tg_is_valid(logits), "%s", tg_tape_error(a->tape)->message);
    return tg_value(logits);
}

START_TEST(a_later_token_changes_no_earlier_logits) {
    article a = open_article(NULL);
    enum { COUNT = ROWS * LENGTH * WORDS };
    tg_real before[COUNT];
    int32_t ids[ROWS * LENGTH];
    memcpy(ids, a.batch.inputs.integer, sizeof ids);
    memcpy(before, logits_of(&a, ROWS, LENGTH, ids), sizeof before);
    for (int64_t changed = 0; changed < ROWS * LENGTH; changed++) {
        ids[changed] = (ids[changed] + 1) % WORDS;
        const tg_real *after = logits_of(&a, ROWS, LENGTH, ids);
        for (int64_t i = 0; i < ROWS * LENGTH; i++) {
            bool reached = i / LENGTH == changed / LENGTH && i >= changed;
            bool same = memcmp(&after[i * WORDS], &before[i * WORDS], WORDS * sizeof *after) == 0;
            ck_assert_msg(same == !reached, "token %d %s by token %d", (int)i,
                          reached ? "is not changed" : "is changed", (int)changed);
        }
        ids[changed] = a.batch.inputs.integer[changed];
    }
    article_close(&a);
}
END_TEST

START_TEST(a_beginning_has_the_logits_of_the_whole) {
    article a = open_article(NULL);
    const int32_t *ids = a.batch.inputs.integer + 3 * LENGTH;
    tg_real whole[LENGTH * WORDS];
    memcpy(whole, logits_of(&a, 0, LENGTH, ids), sizeof whole);
    for (int64_t length = 1; length <= LENGTH; length++)
        ck_assert_mem_eq(logits_of(&a, 0, length, ids), whole,
                         (size_t)(length * WORDS) * sizeof(tg_real));
    article_close(&a);
}
END_TEST

/* Logits and gradients of one sentence, as (T,) or as (1, T). */
static void run_sentence(article *a, tg_shape shape, tg_real logits[LENGTH * WORDS],
                         tg_real grads[ARTICLE_ELEMENTS]) {
    const int32_t *ids = a->batch.inputs.integer + LENGTH;
    const int32_t *targets = a->batch.targets.integer + LENGTH;
    tg_tape_reset(a->tape);
    tg_params_zero_grad(a->params);
    tg_var out = tg_transformer_forward(&a->model, tg_integers(a->tape, shape, ids));
    tg_shape expected = shape;
    expected.extent[expected.rank++] = WORDS;
    ck_assert(tg_shape_equal(tg_shape_of(out), expected));
    memcpy(logits, tg_value(out), LENGTH * WORDS * sizeof *logits);
    tg_var loss = tg_cross_entropy(out, tg_integers(a->tape, shape, targets), TG_IGNORED, TG_MEAN);
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    for (size_t i = 0; i < tg_params_count(a->params); i++) {
        tg_param *param = tg_params_at(a->params, i);
        memcpy(grads, tg_param_grad(param), (size_t)tg_param_count(param) * sizeof *grads);
        grads += tg_param_count(param);
    }
}

START_TEST(one_sentence_is_a_batch_of_one) {
    article a = open_article(NULL);
    tg_real logits[2][LENGTH * WORDS], grads[2][ARTICLE_ELEMENTS];
    run_sentence(&a, tg_shape_1d(LENGTH), logits[0], grads[0]);
    run_sentence(&a, tg_shape_2d(1, LENGTH), logits[1], grads[1]);
    ck_assert_mem_eq(logits[0], logits[1], sizeof logits[0]);
    ck_assert_mem_eq(grads[0], grads[1], sizeof grads[0]);
    article_close(&a);
}
END_TEST

START_TEST(ids_of_another_length_are_refused) {
    static const struct {
        tg_shape shape;
        const char *text;
    } wrong[] = {{{{0}, 1}, "(0,)"},        {{{15}, 1}, "(15,)"},           {{{2, 0}, 2}, "(2, 0)"},
                 {{{2, 15}, 2}, "(2, 15)"}, {{{0, 0}, 2}, "(0, 0)"},        {{{0}, 0}, "()"},
                 {{{1000}, 1}, "(1000,)"},  {{{2, 3, 20}, 3}, "(2, 3, 20)"}};
    static const int32_t ids[1000] = {0};
    article a = open_article(NULL);
    tg_var logits = tg_transformer_forward(&a.model, tg_integers(a.tape, wrong[_i].shape, ids));
    ck_assert(!tg_is_valid(logits));
    const tg_error *error = tg_tape_error(a.tape);
    ck_assert_int_eq(error->status, TG_ESHAPE);
    ck_assert_msg(strstr(error->message, wrong[_i].text) != NULL &&
                      strstr(error->message, "14") != NULL,
                  "the message is: %s", error->message);
    ck_assert_int_eq(tg_tape_reset(a.tape), TG_ESHAPE);
    ck_assert_ptr_nonnull(logits_of(&a, 1, LENGTH, a.batch.inputs.integer));
    article_close(&a);
}
END_TEST

START_TEST(ids_outside_the_vocabulary_are_refused) {
    static const int32_t wrong[] = {9, -1, INT32_MAX, INT32_MIN, TG_IGNORED};
    article a = open_article(NULL);
    int32_t ids[3] = {0, 1, wrong[_i]};
    tg_var logits = tg_transformer_forward(&a.model, tg_integers(a.tape, tg_shape_1d(3), ids));
    ck_assert(!tg_is_valid(logits));
    char number[16];
    snprintf(number, sizeof number, "%" PRId32, wrong[_i]);
    ck_assert_int_eq(tg_tape_error(a.tape)->status, TG_ERANGE);
    ck_assert_ptr_nonnull(strstr(tg_tape_error(a.tape)->message, number));
    article_close(&a);
}
END_TEST

START_TEST(reals_for_ids_are_refused) {
    article a = open_article(NULL);
    static const tg_real ids[3] = {0, 1, 2};
    tg_var reals = tg_constant(a.tape, tg_shape_1d(3), ids);
    ck_assert(!tg_is_valid(tg_transformer_forward(&a.model, reals)));
    ck_assert_int_eq(tg_tape_error(a.tape)->status, TG_EMISMATCH);
    tg_tape_reset(a.tape);
    ck_assert(!tg_is_valid(tg_transformer_forward(&a.model, (tg_var){0})));
    ck_assert_int_eq(tg_tape_error(a.tape)->status, TG_OK);
    article_close(&a);
}
END_TEST

/* Attention alone. */
enum { ATTENTION_BATCH = 2, TOKENS = 5, WIDTH = 7, KEY_WIDTH = 4, MASKED_ROW = 7 };

typedef struct attending {
    tg_params *params;
    tg_attention attention;
    tg_tape *tape;
    tg_real x[ATTENTION_BATCH * TOKENS * WIDTH], cotangent[ATTENTION_BATCH * TOKENS * WIDTH];
    int32_t mask[ATTENTION_BATCH * TOKENS * TOKENS];
} attending;

static void open_attention(attending *a) {
    uint32_t state = 1;
    *a = (attending){.params = tg_params_create(NULL), .tape = tg_tape_create(NULL)};
    tg_attention_config config = {.width = WIDTH, .key_width = KEY_WIDTH};
    ck_assert_int_eq(tg_attention_init(&a->attention, a->params, "a", &config, NULL, NULL), TG_OK);
    for (size_t i = 0; i < tg_params_count(a->params); i++) {
        tg_param *param = tg_params_at(a->params, i);
        mixer_fill(&state, tg_param_count(param), 1, tg_param_edit(param));
    }
    mixer_fill(&state, ATTENTION_BATCH * TOKENS * WIDTH, 1, a->x);
    for (int i = 0; i < ATTENTION_BATCH * TOKENS * TOKENS; i++)
        a->mask[i] = mixer_word(&state) % 3 == 0 || i / TOKENS == MASKED_ROW;
    mixer_fill(&state, ATTENTION_BATCH * TOKENS * WIDTH, 1, a->cotangent);
}

static void close_attention(attending *a) {
    tg_tape_free(a->tape);
    tg_params_free(a->params);
}

START_TEST(attention_is_that_of_pytorch) {
    attending a;
    open_attention(&a);
    tg_shape shape = tg_shape_3d(ATTENTION_BATCH, TOKENS, WIDTH);
    tg_var x = tg_variable(a.tape, shape, a.x);
    tg_var mask = tg_integers(a.tape, tg_shape_3d(ATTENTION_BATCH, TOKENS, TOKENS), a.mask);
    tg_var out = tg_attention_forward(&a.attention, x, mask);
    const tg_real *weights = tg_value(tg_find(a.tape, "a.weights"));
    const tg_real *mix = tg_value(tg_find(a.tape, "a.mix"));
    assert_values("weights", weights, 50, attention_weights);
    assert_values("output", tg_value(out), 70, attention_output);
    assert_all_equal(weights + MASKED_ROW * TOKENS, TOKENS, 0);
    assert_all_equal(mix + MASKED_ROW * KEY_WIDTH, KEY_WIDTH, 0);
    assert_all_equal(tg_value(out) + MASKED_ROW * WIDTH, WIDTH, 0);
    ck_assert_int_eq(tg_backward_from(out, a.cotangent), TG_OK);
    assert_values("x", tg_grad(x), 70, attention_x_grad);
    assert_grads(a.params, attention_grads);
    close_attention(&a);
}
END_TEST

START_TEST(attention_to_nothing_gives_zeros) {
    attending a;
    open_attention(&a);
    static const int32_t all = 1;
    tg_shape shape = tg_shape_3d(ATTENTION_BATCH, TOKENS, WIDTH);
    tg_var x = tg_variable(a.tape, shape, a.x);
    tg_var out =
        tg_attention_forward(&a.attention, x, tg_integers(a.tape, tg_shape_2d(1, 1), &all));
    assert_all_equal(tg_value(out), ATTENTION_BATCH * TOKENS * WIDTH, 0);
    ck_assert_int_eq(tg_backward_from(out, a.cotangent), TG_OK);
    assert_all_equal(tg_grad(x), ATTENTION_BATCH * TOKENS * WIDTH, 0);
    for (size_t i = 0; i < tg_params_count(a.params); i++)
        assert_all_equal(tg_param_grad(tg_params_at(a.params, i)),
                         tg_param_count(tg_params_at(a.params, i)), 0);
    close_attention(&a);
}
END_TEST

START_TEST(attention_sees_no_future) {
    static const tg_real x[6] = {1, 0, 0, 1, 1, 1}, one[4] = {1, 0, 0, 1};
    static const double expected[9] = {1, 0,          0,          0.33023845, 0.66976155,
                                       0, 0.24825508, 0.24825508, 0.50348984};
    tg_params *params = tg_params_create(NULL);
    tg_tape *tape = tg_tape_create(NULL);
    tg_attention attention;
    tg_attention_config config = {.width = 2, .key_width = 2};
    ck_assert_int_eq(tg_attention_init(&attention, params, "", &config, NULL, NULL), TG_OK);
    for (size_t i = 0; i < tg_params_count(params); i++)
        memcpy(tg_param_edit(tg_params_at(params, i)), one, sizeof one);
    tg_attention_forward(&attention, tg_constant(tape, tg_shape_2d(3, 2), x),
                         tg_causal_mask(tape, 3));
    const tg_real *weights = tg_value(tg_find(tape, "weights"));
    for (int i = 0; i < 9; i++)
        test_assert_near(weights[i], expected[i], fmax(TEST_TOLERANCE, 1e-8));
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

START_TEST(masks_that_do_not_fit_are_refused) {
    static const tg_shape shapes[] = {{{4, 5}, 2}, {{5, 4}, 2}, {{3, 5, 5}, 3}, {{6}, 1}};
    attending a;
    open_attention(&a);
    tg_var x = tg_constant(a.tape, tg_shape_3d(ATTENTION_BATCH, TOKENS, WIDTH), a.x);
    static const int32_t zeros[75] = {0};
    tg_var mask = tg_integers(a.tape, shapes[_i], zeros);
    ck_assert(!tg_is_valid(tg_attention_forward(&a.attention, x, mask)));
    ck_assert_int_eq(tg_tape_error(a.tape)->status, TG_ESHAPE);
    close_attention(&a);
}
END_TEST

START_TEST(parameters_have_names_in_order) {
    static const char *const expected[] = {
        "embedding.token",
        "embedding.position",
        "blocks.0.attention.query",
        "blocks.0.attention.key",
        "blocks.0.attention.value",
        "blocks.0.attention.output",
        "blocks.0.feed_forward.w1",
        "blocks.0.feed_forward.b1",
        "blocks.0.feed_forward.w2",
        "blocks.0.feed_forward.b2",
        "blocks.1.attention.query",
        "blocks.1.attention.key",
        "blocks.1.attention.value",
        "blocks.1.attention.output",
        "blocks.1.feed_forward.w1",
        "blocks.1.feed_forward.b1",
        "blocks.1.feed_forward.w2",
        "blocks.1.feed_forward.b2",
        "unembedding",
    };
    enum { COUNT = sizeof expected / sizeof expected[0] };
    tg_params *params = tg_params_create(NULL);
    tg_transformer model;
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &two_blocks, NULL, NULL), TG_OK);
    ck_assert_int_eq(tg_transformer_init(&model, params, "left", &two_blocks, NULL, NULL), TG_OK);
    ck_assert_uint_eq(tg_params_count(params), 2 * COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        char behind[64];
        snprintf(behind, sizeof behind, "left.%s", expected[i]);
        ck_assert_str_eq(tg_param_name(tg_params_at(params, i)), expected[i]);
        ck_assert_str_eq(tg_param_name(tg_params_at(params, COUNT + i)), behind);
    }
    tg_params_free(params);
}
END_TEST

START_TEST(a_name_that_is_taken_is_refused) {
    article a = open_article(NULL);
    tg_transformer second;
    tg_transformer_config config = tg_transformer_article();
    tg_error error = {0};
    ck_assert_int_eq(tg_transformer_init(&second, a.params, "", &config, NULL, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "embedding.token"));
    ck_assert_uint_eq(tg_params_count(a.params), 11);
    test_assert_near(tg_item(article_loss(&a)), golden_loss, TEST_TOLERANCE);
    article_close(&a);
}
END_TEST

START_TEST(extents_below_one_are_refused) {
    static const char *const names[] = {"vocabulary", "context", "width",
                                        "key width",  "hidden",  "layers"};
    static const int64_t wrong[] = {0, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tg_transformer_config config = tg_transformer_article();
        int64_t *const extents[] = {&config.vocabulary, &config.context, &config.width,
                                    &config.key_width,  &config.hidden,  &config.layers};
        *extents[_i] = wrong[i];
        tg_params *params = tg_params_create(NULL);
        tg_transformer model;
        tg_error error = {0};
        ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, NULL, &error), TG_EINVAL);
        char text[64];
        snprintf(text, sizeof text, "%s %" PRId64, names[_i], wrong[i]);
        ck_assert_msg(strstr(error.message, text) != NULL, "the message is: %s", error.message);
        ck_assert_uint_eq(tg_params_count(params), 0);
        tg_params_free(params);
    }
}
END_TEST

START_TEST(attention_without_width_is_refused) {
    static const tg_attention_config configs[] = {
        {.width = 0, .key_width = 3}, {.width = 3, .key_width = 0}, {.width = -1, .key_width = -1}};
    tg_params *params = tg_params_create(NULL);
    tg_attention attention;
    tg_error error = {0};
    ck_assert_int_eq(tg_attention_init(&attention, params, "a", &configs[_i], NULL, &error),
                     TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "attention"));
    ck_assert_uint_eq(tg_params_count(params), 0);
    tg_params_free(params);
}
END_TEST

/* Large enough to need several chunks of memory. */
static const tg_transformer_config large = {
    .vocabulary = 300, .context = 32, .width = 40, .key_width = 24, .hidden = 160, .layers = 3};

/* A set with one parameter of value 5, to which the large model is added. */
static tg_status init_large(const tg_context *context, tg_rng *rng) {
    tg_params *params = tg_params_create(context);
    tg_transformer model;
    tg_param *first;
    tg_error error = {0};
    tg_status status = tg_params_add(params, "first", tg_shape_scalar(), &first, &error);
    if (status == TG_OK) {
        tg_param_edit(first)[0] = 5;
        status = tg_transformer_init(&model, params, "large", &large, rng, &error);
        ck_assert_double_eq((double)tg_param_value(first)[0], 5);
        ck_assert_ptr_eq(tg_params_find(params, "first"), first);
    }
    ck_assert_int_eq(error.status, status);
    ck_assert(status == TG_OK || error.message[0] != '\0');
    tg_params_free(params);
    return status;
}

START_TEST(memory_that_runs_out_while_a_model_is_made) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    tg_rng rng;
    tg_rng_seed(&rng, 1);
    memory.requests = 0;
    ck_assert_int_eq(init_large(context, &rng), TG_OK);
    size_t needed = memory.requests;
    ck_assert_uint_ge(needed, 5);
    for (size_t k = 1; k <= needed; k++) {
        memory.requests = 0;
        memory.fail_at = k;
        ck_assert_int_eq(init_large(context, &rng), TG_ENOMEM);
        ck_assert_uint_eq(memory.live_blocks, 1); /* the context */
    }
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* One pass forward and back on a tape of its own. */
static tg_status run_large(const tg_context *context, const tg_transformer *model, double *loss) {
    int32_t ids[8 * 32];
    for (int i = 0; i < 8 * 32; i++)
        ids[i] = i * 7 % 300;
    tg_tape *tape = tg_tape_create(context);
    tg_shape shape = tg_shape_2d(8, 32);
    tg_var logits = tg_transformer_forward(model, tg_integers(tape, shape, ids));
    tg_var out = tg_cross_entropy(logits, tg_integers(tape, shape, ids), TG_IGNORED, TG_MEAN);
    tg_status status = tg_backward(out);
    ck_assert_int_eq(tg_tape_error(tape)->status, status);
    ck_assert(status == TG_OK || tg_tape_error(tape)->message[0] != '\0');
    *loss = status == TG_OK ? (double)tg_item(out) : 0;
    tg_tape_free(tape);
    return status;
}

START_TEST(memory_that_runs_out_in_a_pass) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    tg_rng rng;
    tg_rng_seed(&rng, 1);
    tg_params *params = tg_params_create(NULL);
    tg_transformer model;
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &large, &rng, NULL), TG_OK);
    double expected, loss;
    memory.requests = 0;
    ck_assert_int_eq(run_large(context, &model, &expected), TG_OK);
    size_t needed = memory.requests;
    ck_assert_uint_ge(needed, 5);
    for (size_t k = 1; k <= needed; k++) {
        memory.requests = 0;
        memory.fail_at = k;
        ck_assert_int_eq(run_large(context, &model, &loss), TG_ENOMEM);
        ck_assert_uint_eq(memory.live_blocks, 1);
    }
    memory.fail_at = 0;
    ck_assert_int_eq(run_large(context, &model, &loss), TG_OK);
    ck_assert_double_eq(loss, expected);
    tg_params_free(params);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* Every request in turn, not only those that reach the allocator: a set of parameters or a tape
 * takes its memory in large chunks, of which a block of varying size leaves less and less. Then one
 * request fails, and those behind it do not: nobody else is going to notice. */
enum { CHUNK = 1 << 17, GRAIN = 16 };

typedef struct once {
    test_memory memory;
    tg_allocator allocator; /* over memory */
    bool fails;             /* the next request, alone */
} once;

static void *allocate_but_once(void *user, size_t bytes) {
    once *o = user;
    bool fails = o->fails;
    o->fails = false;
    return fails ? NULL : o->allocator.allocate(&o->memory, bytes);
}

static void release_once(void *user, void *block, size_t bytes) {
    once *o = user;
    o->allocator.release(&o->memory, block, bytes);
}

static tg_context *make_once(once *o) {
    *o = (once){.fails = false};
    o->allocator = test_allocator(&o->memory);
    tg_allocator allocator = {allocate_but_once, release_once, o};
    return tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
}

/* A model in a set, where the block leaves too little or enough of the first chunk. Its parameters
 * have whole numbers of 64 bytes, to which larger pieces of memory are aligned, so that the piece
 * behind one can be the first that does not fit; the name decides which of small pieces can. */
static tg_status init_in_the_rest(const tg_context *context, once *o, const char *name,
                                  size_t block) {
    static const tg_transformer_config config = {
        .vocabulary = 16, .context = 16, .width = 16, .key_width = 16, .hidden = 16, .layers = 1};
    tg_params *params = tg_params_create(context);
    tg_param *first;
    ck_assert_int_eq(tg_params_add(params, "first", tg_shape_scalar(), &first, NULL), TG_OK);
    tg_param_edit(first)[0] = 5;
    o->fails = true;
    tg_error error = {0};
    tg_status status = TG_ENOMEM;
    if (tg_params_allocate(params, block) != NULL) {
        tg_transformer model;
        status = tg_transformer_init(&model, params, name, &config, NULL, &error);
        ck_assert_int_eq(error.status, status);
        ck_assert(status == TG_OK || error.message[0] != '\0');
    }
    ck_assert_double_eq((double)tg_param_value(first)[0], 5);
    ck_assert_ptr_eq(tg_params_find(params, "first"), first);
    ck_assert_msg(status != TG_OK || o->fails, "a failed request went unnoticed");
    o->fails = false;
    tg_params_free(params);
    return status;
}

START_TEST(every_request_of_a_model_may_fail) {
    static const char *const names[] = {"", "model", "a-model-of-some-length",
                                        "a-model-with-a-name-that-is-even-longer"};
    once o;
    tg_context *context = make_once(&o);
    size_t block = CHUNK;
    tg_status status;
    while ((status = init_in_the_rest(context, &o, names[_i], block)) != TG_OK) {
        ck_assert_int_eq(status, TG_ENOMEM);
        ck_assert_uint_eq(o.memory.live_blocks, 1); /* the context */
        ck_assert_uint_ge(block, GRAIN);
        block -= GRAIN;
    }
    ck_assert_uint_le(block, CHUNK - 1000 * GRAIN);
    tg_context_free(context);
    ck_assert_uint_eq(o.memory.live_bytes, 0);
}
END_TEST

/* A pass over two tokens behind a block of the tape's memory; once it is well, the loss. */
static tg_status run_in_the_rest(article *a, once *o, size_t block, double *loss) {
    static const tg_real zeros[CHUNK / sizeof(tg_real)];
    static const int32_t ids[2] = {0, 1}, targets[2] = {1, 4};
    tg_tape_reset(a->tape);
    tg_params_zero_grad(a->params);
    o->fails = true;
    tg_constant(a->tape, tg_shape_1d((int64_t)(block / sizeof(tg_real))), zeros);
    tg_shape shape = tg_shape_1d(2);
    tg_var logits = tg_transformer_forward(&a->model, tg_integers(a->tape, shape, ids));
    tg_var out =
        tg_cross_entropy(logits, tg_integers(a->tape, shape, targets), TG_IGNORED, TG_MEAN);
    tg_status status = tg_backward(out);
    ck_assert_msg(status != TG_OK || o->fails, "a failed request went unnoticed");
    o->fails = false;
    ck_assert_int_eq(tg_tape_error(a->tape)->status, status);
    ck_assert(status == TG_OK || tg_tape_error(a->tape)->message[0] != '\0');
    *loss = status == TG_OK ? (double)tg_item(out) : 0;
    return status;
}

START_TEST(every_request_of_a_pass_may_fail) {
    once o;
    tg_context *context = make_once(&o);
    article a = open_article(context);
    double expected, loss;
    /* the tape's first chunk and its first nodes are there before memory runs out */
    tg_constant(a.tape, tg_shape_scalar(), &(tg_real){0});
    ck_assert_int_eq(run_in_the_rest(&a, &o, GRAIN, &expected), TG_OK);
    tg_real grad = tg_param_grad(a.model.unembedding.weight)[0];
    size_t block = CHUNK;
    tg_status status;
    while ((status = run_in_the_rest(&a, &o, block, &loss)) != TG_OK) {
        ck_assert_int_eq(status, TG_ENOMEM);
        ck_assert_uint_ge(block, GRAIN);
        block -= GRAIN;
    }
    ck_assert_uint_le(block, CHUNK - 100 * GRAIN);
    ck_assert_double_eq(loss, expected);
    ck_assert_double_eq((double)tg_param_grad(a.model.unembedding.weight)[0], (double)grad);
    article_close(&a);
    tg_context_free(context);
    ck_assert_uint_eq(o.memory.live_bytes, 0);
}
END_TEST

/* What a bad weight deviation finds out only after the embeddings have been drawn. */
START_TEST(a_failed_init_takes_back_what_it_made) {
    tg_params *params = tg_params_create(NULL);
    tg_transformer model;
    tg_transformer_config config = tg_transformer_article();
    tg_rng rng, before;
    tg_error error = {TG_OK, ""};
    tg_rng_seed(&rng, 1);
    before = rng;
    config.weight = (tg_init){TG_INIT_NORMAL, -1};
    ck_assert_int_eq(tg_transformer_init(&model, params, "m", &config, &rng, &error), TG_EINVAL);
    ck_assert_uint_eq(tg_params_count(params), 0);
    ck_assert_mem_eq(&rng, &before, sizeof rng);
    config.weight.deviation = 1;
    ck_assert_int_eq(tg_transformer_init(&model, params, "m", &config, &rng, &error), TG_OK);
    ck_assert_uint_eq(tg_params_count(params), 11);
    tg_params_free(params);
}
END_TEST

START_TEST(a_model_whose_init_failed_records_an_error) {
    const int32_t ids[2] = {0, 1};
    tg_params *params = tg_params_create(NULL);
    tg_tape *tape = tg_tape_create(NULL);
    tg_transformer model;
    tg_transformer_config config = tg_transformer_article();
    config.width = 0;
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &config, NULL, NULL), TG_EINVAL);
    tg_var logits = tg_transformer_forward(&model, tg_integers(tape, tg_shape_1d(2), ids));
    ck_assert(!tg_is_valid(logits));
    ck_assert_int_eq(tg_tape_reset(tape), TG_ESHAPE);
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

START_TEST(a_model_without_a_name_is_one_with_an_empty_name) {
    tg_params *params = tg_params_create(NULL);
    tg_transformer model;
    tg_transformer_config config = tg_transformer_article();
    ck_assert_int_eq(tg_transformer_init(&model, params, NULL, &config, NULL, NULL), TG_OK);
    ck_assert_ptr_nonnull(tg_params_find(params, "blocks.0.attention.query"));
    tg_params_free(params);
}
END_TEST

START_TEST(a_mask_that_would_widen_x_is_refused) {
    const tg_attention_config config = {.width = 7, .key_width = 4};
    const tg_real x[35] = {0};
    const int32_t mask[75] = {0};
    tg_params *params = tg_params_create(NULL);
    tg_tape *tape = tg_tape_create(NULL);
    tg_attention attention;
    ck_assert_int_eq(tg_attention_init(&attention, params, "a", &config, NULL, NULL), TG_OK);
    tg_attention_forward(&attention, tg_constant(tape, tg_shape_2d(5, 7), x),
                         tg_integers(tape, tg_shape_3d(3, 5, 5), mask));
    ck_assert_int_eq(tg_tape_error(tape)->status, TG_ESHAPE);
    ck_assert_ptr_nonnull(strstr(tg_tape_error(tape)->message, "(3, 5, 5)"));
    ck_assert_ptr_nonnull(strstr(tg_tape_error(tape)->message, "(5, 5)"));
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

/* Windows of 0 (none), 1, 2 and 9 over four tokens: what is hidden, by hand. */
START_TEST(a_window_hides_what_lies_before_it) {
    static const struct {
        int64_t window;
        int32_t hidden[16];
    } rows[] = {{0, {0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0}},
                {1, {0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0}},
                {2, {0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0}},
                {9, {0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0}}};
    const tg_real ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    tg_tape *tape = tg_tape_create(NULL);
    tg_var mask = tg_window_mask(tape, 4, rows[_i].window);
    const tg_real *seen =
        tg_value(tg_masked_fill(tg_constant(tape, tg_shape_2d(4, 4), ones), mask, 0));
    ck_assert_ptr_nonnull(seen);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(seen[i] == 0, rows[_i].hidden[i]);
    tg_window_mask(tape, 4, -1);
    ck_assert_int_eq(tg_tape_reset(tape), TG_EINVAL);
    tg_tape_free(tape);
}
END_TEST

/* The draws of dropout are those of tg_rng_bits, and all that follows sees the same input. */
START_TEST(dropout_falls_on_the_input) {
    article a;
    article_open(&a, NULL);
    const int32_t ids[2] = {3, 5};
    tg_rng rng, expected;
    tg_rng_seed(&rng, 11);
    expected = rng;
    tg_real *token = tg_param_edit(a.model.token.table);
    for (int64_t i = 0; i < tg_param_count(a.model.token.table); i++)
        token[i] = 1;
    a.model.dropout = 0.5;
    a.model.rng = &rng;
    tg_transformer_forward(&a.model, tg_integers(a.tape, tg_shape_1d(2), ids));
    const tg_real *output = tg_value(tg_find(a.tape, "blocks.0.output"));
    ck_assert_ptr_nonnull(output);
    for (int i = 0; i < 12; i++) /* all weights are zero: the residual alone comes through */
        ck_assert_double_eq((double)output[i], tg_rng_bits(&expected) >> 31 != 0 ? 2 : 0);
    ck_assert_mem_eq(&rng, &expected, sizeof rng);
    a.model.rng = NULL;
    tg_tape_reset(a.tape);
    tg_transformer_forward(&a.model, tg_integers(a.tape, tg_shape_1d(2), ids));
    ck_assert_int_eq(tg_tape_reset(a.tape), TG_EINVAL);
    a.model.dropout = 1.5;
    tg_transformer_forward(&a.model, tg_integers(a.tape, tg_shape_1d(2), ids));
    ck_assert_int_eq(tg_tape_reset(a.tape), TG_EINVAL);
    article_close(&a);
}
END_TEST

/* x (in,) -> (out,), with a bias or without: (1, 2) [[1, 2, 3], [4, 5, 6]] = (9, 12, 15). */
START_TEST(a_layer_takes_a_vector) {
    const tg_real x[2] = {1, 2}, product[3] = {9, 12, 15};
    const tg_linear_config config = {.in = 2, .out = 3, .no_bias = _i == 1};
    tg_params *params = tg_params_create(NULL);
    tg_tape *tape = tg_tape_create(NULL);
    tg_linear_layer layer;
    ck_assert_int_eq(tg_linear_init(&layer, params, "l", &config, NULL, NULL), TG_OK);
    for (int i = 0; i < 6; i++)
        tg_param_edit(layer.weight)[i] = (tg_real)(i + 1);
    tg_var y = tg_linear_forward(&layer, tg_constant(tape, tg_shape_1d(2), x));
    ck_assert(tg_shape_equal(tg_shape_of(y), tg_shape_1d(3)));
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq((double)tg_value(y)[i], (double)product[i]);
    tg_tape_free(tape);
    tg_params_free(params);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("nn");
    TCase *values = tcase_create("values");
    tcase_add_test(values, values_and_gradients_are_those_of_pytorch);
    tcase_add_test(values, gradients_of_several_passes_add_up);
    tcase_add_test(values, masked_scores_are_the_scores_up_to_the_diagonal);
    tcase_add_test(values, labels_have_their_shapes);
    tcase_add_test(values, two_blocks_of_other_widths_are_those_of_pytorch);
    tcase_add_test(values, attention_is_that_of_pytorch);
    tcase_add_test(values, attention_to_nothing_gives_zeros);
    tcase_add_test(values, attention_sees_no_future);
    tcase_add_test(values, a_later_token_changes_no_earlier_logits);
    tcase_add_test(values, a_beginning_has_the_logits_of_the_whole);
    tcase_add_test(values, one_sentence_is_a_batch_of_one);
    tcase_add_loop_test(values, a_window_hides_what_lies_before_it, 0, 4);
    tcase_add_test(values, dropout_falls_on_the_input);
    tcase_add_loop_test(values, a_layer_takes_a_vector, 0, 2);
#ifdef TG_F64
    tcase_add_test(values, gradients_are_slopes);
#endif
    tcase_set_timeout(values, 60);
    suite_add_tcase(s, values);
    TCase *edges = tcase_create("edges");
    tcase_add_loop_test(edges, ids_of_another_length_are_refused, 0, 8);
    tcase_add_loop_test(edges, ids_outside_the_vocabulary_are_refused, 0, 5);
    tcase_add_test(edges, reals_for_ids_are_refused);
    tcase_add_loop_test(edges, masks_that_do_not_fit_are_refused, 0, 4);
    tcase_add_test(edges, a_failed_init_takes_back_what_it_made);
    tcase_add_test(edges, a_model_whose_init_failed_records_an_error);
    tcase_add_test(edges, a_model_without_a_name_is_one_with_an_empty_name);
    tcase_add_test(edges, a_mask_that_would_widen_x_is_refused);
    tcase_add_test(edges, parameters_have_names_in_order);
    tcase_add_test(edges, a_name_that_is_taken_is_refused);
    tcase_add_loop_test(edges, extents_below_one_are_refused, 0, 6);
    tcase_add_loop_test(edges, attention_without_width_is_refused, 0, 3);
    tcase_add_test(edges, memory_that_runs_out_while_a_model_is_made);
    tcase_add_test(edges, memory_that_runs_out_in_a_pass);
    tcase_add_loop_test(edges, every_request_of_a_model_may_fail, 0, 4);
    tcase_add_test(edges, every_request_of_a_pass_may_fail);
    tcase_set_timeout(edges, 60);
    suite_add_tcase(s, edges);
    return s;
}

int main(void) {
    return test_main(suite());
}
