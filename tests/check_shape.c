#include "support.h"

#include <string.h>

#include "tensor/shape.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const int64_t two32 = INT64_C(4294967296);

/* A shape as it is written in a table. */
typedef struct row_shape {
    int rank;
    int64_t extent[TG_MAX_RANK];
} row_shape;

static tg_shape shape_of(row_shape row) {
    return tg_shape_make(row.rank, row.extent);
}

/* Python's integers, which do not overflow, say what the products are. */
static const struct {
    row_shape shape;
    tg_status status;
    int64_t count;
} counts[] = {
    {{0, {0}}, TG_OK, 1},
    {{1, {5}}, TG_OK, 5},
    {{1, {0}}, TG_OK, 0},
    {{3, {8, 14, 6}}, TG_OK, 672},
    {{6, {1, 2, 3, 4, 5, 6}}, TG_OK, 720},
    {{6, {1, 2, 3, 0, 5, 6}}, TG_OK, 0},
    {{2, {46341, 46341}}, TG_OK, INT64_C(2147488281)},
    {{1, {INT64_MAX}}, TG_OK, INT64_MAX},
    {{2, {INT64_MAX, 1}}, TG_OK, INT64_MAX},
    {{2, {0, INT64_MAX}}, TG_OK, 0},
    {{2, {INT64_MAX, 0}}, TG_OK, 0},
    {{3, {INT64_MAX, INT64_MAX, 0}}, TG_OK, 0},
    {{3, {0, INT64_C(4294967296), INT64_C(4294967296)}}, TG_OK, 0},
    {{2, {INT64_C(4294967296), INT64_C(2147483647)}}, TG_OK, INT64_C(9223372032559808512)},
    {{2, {INT64_C(4294967296), INT64_C(2147483648)}}, TG_ESHAPE, 0},
    {{2, {INT64_C(4294967296), INT64_C(4294967296)}}, TG_ESHAPE, 0},
    {{4, {65536, 65536, 65536, 65536}}, TG_ESHAPE, 0},
    {{2, {INT64_MAX, 2}}, TG_ESHAPE, 0},
    {{2, {2, INT64_MAX}}, TG_ESHAPE, 0},
    {{1, {-1}}, TG_ESHAPE, 0},
    {{2, {3, -2}}, TG_ESHAPE, 0},
    {{2, {0, -1}}, TG_ESHAPE, 0},
    {{2, {-1, -1}}, TG_ESHAPE, 0},
    {{2, {INT64_MIN, 0}}, TG_ESHAPE, 0},
    {{7, {0}}, TG_ESHAPE, 0},
    {{-1, {0}}, TG_ESHAPE, 0},
    {{INT32_MAX, {0}}, TG_ESHAPE, 0},
    {{-INT32_MAX - 1, {0}}, TG_ESHAPE, 0},
};

START_TEST(number_of_elements) {
    int64_t count = -7;
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(tg_shape_count(shape_of(counts[_i].shape), &count, &error), counts[_i].status);
    ck_assert_int_eq(count, counts[_i].count);
    ck_assert_int_eq(error.status, counts[_i].status);
    ck_assert_int_eq(error.message[0] != '\0', counts[_i].status != TG_OK);
    count = -7;
    ck_assert_int_eq(tg_shape_count(shape_of(counts[_i].shape), &count, NULL), counts[_i].status);
    ck_assert_int_eq(count, counts[_i].count);
}
END_TEST

START_TEST(what_a_wrong_count_says) {
    int64_t count;
    tg_error error = {TG_OK, ""};
    tg_shape_count(tg_shape_2d(two32, two32), &count, &error);
    ck_assert_ptr_nonnull(strstr(error.message, "(4294967296, 4294967296)"));
    tg_shape_count(tg_shape_2d(3, -2), &count, &error);
    ck_assert_ptr_nonnull(strstr(error.message, "(3, -2)"));
    tg_shape_count(tg_shape_make(7, NULL), &count, &error);
    ck_assert_ptr_nonnull(strstr(error.message, "rank 7"));
}
END_TEST

