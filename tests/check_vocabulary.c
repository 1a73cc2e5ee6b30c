#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/vocabulary.h"

static tg_vocabulary *vocabulary_of(const char *text) {
    tg_vocabulary *vocabulary = tg_vocabulary_create(NULL, NULL);
    ck_assert_ptr_nonnull(vocabulary);
    ck_assert_int_eq(tg_vocabulary_add_text(vocabulary, text, NULL), TG_OK);
    return vocabulary;
}

START_TEST(ids_follow_the_first_appearance) {
    tg_vocabulary *vocabulary = tg_vocabulary_create(NULL, NULL);
    static const char *const words[] = {"the", "cat", "the", "sat", "cat", "on", "the", "mat"};
    static const int32_t ids[] = {0, 1, 0, 2, 1, 3, 0, 4};
    for (int i = 0; i < 8; i++) {
        int32_t id = -1;
        ck_assert_int_eq(tg_vocabulary_add(vocabulary, words[i], &id, NULL), TG_OK);
        ck_assert_int_eq(id, ids[i]);
        ck_assert_int_eq(tg_vocabulary_id(vocabulary, words[i], &id, NULL), TG_OK);
        ck_assert_int_eq(id, ids[i]);
    }
    ck_assert_int_eq(tg_vocabulary_count(vocabulary), 5);
    ck_assert_str_eq(tg_vocabulary_word(vocabulary, 4), "mat");
    ck_assert_ptr_null(tg_vocabulary_word(vocabulary, 5));
    ck_assert_ptr_null(tg_vocabulary_word(vocabulary, -1));
    ck_assert_int_eq(tg_vocabulary_add(vocabulary, "too", NULL, NULL), TG_OK);
    tg_vocabulary_free(vocabulary);
    tg_vocabulary_free(NULL);
}
END_TEST

START_TEST(an_unknown_word_is_named_with_the_known_ones) {
    tg_vocabulary *vocabulary = vocabulary_of("the rise of machine was slow but fall fast");
    tg_error error = {0};
    int32_t id = 77;
    ck_assert_int_eq(tg_vocabulary_id(vocabulary, "machines", &id, &error), TG_ENOTFOUND);
    ck_assert_int_eq(error.status, TG_ENOTFOUND);
    ck_assert_str_eq(error.message, "vocabulary: no word \"machines\"; known: the, rise, of, "
                                    "machine, was, slow, but, fall, fast");
    ck_assert_int_eq(id, 77);
    ck_assert_int_eq(tg_vocabulary_id(vocabulary, "machin", &id, NULL), TG_ENOTFOUND);
    tg_vocabulary_free(vocabulary);

    vocabulary = tg_vocabulary_create(NULL, NULL);
    ck_assert_int_eq(tg_vocabulary_id(vocabulary, "a", &id, &error), TG_ENOTFOUND);
    ck_assert_str_eq(error.message, "vocabulary: no word \"a\"; it is empty");
    tg_vocabulary_free(vocabulary);
}
END_TEST

static void numbered_word(int32_t id, char word[32]) {
    snprintf(word, 32, "word%ld-%lu", (long)id, (unsigned long)id * 2654435761u % 1000003);
}

