/* Every kernel of every table that this machine runs: against a plain reference, and to the bit
 * against the other tables. */
#include "support.h"

#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/context.h"
#include "tensor/kernels/kernels.h"

#ifdef TG_F64
#define FUSED   fma
#define EPSILON DBL_EPSILON
typedef uint64_t word;
#else
#define FUSED   fmaf
#define EPSILON FLT_EPSILON
typedef uint32_t word;
#endif

static const tgi_kernels *table_at(int i) {
    return tgi_kernels_named(tg_kernels_name(i));
}

/* Numbers that only have to be mixed. Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t state = UINT64_C(88172645463325252);

static uint64_t mixed(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int64_t below(int64_t n) {
    return (int64_t)((mixed() >> 11) % (uint64_t)n);
}

static tg_real of_bits(word bits) {
    tg_real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static word bits_of(tg_real x) {
    word bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The same bits; one NaN is as good as another, since IEEE 754 leaves its payload open. */
static bool same(tg_real a, tg_real b) {
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

/* (An assertion that holds is a write to Check's pipe, so loops over elements ask first.) */
static void assert_same(int64_t n, const tg_real *actual, const tg_real *expected,
                        const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (!same(actual[i], expected[i]))
            ck_abort_msg("%s: element %" PRId64 " is %.17g, not %.17g", what, i, (double)actual[i],
                         (double)expected[i]);
}

static void assert_near(tg_real actual, double expected, double tolerance, const char *what) {
    if (!test_near((double)actual, expected, tolerance))
        ck_abort_msg("%s: %.17g, not %.17g", what, (double)actual, expected);
}

/* A number in [-2, 2], exact in float. */
static tg_real plain(void) {
    return (tg_real)((double)below(1 << 24) / (1 << 22) - 2);
}

/* The same with NaN, infinities, zeros of both signs, and the largest and smallest sprinkled in. */
static tg_real sprinkled(void) {
    static const double rare[] = {NAN,  INFINITY, -INFINITY, 0.0,     -0.0,   1.0,
                                  -1.0, 3.4e38,   -3.4e38,   1e-45,   -1e-45, 1e-38,
                                  88.8, -104.1,   1000.0,    -1000.0, 0.5,    2.0};
    return below(12) == 0 ? (tg_real)rare[below(sizeof rare / sizeof rare[0])] : plain();
}

static void fill(int64_t n, tg_real *x, tg_real (*draw)(void)) {
    for (int64_t i = 0; i < n; i++)
        x[i] = draw();
}

/* --- matmul --- */

enum { MAX_EXTENT = 700, MAX_ELEMENTS = MAX_EXTENT * 64 };

static tg_real matrix_a[MAX_ELEMENTS], matrix_b[MAX_ELEMENTS];
static tg_real before[MAX_ELEMENTS], result[MAX_ELEMENTS], expected_bits[MAX_ELEMENTS];

/* One product: extents, whether A and B lie transposed, and the gap behind a row of C. */
typedef struct product_case {
    int64_t rows, inner, columns;
    bool transpose_a, transpose_b, accumulate;
    int64_t gap;
} product_case;

static tgi_product product_of(const product_case *c, tg_real *out) {
    return (tgi_product){.rows = c->rows,
                         .inner = c->inner,
                         .columns = c->columns,
                         .a = matrix_a,
                         .a_row = c->transpose_a ? 1 : c->inner,
                         .a_inner = c->transpose_a ? c->rows : 1,
                         .b = matrix_b,
                         .b_inner = c->transpose_b ? 1 : c->columns,
                         .b_column = c->transpose_b ? c->inner : 1,
                         .c = out,
                         .c_row = c->columns + c->gap,
                         .accumulate = c->accumulate};
}

/* c[rows, columns] (+)= a[rows, inner] b[inner, columns], with the order that the header promises;
 * where `finite`, the sum in long double says how far it may be off. */
static void reference_product(const tgi_product *p, bool finite) {
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++) {
            tg_real *out = &expected_bits[i * p->c_row + j];
            tg_real start = p->accumulate ? before[i * p->c_row + j] : 0, sum = start;
            long double exact = (long double)start, size = fabsl(exact);
            for (int64_t k = 0; k < p->inner; k++) {
                tg_real a = p->a[i * p->a_row + k * p->a_inner];
                tg_real b = p->b[k * p->b_inner + j * p->b_column];
                sum = FUSED(a, b, sum);
                exact += (long double)a * (long double)b;
                size += fabsl((long double)a * (long double)b);
            }
            *out = sum;
            long double bound = (long double)(p->inner + 1) * (long double)EPSILON * size;
            if (finite && fabsl((long double)sum - exact) > bound)
                ck_abort_msg("%.17g is not near %.17Lg", (double)sum, exact);
        }
}

static void check_product(const product_case *c, tg_real (*draw)(void)) {
    int64_t size = c->rows * (c->columns + c->gap);
    ck_assert_int_le(size, MAX_ELEMENTS);
    ck_assert_int_le(c->rows * c->inner, MAX_ELEMENTS);
    ck_assert_int_le(c->inner * c->columns, MAX_ELEMENTS);
    fill(c->rows * c->inner, matrix_a, draw);
    fill(c->inner * c->columns, matrix_b, draw);
    fill(size, before, draw);
    memcpy(expected_bits, before, (size_t)size * sizeof *before);
    tgi_product p = product_of(c, result);
    reference_product(&p, draw == plain);
    for (int t = 0; t < tg_kernels_count(); t++) {
        memcpy(result, before, (size_t)size * sizeof *before);
        char what[200];
        snprintf(what, sizeof what, "%s: (%d, %d) x (%d, %d), %stransposed, %stransposed, %s",
                 tg_kernels_name(t), (int)c->rows, (int)c->inner, (int)c->inner, (int)c->columns,
                 c->transpose_a ? "" : "not ", c->transpose_b ? "" : "not ",
                 c->accumulate ? "added" : "written");
        table_at(t)->matmul(&p);
        assert_same(size, result, expected_bits, what);
    }
}

