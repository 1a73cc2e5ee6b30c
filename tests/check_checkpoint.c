/* Checkpoints: what is saved comes back to the bit, what does not fit changes nothing, and a resumed
 * run is the run that never stopped. */
#include "model_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS = 1234567 }; /* of the optimiser in the middle of a run */

static char directory[256], path[300];

static void setup(void) {
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/checkpoint.npz", directory);
}

static void teardown(void) {
    test_directory_remove(directory);
}

/* ---- a state, and its bytes ---- */

/* Everything that a checkpoint can hold, of the article's model. */
typedef struct rig {
    article article;
    tg_optimizer *optimizer;
    tg_vocabulary *vocabulary;
    tg_rng rng;
    tg_training_state state;
} rig;

static tg_optimizer *make_optimizer(const char *kind, tg_params *params) {
    tg_param *const *list = tg_params_list(params);
    size_t count = tg_params_count(params);
    const tg_adam_config adam = {0.05, 0.8, 0.95, 1e-6, 0.01};
    const tg_sgd_config sgd = {0.02, 0.7};
    tg_optimizer *made = strcmp(kind, "adam") == 0 ? tg_adam_create(NULL, list, count, &adam, NULL)
                                                   : tg_sgd_create(NULL, list, count, &sgd, NULL);
    ck_assert_ptr_nonnull(made);
    return made;
}

static tg_vocabulary *make_vocabulary(const char *text) {
    tg_vocabulary *made = tg_vocabulary_create(NULL, NULL);
    ck_assert_int_eq(tg_vocabulary_add_text(made, text, NULL), TG_OK);
    return made;
}

/* Fresh: parameters and moments of zeros, at step 0. Stays where it is. */
static void rig_open(rig *r, const char *kind) {
    article_open(&r->article, NULL);
    r->optimizer = make_optimizer(kind, r->article.params);
    r->vocabulary = make_vocabulary("the rise of machine was slow but fall f\xc3\xa4st");
    tg_rng_seed(&r->rng, 1);
    r->state = (tg_training_state){.params = r->article.params,
                                   .optimizer = r->optimizer,
                                   .rng = &r->rng,
                                   .config = &r->article.model.config,
                                   .vocabulary = r->vocabulary};
}

static void rig_close(rig *r) {
    tg_vocabulary_free(r->vocabulary);
    tg_optimizer_free(r->optimizer);
    article_close(&r->article);
}

/* Values that are easily lost on the way: signs of zero, a NaN's payload, what is near underflow. */
static void put_oddities(tg_real *values) {
#ifdef TG_F64
    const uint64_t odd[] = {0x8000000000000000, 0x7ff8000000012345, 1, 0x7fefffffffffffff};
    memcpy(values, odd, sizeof odd);
    values[4] = (tg_real)0.1;
#else
    const uint32_t odd[] = {0x80000000, 0x7fc01234, 1, 0x7f7fffff};
    memcpy(values, odd, sizeof odd);
    values[4] = 0.1f;
#endif
    values[5] = (tg_real)INFINITY;
}

/* A state in the middle of a run, all of whose parts differ from those of a fresh one. */
static void rig_fill(rig *r) {
    uint32_t mixer = 1;
    for (size_t i = 0; i < tg_params_count(r->state.params); i++) {
        tg_param *param = tg_params_at(r->state.params, i);
        mixer_fill(&mixer, tg_param_count(param), 2, tg_param_edit(param));
        if (tg_param_count(param) >= 6)
            put_oddities(tg_param_edit(param));
    }
    for (size_t i = 0; i < tg_optimizer_state_count(r->optimizer); i++) {
        tg_optimizer_state state = tg_optimizer_state_at(r->optimizer, i);
        mixer_fill(&mixer, tg_param_count(state.param), 0.1, state.elements);
    }
    ck_assert_int_eq(tg_optimizer_set_rate(r->optimizer, 0.1 / 3, NULL), TG_OK);
    ck_assert_int_eq(tg_optimizer_set_steps(r->optimizer, STEPS, NULL), TG_OK);
    tg_real drawn;
    tg_rng_seed(&r->rng, 2024);
    ck_assert_int_eq(tg_rng_normal(&r->rng, 1, 0, 1, &drawn, NULL), TG_OK);
    ck_assert_int_eq(r->rng.has_cached, 1);
    r->state.step = 17;
    r->state.seed = INT64_MIN + 3;
    r->state.position = INT64_MAX;
}

typedef struct image {
    unsigned char *bytes;
    size_t size;
} image;

