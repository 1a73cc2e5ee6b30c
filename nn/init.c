#include "nn/init.h"

#include <math.h>
#include <string.h>

static tg_status check(const tg_init *init, const tg_param *param, int rank, tg_error *error) {
    if (init->kind != TG_INIT_PYTORCH && init->kind != TG_INIT_NORMAL)
        return tg_fail(error, TG_EINVAL, "init: %d is no kind", (int)init->kind);
    if (init->kind == TG_INIT_NORMAL && !(init->deviation >= 0 && isfinite(init->deviation)))
        return tg_fail(error, TG_EINVAL, "init: deviation %g is not a finite number from 0 on",
                       init->deviation);
    if (tg_param_shape(param).rank != rank) {
        char text[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ESHAPE, "init: %s has the shape %s, not rank %d",
                       tg_param_name(param), tg_shape_text(tg_param_shape(param), text), rank);
    }
    return TG_OK;
}

/* The bound of what torch.nn.Linear draws. */
static double bound_of(int64_t in) {
    return in > 0 ? 1 / sqrt((double)in) : 0;
}

tg_status tg_init_weight(const tg_init *init, tg_param *weight, tg_rng *rng, tg_error *error) {
    tg_status status = check(init, weight, 2, error);
    if (status != TG_OK || rng == NULL)
        return status;
    tg_real *value = tg_param_edit(weight);
    if (init->kind == TG_INIT_NORMAL)
        return tg_rng_normal(rng, tg_param_count(weight), 0, init->deviation, value, error);
    int64_t in = tg_param_shape(weight).extent[0], out = tg_param_shape(weight).extent[1];
    double bound = bound_of(in);
    for (int64_t j = 0; j < out && status == TG_OK; j++) /* value[in, out], drawn as (out, in) */
        for (int64_t i = 0; i < in && status == TG_OK; i++)
            status = tg_rng_uniform(rng, 1, -bound, bound, &value[i * out + j], error);
    return status;
}

tg_status tg_init_bias(const tg_init *init, tg_param *bias, int64_t in, tg_rng *rng,
                       tg_error *error) {
    tg_status status = check(init, bias, 1, error);
    if (status != TG_OK || rng == NULL)
        return status;
    tg_real *value = tg_param_edit(bias);
    if (init->kind == TG_INIT_NORMAL) {
        memset(value, 0, (size_t)tg_param_count(bias) * sizeof *value);
        return TG_OK;
    }
    double bound = bound_of(in);
    return tg_rng_uniform(rng, tg_param_count(bias), -bound, bound, value, error);
}

tg_status tg_init_table(const tg_init *init, tg_param *table, tg_rng *rng, tg_error *error) {
    tg_status status = check(init, table, 2, error);
    if (status != TG_OK || rng == NULL)
        return status;
    double deviation = init->kind == TG_INIT_NORMAL ? init->deviation : 1;
    return tg_rng_normal(rng, tg_param_count(table), 0, deviation, tg_param_edit(table), error);
}
