/* Every operation of autograd/ops.h: values and gradients against PyTorch's, and the same bits from
 * all kernel tables. Products larger than the kernel's tiles against plain sums. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "op_rows.h"

/* Room for n numbers, owned by the caller. */
static tg_real *numbers(int64_t n) {
    tg_real *made = malloc((size_t)(n + 1) * sizeof *made);
    ck_assert_ptr_nonnull(made);
    return made;
}

static tg_tape *tape_with(tg_context **context, const char *kernels) {
    *context = tg_context_create(&(tg_context_options){.kernels = kernels}, NULL);
    ck_assert_ptr_nonnull(*context);
    ck_assert_str_eq(tg_context_kernels(*context), kernels);
    tg_tape *tape = tg_tape_create(*context);
    ck_assert_ptr_nonnull(tape);
    return tape;
}

static void put_inputs(const op_case *c, tg_tape *tape, tg_var *vars) {
    for (int k = 0; k < c->input_count; k++) {
        const tg_view *in = &c->inputs[k];
        vars[k] = in->type == TG_REAL ? tg_variable(tape, in->shape, in->real)
                                      : tg_integers(tape, in->shape, in->integer);
    }
}

static void copy_grads(const op_case *c, const tg_var *vars, tg_real *grads) {
    for (int k = 0; k < c->input_count; k++) {
        const tg_view *in = &c->inputs[k];
        if (in->type != TG_REAL)
            continue;
        const tg_real *grad = tg_grad(vars[k]);
        ck_assert_msg(grad != NULL, "%s (%s): input %d has no gradient", c->row->op, c->row->what,
                      k);
        memcpy(grads, grad, (size_t)in->count * sizeof *grads);
        grads += in->count;
    }
}

/* Records the row `uses` times from the same inputs, and goes back from the sum of the outputs: the
 * first gradient is written to fresh memory, the others are added to it. */
static void run(const op_case *c, const char *kernels, int uses, tg_real *output, tg_real *grads) {
    tg_context *context;
    tg_tape *tape = tape_with(&context, kernels);
    tg_var vars[OP_INPUTS];
    put_inputs(c, tape, vars);
    tg_var y = c->row->build(vars), total = y;
    for (int i = 1; i < uses; i++)
        total = tg_add(total, c->row->build(vars));
    ck_assert_msg(tg_is_valid(total), "%s (%s): %s", c->row->op, c->row->what,
                  tg_tape_error(tape)->message);
    char is[TG_SHAPE_TEXT], wanted[TG_SHAPE_TEXT];
    ck_assert_msg(tg_shape_equal(tg_shape_of(y), c->output_shape),
                  "%s (%s): the shape is %s, not %s", c->row->op, c->row->what,
                  tg_shape_text(tg_shape_of(y), is), tg_shape_text(c->output_shape, wanted));
    memcpy(output, tg_value(y), (size_t)c->output_count * sizeof *output);
    tg_real *cotangent = numbers(c->output_count);
    for (int64_t i = 0; i < c->output_count; i++)
        cotangent[i] = (tg_real)c->cotangent[i];
    ck_assert_msg(tg_backward_from(total, cotangent) == TG_OK, "%s (%s): %s", c->row->op,
                  c->row->what, tg_tape_error(tape)->message);
    copy_grads(c, vars, grads);
    free(cotangent);
    tg_tape_free(tape);
    tg_context_free(context);
}

static void assert_near(const op_case *c, const char *kernels, const char *name, int64_t n,
                        const tg_real *actual, const double *expected, int uses) {
    for (int64_t i = 0; i < n; i++)
        if (!test_near((double)actual[i], uses * expected[i], TEST_TOLERANCE))
            ck_abort_msg("%s (%s), %s: %s %d after %d uses is %.17g, not %.17g", c->row->op,
                         c->row->what, kernels, name, (int)i, uses, (double)actual[i],
                         uses * expected[i]);
}

static void assert_same_bits(const char *what, const char *kernels, int64_t n, const tg_real *a,
                             const tg_real *b) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0)
            ck_abort_msg("%s: element %d is %a from %s, %a from %s", what, (int)i, (double)a[i],
                         tg_kernels_name(0), (double)b[i], kernels);
}

