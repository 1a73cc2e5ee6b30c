#include "support.h"

#include <math.h>
#include <string.h>

#include "comma_locale.h"
#include "tensor/format.h"

/* The texts are what Python's format(value, ".<digits>g") gives. */
static const struct {
    double value;
    int digits;
    const char *text;
} rows[] = {
    {0, 9, "0"},
    {-0.0, 9, "-0"},
    {3.5, 9, "3.5"},
    {-1234567.25, 9, "-1234567.25"},
    {0.1, 17, "0.10000000000000001"},
    {1.0 / 3, 9, "0.333333333"},
    {1e-5, 9, "1e-05"},
    {123456789012.0, 4, "1.235e+11"},
    {1.7976931348623157e308, 17, "1.7976931348623157e+308"},
    {-2.2250738585072014e-308, 17, "-2.2250738585072014e-308"},
    {4.9406564584124654e-324, 17, "4.9406564584124654e-324"},
    {2.5, 0, "2"},
    {2.0 / 3, 99, "0.66666666666666663"},
    {NAN, 9, "nan"},
    {-NAN, 9, "nan"},
    {INFINITY, 9, "inf"},
    {-INFINITY, 9, "-inf"},
};

static void check_row(int i) {
    char text[TGI_FORMAT_DOUBLE_SIZE];
    int length = tgi_format_double(text, sizeof text, rows[i].value, rows[i].digits);
    ck_assert_str_eq(text, rows[i].text);
    ck_assert_int_eq(length, (int)strlen(rows[i].text));
}

START_TEST(values) {
    check_row(_i);
}
END_TEST

START_TEST(values_where_the_point_is_a_comma) {
    char directory[256];
    test_directory_make(directory);
    comma_locale_enter(directory);
    test_directory_remove(directory);
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++)
        check_row(i);
}
END_TEST

START_TEST(too_little_room) {
    char text[8] = "#######";
    ck_assert_int_eq(tgi_format_double(text, 4, 3.25, 9), -1);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(text[1], '#');
    ck_assert_int_eq(tgi_format_double(text, 5, 3.25, 9), 4);
    ck_assert_str_eq(text, "3.25");
    ck_assert_int_eq(text[5], '#');
    ck_assert_int_eq(tgi_format_double(text, 0, 3.25, 9), -1);
    ck_assert_str_eq(text, "3.25");
    ck_assert_int_eq(tgi_format_double(text, 2, NAN, 9), -1);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("format");
    TCase *tests = tcase_create("format");
    tcase_add_loop_test(tests, values, 0, (int)(sizeof rows / sizeof rows[0]));
    tcase_add_test(tests, values_where_the_point_is_a_comma);
    tcase_add_test(tests, too_little_room);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
