/* Internal: names of parameters and vars, made of parts. */
#ifndef TGI_PATH_H
#define TGI_PATH_H

#include "autograd/param.h"

/* "name.part", or "part" where name is empty, living as long as the set; NULL when memory is
 * out. */
const char *tgi_path(tg_params *params, const char *name, const char *part);

/* A parameter "name.part"; see tg_params_add. */
tg_status tgi_add_param(tg_params *params, const char *name, const char *part, tg_shape shape,
                        tg_param **param, tg_error *error);

#endif
