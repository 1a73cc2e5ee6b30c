/* Internal: the size of an array, checked. */
#ifndef TGI_TENSOR_INTERNAL_H
#define TGI_TENSOR_INTERNAL_H

#include "tensor/tensor.h"

/* Elements and bytes of an array. TG_ESHAPE where either overflows (bytes: PTRDIFF_MAX). */
tg_status tgi_array_size(tg_type type, tg_shape shape, int64_t *count, size_t *bytes,
                         tg_error *error);

#endif