/* All ways to lay A and B and to treat C. */
static void check_all_ways(int64_t rows, int64_t inner, int64_t columns, tg_real (*draw)(void)) {
    for (int way = 0; way < 8; way++)
        check_product(&(product_case){rows, inner, columns, (way & 1) != 0, (way & 2) != 0,
                                      (way & 4) != 0, below(3)},
                      draw);
}

/* Every pair of rows and columns, with whatever inner extent comes. */
START_TEST(products_around_the_tile) {
    int64_t rows = _i;
    for (int64_t columns = 1; columns <= 40; columns++) {
        check_product(&(product_case){rows, 1 + below(40), columns, below(2) == 0, below(2) == 0,
                                      below(2) == 0, below(3)},
                      plain);
        check_product(&(product_case){1 + below(40), rows, columns, below(2) == 0, below(2) == 0,
                                      below(2) == 0, below(3)},
                      plain);
    }
}
END_TEST

START_TEST(products_all_ways) {
    static const int64_t rows[] = {1, 2, 5, 6, 7, 12, 13}, inner[] = {1, 3, 8};
    static const int64_t columns[] = {1, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 40};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 12; j++)
            for (int k = 0; k < 3; k++)
                check_all_ways(rows[i], inner[k], columns[j], plain);
}
END_TEST

START_TEST(products_with_a_long_inner_extent) {
    static const int64_t inner[] = {255, 256, 257, 258, 511, 512, 513, 700};
    static const int64_t others[] = {1, 6, 7, 33};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            check_all_ways(others[i], inner[_i], others[j], plain);
}
END_TEST

START_TEST(products_with_many_rows) {
    static const int64_t rows[] = {47, 48, 49, 50, 54, 97},
                         columns[] = {1, 4, 8, 16, 31, 32, 33, 64};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 8; j++)
            check_all_ways(rows[i], 1 + below(20), columns[j], plain);
}
END_TEST

START_TEST(products_with_an_extent_of_zero) {
    for (int way = 0; way < 8; way++) {
        check_all_ways(way % 2 == 0 ? 0 : 7, way / 2 % 2 == 0 ? 0 : 5, way / 4 == 0 ? 0 : 35,
                       plain);
    }
}
END_TEST

START_TEST(products_of_what_is_not_finite) {
    for (int i = 0; i < 60; i++)
        check_all_ways(1 + below(14), 1 + below(30), 1 + below(40), sprinkled);
}
END_TEST

/* --- kernels of independent elements: to the bit against one operation at a time --- */

enum { LONGEST = 100, ROOM = LONGEST + 20 };

/* The operands of one run: n elements from `at` on, which staggers them, so that no alignment is
 * taken for granted. */
typedef struct operands {
    int64_t n, at;
    tg_real *a, *b, *c, *d;
} operands;

/* Room for operands. */
typedef struct store {
    tg_real a[ROOM], b[ROOM], c[ROOM], d[ROOM];
} store;

static operands operands_in(store *s, int64_t n, int64_t at) {
    return (operands){n, at, s->a, s->b, s->c, s->d};
}

static void draw_store(store *s) {
    fill(ROOM, s->a, sprinkled);
    fill(ROOM, s->b, sprinkled);
    fill(ROOM, s->c, sprinkled);
    fill(ROOM, s->d, sprinkled);
}

/* The run of a kernel over operands, which leaves what it makes in b, c and d. */
typedef void (*run)(const tgi_kernels *kernels, operands *o, int way);

static void run_add(const tgi_kernels *kernels, operands *o, int way) {
    kernels->add(o->n, o->a + o->at, way & 1, o->b + o->at, way >> 1 & 1, o->c + o->at);
}

static void plain_add(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    for (int64_t i = 0; i < o->n; i++)
        o->c[o->at + i] = o->a[o->at + i * (way & 1)] + o->b[o->at + i * (way >> 1 & 1)];
}

static void run_subtract(const tgi_kernels *kernels, operands *o, int way) {
    kernels->subtract(o->n, o->a + o->at, way & 1, o->b + o->at, way >> 1 & 1, o->c + o->at);
}

static void plain_subtract(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    for (int64_t i = 0; i < o->n; i++)
        o->c[o->at + i] = o->a[o->at + i * (way & 1)] - o->b[o->at + i * (way >> 1 & 1)];
}

static void run_multiply(const tgi_kernels *kernels, operands *o, int way) {
    kernels->multiply(o->n, o->a + o->at, way & 1, o->b + o->at, way >> 1 & 1, o->c + o->at);
}

static void plain_multiply(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    for (int64_t i = 0; i < o->n; i++)
        o->c[o->at + i] = o->a[o->at + i * (way & 1)] * o->b[o->at + i * (way >> 1 & 1)];
}

static void run_scale(const tgi_kernels *kernels, operands *o, int way) {
    kernels->scale(o->n, o->b[0], o->a + o->at, o->c + o->at, (way & 1) != 0);
}

static void plain_scale(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    for (int64_t i = o->at; i < o->at + o->n; i++)
        o->c[i] = (way & 1) != 0 ? FUSED(o->b[0], o->a[i], o->c[i]) : o->b[0] * o->a[i];
}