START_TEST(making_shapes) {
    static const int64_t extents[6] = {2, 3, 4, 5, 6, 7};
    for (int rank = 0; rank <= TG_MAX_RANK; rank++) {
        tg_shape shape = tg_shape_make(rank, extents);
        ck_assert_int_eq(shape.rank, rank);
        for (int i = 0; i < TG_MAX_RANK; i++)
            ck_assert_int_eq(shape.extent[i], i < rank ? extents[i] : 0);
    }
    ck_assert(tg_shape_equal(tg_shape_scalar(), tg_shape_make(0, NULL)));
    ck_assert(tg_shape_equal(tg_shape_1d(2), tg_shape_make(1, extents)));
    ck_assert(tg_shape_equal(tg_shape_2d(2, 3), tg_shape_make(2, extents)));
    ck_assert(tg_shape_equal(tg_shape_3d(2, 3, 4), tg_shape_make(3, extents)));
    ck_assert(tg_shape_equal(tg_shape_4d(2, 3, 4, 5), tg_shape_make(4, extents)));
    ck_assert_int_eq(tg_shape_make(9, extents).rank, 9);
    ck_assert_int_eq(tg_shape_make(-3, extents).rank, -3);
}
END_TEST

START_TEST(equality) {
    ck_assert(tg_shape_equal(tg_shape_2d(0, 4), tg_shape_2d(0, 4)));
    ck_assert(!tg_shape_equal(tg_shape_2d(0, 4), tg_shape_2d(4, 0)));
    ck_assert(!tg_shape_equal(tg_shape_2d(2, 3), tg_shape_2d(2, 4)));
    ck_assert(!tg_shape_equal(tg_shape_2d(2, 3), tg_shape_3d(2, 3, 1)));
    ck_assert(!tg_shape_equal(tg_shape_scalar(), tg_shape_1d(1)));
    tg_shape padded = tg_shape_1d(3);
    padded.extent[1] = 99; /* behind the rank: says nothing */
    ck_assert(tg_shape_equal(padded, tg_shape_1d(3)));
}
END_TEST

/* numpy.broadcast_shapes; rank -1 where it raises. */
static const struct {
    row_shape a, b, result;
} broadcasts[] = {
    {{0, {0}}, {0, {0}}, {0, {0}}},
    {{0, {0}}, {1, {3}}, {1, {3}}},
    {{1, {3}}, {0, {0}}, {1, {3}}},
    {{1, {1}}, {1, {3}}, {1, {3}}},
    {{1, {3}}, {1, {1}}, {1, {3}}},
    {{1, {3}}, {1, {3}}, {1, {3}}},
    {{2, {2, 3}}, {1, {3}}, {2, {2, 3}}},
    {{2, {2, 1}}, {1, {3}}, {2, {2, 3}}},
    {{1, {3}}, {2, {2, 1}}, {2, {2, 3}}},
    {{2, {2, 3}}, {2, {2, 1}}, {2, {2, 3}}},
    {{2, {1, 3}}, {2, {2, 1}}, {2, {2, 3}}},
    {{1, {0}}, {0, {0}}, {1, {0}}},
    {{0, {0}}, {1, {0}}, {1, {0}}},
    {{1, {0}}, {1, {1}}, {1, {0}}},
    {{1, {1}}, {1, {0}}, {1, {0}}},
    {{1, {0}}, {1, {0}}, {1, {0}}},
    {{1, {0}}, {1, {2}}, {-1, {0}}},
    {{1, {2}}, {1, {0}}, {-1, {0}}},
    {{1, {0}}, {1, {3}}, {-1, {0}}},
    {{2, {2, 0}}, {1, {1}}, {2, {2, 0}}},
    {{2, {2, 0}}, {2, {2, 1}}, {2, {2, 0}}},
    {{2, {2, 1}}, {1, {0}}, {2, {2, 0}}},
    {{2, {2, 0}}, {2, {3, 0}}, {-1, {0}}},
    {{2, {2, 0}}, {2, {1, 0}}, {2, {2, 0}}},
    {{2, {0, 3}}, {1, {3}}, {2, {0, 3}}},
    {{2, {0, 3}}, {2, {1, 3}}, {2, {0, 3}}},
    {{2, {0, 3}}, {2, {2, 3}}, {-1, {0}}},
    {{2, {0, 1}}, {2, {1, 4}}, {2, {0, 4}}},
    {{2, {0, 1}}, {2, {0, 4}}, {2, {0, 4}}},
    {{2, {0, 1}}, {2, {1, 0}}, {2, {0, 0}}},
    {{2, {1, 0}}, {2, {0, 1}}, {2, {0, 0}}},
    {{3, {3, 1, 0}}, {2, {2, 1}}, {3, {3, 2, 0}}},
    {{3, {3, 1, 0}}, {2, {2, 0}}, {3, {3, 2, 0}}},
    {{2, {2, 3}}, {2, {2, 4}}, {-1, {0}}},
    {{2, {2, 3}}, {2, {3, 2}}, {-1, {0}}},
    {{2, {2, 3}}, {1, {2}}, {-1, {0}}},
    {{3, {4, 1, 3}}, {2, {2, 3}}, {3, {4, 2, 3}}},
    {{3, {4, 1, 3}}, {3, {4, 2, 3}}, {3, {4, 2, 3}}},
    {{3, {4, 1, 3}}, {3, {5, 2, 3}}, {-1, {0}}},
    {{3, {1, 1, 1}}, {3, {2, 3, 4}}, {3, {2, 3, 4}}},
    {{4, {8, 1, 6, 1}}, {3, {7, 1, 5}}, {4, {8, 7, 6, 5}}},
    {{6, {2, 1, 3, 1, 2, 1}}, {6, {1, 2, 1, 3, 1, 2}}, {6, {2, 2, 3, 3, 2, 2}}},
    {{6, {2, 1, 3, 1, 2, 1}}, {1, {4}}, {6, {2, 1, 3, 1, 2, 4}}},
    {{6, {6, 5, 4, 3, 2, 1}}, {6, {1, 1, 1, 1, 1, 7}}, {6, {6, 5, 4, 3, 2, 7}}},
    {{6, {2, 2, 2, 2, 2, 2}}, {1, {2}}, {6, {2, 2, 2, 2, 2, 2}}},
    {{6, {2, 2, 2, 2, 2, 2}}, {1, {3}}, {-1, {0}}},
};

