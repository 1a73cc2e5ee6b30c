/* Internal: NumPy's broadcasting as one iterator, for forward, and for backward, where what was
 * expanded is summed up again.
 *
 * Axes that lie behind one another in every operand are joined, so that operands of one shape are
 * a single run. The innermost run has steps of 0 (expanded) or 1. */
#ifndef TGI_BROADCAST_H
#define TGI_BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/real.h"
#include "tensor/shape.h"

struct tgi_kernels;

enum { TGI_OPERANDS = 2 };

typedef struct tgi_broadcast {
    int64_t run;                  /* elements of a run */
    int64_t step[TGI_OPERANDS];   /* of each operand within a run: 0 or 1 */
    int64_t offset[TGI_OPERANDS]; /* of each operand at the present run */
    int64_t out_offset;           /* the full shape is contiguous */
    int axes;                     /* around the runs, the innermost first */
    int64_t extent[TG_MAX_RANK];
    int64_t stride[TG_MAX_RANK][TGI_OPERANDS];
    int64_t index[TG_MAX_RANK];
    bool done;
} tgi_broadcast;

/* The iterator at its first run. `full` is what a and b broadcast to, as tg_shape_broadcast has
 * said; a full shape without elements is done at once. Use:
 *     for (tgi_broadcast_start(&it, full, a, b); !it.done; tgi_broadcast_next(&it)) ... */
void tgi_broadcast_start(tgi_broadcast *it, tg_shape full, tg_shape a, tg_shape b);
void tgi_broadcast_next(tgi_broadcast *it);

/* small (+)= the sum of x over the axes along which `small_shape` was expanded to `full`. Summed in
 * double, in an order that the shapes fix. small_shape broadcasts to full. */
void tgi_sum_to_shape(const struct tgi_kernels *kernels, tg_shape full, const tg_real *x,
                      tg_shape small_shape, double factor, tg_real *small, bool accumulate);

#endif
