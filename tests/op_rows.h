/* The operations under test: one row for each use of one.
 *
 * golden/make_ops.py reads this table and writes golden/ops_values.h, what PyTorch makes of each
 * row. It knows the PyTorch function by the builder's name: a new row is a line here and a run of
 * the script, a new builder is one more line there. */
#ifndef TEST_OP_ROWS_H
#define TEST_OP_ROWS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "autograd/ops.h"

/* What is recorded for a row; the attributes are in there. */
typedef tg_var (*op_builder)(const tg_var *in);

/* `inputs` are shapes: "(2,3)" is drawn from N(0, 1); "away(2,3)" too, farther than 0.05 from 0,
 * for a function with a kink there; "int(2,3)" has the elements of `integers`. */
typedef struct op_row {
    const char *op;
    const char *what;
    op_builder build;
    const char *inputs;
    const int32_t *integers;
} op_row;

/* What PyTorch says in double of the row that opens with the same words. `values`: the real inputs,
 * the output (whose shape this is), a cotangent, and the gradients of the real inputs, one behind
 * the other. */
typedef struct op_golden {
    const char *op;
    const char *what;
    const char *inputs;
    int rank;
    int64_t extent[TG_MAX_RANK];
    const double *values;
} op_golden;

static tg_var add(const tg_var *in) {
    return tg_add(in[0], in[1]);
}

static tg_var add_to_itself(const tg_var *in) {
    return tg_add(in[0], in[0]);
}

static tg_var sub(const tg_var *in) {
    return tg_sub(in[0], in[1]);
}

static tg_var sub_from_itself(const tg_var *in) {
    return tg_sub(in[0], in[0]);
}

static tg_var mul(const tg_var *in) {
    return tg_mul(in[0], in[1]);
}

static tg_var square(const tg_var *in) {
    return tg_mul(in[0], in[0]);
}

static tg_var cube(const tg_var *in) {
    return tg_mul(tg_mul(in[0], in[0]), in[0]);
}

static tg_var scale_down(const tg_var *in) {
    return tg_scale(in[0], -0.75);
}

static tg_var scale_by_third(const tg_var *in) {
    return tg_scale(in[0], 1.0 / 3);
}

static tg_var scale_away(const tg_var *in) {
    return tg_scale(in[0], 0);
}

static tg_var matmul(const tg_var *in) {
    return tg_matmul(in[0], in[1]);
}

static tg_var matmul_nn(const tg_var *in) {
    return tg_matmul_transposed(in[0], false, in[1], false);
}

static tg_var matmul_tn(const tg_var *in) {
    return tg_matmul_transposed(in[0], true, in[1], false);
}

static tg_var matmul_nt(const tg_var *in) {
    return tg_matmul_transposed(in[0], false, in[1], true);
}

static tg_var matmul_tt(const tg_var *in) {
    return tg_matmul_transposed(in[0], true, in[1], true);
}

static tg_var matmul_with_itself(const tg_var *in) {
    return tg_matmul(in[0], in[0]);
}

static tg_var matmul_tn_with_itself(const tg_var *in) {
    return tg_matmul_transposed(in[0], true, in[0], false);
}

static tg_var matmul_nt_with_itself(const tg_var *in) {
    return tg_matmul_transposed(in[0], false, in[0], true);
}

static tg_var matmul_tt_with_itself(const tg_var *in) {
    return tg_matmul_transposed(in[0], true, in[0], true);
}

static tg_var linear(const tg_var *in) {
    return tg_linear(in[0], in[1], in[2]);
}

static tg_var linear_of_itself(const tg_var *in) {
    return tg_linear(in[0], in[0], in[1]);
}

static tg_var reshape_3_rest(const tg_var *in) {
    return tg_reshape(in[0], tg_shape_2d(3, -1));
}

static tg_var reshape_rest(const tg_var *in) {
    return tg_reshape(in[0], tg_shape_1d(-1));
}

static tg_var reshape_rest_2_1(const tg_var *in) {
    return tg_reshape(in[0], tg_shape_3d(-1, 2, 1));
}

