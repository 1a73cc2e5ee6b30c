#include "nn/init.h"

#include <math.h>

/* torch.nn.init.kaiming_uniform_ with a = sqrt 5, as torch.nn.Linear calls it, in the order of its
 * roundings: 1 / sqrt(in) up to the last digit, which the draws show. */
static double kaiming_bound(int64_t in) {
    double a = sqrt(5.0);
    double gain = sqrt(2.0 / (1.0 + a * a));
    return sqrt(3.0) * (gain / sqrt((double)in));
}

tg_status tg_init_weight(const tg_init *init, tg_param *weight, tg_rng *rng, tg_error *error) {
    if (rng == NULL)
        return TG_OK;
    tg_real *value = tg_param_edit(weight);
    if (init->kind == TG_INIT_NORMAL)
        return tg_rng_normal(rng, tg_param_count(weight), 0, init->deviation, value, error);
    int64_t in = tg_param_shape(weight).extent[0], out = tg_param_shape(weight).extent[1];
    double bound = in > 0 ? kaiming_bound(in) : 0;
    tg_status status = TG_OK;
    for (int64_t j = 0; j < out && status == TG_OK; j++) /* value[in, out], drawn as (out, in) */
        for (int64_t i = 0; i < in && status == TG_OK; i++)
            status = tg_rng_uniform(rng, 1, -bound, bound, &value[i * out + j], error);
    return status;
}

tg_status tg_init_bias(const tg_init *init, tg_param *bias, int64_t in, tg_rng *rng,
                       tg_error *error) {
    if (rng == NULL || init->kind == TG_INIT_NORMAL)
        return TG_OK;
    double bound = in > 0 ? 1 / sqrt((double)in) : 0;
    return tg_rng_uniform(rng, tg_param_count(bias), -bound, bound, tg_param_edit(bias), error);
}

tg_status tg_init_table(const tg_init *init, tg_param *table, tg_rng *rng, tg_error *error) {
    if (rng == NULL)
        return TG_OK;
    double deviation = init->kind == TG_INIT_NORMAL ? init->deviation : 1;
    return tg_rng_normal(rng, tg_param_count(table), 0, deviation, tg_param_edit(table), error);
}