START_TEST(values_and_gradients) {
    op_case c = op_case_make(_i);
    tg_real *output[2] = {numbers(c.output_count), numbers(c.output_count)};
    tg_real *grads[2] = {numbers(c.real_count), numbers(c.real_count)};
    for (int uses = 1; uses <= 2; uses++)
        for (int table = 0; table < tg_kernels_count(); table++) {
            const char *kernels = tg_kernels_name(table);
            int other = table > 0;
            run(&c, kernels, uses, output[other], grads[other]);
            assert_near(&c, kernels, "output", c.output_count, output[other], c.output, 1);
            assert_near(&c, kernels, "gradient", c.real_count, grads[other], c.grads, uses);
            assert_same_bits(c.row->op, kernels, c.output_count, output[0], output[other]);
            assert_same_bits(c.row->op, kernels, c.real_count, grads[0], grads[other]);
        }
    for (int i = 0; i < 2; i++) {
        free(output[i]);
        free(grads[i]);
    }
    op_case_free(&c);
}
END_TEST

START_TEST(golden_values_are_of_these_rows) {
    ck_assert_uint_eq(sizeof op_goldens / sizeof op_goldens[0], OP_ROWS);
    for (int i = 0; i < OP_ROWS; i++) {
        ck_assert_str_eq(op_goldens[i].op, op_rows[i].op);
        ck_assert_str_eq(op_goldens[i].what, op_rows[i].what);
        ck_assert_str_eq(op_goldens[i].inputs, op_rows[i].inputs);
    }
}
END_TEST

static bool has_row(const char *op) {
    for (int i = 0; i < OP_ROWS; i++)
        if (strcmp(op_rows[i].op, op) == 0)
            return true;
    return false;
}

START_TEST(every_operation_has_a_row) {
    static const char opening[] = "\ntg_var tg_";
    size_t size;
    char *header = test_read_file(TG_TEST_SOURCE "/autograd/ops.h", &size);
    char *rows = test_read_file(TG_TEST_SOURCE "/tests/op_rows.h", &size);
    int found = 0;
    for (char *at = strstr(header, opening); at != NULL; at = strstr(at, opening), found++) {
        char name[64], call[80];
        at += strlen(opening);
        ck_assert_int_eq(sscanf(at, "%63[a-z0-9_](", name), 1);
        ck_assert_msg(has_row(name), "tg_%s has no row in tests/op_rows.h", name);
        snprintf(call, sizeof call, "return tg_%s(", name);
        ck_assert_msg(strstr(rows, call) != NULL, "no builder returns tg_%s(...)", name);
    }
    ck_assert_int_ge(found, 19);
    free(header);
    free(rows);
}
END_TEST

/* Extents around those at which the kernel cuts: tiles of 6 rows, panels of 4 to 32 columns, blocks
 * of 256 of the inner extent; and few rows, for which whole panels are not copied. */
static const struct {
    int64_t m, k, n;
} products[] = {{37, 300, 45}, {12, 256, 64}, {13, 257, 65}, {5, 513, 31},
                {1, 600, 1},   {70, 1, 70},   {3, 320, 72},  {50, 260, 40}};

enum { PRODUCTS = sizeof products / sizeof products[0] };

/* C[m,n] = A[m,k] B[k,n] and its gradients, the operands stored as they are transposed. */
typedef struct product {
    int64_t m, k, n;
    bool transpose_a, transpose_b;
    tg_real *a, *b, *g; /* g[m,n] is the cotangent */
    tg_real *c, *a_grad, *b_grad;
} product;

static product product_make(int64_t m, int64_t k, int64_t n, bool transpose_a, bool transpose_b) {
    return (product){m,
                     k,
                     n,
                     transpose_a,
                     transpose_b,
                     numbers(m * k),
                     numbers(k * n),
                     numbers(m * n),
                     numbers(m * n),
                     numbers(m * k),
                     numbers(k * n)};
}

static void product_free(product *p) {
    free(p->a);
    free(p->b);
    free(p->g);
    free(p->c);
    free(p->a_grad);
    free(p->b_grad);
}

/* Integers in [-4, 4], whose sums of products a float holds exactly; or multiples of 2^-20 in
 * [-1, 1). */
static void draw(uint64_t *state, bool integers, int64_t n, tg_real *out) {
    for (int64_t i = 0; i < n; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uint64_t high = *state >> 43;
        out[i] = integers ? (tg_real)((int)(high % 9) - 4)
                          : (tg_real)((int)high - (1 << 20)) / (1 << 20);
    }
}

