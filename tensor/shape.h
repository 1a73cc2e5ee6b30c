/* Shapes: a rank and its extents, by value. */
#ifndef TG_SHAPE_H
#define TG_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TG_MAX_RANK 6

/* Rank 0 is a scalar: one element. Extents may be zero. Extents behind the rank are zero. */
typedef struct tg_shape {
    int64_t extent[TG_MAX_RANK];
    int32_t rank;
} tg_shape;

tg_shape tg_shape_scalar(void);
tg_shape tg_shape_1d(int64_t a);
tg_shape tg_shape_2d(int64_t a, int64_t b);
tg_shape tg_shape_3d(int64_t a, int64_t b, int64_t c);
tg_shape tg_shape_4d(int64_t a, int64_t b, int64_t c, int64_t d);

/* The shape with these extents. A rank outside 0..TG_MAX_RANK is kept in the result with no
 * extents, and refused by tg_shape_count and so by everything that makes a tensor. */
tg_shape tg_shape_make(int rank, const int64_t *extents);

/* The number of elements into *count (0 when it fails). TG_ESHAPE for a negative extent, for a
 * rank outside 0..TG_MAX_RANK, and for a product that INT64_MAX does not hold; a zero extent makes
 * the product 0 whatever the others are. */
tg_status tg_shape_count(tg_shape shape, int64_t *count, tg_error *error);

bool tg_shape_equal(tg_shape a, tg_shape b);

/* NumPy's broadcasting rule: aligned at the last axis, extents are equal or one of them is 1.
 * TG_ESHAPE, with both shapes in the message, where they do not fit; `name` opens the message. */
tg_status tg_shape_broadcast(const char *name, tg_shape a, tg_shape b, tg_shape *out,
                             tg_error *error);

/* The axis as a number from 0, where -1 is the last. TG_ERANGE outside [-rank, rank), TG_ESHAPE for
 * an illegal rank. */
tg_status tg_shape_axis(const char *name, tg_shape shape, int axis, int *out, tg_error *error);

#define TG_SHAPE_TEXT 160

/* "(8, 14, 6)", "(3,)", "()" into `text`, which it returns. Names an illegal rank as such. */
const char *tg_shape_text(tg_shape shape, char text[TG_SHAPE_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
