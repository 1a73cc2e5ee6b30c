/* Internal: matrix products as the operations see them. */
#ifndef TGI_OPS_PRODUCT_H
#define TGI_OPS_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/kernels/kernels.h"

/* A matrix somewhere in memory, read through two strides in elements. */
typedef struct tgi_matrix {
    const tg_real *data;
    int64_t row, column;
} tgi_matrix;

/* Row-major with `columns` columns. */
static inline tgi_matrix tgi_matrix_of(const tg_real *data, int64_t columns) {
    return (tgi_matrix){data, columns, 1};
}

static inline tgi_matrix tgi_transposed(tgi_matrix m) {
    return (tgi_matrix){m.data, m.column, m.row};
}

/* c[rows, columns] (+)= a[rows, inner] b[inner, columns], c row-major. */
static inline void tgi_product_of(const tgi_kernels *kernels, int64_t rows, int64_t inner,
                                  int64_t columns, tgi_matrix a, tgi_matrix b, tg_real *c,
                                  bool accumulate) {
    kernels->matmul(&(tgi_product){.rows = rows,
                                   .inner = inner,
                                   .columns = columns,
                                   .a = a.data,
                                   .a_row = a.row,
                                   .a_inner = a.column,
                                   .b = b.data,
                                   .b_inner = b.row,
                                   .b_column = b.column,
                                   .c = c,
                                   .c_row = columns,
                                   .accumulate = accumulate});
}

#endif
