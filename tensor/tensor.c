#include "tensor/tensor_internal.h"

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"

size_t tg_type_size(tg_type type) {
    return type == TG_REAL ? sizeof(tg_real) : sizeof(int32_t);
}

tg_status tgi_array_size(tg_type type, tg_shape shape, int64_t *count, size_t *bytes,
                         tg_error *error) {
    tg_status status = tg_shape_count(shape, count, error);
    if (status != TG_OK)
        return status;
    size_t size = tg_type_size(type);
    if ((uint64_t)*count > (uint64_t)PTRDIFF_MAX / size) {
        char text[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE, "shape %s: more bytes than memory can address",
                       tg_shape_text(shape, text));
    }
    *bytes = (size_t)*count * size;
    return TG_OK;
}

tg_status tg_tensor_init(tg_tensor *tensor, const tg_context *context, tg_type type, tg_shape shape,
                         tg_error *error) {
    *tensor = (tg_tensor){0};
    int64_t count;
    size_t bytes;
    tg_status status = tgi_array_size(type, shape, &count, &bytes, error);
    if (status != TG_OK)
        return status;
    tg_allocator allocator = tgi_context_of(context).allocator;
    void *data = tgi_allocate_zeroed(&allocator, bytes);
    if (data == NULL) {
        char text[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ENOMEM, "tensor %s: out of memory", tg_shape_text(shape, text));
    }
    *tensor = (tg_tensor){
        .shape = shape, .type = type, .count = count, .data = data, .allocator = allocator};
    return TG_OK;
}

void tg_tensor_free(tg_tensor *tensor) {
    if (tensor == NULL || tensor->data == NULL)
        return;
    tgi_release(&tensor->allocator, tensor->data,
                (size_t)tensor->count * tg_type_size(tensor->type));
    *tensor = (tg_tensor){0};
}

tg_view tg_tensor_view(const tg_tensor *tensor) {
    return (tg_view){
        .shape = tensor->shape, .type = tensor->type, .count = tensor->count, .data = tensor->data};
}