static tg_var reshape_2_3(const tg_var *in) {
    return tg_reshape(in[0], tg_shape_2d(2, 3));
}

static tg_var reshape_scalar(const tg_var *in) {
    return tg_reshape(in[0], tg_shape_scalar());
}

static tg_var reshape_0_7(const tg_var *in) {
    return tg_reshape(in[0], tg_shape_2d(0, 7));
}

/* A value that has two names, each with its own use. */
static tg_var reshape_twice_of_square(const tg_var *in) {
    tg_var y = tg_mul(in[0], in[0]);
    tg_var column = tg_reshape(y, tg_shape_2d(6, 1)), row = tg_reshape(y, tg_shape_2d(1, 6));
    return tg_add(tg_matmul(row, column), y);
}

static tg_var transpose_0_1(const tg_var *in) {
    return tg_transpose(in[0], 0, 1);
}

static tg_var transpose_0_2(const tg_var *in) {
    return tg_transpose(in[0], 0, 2);
}

static tg_var transpose_0_3(const tg_var *in) {
    return tg_transpose(in[0], 0, 3);
}

static tg_var transpose_1_2(const tg_var *in) {
    return tg_transpose(in[0], 1, 2);
}

static tg_var transpose_1_4(const tg_var *in) {
    return tg_transpose(in[0], 1, 4);
}

static tg_var transpose_3_1(const tg_var *in) {
    return tg_transpose(in[0], 3, 1);
}

static tg_var transpose_last_two(const tg_var *in) {
    return tg_transpose(in[0], -2, -1);
}

static tg_var transpose_last_0(const tg_var *in) {
    return tg_transpose(in[0], -1, 0);
}

static tg_var transpose_1_1(const tg_var *in) {
    return tg_transpose(in[0], 1, -2);
}

static tg_var softmax_0(const tg_var *in) {
    return tg_softmax(in[0], 0);
}

static tg_var softmax_1(const tg_var *in) {
    return tg_softmax(in[0], 1);
}

static tg_var softmax_2(const tg_var *in) {
    return tg_softmax(in[0], 2);
}

static tg_var softmax_last(const tg_var *in) {
    return tg_softmax(in[0], -1);
}

static tg_var softmax_masked_0(const tg_var *in) {
    return tg_softmax_masked(in[0], in[1], 0);
}

static tg_var softmax_masked_1(const tg_var *in) {
    return tg_softmax_masked(in[0], in[1], 1);
}

static tg_var softmax_masked_last(const tg_var *in) {
    return tg_softmax_masked(in[0], in[1], -1);
}

static tg_var masked_fill(const tg_var *in) {
    return tg_masked_fill(in[0], in[1], -2.5);
}

static tg_var softmax_of_masked_fill(const tg_var *in) {
    return tg_softmax(tg_masked_fill(in[0], in[1], (double)-INFINITY), -1);
}

static tg_var dropout_0(const tg_var *in) {
    return tg_dropout(in[0], 0, NULL);
}

static tg_var dropout_1(const tg_var *in) {
    return tg_dropout(in[0], 1, NULL);
}

/* The same draws each time. */
static tg_var dropout_03(const tg_var *in) {
    tg_rng rng;
    tg_rng_seed(&rng, 7);
    return tg_dropout(in[0], 0.3, &rng);
}

static tg_var relu(const tg_var *in) {
    return tg_relu(in[0]);
}

static tg_var embedding(const tg_var *in) {
    return tg_embedding(in[0], in[1]);
}

static tg_var sum(const tg_var *in) {
    return tg_sum(in[0]);
}

static tg_var mean(const tg_var *in) {
    return tg_mean(in[0]);
}

static tg_var sum_0(const tg_var *in) {
    return tg_sum_axis(in[0], 0, false);
}

static tg_var sum_1(const tg_var *in) {
    return tg_sum_axis(in[0], 1, false);
}

static tg_var sum_2(const tg_var *in) {
    return tg_sum_axis(in[0], 2, false);
}

