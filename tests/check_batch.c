#include "support.h"

#include "train/batch.h"

#define IGNORED (-100)

/* Row by row, with "the rise was ..." read off the article's list by hand; 0 pads the inputs. */
static const int32_t article_inputs[8][14] = {
    {0, 1, 4, 5, 6, 0, 7, 4, 0, 0, 0, 0, 0, 0}, {0, 1, 4, 5, 6, 0, 7, 2, 0, 3, 4, 0, 0, 0},
    {0, 1, 2, 0, 3, 4, 5, 6, 0, 7, 4, 0, 0, 0}, {0, 1, 2, 0, 3, 4, 5, 6, 0, 7, 2, 0, 3, 4},
    {0, 7, 4, 8, 6, 0, 1, 4, 0, 0, 0, 0, 0, 0}, {0, 7, 4, 8, 6, 0, 1, 2, 0, 3, 4, 0, 0, 0},
    {0, 7, 2, 0, 3, 4, 8, 6, 0, 1, 4, 0, 0, 0}, {0, 7, 2, 0, 3, 4, 8, 6, 0, 1, 2, 0, 3, 4},
};
static const int32_t last_words[8] = {8, 8, 8, 8, 5, 5, 5, 5};
static const int64_t counted_of[8] = {8, 11, 11, 14, 8, 11, 11, 14};

START_TEST(the_batch_of_the_article) {
    tg_corpus *corpus = tg_corpus_clause_swapped(NULL, NULL);
    tg_batch batch;
    ck_assert_int_eq(tg_batch_init(&batch, NULL, corpus->sentences, corpus->count, IGNORED, NULL),
                     TG_OK);
    ck_assert(tg_shape_equal(batch.inputs.shape, tg_shape_2d(8, 14)));
    ck_assert(tg_shape_equal(batch.targets.shape, tg_shape_2d(8, 14)));
    ck_assert_int_eq(batch.inputs.type, TG_INT32);
    ck_assert_int_eq(batch.targets.type, TG_INT32);
    ck_assert_int_eq(batch.counted, 88);
    ck_assert_mem_eq(batch.inputs.integer, article_inputs, sizeof article_inputs);
    int counted = 0;
    for (int b = 0; b < 8; b++)
        for (int t = 0; t < 14; t++) {
            int32_t wanted = t + 1 < counted_of[b]    ? article_inputs[b][t + 1]
                             : t + 1 == counted_of[b] ? last_words[b]
                                                      : IGNORED;
            ck_assert_int_eq(batch.targets.integer[b * 14 + t], wanted);
            counted += batch.targets.integer[b * 14 + t] != IGNORED;
        }
    ck_assert_int_eq(counted, 88);
    tg_batch_free(&batch);
    ck_assert_ptr_null(batch.inputs.data);
    tg_batch_free(&batch);
    tg_batch_free(NULL);
    tg_corpus_free(corpus);
}
END_TEST

START_TEST(short_sentences_are_rows_of_padding) {
    static const int32_t ids[3] = {5, 6, 7};
    static const tg_sentence sentences[4] = {{ids, 1}, {ids, 3}, {NULL, 0}, {ids, 2}};
    tg_batch batch;
    ck_assert_int_eq(tg_batch_init(&batch, NULL, sentences, 4, -1, NULL), TG_OK);
    static const int32_t inputs[8] = {0, 0, 5, 6, 0, 0, 5, 0};
    static const int32_t targets[8] = {-1, -1, 6, 7, -1, -1, 6, -1};
    ck_assert(tg_shape_equal(batch.inputs.shape, tg_shape_2d(4, 2)));
    ck_assert_mem_eq(batch.inputs.integer, inputs, sizeof inputs);
    ck_assert_mem_eq(batch.targets.integer, targets, sizeof targets);
    ck_assert_int_eq(batch.counted, 3);
    tg_batch_free(&batch);
}
END_TEST

static const int32_t some_ids[3] = {1, -2, 3};
static const tg_sentence single = {some_ids, 1}, negative = {some_ids, 3};
static const tg_sentence endless[2] = {{some_ids, INT64_MAX}, {some_ids, 1}};

static const struct {
    const tg_sentence *sentences;
    int64_t count;
    int32_t ignored;
    tg_status status;
    const char *message;
} faults[] = {
    {&single, 1, -100, TG_EINVAL, "batch: none of the 1 sentences has two words"},
    {&single, 0, -100, TG_EINVAL, "batch: none of the 0 sentences has two words"},
    {&single, -5, -100, TG_EINVAL, "batch: none of the -5 sentences has two words"},
    {NULL, 1, -100, TG_EINVAL, "batch: no sentences are given (NULL)"},
    {&negative, 1, 0, TG_EINVAL, "batch: the ignored value 0 could be a word"},
    {&negative, 1, -100, TG_ERANGE, "batch: word 1 of sentence 0 has the id -2"},
    {endless, 2, -100, TG_ESHAPE, NULL},
};

START_TEST(what_is_no_batch) {
    tg_batch batch;
    tg_error error = {0};
    ck_assert_int_eq(tg_batch_init(&batch, NULL, faults[_i].sentences, faults[_i].count,
                                   faults[_i].ignored, &error),
                     faults[_i].status);
    if (faults[_i].message != NULL)
        ck_assert_str_eq(error.message, faults[_i].message);
    ck_assert_ptr_null(batch.inputs.data);
    ck_assert_ptr_null(batch.targets.data);
    ck_assert_int_eq(batch.counted, 0);
}
END_TEST

START_TEST(out_of_memory) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    static const int32_t ids[2] = {1, 2};
    static const tg_sentence sentence = {ids, 2};
    for (size_t n = 1; n <= 3; n++) {
        memory.requests = 0;
        memory.fail_at = n;
        tg_batch batch;
        tg_error error = {0};
        tg_status status = tg_batch_init(&batch, context, &sentence, 1, -100, &error);
        ck_assert_int_eq(status, n <= 2 ? TG_ENOMEM : TG_OK);
        ck_assert_uint_eq(memory.live_blocks, n <= 2 ? 1 : 3);
        tg_batch_free(&batch);
    }
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("batch");
    TCase *tests = tcase_create("batch");
    tcase_add_test(tests, the_batch_of_the_article);
    tcase_add_test(tests, short_sentences_are_rows_of_padding);
    tcase_add_loop_test(tests, what_is_no_batch, 0, (int)(sizeof faults / sizeof faults[0]));
    tcase_add_test(tests, out_of_memory);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
