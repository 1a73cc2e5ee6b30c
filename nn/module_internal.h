/* Internal: what the inits of modules share: names made of parts, and taking back what failed. */
#ifndef TGI_MODULE_INTERNAL_H
#define TGI_MODULE_INTERNAL_H

#include "autograd/param_internal.h"
#include "tensor/rng.h"

/* "name.part", or "part" where name is empty or NULL, living as long as the set; NULL when memory is
 * out. */
const char *tgi_path(tg_params *params, const char *name, const char *part);

/* A parameter "name.part"; see tg_params_add. */
tg_status tgi_add_param(tg_params *params, const char *name, const char *part, tg_shape shape,
                        tg_param **param, tg_error *error);

/* Parameters and generator (which may be NULL) before an init, so that one that fails changes
 * nothing. */
typedef struct tgi_before {
    tgi_params_mark params;
    tg_rng rng;
} tgi_before;

tgi_before tgi_before_init(const tg_params *params, const tg_rng *rng);

/* Takes parameters and generator back where `status` is a failure; returns the status. */
tg_status tgi_end_init(tg_status status, const tgi_before *before, tg_params *params, tg_rng *rng);

#endif