START_TEST(broadcasting) {
    tg_shape a = shape_of(broadcasts[_i].a), b = shape_of(broadcasts[_i].b);
    tg_shape expected = shape_of(broadcasts[_i].result), out = tg_shape_1d(77);
    tg_error error = {TG_OK, ""};
    tg_status status = tg_shape_broadcast("op", a, b, &out, &error);
    if (broadcasts[_i].result.rank >= 0) {
        ck_assert_int_eq(status, TG_OK);
        ck_assert(tg_shape_equal(out, expected));
        for (int i = out.rank; i < TG_MAX_RANK; i++)
            ck_assert_int_eq(out.extent[i], 0);
        return;
    }
    ck_assert_int_eq(status, TG_ESHAPE);
    ck_assert_int_eq(error.status, TG_ESHAPE);
    char ta[TG_SHAPE_TEXT], tb[TG_SHAPE_TEXT];
    ck_assert_ptr_eq(strstr(error.message, "op: "), error.message);
    ck_assert_ptr_nonnull(strstr(error.message, tg_shape_text(a, ta)));
    ck_assert_ptr_nonnull(strstr(error.message, tg_shape_text(b, tb)));
    ck_assert_int_eq(tg_shape_broadcast("op", a, b, &out, NULL), TG_ESHAPE);
}
END_TEST

START_TEST(what_a_wrong_broadcast_says) {
    tg_shape out;
    tg_error error = {TG_OK, ""};
    tg_shape_broadcast("add", tg_shape_2d(2, 3), tg_shape_2d(2, 4), &out, &error);
    ck_assert_str_eq(error.message,
                     "add: (2, 3) and (2, 4) do not broadcast: extents 3 and 4 on axis -1");
    tg_shape_broadcast("mul", tg_shape_3d(5, 2, 3), tg_shape_2d(4, 3), &out, &error);
    ck_assert_str_eq(error.message,
                     "mul: (5, 2, 3) and (4, 3) do not broadcast: extents 2 and 4 on axis -2");
}
END_TEST