static tg_var sum_last_kept(const tg_var *in) {
    return tg_sum_axis(in[0], -1, true);
}

static tg_var sum_1_kept(const tg_var *in) {
    return tg_sum_axis(in[0], 1, true);
}

static tg_var sum_0_kept(const tg_var *in) {
    return tg_sum_axis(in[0], 0, true);
}

static tg_var mean_0(const tg_var *in) {
    return tg_mean_axis(in[0], 0, false);
}

static tg_var mean_1(const tg_var *in) {
    return tg_mean_axis(in[0], 1, false);
}

static tg_var mean_2(const tg_var *in) {
    return tg_mean_axis(in[0], 2, false);
}

static tg_var mean_last_kept(const tg_var *in) {
    return tg_mean_axis(in[0], -1, true);
}

static tg_var mean_1_kept(const tg_var *in) {
    return tg_mean_axis(in[0], 1, true);
}

static tg_var mean_0_kept(const tg_var *in) {
    return tg_mean_axis(in[0], 0, true);
}

static tg_var cross_entropy_mean(const tg_var *in) {
    return tg_cross_entropy(in[0], in[1], TG_IGNORED, TG_MEAN);
}

static tg_var cross_entropy_sum(const tg_var *in) {
    return tg_cross_entropy(in[0], in[1], TG_IGNORED, TG_SUM);
}

static tg_var cross_entropy_mean_but_0(const tg_var *in) {
    return tg_cross_entropy(in[0], in[1], 0, TG_MEAN);
}

static const int32_t one_id[] = {3};
static const int32_t repeated_ids[] = {2, 0, 2, 2};
static const int32_t six_ids[] = {1, 4, 4, 0, 1, 3};
static const int32_t four_zeros[] = {0, 0, 0, 0};
static const int32_t no_integers[] = {0};

static const int32_t targets[] = {2, 0, 3, 3, 1, 0};
static const int32_t some_ignored[] = {2, -100, 3, -100, 1, 0};
static const int32_t all_ignored[] = {-100, -100, -100, -100, -100, -100};
static const int32_t far_targets[] = {49, 0, 17};

static const int32_t causal[] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
static const int32_t causal_4_5[] = {0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1};
static const int32_t first_row_masked[] = {1, 1, 1, 0, -7, 0};
static const int32_t last_of_3[] = {0, 0, 1};
static const int32_t middle_of_3[] = {0, 1, 0};
static const int32_t first_of_2[] = {1, 0};
static const int32_t visible[] = {0};
static const int32_t hidden[] = {1};
static const int32_t pairs[] = {1, 0, 0, 0, 1, 1};
static const int32_t every_third_of_40[] = {
    1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0,
    0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1,
};