START_TEST(fifty_thousand_words) {
    tg_vocabulary *vocabulary = tg_vocabulary_create(NULL, NULL);
    char word[32];
    for (int32_t i = 0; i < 50000; i++) {
        int32_t id = -1;
        numbered_word(i, word);
        ck_assert_int_eq(tg_vocabulary_add(vocabulary, word, &id, NULL), TG_OK);
        ck_assert_int_eq(id, i);
    }
    const char *first = tg_vocabulary_word(vocabulary, 0);
    for (int32_t i = 0; i < 50000; i++) {
        int32_t id = -1;
        numbered_word(i, word);
        ck_assert_int_eq(tg_vocabulary_id(vocabulary, word, &id, NULL), TG_OK);
        ck_assert_int_eq(id, i);
        ck_assert_str_eq(tg_vocabulary_word(vocabulary, i), word);
    }
    int32_t id;
    ck_assert_int_eq(tg_vocabulary_add(vocabulary, "one more", &id, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_vocabulary_add(vocabulary, "more", &id, NULL), TG_OK);
    ck_assert_ptr_eq(tg_vocabulary_word(vocabulary, 0), first);
    tg_error error = {0};
    ck_assert_int_eq(tg_vocabulary_id(vocabulary, "less", &id, &error), TG_ENOTFOUND);
    ck_assert_str_eq(error.message, "vocabulary: no word \"less\" among the 50001 known");
    tg_vocabulary_free(vocabulary);
}
END_TEST

/* In a small table a word and its beginning often meet in one slot. */
START_TEST(the_beginning_of_a_word_is_another_word) {
    for (int32_t i = 0; i < 500; i++) {
        char word[32];
        numbered_word(i, word);
        tg_vocabulary *vocabulary = vocabulary_of(word);
        word[strlen(word) - 1] = '\0';
        int32_t id = -1;
        ck_assert_int_eq(tg_vocabulary_id(vocabulary, word, &id, NULL), TG_ENOTFOUND);
        ck_assert_int_eq(tg_vocabulary_add(vocabulary, word, &id, NULL), TG_OK);
        ck_assert_int_eq(id, 1);
        tg_vocabulary_free(vocabulary);
    }
}
END_TEST

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *word;
    tg_status status;
    const char *message; /* a part of it */
} words[] = {
    {"caf\xc3\xa9", TG_OK, ""},
    {"#!\"\\'", TG_OK, ""},
    {A63, TG_OK, ""},
    {A63 "a", TG_EINVAL, "a word of 64 bytes, more than 63"},
    {"", TG_EINVAL, "an empty word"},
    {"a b", TG_EINVAL, "whitespace"},
    {"a\n", TG_EINVAL, "whitespace"},
    {"a\x1b[1m", TG_EINVAL, "0x1b"},
    {"\x7f", TG_EINVAL, "0x7f"},
    {"\x01", TG_EINVAL, "0x01"},
    {NULL, TG_EINVAL, "NULL"},
};

START_TEST(what_is_a_word) {
    tg_vocabulary *vocabulary = tg_vocabulary_create(NULL, NULL);
    tg_error error = {0};
    int32_t id = 77;
    ck_assert_int_eq(tg_vocabulary_add(vocabulary, words[_i].word, &id, &error), words[_i].status);
    ck_assert_msg(strstr(error.message, words[_i].message) != NULL, "%s", error.message);
    ck_assert_int_eq(id, words[_i].status == TG_OK ? 0 : 77);
    ck_assert_int_eq(tg_vocabulary_count(vocabulary), words[_i].status == TG_OK ? 1 : 0);
    ck_assert_int_eq(tg_vocabulary_id(vocabulary, words[_i].word, &id, NULL), words[_i].status);
    tg_vocabulary_free(vocabulary);
}
END_TEST

