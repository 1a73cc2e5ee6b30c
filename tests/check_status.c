#include "support.h"

#include <stdio.h>
#include <string.h>

#include "tensor/status.h"

/* As the header promises them: the number, the name, the text. */
static const struct {
    tg_status status;
    const char *name;
    const char *text;
} rows[] = {
    {TG_OK, "TG_OK", "success"},
    {TG_ENOMEM, "TG_ENOMEM", "out of memory"},
    {TG_EINVAL, "TG_EINVAL", "invalid argument"},
    {TG_ESHAPE, "TG_ESHAPE", "shapes do not fit"},
    {TG_ERANGE, "TG_ERANGE", "index out of range"},
    {TG_ESTATE, "TG_ESTATE", "not possible in this state"},
    {TG_EIO, "TG_EIO", "input or output failed"},
    {TG_EFORMAT, "TG_EFORMAT", "malformed data"},
    {TG_ENOTFOUND, "TG_ENOTFOUND", "not found"},
    {TG_EMISMATCH, "TG_EMISMATCH", "does not match"},
    {TG_ENONFINITE, "TG_ENONFINITE", "not a finite number"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

START_TEST(names_and_texts) {
    ck_assert_int_eq(rows[_i].status, _i); /* success is 0, and no number is left out */
    ck_assert_str_eq(tg_status_name(rows[_i].status), rows[_i].name);
    ck_assert_str_eq(tg_status_text(rows[_i].status), rows[_i].text);
}
END_TEST

START_TEST(numbers_that_are_no_status) {
    static const int numbers[] = {-1, ROWS, ROWS + 1, 1000, -2147483647 - 1, 2147483647};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ck_assert_str_eq(tg_status_name((tg_status)numbers[i]), "TG_?");
        ck_assert_str_eq(tg_status_text((tg_status)numbers[i]), "unknown status");
    }
}
END_TEST

START_TEST(a_failure_in_words) {
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(tg_fail(&error, TG_ESHAPE, "%s: %d and %d", "here", 2, -3), TG_ESHAPE);
    ck_assert_int_eq(error.status, TG_ESHAPE);
    ck_assert_str_eq(error.message, "here: 2 and -3");
    ck_assert_int_eq(tg_fail(&error, TG_EIO, "%s", ""), TG_EIO);
    ck_assert_int_eq(error.status, TG_EIO);
    ck_assert_str_eq(error.message, "");
    ck_assert_int_eq(tg_fail(NULL, TG_ENOMEM, "nobody reads %d", 1), TG_ENOMEM);
}
END_TEST

/* Lengths around the room for a message: cut at 255 bytes, never a byte behind. */
START_TEST(a_long_message_is_cut) {
    char longest[600];
    struct {
        tg_error error;
        char behind;
    } guarded;
    for (size_t length = 250; length <= 599; length += length < 260 ? 1 : 339) {
        memset(longest, 'x', length);
        longest[length] = '\0';
        guarded.behind = '#';
        tg_fail(&guarded.error, TG_EINVAL, "%s", longest);
        size_t kept = length < TG_MESSAGE_SIZE ? length : TG_MESSAGE_SIZE - 1;
        ck_assert_uint_eq(strlen(guarded.error.message), kept);
        ck_assert_mem_eq(guarded.error.message, longest, kept);
        ck_assert_int_eq(guarded.behind, '#');
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_loop_test(tests, names_and_texts, 0, ROWS);
    tcase_add_test(tests, numbers_that_are_no_status);
    tcase_add_test(tests, a_failure_in_words);
    tcase_add_test(tests, a_long_message_is_cut);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