static const op_row op_rows[] = {
    {"add", "one shape", add, "(2,3) (2,3)", NULL},
    {"add", "a row and a column", add, "(3) (2,1)", NULL},
    {"add", "a column and a row", add, "(2,1) (3)", NULL},
    {"add", "a matrix and a column", add, "(2,3) (2,1)", NULL},
    {"add", "a column and a matrix", add, "(2,1) (2,3)", NULL},
    {"add", "a scalar first", add, "() (2,3)", NULL},
    {"add", "a scalar last", add, "(2,3) ()", NULL},
    {"add", "two scalars", add, "() ()", NULL},
    {"add", "both expanded", add, "(2,1,4) (3,1)", NULL},
    {"add", "both expanded, exchanged", add, "(3,1) (2,1,4)", NULL},
    {"add", "six axes", add, "(2,1,2,1,2,1) (1,2,1,2,1,2)", NULL},
    {"add", "a long row", add, "(3,70) (70)", NULL},
    {"add", "a long column", add, "(70,3) (70,1)", NULL},
    {"add", "no rows", add, "(0,3) (3)", NULL},
    {"add", "no columns", add, "(2,0) (2,1)", NULL},
    {"add", "itself", add_to_itself, "(2,3)", NULL},

    {"sub", "one shape", sub, "(2,3) (2,3)", NULL},
    {"sub", "a row and a column", sub, "(3) (2,1)", NULL},
    {"sub", "a matrix and a column", sub, "(2,3) (2,1)", NULL},
    {"sub", "a scalar first", sub, "() (2,3)", NULL},
    {"sub", "a scalar last", sub, "(2,3) ()", NULL},
    {"sub", "both expanded", sub, "(2,1,4) (3,1)", NULL},
    {"sub", "middle axis expanded", sub, "(2,3,4) (2,1,4)", NULL},
    {"sub", "no rows", sub, "(0,3) (1,1)", NULL},
    {"sub", "itself", sub_from_itself, "(2,3)", NULL},

    {"mul", "one shape", mul, "(2,3) (2,3)", NULL},
    {"mul", "a row and a column", mul, "(3) (2,1)", NULL},
    {"mul", "a matrix and a column", mul, "(2,3) (2,1)", NULL},
    {"mul", "a column and a matrix", mul, "(2,1) (2,3)", NULL},
    {"mul", "a scalar first", mul, "() (2,3)", NULL},
    {"mul", "a scalar last", mul, "(2,3) ()", NULL},
    {"mul", "two scalars", mul, "() ()", NULL},
    {"mul", "both expanded", mul, "(2,1,4) (3,1)", NULL},
    {"mul", "both expanded, exchanged", mul, "(3,1) (2,1,4)", NULL},
    {"mul", "joined axes", mul, "(2,3,4) (3,4)", NULL},
    {"mul", "six axes", mul, "(2,1,2,1,2,1) (1,2,1,2,1,2)", NULL},
    {"mul", "a long row", mul, "(2,70) (70)", NULL},
    {"mul", "no rows", mul, "(0,3) (3)", NULL},
    {"mul", "no columns", mul, "(2,1) (2,0)", NULL},
    {"mul", "itself", square, "(2,3)", NULL},
    {"mul", "itself twice", cube, "(5)", NULL},

    {"scale", "by a number", scale_down, "(2,3)", NULL},
    {"scale", "by a third", scale_by_third, "(5,7)", NULL},
    {"scale", "by 0", scale_away, "(3)", NULL},
    {"scale", "a scalar", scale_down, "()", NULL},
    {"scale", "nothing", scale_down, "(0)", NULL},

    {"matmul", "two matrices", matmul, "(3,4) (4,5)", NULL},
    {"matmul", "1 x 1", matmul, "(1,1) (1,1)", NULL},
    {"matmul", "a row and a column", matmul, "(1,7) (7,1)", NULL},
    {"matmul", "a column and a row", matmul, "(7,1) (1,7)", NULL},
    {"matmul", "past a panel", matmul, "(7,3) (3,33)", NULL},
    {"matmul", "two batches", matmul, "(2,3,4) (2,4,5)", NULL},
    {"matmul", "a batch and a matrix", matmul, "(2,3,4) (4,5)", NULL},
    {"matmul", "a batch and a batch of one", matmul, "(2,3,4) (1,4,2)", NULL},
    {"matmul", "a matrix and a batch", matmul, "(3,4) (2,4,5)", NULL},
    {"matmul", "a batch of one and a batch", matmul, "(1,3,4) (2,4,2)", NULL},
    {"matmul", "both batches expanded", matmul, "(2,1,2,4) (3,4,2)", NULL},
    {"matmul", "both batches expanded, exchanged", matmul, "(3,2,4) (2,1,4,2)", NULL},
    {"matmul", "batch axes of two kinds", matmul, "(2,2,1,3) (2,1,3,2)", NULL},
    {"matmul", "no inner extent", matmul, "(3,0) (0,2)", NULL},
    {"matmul", "no rows", matmul, "(0,4) (4,2)", NULL},
    {"matmul", "no columns", matmul, "(3,4) (4,0)", NULL},
    {"matmul", "no batch, a matrix", matmul, "(0,3,2) (2,4)", NULL},
    {"matmul", "a batch of one, no batch", matmul, "(1,3,2) (0,2,4)", NULL},
    {"matmul", "itself", matmul_with_itself, "(3,3)", NULL},
    {"matmul", "itself, batched", matmul_with_itself, "(2,3,3)", NULL},

    {"matmul_transposed", "neither", matmul_nn, "(3,4) (4,5)", NULL},
    {"matmul_transposed", "the first", matmul_tn, "(4,3) (4,5)", NULL},
    {"matmul_transposed", "the second", matmul_nt, "(3,4) (5,4)", NULL},
    {"matmul_transposed", "both", matmul_tt, "(4,3) (5,4)", NULL},
    {"matmul_transposed", "neither, batched", matmul_nn, "(2,3,4) (2,4,2)", NULL},
    {"matmul_transposed", "the first, batched", matmul_tn, "(2,4,3) (2,4,2)", NULL},
    {"matmul_transposed", "the second, batched", matmul_nt, "(2,3,4) (2,2,4)", NULL},
    {"matmul_transposed", "both, batched", matmul_tt, "(2,4,3) (2,2,4)", NULL},
    {"matmul_transposed", "the first, a batch and a matrix", matmul_tn, "(2,4,3) (4,2)", NULL},
    {"matmul_transposed", "the second, a batch and a matrix", matmul_nt, "(2,3,4) (2,4)", NULL},
    {"matmul_transposed", "both, a batch and a matrix", matmul_tt, "(2,4,3) (2,4)", NULL},
    {"matmul_transposed", "the first, a matrix and a batch", matmul_tn, "(4,3) (2,4,2)", NULL},
    {"matmul_transposed", "the second, a matrix and a batch", matmul_nt, "(3,4) (2,2,4)", NULL},
    {"matmul_transposed", "both, both batches expanded", matmul_tt, "(2,1,4,2) (3,2,4)", NULL},
    {"matmul_transposed", "the first, past a panel", matmul_tn, "(3,7) (3,33)", NULL},
    {"matmul_transposed", "the second, past a panel", matmul_nt, "(7,3) (33,3)", NULL},
    {"matmul_transposed", "the first, no inner extent", matmul_tn, "(0,3) (0,2)", NULL},
    {"matmul_transposed", "the second, no inner extent", matmul_nt, "(3,0) (2,0)", NULL},
    {"matmul_transposed", "the first, no batch", matmul_tn, "(0,4,3) (4,2)", NULL},
    {"matmul_transposed", "the first, itself", matmul_tn_with_itself, "(3,4)", NULL},
    {"matmul_transposed", "the second, itself", matmul_nt_with_itself, "(3,4)", NULL},
    {"matmul_transposed", "both, itself", matmul_tt_with_itself, "(3,3)", NULL},

    {"linear", "a vector", linear, "(3) (3,4) (4)", NULL},
    {"linear", "a matrix", linear, "(2,3) (3,4) (4)", NULL},
    {"linear", "three axes", linear, "(2,3,2) (2,4) (4)", NULL},
    {"linear", "four axes", linear, "(2,1,3,2) (2,3) (3)", NULL},
    {"linear", "1 to 1", linear, "(3,1) (1,1) (1)", NULL},
    {"linear", "no rows", linear, "(0,3) (3,2) (2)", NULL},
    {"linear", "nothing in", linear, "(2,0) (0,3) (3)", NULL},
    {"linear", "nothing out", linear, "(2,3) (3,0) (0)", NULL},
    {"linear", "x is the weight", linear_of_itself, "(3,3) (3)", NULL},

    {"reshape", "one extent left open", reshape_3_rest, "(2,6)", NULL},
    {"reshape", "to one axis", reshape_rest, "(2,3,2)", NULL},
    {"reshape", "a scalar to one axis", reshape_rest, "()", NULL},
    {"reshape", "the first extent left open", reshape_rest_2_1, "(6)", NULL},
    {"reshape", "the same shape", reshape_2_3, "(2,3)", NULL},
    {"reshape", "to a scalar", reshape_scalar, "(1,1,1)", NULL},
    {"reshape", "nothing", reshape_0_7, "(3,0)", NULL},
    {"reshape", "nothing, to one axis", reshape_rest, "(3,0)", NULL},
    {"reshape", "two of one value", reshape_twice_of_square, "(2,3)", NULL},

    {"transpose", "a matrix", transpose_0_1, "(2,3)", NULL},
    {"transpose", "axes 0 and 1 of three", transpose_0_1, "(2,3,4)", NULL},
    {"transpose", "axes 1 and 2 of three", transpose_1_2, "(2,3,4)", NULL},
    {"transpose", "axes 0 and 2 of three", transpose_0_2, "(2,3,4)", NULL},
    {"transpose", "axes 3 and 1 of four", transpose_3_1, "(2,3,2,4)", NULL},
    {"transpose", "axes 0 and 3 of four", transpose_0_3, "(2,3,2,4)", NULL},
    {"transpose", "axes 1 and 4 of six", transpose_1_4, "(2,3,1,2,2,2)", NULL},
    {"transpose", "the last two", transpose_last_two, "(2,3,4)", NULL},
    {"transpose", "the last and the first", transpose_last_0, "(2,3,4)", NULL},
    {"transpose", "an axis and itself", transpose_1_1, "(2,3,4)", NULL},
    {"transpose", "no rows", transpose_0_1, "(0,3)", NULL},
    {"transpose", "an empty axis between", transpose_0_2, "(2,0,3)", NULL},

    {"softmax", "axis 0 of three", softmax_0, "(2,3,4)", NULL},
    {"softmax", "axis 1 of three", softmax_1, "(2,3,4)", NULL},
    {"softmax", "axis 2 of three", softmax_2, "(2,3,4)", NULL},
    {"softmax", "the last axis", softmax_last, "(2,3)", NULL},
    {"softmax", "a vector", softmax_0, "(5)", NULL},
    {"softmax", "slices of one", softmax_1, "(3,1)", NULL},
    {"softmax", "slices of one, on axis 0", softmax_0, "(1,3)", NULL},
    {"softmax", "long rows", softmax_1, "(2,40)", NULL},
    {"softmax", "long columns", softmax_0, "(40,2)", NULL},
    {"softmax", "no slices", softmax_1, "(0,4)", NULL},
    {"softmax", "empty slices", softmax_1, "(4,0)", NULL},

    {"softmax_masked", "causal", softmax_masked_last, "(3,3) int(3,3)", causal},
    {"softmax_masked", "causal, in two batches", softmax_masked_last, "(2,2,4,5) int(4,5)",
     causal_4_5},
    {"softmax_masked", "a row masked throughout", softmax_masked_1, "(2,3) int(2,3)",
     first_row_masked},
    {"softmax_masked", "a column of the mask for all", softmax_masked_1, "(2,3) int(2,1)",
     first_of_2},
    {"softmax_masked", "a row of the mask for all", softmax_masked_1, "(2,3) int(3)", last_of_3},
    {"softmax_masked", "axis 0", softmax_masked_0, "(3,2) int(3,2)", pairs},
    {"softmax_masked", "axis 0, columns masked throughout", softmax_masked_0, "(2,3) int(3)",
     middle_of_3},
    {"softmax_masked", "axis 1 of three, axis 0 expanded", softmax_masked_1, "(2,3,2) int(3,2)",
     pairs},
    {"softmax_masked", "all visible", softmax_masked_1, "(2,3) int()", visible},
    {"softmax_masked", "all masked", softmax_masked_1, "(2,3) int(1,1)", hidden},
    {"softmax_masked", "long rows", softmax_masked_1, "(2,40) int(40)", every_third_of_40},
    {"softmax_masked", "no slices", softmax_masked_1, "(0,3) int(3)", last_of_3},

    {"masked_fill", "one shape", masked_fill, "(2,3) int(2,3)", first_row_masked},
    {"masked_fill", "the mask expanded", masked_fill, "(2,3) int(3)", middle_of_3},
    {"masked_fill", "x expanded", masked_fill, "(2) int(3,2)", pairs},
    {"masked_fill", "x a scalar", masked_fill, "() int(3,2)", pairs},
    {"masked_fill", "both expanded", masked_fill, "(2,1) int(3)", last_of_3},
    {"masked_fill", "with minus infinity, for softmax", softmax_of_masked_fill, "(2,3,3) int(3,3)",
     causal},
    {"masked_fill", "nothing", masked_fill, "(0,3) int(3)", last_of_3},

    {"dropout", "of nothing", dropout_0, "(2,3)", NULL},
    {"dropout", "of all", dropout_1, "(2,3)", NULL},
    {"dropout", "of three in ten", dropout_03, "(5,9)", NULL},
    {"dropout", "of no elements", dropout_03, "(0,3)", NULL},

    {"relu", "a matrix", relu, "away(2,3)", NULL},
    {"relu", "a long vector", relu, "away(37)", NULL},
    {"relu", "a scalar", relu, "away()", NULL},
    {"relu", "nothing", relu, "away(0)", NULL},

    {"embedding", "one id", embedding, "(4,3) int()", one_id},
    {"embedding", "repeated ids", embedding, "(3,2) int(4)", repeated_ids},
    {"embedding", "a matrix of ids", embedding, "(5,3) int(2,3)", six_ids},
    {"embedding", "three axes of ids", embedding, "(5,2) int(3,1,2)", six_ids},
    {"embedding", "rows of one", embedding, "(5,1) int(6)", six_ids},
    {"embedding", "a table of one row", embedding, "(1,3) int(2,2)", four_zeros},
    {"embedding", "no ids", embedding, "(3,2) int(0)", no_integers},
    {"embedding", "empty rows", embedding, "(3,0) int(4)", repeated_ids},

    {"sum", "a matrix", sum, "(2,3)", NULL},
    {"sum", "a long vector", sum, "(37)", NULL},
    {"sum", "a scalar", sum, "()", NULL},
    {"sum", "nothing", sum, "(2,0)", NULL},
    {"mean", "three axes", mean, "(2,3,2)", NULL},
    {"mean", "a long vector", mean, "(37)", NULL},
    {"mean", "a scalar", mean, "()", NULL},

    {"sum_axis", "axis 0 of three", sum_0, "(2,3,4)", NULL},
    {"sum_axis", "axis 1 of three", sum_1, "(2,3,4)", NULL},
    {"sum_axis", "axis 2 of three", sum_2, "(2,3,4)", NULL},
    {"sum_axis", "axis 0 of three, kept", sum_0_kept, "(2,3,4)", NULL},
    {"sum_axis", "axis 1 of three, kept", sum_1_kept, "(2,3,4)", NULL},
    {"sum_axis", "the last of three, kept", sum_last_kept, "(2,3,4)", NULL},
    {"sum_axis", "a vector", sum_0, "(5)", NULL},
    {"sum_axis", "long rows", sum_1, "(2,70)", NULL},
    {"sum_axis", "long columns", sum_0, "(2,70)", NULL},
    {"sum_axis", "an extent of one", sum_1, "(2,1,3)", NULL},
    {"sum_axis", "over nothing", sum_0, "(0,3)", NULL},
    {"sum_axis", "over nothing, kept", sum_last_kept, "(3,0)", NULL},
    {"sum_axis", "nothing", sum_1, "(0,3)", NULL},

    {"mean_axis", "axis 0 of three", mean_0, "(2,3,4)", NULL},
    {"mean_axis", "axis 1 of three", mean_1, "(2,3,4)", NULL},
    {"mean_axis", "axis 2 of three", mean_2, "(2,3,4)", NULL},
    {"mean_axis", "axis 0 of three, kept", mean_0_kept, "(2,3,4)", NULL},
    {"mean_axis", "axis 1 of three, kept", mean_1_kept, "(2,3,4)", NULL},
    {"mean_axis", "the last of three, kept", mean_last_kept, "(2,3,4)", NULL},
    {"mean_axis", "long columns", mean_0, "(2,70)", NULL},
    {"mean_axis", "nothing", mean_1, "(0,3)", NULL},

    {"cross_entropy", "one row, mean", cross_entropy_mean, "(4) int()", targets},
    {"cross_entropy", "rows, mean", cross_entropy_mean, "(6,4) int(6)", targets},
    {"cross_entropy", "rows, sum", cross_entropy_sum, "(6,4) int(6)", targets},
    {"cross_entropy", "some ignored, mean", cross_entropy_mean, "(6,4) int(6)", some_ignored},
    {"cross_entropy", "some ignored, sum", cross_entropy_sum, "(6,4) int(6)", some_ignored},
    {"cross_entropy", "another number ignored", cross_entropy_mean_but_0, "(6,4) int(6)", targets},
    {"cross_entropy", "three axes, mean", cross_entropy_mean, "(2,3,4) int(2,3)", some_ignored},
    {"cross_entropy", "three axes, sum", cross_entropy_sum, "(3,2,4) int(3,2)", targets},
    {"cross_entropy", "all ignored, mean", cross_entropy_mean, "(6,4) int(6)", all_ignored},
    {"cross_entropy", "all ignored, sum", cross_entropy_sum, "(6,4) int(6)", all_ignored},
    {"cross_entropy", "long rows", cross_entropy_mean, "(3,50) int(3)", far_targets},
    {"cross_entropy", "one class", cross_entropy_mean, "(4,1) int(4)", four_zeros},
    {"cross_entropy", "no rows", cross_entropy_mean, "(0,4) int(0)", no_integers},
};