static void run_multiply_add(const tgi_kernels *kernels, operands *o, int way) {
    kernels->multiply_add(o->n, o->a + o->at, o->b + o->at, way >> 1 & 1, o->c + o->at,
                          (way & 1) != 0);
}

static void plain_multiply_add(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    for (int64_t i = 0; i < o->n; i++) {
        tg_real y = o->b[o->at + i * (way >> 1 & 1)], *out = &o->c[o->at + i];
        *out = (way & 1) != 0 ? FUSED(o->a[o->at + i], y, *out) : o->a[o->at + i] * y;
    }
}

static void run_relu(const tgi_kernels *kernels, operands *o, int way) {
    (void)way;
    kernels->relu(o->n, o->a + o->at, o->c + o->at);
}

static void plain_relu(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    (void)way;
    for (int64_t i = o->at; i < o->at + o->n; i++)
        o->c[i] = isnan(o->a[i]) || o->a[i] > 0 ? o->a[i] : 0;
}

static void run_relu_backward(const tgi_kernels *kernels, operands *o, int way) {
    kernels->relu_backward(o->n, o->a + o->at, o->b + o->at, o->c + o->at, (way & 1) != 0);
}

static void plain_relu_backward(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    for (int64_t i = o->at; i < o->at + o->n; i++) {
        tg_real passed = isnan(o->a[i]) || o->a[i] > 0 ? o->b[i] : 0;
        o->c[i] = (way & 1) != 0 ? o->c[i] + passed : passed;
    }
}

static void run_momentum(const tgi_kernels *kernels, operands *o, int way) {
    (void)way;
    kernels->momentum(o->n, o->b[0], o->b[1], o->a + o->at, o->c + o->at, o->d + o->at);
}

static void plain_momentum(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    (void)way;
    for (int64_t i = o->at; i < o->at + o->n; i++) {
        o->d[i] = FUSED(o->b[1], o->d[i], o->a[i]);
        o->c[i] = FUSED(-o->b[0], o->d[i], o->c[i]);
    }
}