/* A rank that is none holds no extents to read, and none are written behind the result's. */
START_TEST(broadcasting_an_illegal_rank) {
    static const int ranks[] = {7, 9, INT32_MAX, -1, -9, -INT32_MAX - 1};
    tg_shape illegal = {.rank = ranks[_i]};
    tg_shape legal[3] = {tg_shape_scalar(), tg_shape_1d(3), illegal};
    for (int i = 0; i < 3; i++) {
        struct {
            tg_shape out;
            int64_t behind[4];
        } guarded = {.behind = {-5, -5, -5, -5}};
        tg_error error = {TG_OK, ""};
        ck_assert_int_eq(tg_shape_broadcast("op", illegal, legal[i], &guarded.out, &error),
                         TG_ESHAPE);
        ck_assert_int_eq(error.status, TG_ESHAPE);
        ck_assert_int_eq(tg_shape_broadcast("op", legal[i], illegal, &guarded.out, NULL),
                         TG_ESHAPE);
        for (int k = 0; k < 4; k++)
            ck_assert_int_eq(guarded.behind[k], -5);
    }
}
END_TEST

START_TEST(axes) {
    for (int rank = 0; rank <= TG_MAX_RANK; rank++) {
        tg_shape shape = {.rank = rank};
        for (int axis = -rank - 2; axis < rank + 2; axis++) {
            int out = -77;
            tg_error error = {TG_OK, ""};
            bool inside = axis >= -rank && axis < rank;
            ck_assert_int_eq(tg_shape_axis("softmax", shape, axis, &out, &error),
                             inside ? TG_OK : TG_ERANGE);
            ck_assert_int_eq(out, !inside ? -77 : axis >= 0 ? axis : rank + axis);
            ck_assert_int_eq(error.status, inside ? TG_OK : TG_ERANGE);
        }
    }
    int out;
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(tg_shape_axis("softmax", tg_shape_2d(2, 3), 9, &out, &error), TG_ERANGE);
    ck_assert_str_eq(error.message, "softmax: axis 9 outside [-2, 2) of shape (2, 3)");
    ck_assert_int_eq(tg_shape_axis("softmax", tg_shape_2d(2, 3), INT32_MAX, &out, NULL), TG_ERANGE);
    ck_assert_int_eq(tg_shape_axis("softmax", tg_shape_2d(2, 3), -INT32_MAX - 1, &out, NULL),
                     TG_ERANGE);
}
END_TEST

/* No axis of an illegal rank may be used to index its extents. */
START_TEST(axes_of_an_illegal_rank) {
    static const int ranks[] = {7, 9, INT32_MAX, -1, -9, -INT32_MAX - 1};
    tg_shape illegal = {.rank = ranks[_i]};
    static const int tried[] = {0, -1, 6, 8, -7, -9};
    for (int i = 0; i < COUNT(tried); i++) {
        int out;
        ck_assert_int_ne(tg_shape_axis("op", illegal, tried[i], &out, NULL), TG_OK);
    }
}
END_TEST

START_TEST(texts) {
    static const struct {
        row_shape shape;
        const char *text;
    } written[] = {
        {{0, {0}}, "()"},
        {{1, {3}}, "(3,)"},
        {{1, {0}}, "(0,)"},
        {{2, {14, 6}}, "(14, 6)"},
        {{3, {8, 14, 6}}, "(8, 14, 6)"},
        {{2, {-1, 5}}, "(-1, 5)"},
        {{6, {1, 2, 3, 4, 5, 6}}, "(1, 2, 3, 4, 5, 6)"},
        {{6, {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}},
         "(-9223372036854775808, -9223372036854775808, -9223372036854775808, "
         "-9223372036854775808, -9223372036854775808, -9223372036854775808)"},
        {{7, {0}}, "(rank 7)"},
        {{-1, {0}}, "(rank -1)"},
        {{-INT32_MAX - 1, {0}}, "(rank -2147483648)"},
    };
    for (int i = 0; i < COUNT(written); i++) {
        char text[TG_SHAPE_TEXT];
        ck_assert_ptr_eq(tg_shape_text(shape_of(written[i].shape), text), text);
        ck_assert_str_eq(text, written[i].text);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("shape");
    TCase *tests = tcase_create("shape");
    tcase_add_loop_test(tests, number_of_elements, 0, COUNT(counts));
    tcase_add_test(tests, what_a_wrong_count_says);
    tcase_add_test(tests, making_shapes);
    tcase_add_test(tests, equality);
    tcase_add_loop_test(tests, broadcasting, 0, COUNT(broadcasts));
    tcase_add_test(tests, what_a_wrong_broadcast_says);
    tcase_add_loop_test(tests, broadcasting_an_illegal_rank, 0, 6);
    tcase_add_test(tests, axes);
    tcase_add_loop_test(tests, axes_of_an_illegal_rank, 0, 6);
    tcase_add_test(tests, texts);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