enum { OP_ROWS = sizeof op_rows / sizeof op_rows[0] };

#include "golden/ops_values.h"

enum { OP_INPUTS = 3 };

/* A row, its inputs in the library's precision, and where PyTorch's values are. */
typedef struct op_case {
    const op_row *row;
    int input_count;
    tg_view inputs[OP_INPUTS];
    tg_real *reals; /* of all real inputs, owned */
    int64_t real_count;
    tg_shape output_shape;
    int64_t output_count;
    const double *output, *cotangent, *grads; /* grads: real_count */
} op_case;

/* The view, still without elements, that *text begins with; *text moves on behind it. */
static tg_view op_input_read(const char **text) {
    tg_view view = {.type = strncmp(*text, "int", 3) == 0 ? TG_INT32 : TG_REAL};
    const char *at = strchr(*text, '(') + 1;
    while (*at != ')') {
        char *end;
        view.shape.extent[view.shape.rank++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    *text = at[1] == ' ' ? at + 2 : at + 1;
    ck_assert_int_eq(tg_shape_count(view.shape, &view.count, NULL), TG_OK);
    return view;
}

static op_case op_case_make(int i) {
    const op_golden *golden = &op_goldens[i];
    op_case made = {.row = &op_rows[i]};
    ck_assert_str_eq(golden->inputs, made.row->inputs);
    for (const char *text = made.row->inputs; *text != '\0'; made.input_count++) {
        ck_assert_int_lt(made.input_count, OP_INPUTS);
        tg_view *input = &made.inputs[made.input_count];
        *input = op_input_read(&text);
        input->integer = made.row->integers;
        made.real_count += input->type == TG_REAL ? input->count : 0;
    }
    made.output_shape = tg_shape_make(golden->rank, golden->extent);
    ck_assert_int_eq(tg_shape_count(made.output_shape, &made.output_count, NULL), TG_OK);
    made.output = golden->values + made.real_count;
    made.cotangent = made.output + made.output_count;
    made.grads = made.cotangent + made.output_count;
    made.reals = malloc((size_t)(made.real_count + 1) * sizeof(tg_real));
    ck_assert_ptr_nonnull(made.reals);
    for (int64_t j = 0; j < made.real_count; j++)
        made.reals[j] = (tg_real)golden->values[j];
    int64_t used = 0;
    for (int k = 0; k < made.input_count; k++)
        if (made.inputs[k].type == TG_REAL) {
            made.inputs[k].real = made.reals + used;
            used += made.inputs[k].count;
        }
    return made;
}

static void op_case_free(op_case *made) {
    free(made->reals);
}

#endif