static void multiply(product *p, const char *kernels) {
    tg_context *context;
    tg_tape *tape = tape_with(&context, kernels);
    int64_t m = p->m, k = p->k, n = p->n;
    tg_var a = tg_variable(tape, p->transpose_a ? tg_shape_2d(k, m) : tg_shape_2d(m, k), p->a);
    tg_var b = tg_variable(tape, p->transpose_b ? tg_shape_2d(n, k) : tg_shape_2d(k, n), p->b);
    tg_var c = tg_matmul_transposed(a, p->transpose_a, b, p->transpose_b);
    ck_assert(tg_shape_equal(tg_shape_of(c), tg_shape_2d(m, n)));
    memcpy(p->c, tg_value(c), (size_t)(m * n) * sizeof(tg_real));
    ck_assert_int_eq(tg_backward_from(c, p->g), TG_OK);
    memcpy(p->a_grad, tg_grad(a), (size_t)(m * k) * sizeof(tg_real));
    memcpy(p->b_grad, tg_grad(b), (size_t)(k * n) * sizeof(tg_real));
    tg_tape_free(tape);
    tg_context_free(context);
}

/* A matrix of these extents, stored plain or transposed. */
typedef struct matrix {
    const tg_real *data;
    int64_t rows, columns;
    bool transposed;
} matrix;

static matrix transposed(matrix x) {
    return (matrix){x.data, x.columns, x.rows, !x.transposed};
}

static long double element(matrix x, int64_t i, int64_t j) {
    return (long double)x.data[x.transposed ? j * x.rows + i : i * x.columns + j];
}

/* c = x y, within the tolerance of the sum of the terms' sizes. */
static void assert_product(matrix x, matrix y, matrix c, double tolerance, const char *name) {
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < y.columns; j++) {
            long double sum = 0, size = 0;
            for (int64_t k = 0; k < x.columns; k++) {
                long double term = element(x, i, k) * element(y, k, j);
                sum += term;
                size += fabsl(term);
            }
            long double actual = element(c, i, j);
            if (!(fabsl(actual - sum) <= (long double)tolerance * size))
                ck_abort_msg("%s[%d, %d] of inner extent %d is %.17Lg, not %.17Lg", name, (int)i,
                             (int)j, (int)x.columns, actual, sum);
        }
}

static void assert_products(const product *p, double tolerance) {
    matrix a = {p->a, p->m, p->k, p->transpose_a}, b = {p->b, p->k, p->n, p->transpose_b};
    matrix g = {p->g, p->m, p->n, false};
    assert_product(a, b, (matrix){p->c, p->m, p->n, false}, tolerance, "product");
    assert_product(g, transposed(b), (matrix){p->a_grad, p->m, p->k, p->transpose_a}, tolerance,
                   "gradient of the first");
    assert_product(transposed(a), g, (matrix){p->b_grad, p->k, p->n, p->transpose_b}, tolerance,
                   "gradient of the second");
}

static void check_product(int which, bool integers) {
    int64_t m = products[which / 4].m, k = products[which / 4].k, n = products[which / 4].n;
    product p[2];
    for (int i = 0; i < 2; i++) {
        uint64_t state = (uint64_t)which;
        p[i] = product_make(m, k, n, which % 2 == 1, which / 2 % 2 == 1);
        draw(&state, integers, m * k, p[i].a);
        draw(&state, integers, k * n, p[i].b);
        draw(&state, integers, m * n, p[i].g);
    }
    for (int table = 0; table < tg_kernels_count(); table++) {
        product *q = &p[table > 0];
        multiply(q, tg_kernels_name(table));
        if (table == 0)
            assert_products(q, integers ? 0 : TEST_TOLERANCE);
        assert_same_bits("product", tg_kernels_name(table), m * n, p[0].c, q->c);
        assert_same_bits("gradient", tg_kernels_name(table), m * k, p[0].a_grad, q->a_grad);
        assert_same_bits("gradient", tg_kernels_name(table), k * n, p[0].b_grad, q->b_grad);
    }
    product_free(&p[0]);
    product_free(&p[1]);
}

START_TEST(large_products_of_integers_are_exact) {
    check_product(_i, true);
}
END_TEST

START_TEST(large_products_are_near) {
    check_product(_i, false);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("ops");
    TCase *tests = tcase_create("ops");
    tcase_add_test(tests, golden_values_are_of_these_rows);
    tcase_add_test(tests, every_operation_has_a_row);
    tcase_add_loop_test(tests, values_and_gradients, 0, OP_ROWS);
    tcase_add_loop_test(tests, large_products_of_integers_are_exact, 0, 4 * PRODUCTS);
    tcase_add_loop_test(tests, large_products_are_near, 0, 4 * PRODUCTS);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