/* The folding of 16 virtual lanes, element i in lane i mod 16. */
static double fold(double lane[16]) {
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

/* A double in two, so that float loses little of it. */
static void keep_double(double x, tg_real *high, tg_real *low) {
    *high = (tg_real)x;
    *low = (tg_real)(x - (double)*high);
}

static void run_sum(const tgi_kernels *kernels, operands *o, int way) {
    (void)way;
    keep_double(kernels->sum(o->n, o->a + o->at), &o->d[0], &o->d[1]);
}

static void plain_sum(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    (void)way;
    double lane[16] = {0};
    for (int64_t i = 0; i < o->n; i++)
        lane[i % 16] += (double)o->a[o->at + i];
    keep_double(fold(lane), &o->d[0], &o->d[1]);
}

static void run_add_to_sums(const tgi_kernels *kernels, operands *o, int way) {
    double sums[ROOM];
    (void)way;
    for (int64_t i = 0; i < ROOM; i++)
        sums[i] = i < o->n ? (double)o->b[o->at + i] / 3 : 5;
    kernels->add_to_sums(o->n, o->a + o->at, sums);
    for (int64_t i = 0; i < ROOM; i++)
        if (i < o->n)
            keep_double(sums[i], &o->c[o->at + i], &o->d[o->at + i]);
        else if (sums[i] != 5)
            ck_abort_msg("add_to_sums: element %d, outside, was written", (int)i);
}

static void plain_add_to_sums(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    (void)way;
    for (int64_t i = o->at; i < o->at + o->n; i++)
        keep_double((double)o->b[i] / 3 + (double)o->a[i], &o->c[i], &o->d[i]);
}

static tg_real fold_reals(tg_real lane[16]) {
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static void run_exp_sum(const tgi_kernels *kernels, operands *o, int way) {
    if (o->n > 0)
        o->d[0] =
            kernels->exp_sum(o->n, o->a + o->at, &o->d[1], (way & 1) != 0 ? o->c + o->at : NULL);
}

/* The terms by the baseline's exp, which is checked further down. */
static void plain_exp_sum(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    tg_real lane[16] = {0}, term, *x = o->a + o->at;
    for (int64_t i = 0; i < o->n; i++)
        o->d[1] = i == 0 || x[i] > o->d[1] || isnan(x[i]) ? x[i] : o->d[1];
    for (int64_t i = 0; i < o->n; i++) {
        term = x[i] - o->d[1];
        tgi_kernels_named("baseline")->exp(1, &term, &term);
        lane[i % 16] += term;
        if ((way & 1) != 0)
            o->c[o->at + i] = term;
    }
    o->d[0] = o->n > 0 ? fold_reals(lane) : o->d[0];
}

static void run_softmax_backward(const tgi_kernels *kernels, operands *o, int way) {
    kernels->softmax_backward(o->n, o->a + o->at, o->b + o->at, o->c + o->at, (way & 1) != 0);
}

static void plain_softmax_backward(const tgi_kernels *kernels, operands *o, int way) {
    (void)kernels;
    tg_real lane[16] = {0};
    for (int64_t i = 0; i < o->n; i++)
        lane[i % 16] = FUSED(o->a[o->at + i], o->b[o->at + i], lane[i % 16]);
    tg_real dot = fold_reals(lane);
    for (int64_t i = o->at; i < o->at + o->n; i++) {
        tg_real inner = o->b[i] - dot;
        o->c[i] = (way & 1) != 0 ? FUSED(o->a[i], inner, o->c[i]) : o->a[i] * inner;
    }
}

/* For these the baseline is the reference; their values are checked further down. */
static void run_exp(const tgi_kernels *kernels, operands *o, int way) {
    (void)way;
    kernels->exp(o->n, o->a + o->at, o->c + o->at);
}

static void run_log(const tgi_kernels *kernels, operands *o, int way) {
    (void)way;
    kernels->log(o->n, o->a + o->at, o->c + o->at);
}

static void run_exp_scaled(const tgi_kernels *kernels, operands *o, int way) {
    kernels->exp_scaled(o->n, o->a + o->at, o->b[0], o->b[1], o->c + o->at, (way & 1) != 0);
}

static void run_adam(const tgi_kernels *kernels, operands *o, int way) {
    const tgi_adam_step step = {(tg_real)0.9, (tg_real)0.1,   (tg_real)0.999, (tg_real)0.001,
                                (tg_real)0.1, (tg_real)0.125, (tg_real)1e-8,  (tg_real)(way & 1)};
    kernels->adam(o->n, &step, o->a + o->at, o->b + o->at, o->c + o->at, o->d + o->at);
}

static const struct {
    const char *name;
    run kernel;
    run reference; /* NULL: the baseline */
    int ways;
} element_kernels[] = {
    {"add", run_add, plain_add, 4},
    {"subtract", run_subtract, plain_subtract, 4},
    {"multiply", run_multiply, plain_multiply, 4},
    {"scale", run_scale, plain_scale, 2},
    {"multiply_add", run_multiply_add, plain_multiply_add, 4},
    {"relu", run_relu, plain_relu, 1},
    {"relu_backward", run_relu_backward, plain_relu_backward, 2},
    {"momentum", run_momentum, plain_momentum, 1},
    {"sum", run_sum, plain_sum, 1},
    {"add_to_sums", run_add_to_sums, plain_add_to_sums, 1},
    {"exp", run_exp, NULL, 1},
    {"log", run_log, NULL, 1},
    {"exp_scaled", run_exp_scaled, NULL, 2},
    {"exp_sum", run_exp_sum, plain_exp_sum, 2},
    {"softmax_backward", run_softmax_backward, plain_softmax_backward, 2},
    {"adam", run_adam, NULL, 2},
};
enum { ELEMENT_KERNELS = sizeof element_kernels / sizeof element_kernels[0] };

/* Nothing but the run itself may have been written; d[0] and d[1] hold scalars of some kernels. */
static void assert_untouched_around(int64_t n, int64_t at, const store *s, const store *drawn,
                                    const char *what) {
    assert_same(ROOM, s->a, drawn->a, what);
    for (int64_t i = 0; i < ROOM; i++) {
        if (i >= at && i < at + n)
            continue;
        if (!same(s->b[i], drawn->b[i]) || !same(s->c[i], drawn->c[i]) ||
            (i >= 2 && !same(s->d[i], drawn->d[i])))
            ck_abort_msg("%s: element %d, outside, was written", what, (int)i);
    }
}

static void check_element_kernel(int which, int64_t n, int way) {
    store drawn;
    draw_store(&drawn);
    store expected = drawn;
    int64_t at = below(8);
    operands wanted = operands_in(&expected, n, at);
    if (element_kernels[which].reference != NULL)
        element_kernels[which].reference(NULL, &wanted, way);
    else
        element_kernels[which].kernel(tgi_kernels_named("baseline"), &wanted, way);
    for (int t = 0; t < tg_kernels_count(); t++) {
        store made = drawn;
        operands o = operands_in(&made, n, at);
        char what[100];
        snprintf(what, sizeof what, "%s of %s, n %d, way %d", element_kernels[which].name,
                 tg_kernels_name(t), (int)n, way);
        element_kernels[which].kernel(table_at(t), &o, way);
        assert_same(ROOM, made.b, expected.b, what);
        assert_same(ROOM, made.c, expected.c, what);
        assert_same(ROOM, made.d, expected.d, what);
        assert_untouched_around(n, at, &made, &drawn, what);
    }
}

START_TEST(every_table_gives_the_same_bits) {
    for (int64_t n = 0; n <= LONGEST; n++)
        for (int round = 0; round < 5; round++)
            for (int way = 0; way < element_kernels[_i].ways; way++)
                check_element_kernel(_i, n, way);
}
END_TEST

/* --- nothing behind an operand is touched, not even read --- */

enum { GUARDED = 16384 };

/* The end of memory of GUARDED bytes, behind which any access ends the test with a signal. */
static tg_real *guarded_end(void) {
    int zeros = open("/dev/zero", O_RDONLY);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (GUARDED + page - 1) / page * page;
    ck_assert_int_ge(zeros, 0);
    char *start = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
    ck_assert_ptr_ne(start, MAP_FAILED);
    ck_assert_int_eq(mprotect(start + size, page, PROT_NONE), 0);
    close(zeros);
    return (tg_real *)(void *)(start + size);
}

/* The last `count` elements before the end, filled. */
static tg_real *last(tg_real *end, int64_t count) {
    ck_assert_uint_le((size_t)count * sizeof *end, GUARDED);
    fill(count, end - count, plain);
    return end - count;
}

START_TEST(elements_behind_the_end) {
    tg_real *ends[4] = {guarded_end(), guarded_end(), guarded_end(), guarded_end()};
    for (int which = 0; which < ELEMENT_KERNELS; which++)
        for (int64_t n = 0; n <= LONGEST; n++)
            for (int t = 0; t < tg_kernels_count(); t++)
                for (int way = 0; way < element_kernels[which].ways; way++) {
                    operands o = {n,
                                  2, /* the scalars of some kernels are before */
                                  last(ends[0], n + 2),
                                  last(ends[1], n + 2),
                                  last(ends[2], n + 2),
                                  last(ends[3], n + 2)};
                    element_kernels[which].kernel(table_at(t), &o, way);
                }
}
END_TEST

START_TEST(matrices_behind_the_end) {
    tg_real *a = guarded_end(), *b = guarded_end(), *c = guarded_end();
    for (int64_t rows = 1; rows <= 50; rows += rows < 8 ? 1 : 7)
        for (int64_t columns = 1; columns <= 40; columns++)
            for (int way = 0; way < 8 * tg_kernels_count(); way++) {
                const product_case drawn = {rows,           1 + below(9),   columns, (way & 1) != 0,
                                            (way & 2) != 0, (way & 4) != 0, 0};
                tgi_product p = product_of(&drawn, last(c, rows * columns));
                p.a = last(a, rows * drawn.inner);
                p.b = last(b, drawn.inner * columns);
                table_at(way / 8)->matmul(&p);
            }
}
END_TEST

/* --- values --- */

START_TEST(relu_of_special_values) {
    const tg_real x[5] = {(tg_real)NAN, -1, (tg_real)INFINITY, (tg_real)-0.0, 2};
    const tg_real ones[5] = {1, 1, 1, 1, 1};
    for (int t = 0; t < tg_kernels_count(); t++) {
        tg_real y[5], grad[5];
        table_at(t)->relu(5, x, y);
        ck_assert(isnan(y[0]));
        ck_assert(y[1] == 0 && signbit(y[1]) == 0);
        ck_assert(isinf(y[2]) && y[2] > 0);
        ck_assert(y[3] == 0 && signbit(y[3]) == 0);
        ck_assert(y[4] == 2);
        table_at(t)->relu_backward(5, y, ones, grad, false);
        const tg_real expected[5] = {1, 0, 1, 0, 1};
        assert_same(5, grad, expected, "relu_backward");
    }
}
END_TEST

/* A running sum in float stops at 2^24. */
START_TEST(sums_do_not_stall) {
    const int64_t ones = (1 << 24) + 10, tenths = 10000000;
    tg_real *x = malloc((size_t)ones * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < ones; i++)
        x[i] = 1;
    for (int t = 0; t < tg_kernels_count(); t++)
        ck_assert(table_at(t)->sum(ones, x) == 16777226);
    for (int64_t i = 0; i < tenths; i++)
        x[i] = (tg_real)0.1f;
    for (int t = 0; t < tg_kernels_count(); t++)
        test_assert_near(table_at(t)->sum(tenths, x), 1000000.0149011612, 1e-12);
    free(x);
}
END_TEST

/* Integers, whose sums double holds exactly whatever the order. */
START_TEST(sums_of_integers_are_exact) {
    tg_real x[1000];
    for (int64_t n = 0; n <= 1000; n += n < 70 ? 1 : 93) {
        int64_t exact = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t drawn = below(1 << 24) - (1 << 23);
            x[i] = (tg_real)drawn;
            exact += drawn;
        }
        for (int t = 0; t < tg_kernels_count(); t++)
            ck_assert(table_at(t)->sum(n, x) == (double)exact);
    }
}
END_TEST

/* The maximum, the terms and their sum, against exp of the C library. */
static void check_exp_sum(const tgi_kernels *kernels, int64_t n, const tg_real *x) {
    tg_real maximum, again, out[300];
    tg_real sum = kernels->exp_sum(n, x, &maximum, out);
    double largest = (double)x[0], expected = 0;
    for (int64_t i = 1; i < n; i++)
        largest = fmax(largest, (double)x[i]);
    ck_assert((double)maximum == largest);
    for (int64_t i = 0; i < n; i++) {
        double term = exp((double)x[i] - largest);
        assert_near(out[i], term, TEST_TOLERANCE, "exp_sum, a term");
        expected += term;
    }
    assert_near(sum, expected, TEST_TOLERANCE, "exp_sum");
    ck_assert(same(kernels->exp_sum(n, x, &again, NULL), sum));
    ck_assert(same(again, maximum));
    tg_real in_place[300]; /* the terms may go where the elements were */
    memcpy(in_place, x, (size_t)n * sizeof *x);
    ck_assert(same(kernels->exp_sum(n, in_place, &again, in_place), sum));
    assert_same(n, in_place, out, "exp_sum in place");
}

START_TEST(softmax_of_finite_rows) {
    tg_real x[300];
    for (int64_t n = 1; n <= 300; n += n < 70 ? 1 : 23)
        for (int t = 0; t < tg_kernels_count(); t++) {
            fill(n, x, plain);
            check_exp_sum(table_at(t), n, x);
            x[below(n)] = 1000; /* the largest may be anywhere, and others far below */
            check_exp_sum(table_at(t), n, x);
            x[below(n)] = (tg_real)-INFINITY;
            x[0] = n > 1 ? x[0] : 0;
            check_exp_sum(table_at(t), n, x);
        }
}
END_TEST

/* A NaN is never hidden, wherever it stands; nor is what has no softmax. */
START_TEST(softmax_of_what_is_not_finite) {
    tg_real x[60], maximum;
    for (int t = 0; t < tg_kernels_count(); t++)
        for (int64_t n = 1; n <= 60; n++)
            for (int64_t at = 0; at < n; at++) {
                fill(n, x, plain);
                x[at] = (tg_real)NAN;
                ck_assert(isnan(table_at(t)->exp_sum(n, x, &maximum, NULL)));
                ck_assert(isnan(maximum));
                x[at] = (tg_real)INFINITY;
                ck_assert(isnan(table_at(t)->exp_sum(n, x, &maximum, NULL)));
                ck_assert(isinf(maximum));
            }
    for (int64_t i = 0; i < 60; i++)
        x[i] = (tg_real)-INFINITY;
    for (int t = 0; t < tg_kernels_count(); t++)
        ck_assert(isnan(table_at(t)->exp_sum(60, x, &maximum, NULL)));
}
END_TEST

START_TEST(softmax_backward_against_double) {
    tg_real y[100], out_grad[100], start[100], x_grad[100];
    for (int64_t n = 1; n <= 100; n++)
        for (int way = 0; way < 2 * tg_kernels_count(); way++) {
            fill(n, y, plain);
            fill(n, out_grad, plain);
            fill(n, start, plain);
            memcpy(x_grad, start, sizeof start);
            table_at(way / 2)->softmax_backward(n, y, out_grad, x_grad, way % 2 != 0);
            double dot = 0;
            for (int64_t i = 0; i < n; i++)
                dot += (double)y[i] * (double)out_grad[i];
            for (int64_t i = 0; i < n; i++) {
                double added = (double)y[i] * ((double)out_grad[i] - dot);
                double expected = added + (way % 2 != 0 ? (double)start[i] : 0);
                assert_near(x_grad[i], expected, TEST_TOLERANCE * (1 + fabs(dot)),
                            "softmax_backward");
            }
        }
}
END_TEST

START_TEST(exp_scaled_against_double) {
    tg_real x[100], start[100], x_grad[100];
    for (int64_t n = 1; n <= 100; n++)
        for (int way = 0; way < 2 * tg_kernels_count(); way++) {
            fill(n, x, plain);
            fill(n, start, plain);
            memcpy(x_grad, start, sizeof start);
            tg_real maximum = 2, factor = plain();
            table_at(way / 2)->exp_scaled(n, x, maximum, factor, x_grad, way % 2 != 0);
            for (int64_t i = 0; i < n; i++) {
                double added = (double)factor * exp((double)x[i] - 2);
                double expected = added + (way % 2 != 0 ? (double)start[i] : 0);
                assert_near(x_grad[i], expected, TEST_TOLERANCE, "exp_scaled");
            }
        }
}
END_TEST

/* Three steps of Adam over one element, in double. */
static void adam_in_double(const tgi_adam_step *s, double grad, double *value, double *first,
                           double *second) {
    double g = grad + (double)s->weight_decay * *value;
    *first = (double)s->beta1 * *first + (double)s->one_minus_beta1 * g;
    *second = (double)s->beta2 * *second + (double)s->one_minus_beta2 * g * g;
    *value -= (double)s->step_size * *first /
              (sqrt(*second) / (double)s->root_correction2 + (double)s->epsilon);
}

static void check_adam(const tgi_kernels *kernels, int64_t n, tg_real weight_decay) {
    const tgi_adam_step step = {.beta1 = (tg_real)0.9,
                                .one_minus_beta1 = (tg_real)0.1,
                                .beta2 = (tg_real)0.999,
                                .one_minus_beta2 = (tg_real)0.001,
                                .step_size = (tg_real)0.25,
                                .root_correction2 = (tg_real)0.03,
                                .epsilon = (tg_real)1e-8,
                                .weight_decay = weight_decay};
    tg_real grad[60], value[60], first[60] = {0}, second[60] = {0};
    double values[60], firsts[60] = {0}, seconds[60] = {0};
    fill(n, value, plain);
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)value[i];
    for (int round = 0; round < 3; round++) {
        fill(n, grad, plain);
        kernels->adam(n, &step, grad, value, first, second);
        for (int64_t i = 0; i < n; i++)
            adam_in_double(&step, (double)grad[i], &values[i], &firsts[i], &seconds[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        assert_near(value[i], values[i], TEST_TOLERANCE, "adam: value");
        assert_near(first[i], firsts[i], TEST_TOLERANCE, "adam: first moment");
        assert_near(second[i], seconds[i], TEST_TOLERANCE, "adam: second moment");
    }
}

START_TEST(adam_against_double) {
    for (int t = 0; t < tg_kernels_count(); t++)
        for (int64_t n = 0; n <= 60; n++) {
            check_adam(table_at(t), n, 0);
            check_adam(table_at(t), n, (tg_real)0.125);
        }
}
END_TEST

/* With no gradient ever, 0 / (0 + epsilon) moves nothing. */
START_TEST(adam_without_a_gradient) {
    const tgi_adam_step step = {(tg_real)0.9, (tg_real)0.1,  (tg_real)0.999, (tg_real)0.001,
                                (tg_real)0.1, (tg_real)0.03, (tg_real)1e-8,  0};
    for (int t = 0; t < tg_kernels_count(); t++) {
        tg_real grad[33] = {0}, value[33], start[33], first[33] = {0}, second[33] = {0};
        fill(33, value, plain);
        memcpy(start, value, sizeof value);
        table_at(t)->adam(33, &step, grad, value, first, second);
        assert_same(33, value, start, "value");
    }
}
END_TEST

START_TEST(momentum_against_double) {
    for (int t = 0; t < tg_kernels_count(); t++)
        for (int64_t n = 0; n <= 60; n++) {
            tg_real grad[60], value[60], velocity[60];
            double values[60], velocities[60];
            fill(n, value, plain);
            fill(n, velocity, plain);
            for (int64_t i = 0; i < n; i++) {
                values[i] = (double)value[i];
                velocities[i] = (double)velocity[i];
            }
            for (int round = 0; round < 3; round++) {
                fill(n, grad, plain);
                table_at(t)->momentum(n, (tg_real)0.125, (tg_real)0.75, grad, value, velocity);
                for (int64_t i = 0; i < n; i++) {
                    velocities[i] = 0.75 * velocities[i] + (double)grad[i];
                    values[i] -= 0.125 * velocities[i];
                }
            }
            for (int64_t i = 0; i < n; i++) {
                assert_near(value[i], values[i], TEST_TOLERANCE, "momentum: value");
                assert_near(velocity[i], velocities[i], TEST_TOLERANCE, "momentum: velocity");
            }
        }
}
END_TEST

/* --- exp and log --- */

enum { BLOCK = 1024 };

#ifdef TG_F64

/* In double they are the C library's. */
START_TEST(exp_and_log_are_the_c_library_s) {
    for (int block = 0; block < 300; block++) {
        double x[BLOCK], out[BLOCK];
        for (int i = 0; i < BLOCK; i++)
            x[i] = block % 2 == 0 ? of_bits(mixed()) : (double)below(1 << 30) / 1000000 - 750;
        for (int t = 0; t < tg_kernels_count(); t++) {
            table_at(t)->exp(BLOCK, x, out);
            for (int i = 0; i < BLOCK; i++)
                if (!same(out[i], exp(x[i])))
                    ck_abort_msg("exp(%a) is %a", x[i], out[i]);
            table_at(t)->log(BLOCK, x, out);
            for (int i = 0; i < BLOCK; i++)
                if (!same(out[i], log(x[i])))
                    ck_abort_msg("log(%a) is %a", x[i], out[i]);
        }
    }
}
END_TEST

#else

/* How far `got` is from `exact`, in units of the last place that a float of that size has; infinity
 * stands for 2^128, the next float if there were one. */
static double ulps(float got, double exact) {
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : (double)INFINITY;
    const double limit = 0x1p128;
    double reached = isinf(got) ? copysign(limit, (double)got) : (double)got;
    double wanted = fabs(exact) > limit ? copysign(limit, exact) : exact;
    int exponent;
    frexp(wanted, &exponent);
    exponent = wanted == 0 || exponent < -125 ? -125 : exponent > 128 ? 128 : exponent;
    return fabs(reached - wanted) / ldexp(1, exponent - 24);
}

/* Over every 997th float, subnormals, infinities and NaN among them. */
static void sweep(int t, bool logarithm) {
    double worst = 0;
    float at = 0, x[BLOCK], out[BLOCK], baseline[BLOCK];
    const tgi_kernels *first = tgi_kernels_named("baseline");
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        int n = 0;
        for (; n < BLOCK && bits <= UINT32_MAX; bits += 997)
            x[n++] = of_bits((word)bits);
        (logarithm ? table_at(t)->log : table_at(t)->exp)(n, x, out);
        (logarithm ? first->log : first->exp)(n, x, baseline);
        assert_same(n, out, baseline, logarithm ? "log" : "exp");
        for (int i = 0; i < n; i++) {
            double off = ulps(out[i], logarithm ? log((double)x[i]) : exp((double)x[i]));
            at = off > worst ? x[i] : at;
            worst = fmax(worst, off);
        }
    }
    printf("%s of %s: at most %.3f units in the last place off, at %a\n", logarithm ? "log" : "exp",
           tg_kernels_name(t), worst, (double)at);
    fflush(stdout);
    ck_assert_double_le(worst, 2);
}

START_TEST(exp_over_all_floats) {
    for (int t = 0; t < tg_kernels_count(); t++)
        sweep(t, false);
}
END_TEST

START_TEST(log_over_all_floats) {
    for (int t = 0; t < tg_kernels_count(); t++)
        sweep(t, true);
}
END_TEST

START_TEST(exp_and_log_of_special_values) {
    const float inf = (float)INFINITY;
    static const float tiny = 0x1p-149f;
    const float x[] = {0.0f, -0.0f, inf, -inf, (float)NAN, 1.0f, -1.0f, tiny, -tiny, 88.72283f};
    const float e = (float)2.718281828459045, reciprocal = (float)0.36787944117144233;
    const float exps[] = {1, 1, inf, 0, (float)NAN, e, reciprocal, 1, 1};
    const float logs[] = {-inf,       -inf, inf,        (float)NAN,
                          (float)NAN, 0,    (float)NAN, (float)-103.27892990343184};
    for (int t = 0; t < tg_kernels_count(); t++) {
        float out[10];
        table_at(t)->exp(10, x, out);
        for (int i = 0; i < 10; i++)
            ck_assert_double_le(ulps(out[i], i < 9 ? (double)exps[i] : exp((double)x[i])), 2);
        ck_assert(out[0] == 1 && out[1] == 1 && out[3] == 0 && isfinite(out[9]));
        table_at(t)->log(10, x, out);
        for (int i = 0; i < 8; i++)
            ck_assert_double_le(ulps(out[i], (double)logs[i]), 2);
        ck_assert(out[5] == 0);
        ck_assert(isnan(out[8]));
    }
}
END_TEST

/* --- the fused multiply-add, which the baseline has to emulate --- */

/* 1, or one of its neighbours. */
static float near_one(void) {
    return 1 + (float)(below(9) - 4) * 0x1p-23f;
}

static float any_float(void) {
    return of_bits((word)(mixed() >> 20));
}

/* A float in [1, 2), of few digits or of many. */
static float any_mantissa(void) {
    return below(3) == 0 ? 1 + (float)below(4) / 4 : 1 + (float)below(1 << 23) * 0x1p-23f;
}

static float any_sign(float x) {
    return below(2) == 0 ? x : -x;
}

/* The sum is all but zero: c is minus the product, give or take some units. */
static void cancelling(float *a, float *b, float *c) {
    *a = any_sign(ldexpf(any_mantissa(), (int)below(120) - 60));
    *b = any_sign(ldexpf(any_mantissa(), (int)below(120) - 60));
    *c = of_bits(bits_of(-(*a * *b)) + (word)below(5) - 2);
}

/* The product is half a unit of c, or a quarter, and a trace more or less: rounding twice goes
 * wrong here. */
static void halfway(float *a, float *b, float *c) {
    int scale = (int)below(180) - 90;
    *a = any_sign(ldexpf(near_one(), -12));
    *b = any_sign(ldexpf(near_one(), scale - 10 - (int)below(5)));
    *c = any_sign(ldexpf(any_mantissa(), scale));
}

/* The result is subnormal, or just not. */
static void subnormal(float *a, float *b, float *c) {
    int exponent = -(int)below(120);
    *a = any_sign(ldexpf(below(2) == 0 ? near_one() : any_mantissa(), exponent));
    *b = any_sign(
        ldexpf(below(2) == 0 ? near_one() : any_mantissa(), -152 + (int)below(30) - exponent));
    *c = any_sign(of_bits((word)below(below(2) == 0 ? 1 << 24 : 8)));
}

/* The result is the largest float, or infinity. */
static void overflowing(float *a, float *b, float *c) {
    int exponent = 40 + (int)below(60);
    *a = any_sign(ldexpf(near_one(), exponent));
    *b = any_sign(ldexpf(near_one(), (below(2) == 0 ? 127 : 103) + (int)below(3) - 1 - exponent));
    *c = any_sign(of_bits(0x7f7fffff - (word)below(3)));
}

static void any_triple(float *a, float *b, float *c) {
    *a = any_float();
    *b = any_float();
    *c = any_float();
}

static void special(float *a, float *b, float *c) {
    float *all[3] = {a, b, c};
    for (int i = 0; i < 3; i++)
        *all[i] = below(3) == 0 ? any_float() : sprinkled();
}

static void (*const triples[])(float *a, float *b, float *c) = {any_triple, cancelling,  halfway,
                                                                subnormal,  overflowing, special};
enum { TRIPLES = sizeof triples / sizeof triples[0] };

/* Two million of each kind. */
START_TEST(fused_multiply_add) {
    for (int block = 0; block < 2000; block++) {
        float a[BLOCK], b[BLOCK], c[BLOCK], out[BLOCK], expected[BLOCK];
        for (int i = 0; i < BLOCK; i++) {
            triples[_i](&a[i], &b[i], &c[i]);
            expected[i] = fmaf(a[i], b[i], c[i]);
        }
        for (int t = 0; t < tg_kernels_count(); t++) {
            memcpy(out, c, sizeof out);
            table_at(t)->multiply_add(BLOCK, a, b, 1, out, true);
            for (int i = 0; i < BLOCK; i++)
                if (!same(out[i], expected[i]))
                    ck_abort_msg("%s: %a * %a + %a is %a, not %a", tg_kernels_name(t), (double)a[i],
                                 (double)b[i], (double)c[i], (double)out[i], (double)expected[i]);
            memcpy(out, c, sizeof out);
            table_at(t)->scale(BLOCK, a[0], b, out, true);
            for (int i = 0; i < BLOCK; i++)
                if (!same(out[i], fmaf(a[0], b[i], c[i])))
                    ck_abort_msg("%s: scale, %a * %a + %a is %a", tg_kernels_name(t), (double)a[0],
                                 (double)b[i], (double)c[i], (double)out[i]);
        }
    }
}
END_TEST

#endif

static void add_value_tests(TCase *tests) {
    tcase_add_test(tests, relu_of_special_values);
    tcase_add_test(tests, sums_do_not_stall);
    tcase_add_test(tests, sums_of_integers_are_exact);
    tcase_add_test(tests, softmax_of_finite_rows);
    tcase_add_test(tests, softmax_of_what_is_not_finite);
    tcase_add_test(tests, softmax_backward_against_double);
    tcase_add_test(tests, exp_scaled_against_double);
    tcase_add_test(tests, adam_against_double);
    tcase_add_test(tests, adam_without_a_gradient);
    tcase_add_test(tests, momentum_against_double);
#ifdef TG_F64
    tcase_add_test(tests, exp_and_log_are_the_c_library_s);
#else
    tcase_add_test(tests, exp_over_all_floats);
    tcase_add_test(tests, log_over_all_floats);
    tcase_add_test(tests, exp_and_log_of_special_values);
    tcase_add_loop_test(tests, fused_multiply_add, 0, TRIPLES);
#endif
}

static Suite *suite(void) {
    Suite *made = suite_create("kernels");
    TCase *products = tcase_create("matmul");
    tcase_set_timeout(products, 120);
    tcase_add_loop_test(products, products_around_the_tile, 1, 41);
    tcase_add_test(products, products_all_ways);
    tcase_add_loop_test(products, products_with_a_long_inner_extent, 0, 8);
    tcase_add_test(products, products_with_many_rows);
    tcase_add_test(products, products_with_an_extent_of_zero);
    tcase_add_test(products, products_of_what_is_not_finite);
    suite_add_tcase(made, products);
    TCase *elements = tcase_create("elements");
    tcase_set_timeout(elements, 120);
    tcase_add_loop_test(elements, every_table_gives_the_same_bits, 0, ELEMENT_KERNELS);
    tcase_add_test(elements, elements_behind_the_end);
    tcase_add_test(elements, matrices_behind_the_end);
    suite_add_tcase(made, elements);
    TCase *values = tcase_create("values");
    tcase_set_timeout(values, 120);
    add_value_tests(values);
    suite_add_tcase(made, values);
    return made;
}

int main(void) {
    return test_main(suite());
}
