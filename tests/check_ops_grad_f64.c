/* The gradient of every operation against difference quotients, with a table of how near it is. */
#include "support.h"

#include "autograd/gradcheck.h"
#include "op_rows.h"

/* The promise, and gradcheck's default. */
static const double tolerance = 1e-6;

static tg_var build(tg_tape *tape, const tg_var *inputs, void *user) {
    const op_row *row = user;
    (void)tape;
    return row->build(inputs);
}

START_TEST(gradient_is_the_slope) {
    op_case c = op_case_make(_i);
    op_row row = *c.row;
    tg_gradcheck_options options = {.tolerance = tolerance, .seed = (uint64_t)_i};
    tg_gradcheck_report report = {0};
    tg_error error = {0};
    tg_status status =
        tg_gradcheck(NULL, build, &row, c.input_count, c.inputs, &options, &report, &error);
    printf("%-18s %-36s %-28s %.1e\n", row.op, row.what, row.inputs, report.worst_error);
    fflush(stdout);
    ck_assert_msg(status == TG_OK, "%s (%s): %s", row.op, row.what, error.message);
    ck_assert(report.worst_error <= tolerance);
    op_case_free(&c);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("ops_grad");
    TCase *tests = tcase_create("ops_grad");
    tcase_add_loop_test(tests, gradient_is_the_slope, 0, OP_ROWS);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    printf("%-18s %-36s %-28s %s\n", "operation", "case", "inputs", "worst relative error");
    fflush(stdout);
    return test_main(suite());
}
