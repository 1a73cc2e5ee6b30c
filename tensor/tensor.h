/* Tensors: contiguous, row-major arrays of tg_real or int32_t. There are no strides. */
#ifndef TG_TENSOR_H
#define TG_TENSOR_H

#include <stdint.h>

#include "tensor/context.h"
#include "tensor/real.h"
#include "tensor/shape.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the elements are. Integers (token ids, targets, masks) are never differentiated. */
typedef enum tg_type { TG_REAL, TG_INT32 } tg_type;

/* Somebody else's array, borrowed to be read. */
typedef struct tg_view {
    tg_shape shape;
    tg_type type;
    int64_t count; /* the product of the extents */
    union {
        const tg_real *real;    /* where type is TG_REAL */
        const int32_t *integer; /* where type is TG_INT32 */
        const void *data;
    };
} tg_view;

/* An array that is owned. Start it as {0}; free it with tg_tensor_free. */
typedef struct tg_tensor {
    tg_shape shape;
    tg_type type;
    int64_t count;
    union {
        tg_real *real;
        int32_t *integer;
        void *data;
    };
    tg_allocator allocator;
} tg_tensor;

/* An array of zeros. Overwrites `tensor` without reading it. TG_ESHAPE (see tg_shape_count; also
 * where the bytes exceed what memory can address), TG_ENOMEM: then `tensor` is {0}. */
tg_status tg_tensor_init(tg_tensor *tensor, const tg_context *context, tg_type type, tg_shape shape,
                         tg_error *error);

/* Gives the memory back and leaves {0}. NULL and {0} are legal. */
void tg_tensor_free(tg_tensor *tensor);

/* The tensor, to be read; valid until it is freed. */
tg_view tg_tensor_view(const tg_tensor *tensor);

/* Bytes of one element. */
size_t tg_type_size(tg_type type);

#ifdef __cplusplus
}
#endif

#endif
