/* Internal, for table.c: the matrix product.
 *
 * B is packed into panels of PANEL columns, zero-padded, so that plain and transposed operands run
 * through one inner loop: a tile of up to TILE_ROWS rows of C stays in registers while the inner
 * index goes by, in order. The inner extent is cut into blocks that fit the panel; C itself carries
 * the sum from one block to the next, which rounds nothing. */
#ifndef TGI_KERNEL_MATMUL_H
#define TGI_KERNEL_MATMUL_H

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/lanes.h"

enum { TILE_ROWS = 6, PANEL_VECTORS = 2, PANEL = PANEL_VECTORS * LANES, BLOCK = 256 };

/* panel[inner, width] = B[inner, columns], columns <= width, the rest zeros. */
static void pack(const tgi_product *p, int64_t first_inner, int64_t inner, int64_t first_column,
                 int64_t columns, int64_t width, tg_real *panel) {
    const tg_real *b = p->b + first_inner * p->b_inner + first_column * p->b_column;
    for (int64_t k = 0; k < inner; k++) {
        for (int64_t j = 0; j < columns; j++)
            panel[k * width + j] = b[k * p->b_inner + j * p->b_column];
        for (int64_t j = columns; j < width; j++)
            panel[k * width + j] = 0;
    }
}

/* c[rows, width] += a[rows, inner] panel[inner, width]. `rows` and `vectors` are constants at every
 * call, so that the tile lives in registers. */
static inline __attribute__((always_inline)) void tile(const int rows, const int vectors,
                                                       int64_t inner, const tg_real *a,
                                                       int64_t a_row, int64_t a_inner,
                                                       const tg_real *panel, tg_real *c) {
    lanes sum[TILE_ROWS][PANEL_VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[r][v] = lanes_load(c + (r * vectors + v) * LANES);
    for (int64_t k = 0; k < inner; k++) {
        lanes b[PANEL_VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            b[v] = lanes_load(panel + (k * vectors + v) * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            lanes x = lanes_splat(a[r * a_row + k * a_inner]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[r][v] = lanes_fused(x, b[v], sum[r][v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            lanes_store(c + (r * vectors + v) * LANES, sum[r][v]);
}

static void tile_of(int rows, int vectors, int64_t inner, const tg_real *a, int64_t a_row,
                    int64_t a_inner, const tg_real *panel, tg_real *c) {
    switch (rows * PANEL_VECTORS + vectors - 1) {
    case 2:
        tile(1, 1, inner, a, a_row, a_inner, panel, c);
        break;
    case 3:
        tile(1, 2, inner, a, a_row, a_inner, panel, c);
        break;
    case 4:
        tile(2, 1, inner, a, a_row, a_inner, panel, c);
        break;
    case 5:
        tile(2, 2, inner, a, a_row, a_inner, panel, c);
        break;
    case 6:
        tile(3, 1, inner, a, a_row, a_inner, panel, c);
        break;
    case 7:
        tile(3, 2, inner, a, a_row, a_inner, panel, c);
        break;
    case 8:
        tile(4, 1, inner, a, a_row, a_inner, panel, c);
        break;
    case 9:
        tile(4, 2, inner, a, a_row, a_inner, panel, c);
        break;
    case 10:
        tile(5, 1, inner, a, a_row, a_inner, panel, c);
        break;
    case 11:
        tile(5, 2, inner, a, a_row, a_inner, panel, c);
        break;
    case 12:
        tile(6, 1, inner, a, a_row, a_inner, panel, c);
        break;
    case 13:
        tile(6, 2, inner, a, a_row, a_inner, panel, c);
        break;
    default:
        break;
    }
}

/* One column panel of one block of the inner extent: all rows of C, a tile at a time. */
static void panel_product(const tgi_product *p, int64_t first_inner, int64_t inner,
                          int64_t first_column, int64_t columns, int vectors, const tg_real *panel,
                          bool accumulate) {
    tg_real sums[TILE_ROWS * PANEL];
    const int64_t width = vectors * LANES;
    for (int64_t i = 0; i < p->rows; i += TILE_ROWS) {
        int rows = p->rows - i < TILE_ROWS ? (int)(p->rows - i) : TILE_ROWS;
        tg_real *c = p->c + i * p->c_row + first_column;
        for (int r = 0; r < rows; r++)
            for (int64_t j = 0; j < width; j++)
                sums[r * width + j] = accumulate && j < columns ? c[r * p->c_row + j] : 0;
        tile_of(rows, vectors, inner, p->a + i * p->a_row + first_inner * p->a_inner, p->a_row,
                p->a_inner, panel, sums);
        for (int r = 0; r < rows; r++)
            memcpy(c + r * p->c_row, sums + r * width, (size_t)columns * sizeof *c);
    }
}

static void matmul(const tgi_product *p) {
    tg_real panel[BLOCK * PANEL];
    int64_t k = 0;
    do { /* once at least: an empty inner extent gives zeros */
        int64_t inner = p->inner - k < BLOCK ? p->inner - k : BLOCK;
        for (int64_t j = 0; j < p->columns; j += PANEL) {
            int64_t columns = p->columns - j < PANEL ? p->columns - j : PANEL;
            int vectors = columns > LANES ? PANEL_VECTORS : 1;
            pack(p, k, inner, j, columns, vectors * LANES, panel);
            panel_product(p, k, inner, j, columns, vectors, panel, p->accumulate || k > 0);
        }
        k += inner;
    } while (k < p->inner);
}

#endif
