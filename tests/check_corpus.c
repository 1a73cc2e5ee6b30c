#include "support.h"

#include <string.h>

#include "train/corpus.h"

/* As the article prints them. */
static const char *const article[8] = {
    "the rise was slow but the fall was fast",
    "the rise was slow but the fall of the machine was fast",
    "the rise of the machine was slow but the fall was fast",
    "the rise of the machine was slow but the fall of the machine was fast",
    "the fall was fast but the rise was slow",
    "the fall was fast but the rise of the machine was slow",
    "the fall of the machine was fast but the rise was slow",
    "the fall of the machine was fast but the rise of the machine was slow",
};

static void text_of(const tg_corpus *corpus, tg_sentence sentence, char text[128]) {
    text[0] = '\0';
    for (int64_t t = 0; t < sentence.length; t++) {
        strcat(text, t == 0 ? "" : " ");
        strcat(text, tg_vocabulary_word(corpus->vocabulary, sentence.ids[t]));
    }
}

START_TEST(the_sentences_of_the_article) {
    tg_corpus *corpus = tg_corpus_clause_swapped(NULL, NULL);
    ck_assert_ptr_nonnull(corpus);
    ck_assert_int_eq(corpus->count, 8);
    for (int i = 0; i < 8; i++) {
        char text[128];
        text_of(corpus, corpus->sentences[i], text);
        ck_assert_str_eq(text, article[i]);
    }
    tg_corpus_free(corpus);
    tg_corpus_free(NULL);
}
END_TEST

START_TEST(the_words_of_the_article) {
    static const char *const words[9] = {"the",  "rise", "of",   "machine", "was",
                                         "slow", "but",  "fall", "fast"};
    tg_corpus *corpus = tg_corpus_clause_swapped(NULL, NULL);
    ck_assert_int_eq(tg_vocabulary_count(corpus->vocabulary), 9);
    for (int32_t id = 0; id < 9; id++)
        ck_assert_str_eq(tg_vocabulary_word(corpus->vocabulary, id), words[id]);
    static const int32_t first[9] = {0, 1, 4, 5, 6, 0, 7, 4, 8};
    ck_assert_int_eq(corpus->sentences[0].length, 9);
    ck_assert_mem_eq(corpus->sentences[0].ids, first, sizeof first);
    tg_corpus_free(corpus);
}
END_TEST

START_TEST(other_sentences) {
    static const char *const texts[3] = {"b a b", "", " c\n"};
    tg_corpus *corpus = tg_corpus_create(NULL, NULL, texts, 3, NULL);
    ck_assert_int_eq(tg_vocabulary_count(corpus->vocabulary), 3);
    static const int32_t ids[4] = {0, 1, 0, 2};
    ck_assert_int_eq(corpus->sentences[0].length, 3);
    ck_assert_mem_eq(corpus->sentences[0].ids, ids, 3 * sizeof *ids);
    ck_assert_int_eq(corpus->sentences[1].length, 0);
    ck_assert_int_eq(corpus->sentences[2].length, 1);
    ck_assert_int_eq(corpus->sentences[2].ids[0], 2);
    tg_corpus_free(corpus);

    corpus = tg_corpus_create(NULL, "z c", texts, 3, NULL);
    ck_assert_int_eq(corpus->sentences[2].ids[0], 1);
    tg_corpus_free(corpus);

    corpus = tg_corpus_create(NULL, NULL, NULL, 0, NULL);
    ck_assert_int_eq(corpus->count, 0);
    tg_corpus_free(corpus);
}
END_TEST

START_TEST(what_is_no_corpus) {
    static const char *const texts[2] = {"a", "b\x01"};
    static const char *const missing[2] = {"a", NULL};
    tg_error error = {0};
    ck_assert_ptr_null(tg_corpus_create(NULL, NULL, texts, 2, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_null(tg_corpus_create(NULL, "\x01", texts, 1, &error));
    ck_assert_ptr_null(tg_corpus_create(NULL, NULL, texts, -1, &error));
    ck_assert_str_eq(error.message, "corpus: -1 sentences");
    ck_assert_ptr_null(tg_corpus_create(NULL, NULL, texts, INT64_MAX, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_null(tg_corpus_create(NULL, NULL, missing, 2, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_null(tg_corpus_create(NULL, NULL, NULL, 2, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
}
END_TEST

START_TEST(out_of_memory_at_every_allocation) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    tg_corpus *corpus = NULL;
    size_t failures = 0;
    while (corpus == NULL) {
        memory.requests = 0;
        memory.fail_at = failures + 1;
        tg_error error = {0};
        corpus = tg_corpus_clause_swapped(context, &error);
        if (corpus == NULL) {
            ck_assert_int_eq(error.status, TG_ENOMEM);
            ck_assert_uint_eq(memory.live_blocks, 1);
            failures++;
        }
        ck_assert_uint_lt(failures, 100);
    }
    ck_assert_uint_ge(failures, 6);
    tg_corpus_free(corpus);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("corpus");
    TCase *tests = tcase_create("corpus");
    tcase_add_test(tests, the_sentences_of_the_article);
    tcase_add_test(tests, the_words_of_the_article);
    tcase_add_test(tests, other_sentences);
    tcase_add_test(tests, what_is_no_corpus);
    tcase_add_test(tests, out_of_memory_at_every_allocation);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
