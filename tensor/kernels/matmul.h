/* Internal, for table.c: the matrix product.
 *
 * A tile of up to TILE_ROWS rows of C stays in registers while the inner index goes by, in order;
 * lanes run over the columns. B is read in panels of PANEL columns: as it lies where its rows are
 * contiguous, whole and soon done with; else packed, with zeros behind the last column, so that
 * transposes and edges run through the same loop. The inner extent is cut into blocks that fit the
 * panel; C itself carries the sum from one block to the next, which rounds nothing. */
#ifndef TGI_KERNEL_MATMUL_H
#define TGI_KERNEL_MATMUL_H

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/lanes.h"

enum {
    TILE_ROWS = 6,
    PANEL_VECTORS = 2,
    PANEL = PANEL_VECTORS * LANES,
    BLOCK = 256,
    FEW_ROWS = 48 /* of C, for which packing does not pay */
};

/* A panel of B for one block of the inner extent: panel[inner, width], its rows `stride` apart. */
typedef struct panel {
    const tg_real *data;
    int64_t stride, inner, columns; /* of the columns the first `columns` count */
    int vectors;                    /* width = vectors LANES */
} panel;

/* to[inner, width] = B[inner, columns], then zeros. */
static void pack(const tgi_product *p, const tg_real *b, const panel *like, tg_real *to) {
    const int64_t width = like->vectors * LANES;
    if (p->b_column == 1) {
        for (int64_t k = 0; k < like->inner; k++)
            for (int64_t j = 0; j < width; j += LANES)
                lanes_store(to + k * width + j,
                            lanes_load_some(b + k * p->b_inner + j, like->columns - j, 0));
        return;
    }
    for (int64_t j = 0; j < width; j++)
        for (int64_t k = 0; k < like->inner; k++)
            to[k * width + j] = j < like->columns ? b[k * p->b_inner + j * p->b_column] : 0;
}

/* c[rows, columns] (+)= a[rows, inner] panel[inner, columns]. `rows` and `vectors` are constants at
 * every call, so that the tile lives in registers. */
static inline __attribute__((always_inline)) void tile(const int rows, const int vectors,
                                                       const tgi_product *p, const tg_real *a,
                                                       const panel *b, tg_real *c,
                                                       bool accumulate) {
    lanes sum[TILE_ROWS][PANEL_VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[r][v] = accumulate ? lanes_load_some(c + r * p->c_row + v * LANES,
                                                     b->columns - v * LANES, 0)
                                   : (lanes){0};
    for (int64_t k = 0; k < b->inner; k++) {
        lanes row[PANEL_VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            row[v] = lanes_load(b->data + k * b->stride + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            lanes x = lanes_splat(a[r * p->a_row + k * p->a_inner]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[r][v] = lanes_fused(x, row[v], sum[r][v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            lanes_store_some(c + r * p->c_row + v * LANES, b->columns - v * LANES, sum[r][v]);
}

static inline __attribute__((always_inline)) void tile_rows(int rows, const int vectors,
                                                            const tgi_product *p, const tg_real *a,
                                                            const panel *b, tg_real *c,
                                                            bool accumulate) {
    switch (rows) {
    case 1:
        tile(1, vectors, p, a, b, c, accumulate);
        break;
    case 2:
        tile(2, vectors, p, a, b, c, accumulate);
        break;
    case 3:
        tile(3, vectors, p, a, b, c, accumulate);
        break;
    case 4:
        tile(4, vectors, p, a, b, c, accumulate);
        break;
    case 5:
        tile(5, vectors, p, a, b, c, accumulate);
        break;
    default:
        tile(TILE_ROWS, vectors, p, a, b, c, accumulate);
    }
}

/* All rows of C against one panel, a tile at a time. */
static void panel_product(const tgi_product *p, const tg_real *a, const panel *b, tg_real *c,
                          bool accumulate) {
    for (int64_t i = 0; i < p->rows; i += TILE_ROWS) {
        int rows = p->rows - i < TILE_ROWS ? (int)(p->rows - i) : TILE_ROWS;
        if (b->vectors == 1)
            tile_rows(rows, 1, p, a + i * p->a_row, b, c + i * p->c_row, accumulate);
        else
            tile_rows(rows, 2, p, a + i * p->a_row, b, c + i * p->c_row, accumulate);
    }
}

static void matmul(const tgi_product *p) {
    tg_real packed[BLOCK * PANEL];
    int64_t k = 0;
    do { /* once at least: an empty inner extent gives zeros */
        panel b = {.inner = p->inner - k < BLOCK ? p->inner - k : BLOCK};
        for (int64_t j = 0; j < p->columns; j += PANEL) {
            const tg_real *from = p->b + k * p->b_inner + j * p->b_column;
            b.columns = p->columns - j < PANEL ? p->columns - j : PANEL;
            b.vectors = b.columns > LANES ? PANEL_VECTORS : 1;
            b.data = from;
            b.stride = p->b_inner;
            bool whole = p->b_column == 1 && b.columns == b.vectors * LANES;
            if (!whole || p->rows > FEW_ROWS) {
                pack(p, from, &b, packed);
                b.data = packed;
                b.stride = b.vectors * LANES;
            }
            panel_product(p, p->a + k * p->a_inner, &b, p->c + j, p->accumulate || k > 0);
        }
        k += b.inner;
    } while (k < p->inner);
}

#endif