START_TEST(no_vocabulary_is_an_error) {
    int32_t id;
    int64_t count;
    ck_assert_int_eq(tg_vocabulary_add(NULL, "a", &id, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_vocabulary_add_text(NULL, "a", NULL), TG_EINVAL);
    ck_assert_int_eq(tg_vocabulary_id(NULL, "a", &id, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_vocabulary_encode(NULL, "a", &id, 1, &count, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_vocabulary_count(NULL), 0);
    ck_assert_ptr_null(tg_vocabulary_word(NULL, 0));
}
END_TEST

START_TEST(encode) {
    tg_vocabulary *vocabulary = vocabulary_of("the rise was");
    int32_t ids[4] = {-9, -9, -9, -9};
    int64_t count = -9;
    ck_assert_int_eq(
        tg_vocabulary_encode(vocabulary, " \t was\vthe\n\r\frise ", ids, 3, &count, NULL), TG_OK);
    ck_assert_int_eq(count, 3);
    static const int32_t wanted[4] = {2, 0, 1, -9};
    ck_assert_mem_eq(ids, wanted, sizeof wanted);
    ck_assert_int_eq(tg_vocabulary_encode(vocabulary, " \n", NULL, 0, &count, NULL), TG_OK);
    ck_assert_int_eq(count, 0);
    tg_vocabulary_free(vocabulary);
}
END_TEST

START_TEST(encode_that_fails) {
    tg_vocabulary *vocabulary = vocabulary_of("the rise was");
    int32_t ids[4] = {-9, -9, -9, -9};
    int64_t count = -9;
    tg_error error = {0};
    ck_assert_int_eq(tg_vocabulary_encode(vocabulary, "the rise was", NULL, 0, &count, &error),
                     TG_ERANGE);
    ck_assert_int_eq(count, 3);
    ck_assert_str_eq(error.message, "vocabulary: 3 words, room for 0");
    ck_assert_int_eq(tg_vocabulary_encode(vocabulary, "the rise was", ids, 2, &count, &error),
                     TG_ERANGE);
    ck_assert_int_eq(ids[0], -9);
    ck_assert_int_eq(tg_vocabulary_encode(vocabulary, "the rose was", ids, 4, &count, &error),
                     TG_ENOTFOUND);
    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(error.message, "vocabulary: no word \"rose\"; known: the, rise, was");
    ck_assert_int_eq(tg_vocabulary_encode(vocabulary, "the \x1b was", ids, 4, &count, &error),
                     TG_EINVAL);
    ck_assert_int_eq(tg_vocabulary_encode(vocabulary, NULL, ids, 4, &count, &error), TG_EINVAL);
    ck_assert_int_eq(count, 0);
    tg_vocabulary_free(vocabulary);
}
END_TEST

/* Fails the n-th allocation of 300 words, which need several blocks and tables. */
START_TEST(out_of_memory_at_every_allocation) {
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    size_t made = memory.requests;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        memory.fail_at = made + n;
        memory.requests = made;
        tg_error error = {0};
        tg_vocabulary *vocabulary = tg_vocabulary_create(context, &error);
        int32_t known = 0;
        while (vocabulary != NULL && known < 300 && error.status == TG_OK) {
            char word[32];
            numbered_word(known, word);
            int32_t id;
            if (tg_vocabulary_add(vocabulary, word, &id, &error) == TG_OK)
                known++;
        }
        failed = error.status != TG_OK;
        if (failed)
            ck_assert_int_eq(error.status, TG_ENOMEM);
        ck_assert_int_eq(tg_vocabulary_count(vocabulary), known);
        for (int32_t i = 0; i < known; i++) {
            int32_t id = -1;
            ck_assert_int_eq(
                tg_vocabulary_id(vocabulary, tg_vocabulary_word(vocabulary, i), &id, NULL), TG_OK);
            ck_assert_int_eq(id, i);
        }
        tg_vocabulary_free(vocabulary);
        ck_assert_uint_eq(memory.live_blocks, 1);
        ck_assert_uint_lt(n, 100);
    }
    ck_assert_uint_gt(memory.requests - made, 10);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("vocabulary");
    TCase *tests = tcase_create("vocabulary");
    tcase_add_test(tests, ids_follow_the_first_appearance);
    tcase_add_test(tests, an_unknown_word_is_named_with_the_known_ones);
    tcase_add_test(tests, fifty_thousand_words);
    tcase_add_test(tests, the_beginning_of_a_word_is_another_word);
    tcase_add_loop_test(tests, what_is_a_word, 0, (int)(sizeof words / sizeof words[0]));
    tcase_add_test(tests, no_vocabulary_is_an_error);
    tcase_add_test(tests, encode);
    tcase_add_test(tests, encode_that_fails);
    tcase_add_test(tests, out_of_memory_at_every_allocation);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
