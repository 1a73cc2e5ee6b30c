#include "autograd/param_internal.h"

#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/arena.h"
#include "tensor/context_internal.h"
#include "tensor/tensor_internal.h"

enum { NAME_LIMIT = 127 };

struct tg_params {
    tgi_arena arena; /* names, values, gradients and the tg_param themselves */
    tg_param **list;
    size_t count, capacity;
};

tg_params *tg_params_create(const tg_context *context) {
    tg_allocator allocator = tgi_context_of(context).allocator;
    tg_params *params = tgi_allocate_zeroed(&allocator, sizeof *params);
    if (params != NULL)
        params->arena.allocator = allocator;
    return params;
}

void tg_params_free(tg_params *params) {
    if (params == NULL)
        return;
    tg_allocator allocator = params->arena.allocator;
    tgi_release(&allocator, params->list, params->capacity * sizeof *params->list);
    tgi_arena_free(&params->arena);
    tgi_release(&allocator, params, sizeof *params);
}

static tg_status check_name(const tg_params *params, const char *name, tg_error *error) {
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (name == NULL || name[0] == '\0')
        return tg_fail(error, TG_EINVAL, "params: a parameter without a name");
    if (strlen(name) > NAME_LIMIT)
        return tg_fail(error, TG_EINVAL, "params: name \"%.40s...\" longer than %d characters",
                       name, NAME_LIMIT);
    if (name[strspn(name, legal)] != '\0')
        return tg_fail(error, TG_EINVAL, "params: name \"%s\" has other than letters, digits, ._-",
                       name);
    if (tg_params_find(params, name) != NULL)
        return tg_fail(error, TG_EINVAL, "params: name \"%s\" is taken", name);
    return TG_OK;
}

/* Room for one more pointer. */
static tg_status grow(tg_params *params) {
    if (params->count < params->capacity)
        return TG_OK;
    const tg_allocator *allocator = &params->arena.allocator;
    size_t capacity = params->capacity == 0 ? 16 : params->capacity * 2;
    tg_param **list = tgi_allocate(allocator, capacity * sizeof *list);
    if (list == NULL)
        return TG_ENOMEM;
    if (params->count > 0)
        memcpy(list, params->list, params->count * sizeof *list);
    tgi_release(allocator, params->list, params->capacity * sizeof *list);
    params->list = list;
    params->capacity = capacity;
    return TG_OK;
}

static tg_param *make(tg_params *params, const char *name, tg_shape shape, int64_t count,
                      size_t bytes) {
    tg_param *param = tg_params_allocate(params, sizeof *param);
    char *copy = tg_params_allocate(params, strlen(name) + 1);
    tg_real *value = tg_params_allocate(params, bytes);
    tg_real *grad = tg_params_allocate(params, bytes);
    if (param == NULL || copy == NULL || value == NULL || grad == NULL)
        return NULL;
    memcpy(copy, name, strlen(name));
    *param = (tg_param){
        .name = copy, .shape = shape, .count = count, .value = value, .grad = {grad, false}};
    return param;
}

tg_status tg_params_add(tg_params *params, const char *name, tg_shape shape, tg_param **param,
                        tg_error *error) {
    *param = NULL;
    if (params == NULL)
        return tg_fail(error, TG_ENOMEM, "params: a set that could not be made");
    tg_status status = check_name(params, name, error);
    if (status != TG_OK)
        return status;
    int64_t count;
    size_t bytes;
    status = tgi_array_size(TG_REAL, shape, &count, &bytes, error);
    if (status != TG_OK)
        return status;
    tgi_arena_mark before = tgi_arena_now(&params->arena);
    tg_param *made = grow(params) == TG_OK ? make(params, name, shape, count, bytes) : NULL;
    if (made == NULL) {
        tgi_arena_rewind(&params->arena, before);
        char text[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ENOMEM, "params: no memory for %s %s", name,
                       tg_shape_text(shape, text));
    }
    params->list[params->count++] = made;
    *param = made;
    return TG_OK;
}

size_t tg_params_count(const tg_params *params) {
    return params == NULL ? 0 : params->count;
}

tg_param *tg_params_at(const tg_params *params, size_t i) {
    return i < tg_params_count(params) ? params->list[i] : NULL;
}

tg_param *tg_params_find(const tg_params *params, const char *name) {
    for (size_t i = 0; name != NULL && i < tg_params_count(params); i++)
        if (strcmp(params->list[i]->name, name) == 0)
            return params->list[i];
    return NULL;
}

tg_param *const *tg_params_list(const tg_params *params) {
    return params == NULL ? NULL : params->list;
}

int64_t tg_params_elements(const tg_params *params) {
    int64_t total = 0;
    for (size_t i = 0; i < tg_params_count(params); i++)
        total += params->list[i]->count;
    return total;
}

void tg_params_zero_grad(tg_params *params) {
    for (size_t i = 0; i < tg_params_count(params); i++)
        params->list[i]->grad.written = false;
}

void *tg_params_allocate(tg_params *params, size_t bytes) {
    void *piece = params == NULL ? NULL : tgi_arena_take(&params->arena, bytes);
    if (piece != NULL)
        memset(piece, 0, bytes);
    return piece;
}

tgi_params_mark tgi_params_now(const tg_params *params) {
    if (params == NULL)
        return (tgi_params_mark){0};
    return (tgi_params_mark){params->count, tgi_arena_now(&params->arena)};
}

void tgi_params_rewind(tg_params *params, tgi_params_mark mark) {
    if (params == NULL)
        return;
    params->count = mark.count;
    tgi_arena_rewind(&params->arena, mark.arena);
}

const char *tg_param_name(const tg_param *param) {
    return param->name;
}

tg_shape tg_param_shape(const tg_param *param) {
    return param->shape;
}

int64_t tg_param_count(const tg_param *param) {
    return param->count;
}

const tg_real *tg_param_value(const tg_param *param) {
    return param->value;
}

tg_real *tg_param_edit(tg_param *param) {
    param->version++;
    return param->value;
}

tg_real *tg_param_grad(tg_param *param) {
    if (!param->grad.written) {
        memset(param->grad.data, 0, (size_t)param->count * sizeof(tg_real));
        param->grad.written = true;
    }
    return param->grad.data;
}
