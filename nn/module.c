#include "nn/module_internal.h"

#include <stdio.h>
#include <string.h>

const char *tgi_path(tg_params *params, const char *name, const char *part) {
    if (name == NULL)
        name = "";
    size_t size = strlen(name) + strlen(part) + 2;
    char *path = tg_params_allocate(params, size);
    if (path != NULL)
        snprintf(path, size, "%s%s%s", name, name[0] != '\0' ? "." : "", part);
    return path;
}

tg_status tgi_add_param(tg_params *params, const char *name, const char *part, tg_shape shape,
                        tg_param **param, tg_error *error) {
    const char *path = tgi_path(params, name, part);
    *param = NULL;
    if (path == NULL)
        return tg_fail(error, TG_ENOMEM, "params: no memory for the name of %s", part);
    return tg_params_add(params, path, shape, param, error);
}

tgi_before tgi_before_init(const tg_params *params, const tg_rng *rng) {
    tgi_before before = {.params = tgi_params_now(params)};
    if (rng != NULL)
        before.rng = *rng;
    return before;
}

tg_status tgi_end_init(tg_status status, const tgi_before *before, tg_params *params, tg_rng *rng) {
    if (status == TG_OK)
        return TG_OK;
    tgi_params_rewind(params, before->params);
    if (rng != NULL)
        *rng = before->rng;
    return status;
}
