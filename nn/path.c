#include "nn/path.h"

#include <stdio.h>
#include <string.h>

const char *tgi_path(tg_params *params, const char *name, const char *part) {
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
        return tg_fail(error, TG_ENOMEM, "params: no memory for the name %s.%s", name, part);
    return tg_params_add(params, path, shape, param, error);
}
