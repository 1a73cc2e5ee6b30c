/* The broadcasting iterator and the sum that undoes it, against a plain odometer. */
#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tensor/broadcast.h"
#include "tensor/context.h"
#include "tensor/kernels/kernels.h"
#include "tensor/shape.h"

enum { MOST = 4096 }; /* 4^6: elements of the largest shape */

/* Numbers that only have to be mixed. Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t state = UINT64_C(88172645463325252);

static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)((state >> 11) % (uint64_t)n);
}

static tg_shape random_shape(void) {
    tg_shape shape = {.rank = (int32_t)below(TG_MAX_RANK + 1)};
    for (int i = 0; i < shape.rank; i++)
        shape.extent[i] = below(8) == 0 ? 0 : 1 + below(4);
    return shape;
}

/* An operand that broadcasts to `full`: axes in front left out, others with extent 1. */
static tg_shape random_operand(tg_shape full) {
    tg_shape shape = {.rank = below(2) == 0 ? full.rank : (int32_t)below(full.rank + 1)};
    for (int i = 0; i < shape.rank; i++)
        shape.extent[i] = below(3) == 0 ? 1 : full.extent[full.rank - shape.rank + i];
    return shape;
}

static void text_of(tg_shape full, tg_shape a, tg_shape b, char text[600]) {
    char tf[TG_SHAPE_TEXT], ta[TG_SHAPE_TEXT], tb[TG_SHAPE_TEXT];
    snprintf(text, 600, "%s from %s and %s", tg_shape_text(full, tf), tg_shape_text(a, ta),
             tg_shape_text(b, tb));
}

/* --- the odometer: an index for each axis of the full shape, the last the fastest --- */

static int64_t elements_of(tg_shape shape) {
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= shape.extent[i];
    return count;
}

static void advance(tg_shape full, int64_t index[TG_MAX_RANK]) {
    for (int i = full.rank - 1; i >= 0; i--) {
        if (++index[i] < full.extent[i])
            return;
        index[i] = 0;
    }
}

/* Where the operand's element for this index lies. */
static int64_t offset_at(tg_shape full, tg_shape shape, const int64_t index[TG_MAX_RANK]) {
    int64_t offset = 0;
    for (int i = 0; i < shape.rank; i++)
        offset = offset * shape.extent[i] +
                 (shape.extent[i] == 1 ? 0 : index[full.rank - shape.rank + i]);
    return offset;
}

/* The full shape, axis by axis: whichever extent is not 1. */
static tg_shape full_of(tg_shape a, tg_shape b) {
    tg_shape full = {.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int i = 0; i < full.rank; i++) {
        int ia = i - (full.rank - a.rank), ib = i - (full.rank - b.rank);
        int64_t ea = ia < 0 ? 1 : a.extent[ia], eb = ib < 0 ? 1 : b.extent[ib];
        full.extent[i] = ea == 1 ? eb : ea;
    }
    return full;
}

/* --- the iterator --- */

/* Walks it beside the odometer; returns the number of runs. */
static int64_t check_walk(tg_shape full, tg_shape a, tg_shape b, const char *what) {
    int64_t index[TG_MAX_RANK] = {0}, seen = 0, runs = 0;
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, full, a, b); !it.done; tgi_broadcast_next(&it), runs++) {
        if (it.run < 1 || seen + it.run > elements_of(full) || it.out_offset != seen)
            ck_abort_msg("%s: a run of %d at %d", what, (int)it.run, (int)it.out_offset);
        for (int k = 0; k < TGI_OPERANDS; k++)
            if (it.step[k] != 0 && it.step[k] != 1)
                ck_abort_msg("%s: a step of %d", what, (int)it.step[k]);
        for (int64_t i = 0; i < it.run; i++, seen++, advance(full, index))
            if (it.offset[0] + i * it.step[0] != offset_at(full, a, index) ||
                it.offset[1] + i * it.step[1] != offset_at(full, b, index))
                ck_abort_msg("%s: wrong operands for element %d", what, (int)seen);
    }
    if (seen != elements_of(full))
        ck_abort_msg("%s: %d elements", what, (int)seen);
    return runs;
}