static void append(image *to, const void *bytes, size_t size) {
    to->bytes = realloc(to->bytes, to->size + size + 1);
    ck_assert_ptr_nonnull(to->bytes);
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void append_optimizer(image *to, const tg_optimizer *optimizer) {
    int64_t steps = tg_optimizer_steps(optimizer);
    append(to, &steps, sizeof steps);
    for (size_t i = 0; i < tg_optimizer_setting_count(optimizer); i++) {
        double value = tg_optimizer_setting_at(optimizer, i).value;
        append(to, &value, sizeof value);
    }
    for (size_t i = 0; i < tg_optimizer_state_count(optimizer); i++) {
        tg_optimizer_state state = tg_optimizer_state_at(optimizer, i);
        append(to, state.elements, (size_t)tg_param_count(state.param) * sizeof(tg_real));
    }
}

/* All that a load may change, in bytes. */
static image image_of(const tg_training_state *state) {
    image made = {0};
    for (size_t i = 0; i < tg_params_count(state->params); i++) {
        const tg_param *param = tg_params_at(state->params, i);
        append(&made, tg_param_value(param), (size_t)tg_param_count(param) * sizeof(tg_real));
    }
    if (state->optimizer != NULL)
        append_optimizer(&made, state->optimizer);
    if (state->rng != NULL)
        append(&made, state->rng, sizeof *state->rng);
    append(&made, &state->step, sizeof state->step);
    append(&made, &state->seed, sizeof state->seed);
    append(&made, &state->position, sizeof state->position);
    return made;
}

/* The state has these bytes; which are freed. */
static void assert_is(const tg_training_state *state, image expected, const char *what) {
    image now = image_of(state);
    ck_assert_msg(now.size == expected.size && memcmp(now.bytes, expected.bytes, now.size) == 0,
                  "%s: the state is another", what);
    free(now.bytes);
    free(expected.bytes);
}

static image file_image(const char *name) {
    image made;
    made.bytes = (unsigned char *)test_read_file(name, &made.size);
    return made;
}

/* The file has these bytes; which are freed. */
static void assert_file_is(const char *name, image expected) {
    image now = file_image(name);
    ck_assert_msg(now.size == expected.size && memcmp(now.bytes, expected.bytes, now.size) == 0,
                  "%s holds other bytes", name);
    free(now.bytes);
    free(expected.bytes);
}

static bool exists(const char *name) {
    struct stat about;
    return lstat(name, &about) == 0;
}

static void save(const tg_training_state *state, const char *name) {
    tg_error error = {0};
    ck_assert_msg(tg_checkpoint_save(NULL, name, state, &error) == TG_OK, "%s", error.message);
}

static void load(tg_training_state *state, const char *name) {
    tg_error error = {0};
    ck_assert_msg(tg_checkpoint_load(NULL, name, state, &error) == TG_OK, "%s", error.message);
}

static tg_archive *open_archive(const char *name) {
    tg_error error = {0};
    tg_archive *archive = tg_archive_open(NULL, name, &error);
    ck_assert_msg(archive != NULL, "%s", error.message);
    return archive;
}

static void assert_failure(tg_status got, const tg_error *error, tg_status status,
                           const char *words) {
    ck_assert_msg(got == status && error->status == status, "%s, not %s: %s", tg_status_name(got),
                  tg_status_name(status), error->message);
    ck_assert_msg(strstr(error->message, words) != NULL, "no \"%s\" in \"%s\"", words,
                  error->message);
}

/* Loading fails in this way, and changes nothing. */
static void assert_refused(tg_training_state *state, const char *name, tg_status status,
                           const char *words) {
    image before = image_of(state);
    tg_error error = {0};
    tg_status got = tg_checkpoint_load(NULL, name, state, &error);
    assert_failure(got, &error, status, words);
    ck_assert_msg(strstr(error.message, name) != NULL, "no path in \"%s\"", error.message);
    assert_is(state, before, words);
}

/* ---- there and back ---- */

static const char *const kinds[] = {"adam", "sgd"};

START_TEST(round_trip) {
    rig there, back;
    rig_open(&there, kinds[_i]);
    rig_open(&back, kinds[_i]);
    rig_fill(&there);
    save(&there.state, path);
    load(&back.state, path);
    assert_is(&back.state, image_of(&there.state), "round trip");
    tg_real next[2][3];
    tg_rng_normal(&there.rng, 3, 0, 1, next[0], NULL);
    tg_rng_normal(&back.rng, 3, 0, 1, next[1], NULL);
    ck_assert_int_eq(memcmp(next[0], next[1], sizeof next[0]), 0);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

START_TEST(equal_states_are_equal_bytes) {
    char again[310], copy[310];
    snprintf(again, sizeof again, "%s/again.npz", directory);
    snprintf(copy, sizeof copy, "%s/copy.npz", directory);
    rig there, back;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_fill(&there);
    save(&there.state, path);
    save(&there.state, again);
    assert_file_is(again, file_image(path));
    load(&back.state, path);
    save(&back.state, copy);
    assert_file_is(copy, file_image(path));
    back.state.step++;
    save(&back.state, copy);
    image one = file_image(path), other = file_image(copy);
    ck_assert(one.size != other.size || memcmp(one.bytes, other.bytes, one.size) != 0);
    free(one.bytes);
    free(other.bytes);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

static void put_row(int64_t step, int64_t count, const tg_real *values, tg_real *out) {
    for (int64_t i = 0; i < count; i++)
        out[i] = values[i] + (tg_real)step;
}

/* Sizes that a model rarely has, and the longest name. */
START_TEST(unusual_parameters) {
    char longest[128];
    memset(longest, 'n', 127);
    longest[127] = '\0';
    const tg_real values[4] = {1, -2, 3, (tg_real)0.1};
    tg_training_state states[2];
    for (int i = 0; i < 2; i++) {
        tg_params *params = tg_params_create(NULL);
        tg_param *scalar, *empty, *four;
        ck_assert_int_eq(tg_params_add(params, "scalar", tg_shape_scalar(), &scalar, NULL), TG_OK);
        ck_assert_int_eq(tg_params_add(params, "empty", tg_shape_2d(0, 7), &empty, NULL), TG_OK);
        tg_shape shape = tg_shape_make(4, (const int64_t[]){1, 2, 1, 2});
        ck_assert_int_eq(tg_params_add(params, longest, shape, &four, NULL), TG_OK);
        if (i == 0) {
            put_row(5, 1, values, tg_param_edit(scalar));
            put_row(6, 4, values, tg_param_edit(four));
        }
        states[i] =
            (tg_training_state){.params = params, .optimizer = make_optimizer("adam", params)};
    }
    save(&states[0], path);
    load(&states[1], path);
    assert_is(&states[1], image_of(&states[0]), "unusual parameters");
    for (int i = 0; i < 2; i++) {
        tg_optimizer_free(states[i].optimizer);
        tg_params_free(states[i].params);
    }
}
END_TEST

START_TEST(no_parameters_and_no_words) {
    tg_params *params = tg_params_create(NULL);
    tg_vocabulary *vocabulary = make_vocabulary("");
    tg_training_state state = {.params = params,
                               .optimizer = make_optimizer("sgd", params),
                               .vocabulary = vocabulary,
                               .step = 3};
    save(&state, path);
    state.step = 0;
    load(&state, path);
    ck_assert_int_eq(state.step, 3);
    tg_optimizer_free(state.optimizer);
    tg_vocabulary_free(vocabulary);
    tg_params_free(params);
}
END_TEST

/* An optimiser may drive more than the model that is saved; its arrays are then the larger ones. */
START_TEST(an_optimizer_of_larger_parameters) {
    tg_params *small = tg_params_create(NULL), *large = tg_params_create(NULL);
    tg_param *param;
    ck_assert_int_eq(tg_params_add(small, "small", tg_shape_1d(2), &param, NULL), TG_OK);
    ck_assert_int_eq(tg_params_add(large, "large", tg_shape_1d(100000), &param, NULL), TG_OK);
    tg_training_state state = {.params = small, .optimizer = make_optimizer("sgd", large)};
    tg_real *velocity = tg_optimizer_state_at(state.optimizer, 0).elements;
    velocity[99999] = 7;
    save(&state, path);
    image before = image_of(&state);
    velocity[99999] = 0;
    load(&state, path);
    assert_is(&state, before, "an optimiser of others");
    tg_optimizer_free(state.optimizer);
    tg_params_free(large);
    tg_params_free(small);
}
END_TEST

START_TEST(a_recording_from_before_cannot_go_backward) {
    rig r;
    rig_open(&r, "adam");
    save(&r.state, path);
    tg_var loss = article_loss(&r.article);
    r.state.vocabulary = make_vocabulary("another");
    assert_refused(&r.state, path, TG_EMISMATCH, "vocabulary");
    ck_assert_int_eq(tg_backward(loss), TG_OK);
    tg_vocabulary_free((tg_vocabulary *)r.state.vocabulary);
    r.state.vocabulary = r.vocabulary;
    loss = article_loss(&r.article);
    load(&r.state, path);
    ck_assert_int_eq(tg_backward(loss), TG_ESTATE);
    rig_close(&r);
}
END_TEST

/* ---- parts ---- */

static const struct {
    const char *name;    /* an array of this part */
    const char *missing; /* the one that is missed first */
} parts[] = {
    {"optimizer/steps", "optimizer/name"},
    {"rng/next", "rng/words"},
    {"vocabulary", "vocabulary"},
    {"config/width", "config/vocabulary"},
};

static void leave_out(tg_training_state *state, int part) {
    if (part == 0)
        state->optimizer = NULL;
    else if (part == 1)
        state->rng = NULL;
    else if (part == 2)
        state->vocabulary = NULL;
    else
        state->config = NULL;
}

START_TEST(a_part_that_is_left_out_of_the_file) {
    rig there, back;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_fill(&there);
    leave_out(&there.state, _i);
    save(&there.state, path);
    tg_archive *archive = open_archive(path);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(tg_archive_find(archive, parts[i].name) != NULL, i != _i);
    tg_archive_free(archive);
    assert_refused(&back.state, path, TG_ENOTFOUND, parts[_i].missing);
    leave_out(&back.state, _i);
    load(&back.state, path);
    assert_is(&back.state, image_of(&there.state), parts[_i].name);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

START_TEST(a_part_that_is_left_out_of_the_state) {
    rig there, back, fresh;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_open(&fresh, "adam");
    rig_fill(&there);
    save(&there.state, path);
    leave_out(&back.state, _i);
    leave_out(&there.state, _i);
    load(&back.state, path);
    assert_is(&back.state, image_of(&there.state), parts[_i].name);
    ck_assert_int_eq(tg_optimizer_steps(back.optimizer), _i == 0 ? 0 : STEPS);
    ck_assert_int_eq(memcmp(&back.rng, _i == 1 ? &fresh.rng : &there.rng, sizeof(tg_rng)), 0);
    rig_close(&fresh);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

START_TEST(arguments_that_are_missing) {
    rig r;
    rig_open(&r, "adam");
    save(&r.state, path);
    tg_training_state none = {0};
    tg_error error = {0};
    assert_failure(tg_checkpoint_save(NULL, NULL, &r.state, &error), &error, TG_EINVAL, "path");
    assert_failure(tg_checkpoint_save(NULL, path, NULL, &error), &error, TG_EINVAL, "parameters");
    assert_failure(tg_checkpoint_save(NULL, path, &none, &error), &error, TG_EINVAL, "parameters");
    assert_failure(tg_checkpoint_load(NULL, NULL, &r.state, &error), &error, TG_EINVAL, "path");
    assert_failure(tg_checkpoint_load(NULL, path, NULL, &error), &error, TG_EINVAL, "parameters");
    assert_failure(tg_checkpoint_load(NULL, path, &none, &error), &error, TG_EINVAL, "parameters");
    assert_failure(tg_checkpoint_restore(NULL, NULL, &r.state, &error), &error, TG_EINVAL,
                   "archive");
    load(&r.state, path);
    rig_close(&r);
}
END_TEST

/* ---- another model ---- */

static const struct {
    const char *name; /* of the model */
    int64_t vocabulary, context, width, key_width, hidden, layers;
    const char *config; /* in the message when the configs are compared */
    tg_status status;   /* when only the parameters are */
    const char *words;
} others[] = {
    {"", 10, 14, 6, 6, 12, 1, "config/vocabulary is 9, the model's 10", TG_EMISMATCH,
     "param/embedding.token\" is of shape (9, 6), expected is (10, 6)"},
    {"", 9, 13, 6, 6, 12, 1, "config/context is 14, the model's 13", TG_EMISMATCH,
     "param/embedding.position\" is of shape (14, 6), expected is (13, 6)"},
    {"", 9, 14, 7, 6, 12, 1, "config/width is 6, the model's 7", TG_EMISMATCH,
     "param/embedding.token\" is of shape (9, 6), expected is (9, 7)"},
    {"", 9, 14, 6, 5, 12, 1, "config/key_width is 6, the model's 5", TG_EMISMATCH,
     "param/blocks.0.attention.query\" is of shape (6, 6), expected is (6, 5)"},
    {"", 9, 14, 6, 6, 24, 1, "config/hidden is 12, the model's 24", TG_EMISMATCH,
     "param/blocks.0.feed_forward.w1\" is of shape (6, 12), expected is (6, 24)"},
    {"", 9, 14, 6, 6, 12, 2, "config/layers is 1, the model's 2", TG_ENOTFOUND,
     "param/blocks.1.attention.query"},
    {"model", 9, 14, 6, 6, 12, 1, NULL, TG_EMISMATCH, "no parameter embedding.token"},
};

START_TEST(another_model) {
    rig r;
    rig_open(&r, "adam");
    rig_fill(&r);
    save(&r.state, path);
    const tg_transformer_config config = {.vocabulary = others[_i].vocabulary,
                                          .context = others[_i].context,
                                          .width = others[_i].width,
                                          .key_width = others[_i].key_width,
                                          .hidden = others[_i].hidden,
                                          .layers = others[_i].layers};
    tg_params *params = tg_params_create(NULL);
    tg_transformer model;
    ck_assert_int_eq(tg_transformer_init(&model, params, others[_i].name, &config, NULL, NULL),
                     TG_OK);
    tg_optimizer *optimizer = make_optimizer("adam", params);
    tg_training_state state = r.state;
    state.params = params;
    state.optimizer = optimizer;
    state.config = NULL;
    assert_refused(&state, path, others[_i].status, others[_i].words);
    if (others[_i].config != NULL) {
        state.config = &config;
        assert_refused(&state, path, TG_EMISMATCH, others[_i].config);
    }
    tg_optimizer_free(optimizer);
    tg_params_free(params);
    rig_close(&r);
}
END_TEST

/* The file's model has a block more than ours. */
START_TEST(a_model_with_fewer_blocks) {
    rig r;
    rig_open(&r, "adam");
    tg_transformer_config two = tg_transformer_article();
    two.layers = 2;
    tg_params *params = tg_params_create(NULL);
    tg_transformer model;
    ck_assert_int_eq(tg_transformer_init(&model, params, "", &two, NULL, NULL), TG_OK);
    tg_training_state state = {.params = params};
    save(&state, path);
    tg_training_state ours = {.params = r.state.params};
    assert_refused(&ours, path, TG_EMISMATCH, "no parameter blocks.1.attention.query");
    tg_params_free(params);
    rig_close(&r);
}
END_TEST

START_TEST(another_optimizer) {
    rig there, back;
    rig_open(&there, kinds[_i]);
    rig_open(&back, kinds[1 - _i]);
    save(&there.state, path);
    char words[40];
    snprintf(words, sizeof words, "%s, not %s", kinds[_i], kinds[1 - _i]);
    assert_refused(&back.state, path, TG_EMISMATCH, words);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

static const struct {
    const char *text, *words;
} vocabularies[] = {
    {"the rise of machine was slow but fall", "a vocabulary of 9 words, not 8"},
    {"the rise of machine was slow but fall f\xc3\xa4st ever", "9 words, not 10"},
    {"the rise of machine was slow but fall fast", "word 8 is \"f\xc3\xa4st\", not \"fast\""},
    {"rise the of machine was slow but fall f\xc3\xa4st", "word 0 is \"the\", not \"rise\""},
    {"the rise of machin was slow but fall f\xc3\xa4st", "word 3 is \"machine\", not \"machin\""},
    {"the rise of machines was slow but fall f\xc3\xa4st", "\"machine\", not \"machines\""},
};

START_TEST(another_vocabulary) {
    rig r;
    rig_open(&r, "adam");
    rig_fill(&r);
    save(&r.state, path);
    tg_vocabulary *other = make_vocabulary(vocabularies[_i].text);
    r.state.vocabulary = other;
    assert_refused(&r.state, path, TG_EMISMATCH, vocabularies[_i].words);
    tg_vocabulary_free(other);
    rig_close(&r);
}
END_TEST

/* ---- another file ---- */

/* A change to a good file: the array of this name is replaced, added, or (data NULL) left out. */
typedef struct edit {
    const char *name;
    tg_array array;
    tg_status status;
    const char *words; /* in the message */
} edit;

#define NUMBER(kind, type, value)                                                                  \
    {                                                                                              \
        .element = kind, .data = (const type[]) {                                                  \
            value                                                                                  \
        }                                                                                          \
    }
#define INT64(value)   NUMBER(TG_ELEMENT_INT64, int64_t, value)
#define INT32(value)   NUMBER(TG_ELEMENT_INT32, int32_t, value)
#define FLOAT32(value) NUMBER(TG_ELEMENT_FLOAT32, float, value)
#define FLOAT64(value) NUMBER(TG_ELEMENT_FLOAT64, double, value)
#define TEXT(text)                                                                                 \
    { .element = TG_ELEMENT_BYTES, .element_size = sizeof text - 1, .data = text }
/* These end in a shape, {{extents}, rank}. */
#define REALS(...)                                                                                 \
    { .element = TG_ELEMENT_REAL, .shape = __VA_ARGS__, .data = zeros }
#define INT64S(values, ...)                                                                        \
    { .element = TG_ELEMENT_INT64, .shape = __VA_ARGS__, .data = values }
#define WORDS_OF(bytes, width, ...)                                                                \
    { .element = TG_ELEMENT_BYTES, .element_size = width, .shape = __VA_ARGS__, .data = bytes }
#define LEFT_OUT                                                                                   \
    { .data = NULL }

static const double zeros[625];
static const int64_t zero_words[625];
static const int64_t negative_word[624] = {1, 2, 3, [200] = -1};
static const int64_t large_word[624] = {1, 2, 3, [623] = (int64_t)UINT32_MAX + 1};
static const char nine_wide_words[9 * 64] = "the";
static const char hidden_tail[9 * 10] = "the\0 more\0rise\0\0\0\0\0\0of\0\0\0\0\0\0\0\0"
                                        "machine\0\0\0was\0\0\0\0\0\0\0slow\0\0\0\0\0\0"
                                        "but\0\0\0\0\0\0\0fall\0\0\0\0\0\0f\xc3\xa4st\0\0\0\0";

static const edit edits[] = {
    {"param/unembedding", LEFT_OUT, TG_ENOTFOUND, "param/unembedding"},
    {"param/unembedding", REALS({{9, 6}, 2}), TG_EMISMATCH, "(9, 6), expected is (6, 9)"},
    {"param/unembedding", REALS({{54}, 1}), TG_EMISMATCH, "(54,), expected is (6, 9)"},
    {"param/unembedding", INT64S(zero_words, {{6, 9}, 2}), TG_EMISMATCH, "int64"},
    {"param/unembeddinG", REALS({{6, 9}, 2}), TG_EMISMATCH, "no parameter unembeddinG"},
    {"param/blocks.0.feed_forward.b1", REALS({{1, 12}, 2}), TG_EMISMATCH, "(1, 12)"},

    {"optimizer/name", LEFT_OUT, TG_ENOTFOUND, "optimizer/name"},
    {"optimizer/name", TEXT("sgd"), TG_EMISMATCH, "sgd, not adam"},
    {"optimizer/name", TEXT("adamw"), TG_EMISMATCH, "adamw, not adam"},
    {"optimizer/name", INT64(3), TG_EMISMATCH, "optimizer/name"},
    {"optimizer/steps", LEFT_OUT, TG_ENOTFOUND, "optimizer/steps"},
    {"optimizer/steps", INT64(-1), TG_EINVAL, "-1 steps"},
    {"optimizer/steps", FLOAT64(3), TG_EMISMATCH, "optimizer/steps"},
    {"optimizer/rate", LEFT_OUT, TG_ENOTFOUND, "optimizer/rate"},
    {"optimizer/rate", FLOAT64(-0.1), TG_EINVAL, "rate -0.1"},
    {"optimizer/rate", FLOAT64(INFINITY), TG_EINVAL, "rate inf"},
    {"optimizer/rate", INT64(1), TG_EMISMATCH, "optimizer/rate"},
    {"optimizer/beta1", FLOAT64(1), TG_EINVAL, "beta1 1"},
    {"optimizer/beta2", FLOAT64(NAN), TG_EINVAL, "beta2"},
    {"optimizer/epsilon", LEFT_OUT, TG_ENOTFOUND, "optimizer/epsilon"},
    {"optimizer/weight_decay", LEFT_OUT, TG_ENOTFOUND, "optimizer/weight_decay"},
    {"optimizer/first_moment/unembedding", LEFT_OUT, TG_ENOTFOUND, "first_moment/unembedding"},
    {"optimizer/second_moment/unembedding", REALS({{9, 6}, 2}), TG_EMISMATCH,
     "second_moment/unembedding\" is of shape (9, 6), expected is (6, 9)"},

    {"rng/words", LEFT_OUT, TG_ENOTFOUND, "rng/words"},
    {"rng/words", INT64S(negative_word, {{624}, 1}), TG_EFORMAT, "rng/words holds -1"},
    {"rng/words", INT64S(large_word, {{624}, 1}), TG_EFORMAT, "rng/words holds 4294967296"},
    {"rng/words", INT64S(zero_words, {{624}, 1}), TG_EFORMAT, "words"},
    {"rng/words", INT64S(negative_word, {{623}, 1}), TG_EMISMATCH, "rng/words"},
    {"rng/words", INT64S(zero_words, {{625}, 1}), TG_EMISMATCH, "rng/words"},
    {"rng/words", INT64S(negative_word, {{1, 624}, 2}), TG_EMISMATCH, "rng/words"},
    {"rng/words", REALS({{624}, 1}), TG_EMISMATCH, "rng/words"},
    {"rng/next", LEFT_OUT, TG_ENOTFOUND, "rng/next"},
    {"rng/next", INT64(0), TG_EFORMAT, "seeded"},
    {"rng/next", INT64(625), TG_EFORMAT, "625"},
    {"rng/next", INT64(-1), TG_EFORMAT, "rng/next is -1"},
    {"rng/next", INT64((int64_t)UINT32_MAX + 3), TG_EFORMAT, "rng/next is 4294967298"},
    {"rng/has_cached", LEFT_OUT, TG_ENOTFOUND, "rng/has_cached"},
    {"rng/has_cached", INT64(2), TG_EFORMAT, "rng/has_cached is 2"},
    {"rng/has_cached", INT64((int64_t)UINT32_MAX + 2), TG_EFORMAT, "rng/has_cached is 4294967297"},
    {"rng/has_cached", INT64(0), TG_EFORMAT, "has_cached 0"},
    {"rng/cached", LEFT_OUT, TG_ENOTFOUND, "rng/cached"},
    {"rng/cached", FLOAT64(NAN), TG_EFORMAT, "cached"},
    {"rng/cached", FLOAT64(1000), TG_EFORMAT, "cached 1000"},

    {"step", LEFT_OUT, TG_ENOTFOUND, "step"},
    {"step", INT64(-1), TG_EFORMAT, "step is -1"},
    {"step", FLOAT64(17), TG_EMISMATCH, "step"},
    {"seed", LEFT_OUT, TG_ENOTFOUND, "seed"},
    {"seed", TEXT("one"), TG_EMISMATCH, "seed"},
    {"data/position", LEFT_OUT, TG_ENOTFOUND, "data/position"},
    {"data/position", INT64(INT64_MIN), TG_EFORMAT, "data/position is -9223372036854775808"},

    {"vocabulary", LEFT_OUT, TG_ENOTFOUND, "vocabulary"},
    {"vocabulary", TEXT("the"), TG_EMISMATCH, "vocabulary"},
    {"vocabulary", INT64S(zero_words, {{9}, 1}), TG_EMISMATCH, "vocabulary"},
    {"vocabulary", WORDS_OF(nine_wide_words, 64, {{9}, 1}), TG_EMISMATCH, "vocabulary"},
    {"vocabulary", WORDS_OF(nine_wide_words, 3, {{9}, 1}), TG_EMISMATCH, "word 1 is \"\""},
    {"vocabulary", WORDS_OF(hidden_tail, 10, {{9}, 1}), TG_EFORMAT, "word 0"},
    {"config/width", LEFT_OUT, TG_ENOTFOUND, "config/width"},
    {"config/width", INT64(-6), TG_EMISMATCH, "config/width is -6, the model's 6"},
    {"config/width", FLOAT64(6), TG_EMISMATCH, "config/width"},
    {"config/layers", INT64(2), TG_EMISMATCH, "config/layers is 2"},
};

static void add_array(tg_archive_writer *writer, const char *name, tg_array array) {
    tg_error error = {0};
    array.name = name;
    ck_assert_msg(tg_archive_writer_add(writer, &array, &error) == TG_OK, "%s", error.message);
}

static void save_and_free(tg_archive_writer *writer, const char *name) {
    tg_error error = {0};
    ck_assert_msg(tg_archive_writer_save(writer, name, &error) == TG_OK, "%s", error.message);
    tg_archive_writer_free(writer);
}

/* The file at `path`, changed. */
static void apply(const edit *e) {
    tg_archive *archive = open_archive(path);
    tg_archive_writer *writer = tg_archive_writer_create(NULL, NULL);
    for (int64_t i = 0; i < tg_archive_count(archive); i++) {
        const tg_array *array = tg_archive_at(archive, i);
        if (strcmp(array->name, e->name) != 0)
            add_array(writer, array->name, *array);
    }
    if (e->array.data != NULL)
        add_array(writer, e->name, e->array);
    save_and_free(writer, path);
    tg_archive_free(archive);
}

START_TEST(a_file_that_does_not_fit) {
    rig there, back;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_fill(&there);
    back.state.step = 5;
    save(&there.state, path);
    apply(&edits[_i]);
    assert_refused(&back.state, path, edits[_i].status, edits[_i].words);
    tg_archive *archive = open_archive(path);
    image before = image_of(&back.state);
    tg_error error = {0};
    assert_failure(tg_checkpoint_restore(NULL, archive, &back.state, &error), &error,
                   edits[_i].status, edits[_i].words);
    assert_is(&back.state, before, edits[_i].words);
    tg_archive_free(archive);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

/* What other programs may write, and is as good. */
static const edit harmless[] = {
    {.name = "step", .array = INT32(17)},
    {.name = "rng/cached", .array = FLOAT64(0.25)},
    {.name = "comment", .array = TEXT("of another program")},
    {.name = "optimizer/rate", .array = FLOAT32(0.5f)},
};

START_TEST(a_file_that_differs_and_fits) {
    rig there, back;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_fill(&there);
    save(&there.state, path);
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        apply(&harmless[i]);
    load(&back.state, path);
    there.rng.cached = 0.25;
    ck_assert_int_eq(tg_optimizer_set_rate(there.optimizer, 0.5, NULL), TG_OK);
    assert_is(&back.state, image_of(&there.state), "harmless changes");
    rig_close(&back);
    rig_close(&there);
}
END_TEST

/* ---- the other precision ---- */

#ifdef TG_F64
typedef float other_real;
#define OTHER TG_ELEMENT_FLOAT32
#else
typedef double other_real;
#define OTHER TG_ELEMENT_FLOAT64
#endif

/* The parameters a[3] and b[2, 2] as another library saves them. */
static void save_others(const other_real a[3], const other_real b[4]) {
    tg_archive_writer *writer = tg_archive_writer_create(NULL, NULL);
    add_array(writer, "param/a", (tg_array){.element = OTHER, .shape = tg_shape_1d(3), .data = a});
    add_array(writer, "param/b",
              (tg_array){.element = OTHER, .shape = tg_shape_2d(2, 2), .data = b});
    for (int i = 0; i < 3; i++)
        add_array(writer, (const char *const[]){"step", "seed", "data/position"}[i],
                  (tg_array)INT64(4));
    save_and_free(writer, path);
}

static tg_params *make_two(tg_param *made[2]) {
    tg_params *params = tg_params_create(NULL);
    ck_assert_int_eq(tg_params_add(params, "a", tg_shape_1d(3), &made[0], NULL), TG_OK);
    ck_assert_int_eq(tg_params_add(params, "b", tg_shape_2d(2, 2), &made[1], NULL), TG_OK);
    return params;
}

START_TEST(a_file_of_the_other_precision) {
    tg_param *made[2];
    tg_params *params = make_two(made);
    tg_training_state state = {.params = params};
    const other_real a[3] = {(other_real)0.1, (other_real)-0.0, (other_real)INFINITY};
    const other_real b[4] = {(other_real)1 / 3, (other_real)NAN, (other_real)16777217, 2};
    save_others(a, b);
    load(&state, path);
    ck_assert_int_eq(state.step, 4);
    const tg_real *x = tg_param_value(made[0]), *y = tg_param_value(made[1]);
#ifdef TG_F64
    const double expected[] = {0x1.99999ap-4, 0x1.555556p-2, 16777216};
#else
    const double expected[] = {(double)0.1f, (double)(float)(1.0 / 3), 16777216};
#endif
    ck_assert_double_eq((double)x[0], expected[0]);
    ck_assert((double)x[1] == 0 && signbit(x[1]));
    ck_assert_double_eq((double)x[2], INFINITY);
    ck_assert_double_eq((double)y[0], expected[1]);
    ck_assert(isnan(y[1]));
    ck_assert_double_eq((double)y[2], expected[2]);
    ck_assert_double_eq((double)y[3], 2);
    tg_params_free(params);
}
END_TEST

#ifndef TG_F64
/* In the second parameter, when the first has been looked at. */
START_TEST(a_double_beyond_single_precision) {
    tg_param *made[2];
    tg_params *params = make_two(made);
    tg_training_state state = {.params = params};
    const double a[3] = {1, 2, 3}, b[4] = {1, 2, 3, -1e39};
    save_others(a, b);
    assert_refused(&state, path, TG_EMISMATCH, "param/b\": element 3 is beyond single precision");
    tg_params_free(params);
}
END_TEST
#endif

/* ---- damaged files ---- */

static void write_cut(const image *whole, size_t size, const char *tail) {
    image cut = {0};
    append(&cut, whole->bytes, size);
    append(&cut, tail, strlen(tail));
    test_write_file(path, cut.bytes, cut.size);
    free(cut.bytes);
}

START_TEST(a_file_that_was_cut_or_goes_on) {
    rig r;
    rig_open(&r, "adam");
    rig_fill(&r);
    save(&r.state, path);
    image whole = file_image(path);
    const size_t sizes[] = {0,
                            1,
                            30,
                            whole.size / 4,
                            whole.size / 2,
                            whole.size - 4096,
                            whole.size - 23,
                            whole.size - 22,
                            whole.size - 3,
                            whole.size - 2,
                            whole.size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        write_cut(&whole, sizes[i], "");
        assert_refused(&r.state, path, TG_EFORMAT, "");
    }
    write_cut(&whole, whole.size, "x");
    assert_refused(&r.state, path, TG_EFORMAT, "");
    free(whole.bytes);
    rig_close(&r);
}
END_TEST

/* Either an error, or, in what a ZIP file says and nobody needs, the same state. */
START_TEST(flipped_bytes_never_give_another_state) {
    enum { STRIDE = 61 };
    rig there, back;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_fill(&there);
    save(&there.state, path);
    image whole = file_image(path);
    int refused = 0, tried = 0;
    for (size_t i = 0; i < whole.size; i += STRIDE, tried++) {
        whole.bytes[i] ^= 0x10;
        test_write_file(path, whole.bytes, whole.size);
        whole.bytes[i] ^= 0x10;
        image before = image_of(&back.state);
        if (tg_checkpoint_load(NULL, path, &back.state, NULL) == TG_OK) {
            free(before.bytes);
            assert_is(&back.state, image_of(&there.state), "a flipped byte that was accepted");
        } else {
            refused++;
            assert_is(&back.state, before, "a flipped byte that was refused");
        }
    }
    ck_assert_int_gt(refused, tried * 3 / 4);
    free(whole.bytes);
    rig_close(&back);
    rig_close(&there);
}
END_TEST

START_TEST(what_is_no_checkpoint) {
    rig r;
    rig_open(&r, "adam");
    rig_fill(&r);
    assert_refused(&r.state, path, TG_EIO, "No such file");
    assert_refused(&r.state, directory, TG_EIO, "directory");
    assert_refused(&r.state, "/dev/null", TG_EIO, "regular file");
    test_write_file(path, "step,loss\n1,2\n", 14);
    assert_refused(&r.state, path, TG_EFORMAT, "");
    /* One that NumPy wrote, for another purpose. */
    char foreign[512];
    snprintf(foreign, sizeof foreign, "%s/archive_foreign.npz", TG_TEST_GOLDEN);
    image bytes = file_image(foreign);
    test_write_file(path, bytes.bytes, bytes.size);
    assert_refused(&r.state, path, TG_ENOTFOUND, "config/vocabulary");
    leave_out(&r.state, 2);
    leave_out(&r.state, 3);
    assert_refused(&r.state, path, TG_ENOTFOUND, "param/embedding.token");
    free(bytes.bytes);
    rig_close(&r);
}
END_TEST

/* The status is the same for who asks for no message. */
START_TEST(failures_without_an_error_to_fill) {
    rig r;
    rig_open(&r, "adam");
    ck_assert_int_eq(tg_checkpoint_load(NULL, path, &r.state, NULL), TG_EIO);
    save(&r.state, path);
    apply(&edits[0]);
    ck_assert_int_eq(tg_checkpoint_load(NULL, path, &r.state, NULL), edits[0].status);
    test_write_file(path, "no checkpoint", 13);
    ck_assert_int_eq(tg_checkpoint_load(NULL, path, &r.state, NULL), TG_EFORMAT);
    rig_close(&r);
}
END_TEST

/* ---- a file that cannot be written ---- */

START_TEST(a_path_that_cannot_be_written) {
    rig r;
    rig_open(&r, "adam");
    save(&r.state, path);
    image old = file_image(path);
    r.state.step++;
    char other[330], temporary[310];
    tg_error error = {0};
    snprintf(other, sizeof other, "%s/none/checkpoint.npz", directory);
    assert_failure(tg_checkpoint_save(NULL, other, &r.state, &error), &error, TG_EIO, "No such");
    ck_assert_ptr_nonnull(strstr(error.message, other));
    snprintf(other, sizeof other, "%s/file/checkpoint.npz", path);
    assert_failure(tg_checkpoint_save(NULL, other, &r.state, &error), &error, TG_EIO, "directory");
    assert_failure(tg_checkpoint_save(NULL, directory, &r.state, &error), &error, TG_EIO,
                   directory);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    ck_assert_int_eq(mkdir(temporary, 0777), 0);
    assert_failure(tg_checkpoint_save(NULL, path, &r.state, &error), &error, TG_EIO, temporary);
    assert_file_is(path, old);
    rig_close(&r);
}
END_TEST

/* ---- memory that runs out ---- */

/* A context whose memory fails from the n-th request on; and one in which it does not yet. */
static tg_context *failing_context(test_memory *memory) {
    const tg_allocator allocator = test_allocator(memory);
    const tg_context_options options = {.allocator = &allocator};
    tg_context *context = tg_context_create(&options, NULL);
    ck_assert_ptr_nonnull(context);
    return context;
}

static void fail_from(test_memory *memory, size_t request) {
    memory->requests = 0;
    memory->fail_at = request;
}

START_TEST(saving_without_memory) {
    rig r;
    rig_open(&r, "adam");
    save(&r.state, path);
    char temporary[310];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    rig_fill(&r);
    test_memory memory = {0};
    tg_context *context = failing_context(&memory);
    size_t request = 0;
    for (tg_status status = TG_ENOMEM; status != TG_OK;) {
        image old = file_image(path), before = image_of(&r.state);
        tg_error error = {0};
        fail_from(&memory, ++request);
        status = tg_checkpoint_save(context, path, &r.state, &error);
        ck_assert_uint_eq(memory.live_blocks, 1); /* the context */
        ck_assert(!exists(temporary));
        assert_is(&r.state, before, "saving");
        if (status != TG_OK)
            assert_failure(status, &error, TG_ENOMEM, "memory");
        if (status != TG_OK)
            assert_file_is(path, old);
        else
            free(old.bytes);
    }
    ck_assert_uint_gt(request, 50);
    tg_context_free(context);
    rig other;
    rig_open(&other, "adam");
    load(&other.state, path);
    assert_is(&other.state, image_of(&r.state), "saved at last");
    rig_close(&other);
    rig_close(&r);
}
END_TEST

START_TEST(loading_without_memory) {
    rig there, back;
    rig_open(&there, "adam");
    rig_open(&back, "adam");
    rig_fill(&there);
    save(&there.state, path);
    test_memory memory = {0};
    tg_context *context = failing_context(&memory);
    size_t request = 0;
    for (tg_status status = TG_ENOMEM; status != TG_OK;) {
        image before = image_of(&back.state);
        tg_error error = {0};
        fail_from(&memory, ++request);
        status = tg_checkpoint_load(context, path, &back.state, &error);
        ck_assert_uint_eq(memory.live_blocks, 1);
        if (status != TG_OK) {
            assert_failure(status, &error, TG_ENOMEM, "memory");
            assert_is(&back.state, before, "loading");
        } else {
            free(before.bytes);
        }
    }
    ck_assert_uint_gt(request, 50);
    tg_context_free(context);
    assert_is(&back.state, image_of(&there.state), "loaded at last");
    rig_close(&back);
    rig_close(&there);
}
END_TEST

/* ---- what a file tells of the model ---- */

START_TEST(config_of_a_file) {
    rig r;
    rig_open(&r, "adam");
    save(&r.state, path);
    tg_archive *archive = open_archive(path);
    tg_transformer_config config;
    tg_error error = {0};
    memset(&config, 0x55, sizeof config);
    ck_assert_int_eq(tg_checkpoint_config(archive, &config, &error), TG_OK);
    ck_assert_int_eq(config.vocabulary, 9);
    ck_assert_int_eq(config.context, 14);
    ck_assert_int_eq(config.width, 6);
    ck_assert_int_eq(config.key_width, 6);
    ck_assert_int_eq(config.hidden, 12);
    ck_assert_int_eq(config.layers, 1);
    const tg_init none = {0};
    ck_assert_int_eq(config.token.kind, none.kind);
    ck_assert_double_eq(config.position.deviation, 0);
    ck_assert_double_eq(config.weight.deviation, 0);
    tg_archive_free(archive);
    apply(&(edit){.name = "config/hidden"});
    archive = open_archive(path);
    assert_failure(tg_checkpoint_config(archive, &config, &error), &error, TG_ENOTFOUND,
                   "config/hidden");
    ck_assert_int_eq(tg_checkpoint_config(archive, &config, NULL), TG_ENOTFOUND);
    tg_archive_free(archive);
    rig_close(&r);
}
END_TEST

/* The longest word, and bytes beyond ASCII. */
static const char *const listed[] = {
    "the", "f\xc3\xa4st", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a"};

START_TEST(vocabulary_of_a_file) {
    tg_params *params = tg_params_create(NULL);
    tg_vocabulary *vocabulary = tg_vocabulary_create(NULL, NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(tg_vocabulary_add(vocabulary, listed[i], NULL, NULL), TG_OK);
    save(&(tg_training_state){.params = params, .vocabulary = vocabulary}, path);
    tg_vocabulary_free(vocabulary);
    tg_archive *archive = open_archive(path);
    test_memory memory = {0};
    tg_context *context = failing_context(&memory);
    size_t request = 0;
    for (vocabulary = NULL; vocabulary == NULL;) {
        tg_error error = {0};
        fail_from(&memory, ++request);
        vocabulary = tg_checkpoint_vocabulary(context, archive, &error);
        if (vocabulary == NULL) {
            assert_failure(error.status, &error, TG_ENOMEM, "memory");
            ck_assert_uint_eq(memory.live_blocks, 1);
        }
    }
    ck_assert_uint_gt(request, 2);
    ck_assert_int_eq(tg_vocabulary_count(vocabulary), 4);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(tg_vocabulary_word(vocabulary, i), listed[i]);
    tg_vocabulary_free(vocabulary);
    ck_assert_uint_eq(memory.live_blocks, 1);
    tg_context_free(context);
    tg_archive_free(archive);
    tg_params_free(params);
}
END_TEST

static const struct {
    const char *what;
    tg_array array;
    tg_status status;
} no_vocabularies[] = {
    {"none", LEFT_OUT, TG_ENOTFOUND},
    {"a word twice", WORDS_OF("one\0two\0one", 4, {{3}, 1}), TG_EFORMAT},
    {"an empty word", WORDS_OF("one\0\0\0\0\0two", 4, {{3}, 1}), TG_EINVAL},
    {"a space in a word", WORDS_OF("one\0t o\0six", 4, {{3}, 1}), TG_EINVAL},
    {"a NUL in a word", WORDS_OF("one\0t\0o\0six", 4, {{3}, 1}), TG_EFORMAT},
    {"words too long", WORDS_OF(nine_wide_words, 64, {{1}, 1}), TG_EMISMATCH},
    {"a table", WORDS_OF("one\0two\0six", 4, {{1, 3}, 2}), TG_EMISMATCH},
    {"numbers", INT64S(zero_words, {{3}, 1}), TG_EMISMATCH},
};

START_TEST(no_vocabulary) {
    tg_archive_writer *writer = tg_archive_writer_create(NULL, NULL);
    if (no_vocabularies[_i].array.data != NULL)
        add_array(writer, "vocabulary", no_vocabularies[_i].array);
    save_and_free(writer, path);
    tg_archive *archive = open_archive(path);
    tg_error error = {0};
    ck_assert_ptr_null(tg_checkpoint_vocabulary(NULL, archive, &error));
    ck_assert_msg(error.status == no_vocabularies[_i].status, "%s: %s: %s",
                  no_vocabularies[_i].what, tg_status_name(error.status), error.message);
    ck_assert_ptr_null(tg_checkpoint_vocabulary(NULL, archive, NULL));
    tg_archive_free(archive);
}
END_TEST

/* ---- resuming ---- */

/* Steps over the article's batch, with noise from the generator, of which an odd number of steps
 * leaves half a pair behind. */
static void train(rig *r, int steps) {
    for (int i = 0; i < steps; i++) {
        tg_params_zero_grad(r->article.params);
        tg_var loss = article_loss(&r->article);
        ck_assert_msg(tg_backward(loss) == TG_OK, "%s", tg_tape_error(r->article.tape)->message);
        tg_optimizer_step(r->optimizer);
        tg_real noise;
        ck_assert_int_eq(tg_rng_normal(&r->rng, 1, 0, 0.01, &noise, NULL), TG_OK);
        tg_param_edit(tg_params_at(r->article.params, 0))[r->state.step % 7] += noise;
        r->state.step++;
        r->state.position = (r->state.position + 8) % 24;
    }
}

static void start(rig *r) {
    uint32_t mixer = 1;
    for (size_t i = 0; i < tg_params_count(r->state.params); i++) {
        tg_param *param = tg_params_at(r->state.params, i);
        mixer_fill(&mixer, tg_param_count(param), 0.7, tg_param_edit(param));
    }
    tg_rng_seed(&r->rng, 99);
    r->state.seed = 99;
    ck_assert_int_eq(tg_optimizer_set_rate(r->optimizer, 0.03, NULL), TG_OK);
}

static const struct {
    const char *kind;
    int first, second;
} stops[] = {{"adam", 20, 20}, {"adam", 13, 27}, {"adam", 1, 39}, {"sgd", 13, 27}};

START_TEST(a_resumed_run_is_the_run_that_never_stopped) {
    rig whole, halves[2];
    rig_open(&whole, stops[_i].kind);
    start(&whole);
    train(&whole, stops[_i].first + stops[_i].second);
    save(&whole.state, path);
    image expected = file_image(path);
    for (int i = 0; i < 2; i++) {
        rig_open(&halves[i], stops[_i].kind);
        if (i == 0)
            start(&halves[i]);
        else
            load(&halves[i].state, path);
        train(&halves[i], i == 0 ? stops[_i].first : stops[_i].second);
        save(&halves[i].state, path);
        rig_close(&halves[i]);
    }
    assert_file_is(path, expected);
    rig_close(&whole);
}
END_TEST

#define ADD_LOOP(tests, test, table)                                                               \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

static TCase *case_of(Suite *suite, const char *name, double timeout) {
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, timeout);
    suite_add_tcase(suite, tests);
    return tests;
}

static void add_good_files(Suite *suite) {
    TCase *tests = case_of(suite, "round trip", 60);
    ADD_LOOP(tests, round_trip, kinds);
    tcase_add_test(tests, equal_states_are_equal_bytes);
    tcase_add_test(tests, unusual_parameters);
    tcase_add_test(tests, no_parameters_and_no_words);
    tcase_add_test(tests, an_optimizer_of_larger_parameters);
    tcase_add_test(tests, a_recording_from_before_cannot_go_backward);
    tests = case_of(suite, "parts", 60);
    ADD_LOOP(tests, a_part_that_is_left_out_of_the_file, parts);
    ADD_LOOP(tests, a_part_that_is_left_out_of_the_state, parts);
    tcase_add_test(tests, arguments_that_are_missing);
    tests = case_of(suite, "what a file tells", 60);
    tcase_add_test(tests, config_of_a_file);
    tcase_add_test(tests, vocabulary_of_a_file);
    ADD_LOOP(tests, no_vocabulary, no_vocabularies);
    tests = case_of(suite, "resuming", 60);
    ADD_LOOP(tests, a_resumed_run_is_the_run_that_never_stopped, stops);
}

static void add_bad_files(Suite *suite) {
    TCase *tests = case_of(suite, "another model", 60);
    ADD_LOOP(tests, another_model, others);
    tcase_add_test(tests, a_model_with_fewer_blocks);
    ADD_LOOP(tests, another_optimizer, kinds);
    ADD_LOOP(tests, another_vocabulary, vocabularies);
    tests = case_of(suite, "another file", 60);
    ADD_LOOP(tests, a_file_that_does_not_fit, edits);
    tcase_add_test(tests, a_file_that_differs_and_fits);
    tcase_add_test(tests, a_file_of_the_other_precision);
#ifndef TG_F64
    tcase_add_test(tests, a_double_beyond_single_precision);
#endif
    tests = case_of(suite, "damaged", 120);
    tcase_add_test(tests, a_file_that_was_cut_or_goes_on);
    tcase_add_test(tests, flipped_bytes_never_give_another_state);
    tcase_add_test(tests, what_is_no_checkpoint);
    tcase_add_test(tests, failures_without_an_error_to_fill);
    tcase_add_test(tests, a_path_that_cannot_be_written);
    tests = case_of(suite, "memory", 120);
    tcase_add_test(tests, saving_without_memory);
    tcase_add_test(tests, loading_without_memory);
}

static Suite *suite(void) {
    Suite *suite = suite_create("checkpoint");
    add_good_files(suite);
    add_bad_files(suite);
    return suite;
}

int main(void) {
    return test_main(suite());
}