START_TEST(random_pairs) {
    for (int round = 0; round < 30000; round++) {
        tg_shape wide = random_shape();
        tg_shape a = random_operand(wide), b = random_operand(wide), said = tg_shape_scalar();
        tg_shape full = full_of(a, b);
        char what[600];
        text_of(full, a, b, what);
        if (tg_shape_broadcast("op", a, b, &said, NULL) != TG_OK || !tg_shape_equal(said, full))
            ck_abort_msg("%s is not what tg_shape_broadcast says", what);
        check_walk(full, a, b, what);
        check_walk(full, b, a, what);
    }
}
END_TEST

START_TEST(one_shape_is_a_single_run) {
    for (int round = 0; round < 3000; round++) {
        tg_shape shape = random_shape();
        char what[600];
        text_of(shape, shape, shape, what);
        int64_t runs = check_walk(shape, shape, shape, what);
        if (runs != (elements_of(shape) > 0))
            ck_abort_msg("%s: %d runs", what, (int)runs);
    }
}
END_TEST

START_TEST(axes_are_joined) {
    static const struct {
        int rank;
        int64_t full[6];
        int b_rank;
        int64_t b[6];
        int64_t runs;
    } rows[] = {
        {4, {2, 3, 4, 5}, 0, {0}, 1},          /* a scalar */
        {4, {2, 3, 4, 5}, 1, {5}, 24},         /* a row, for each of them */
        {4, {2, 3, 4, 5}, 2, {4, 5}, 6},       /* a matrix */
        {4, {2, 3, 4, 5}, 4, {2, 3, 1, 1}, 6}, /* a number for each matrix */
        {4, {2, 3, 4, 5}, 4, {2, 1, 1, 5}, 24}, {6, {1, 7, 1, 9, 1, 1}, 6, {1, 7, 1, 9, 1, 1}, 1},
        {6, {1, 7, 1, 9, 1, 1}, 1, {1}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tg_shape full = tg_shape_make(rows[i].rank, rows[i].full);
        tg_shape b = tg_shape_make(rows[i].b_rank, rows[i].b);
        char what[600];
        text_of(full, full, b, what);
        ck_assert_int_eq(check_walk(full, full, b, what), rows[i].runs);
    }
}
END_TEST

/* Legal, since there is nothing in them; no product on the way may overflow. */
static const int64_t far = INT64_C(1) << 32;

START_TEST(empty_shapes_of_huge_extents) {
    tg_shape shapes[] = {tg_shape_2d(0, INT64_MAX), tg_shape_2d(INT64_MAX, 0),
                         tg_shape_3d(0, far, far),  tg_shape_3d(far, far, 0),
                         tg_shape_3d(far, 0, far),  tg_shape_3d(0, INT64_MAX, INT64_MAX)};
    tg_shape shape = shapes[_i];
    tgi_broadcast it;
    tgi_broadcast_start(&it, shape, shape, shape);
    ck_assert(it.done);
    tgi_broadcast_start(&it, shape, shape, tg_shape_1d(1));
    ck_assert(it.done);
    tg_real total = 5;
    tgi_sum_to_shape(tgi_kernels_best(), shape, NULL, tg_shape_scalar(), 1, &total, false);
    ck_assert(total == 0);
}
END_TEST

/* --- the sum --- */

static tg_real x[MOST], start[MOST + 1], small[MOST + 1], again[MOST + 1];

/* Whole numbers, which float holds exactly, as it does their sums: any order gives the same. */
static void fill_with_whole_numbers(void) {
    for (int i = 0; i < MOST; i++)
        x[i] = (tg_real)(below(2001) - 1000);
    for (int i = 0; i <= MOST; i++)
        start[i] = (tg_real)(below(2001) - 1000);
}

/* small[offset of the operand] += factor x, element by element. */
static void check_sum(const tgi_kernels *kernels, tg_shape full, tg_shape to, double factor,
                      bool accumulate, const char *what) {
    int64_t sums[MOST] = {0}, index[TG_MAX_RANK] = {0}, n = elements_of(to);
    for (int64_t i = 0; i < elements_of(full); i++, advance(full, index))
        sums[offset_at(full, to, index)] += (int64_t)x[i];
    memcpy(small, start, sizeof small);
    tgi_sum_to_shape(kernels, full, x, to, factor, small, accumulate);
    for (int64_t i = 0; i < n; i++) {
        double expected = factor * (double)sums[i] + (accumulate ? (double)start[i] : 0);
        if ((double)small[i] != expected)
            ck_abort_msg("%s, %s: element %d is %g, not %g", kernels->name, what, (int)i,
                         (double)small[i], expected);
    }
    if (small[n] != start[n])
        ck_abort_msg("%s, %s: written too far", kernels->name, what);
}

START_TEST(sums_of_whole_numbers) {
    fill_with_whole_numbers();
    for (int round = 0; round < 20000; round++) {
        tg_shape full = random_shape(), to = random_operand(full);
        char what[600];
        text_of(full, full, to, what);
        const tgi_kernels *kernels =
            tgi_kernels_named(tg_kernels_name((int)below(tg_kernels_count())));
        static const double factors[] = {1, -1, 0.5, 2};
        check_sum(kernels, full, to, factors[below(4)], below(2) == 0, what);
    }
}
END_TEST

/* Rows and columns longer than any tile. */
START_TEST(sums_of_long_axes) {
    fill_with_whole_numbers();
    for (int64_t columns = 1; columns <= 200; columns += columns < 70 ? 1 : 13) {
        int64_t rows = MOST / columns;
        tg_shape full = tg_shape_2d(rows, columns);
        for (int t = 0; t < tg_kernels_count(); t++) {
            const tgi_kernels *kernels = tgi_kernels_named(tg_kernels_name(t));
            check_sum(kernels, full, tg_shape_1d(columns), 1, t % 2 == 0, "to a row");
            check_sum(kernels, full, tg_shape_2d(rows, 1), 1, t % 2 == 0, "to a column");
            check_sum(kernels, full, tg_shape_scalar(), 1, t % 2 == 0, "to a scalar");
            check_sum(kernels, full, full, 1, t % 2 == 0, "to itself");
        }
    }
}
END_TEST

/* Fractions, whose sums round: the order, and so the bits, are those of every other table. */
START_TEST(every_table_gives_the_same_bits) {
    for (int i = 0; i < MOST; i++)
        x[i] = (tg_real)((double)below(1 << 30) / 7 - (1 << 26));
    for (int round = 0; round < 3000; round++) {
        tg_shape full = random_shape(), to = random_operand(full);
        size_t bytes = (size_t)elements_of(to) * sizeof(tg_real);
        for (int t = 0; t < tg_kernels_count(); t++) {
            tg_real *out = t == 0 ? small : again;
            memset(out, 0, bytes);
            tgi_sum_to_shape(tgi_kernels_named(tg_kernels_name(t)), full, x, to, 1.0 / 3, out,
                             false);
            if (t > 0 && memcmp(again, small, bytes) != 0)
                ck_abort_msg("%s differs from %s", tg_kernels_name(t), tg_kernels_name(0));
        }
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("broadcast");
    TCase *tests = tcase_create("broadcast");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, random_pairs);
    tcase_add_test(tests, one_shape_is_a_single_run);
    tcase_add_test(tests, axes_are_joined);
    tcase_add_loop_test(tests, empty_shapes_of_huge_extents, 0, 6);
    tcase_add_test(tests, sums_of_whole_numbers);
    tcase_add_test(tests, sums_of_long_axes);
    tcase_add_test(tests, every_table_gives_the_same_bits);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
