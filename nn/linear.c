#include "nn/linear.h"

#include "autograd/ops.h"
#include "nn/module_internal.h"

static tg_status init(tg_linear_layer *layer, tg_params *params, const char *name,
                      const tg_linear_config *config, tg_rng *rng, tg_error *error) {
    const char *weight = config->weight != NULL ? config->weight : "weight";
    const char *bias = config->bias != NULL ? config->bias : "bias";
    tg_status status = tgi_add_param(params, name, weight, tg_shape_2d(config->in, config->out),
                                     &layer->weight, error);
    if (status == TG_OK)
        status = tg_init_weight(&config->init, layer->weight, rng, error);
    if (status != TG_OK || config->no_bias)
        return status;
    status = tgi_add_param(params, name, bias, tg_shape_1d(config->out), &layer->bias, error);
    if (status == TG_OK)
        status = tg_init_bias(&config->init, layer->bias, config->in, rng, error);
    return status;
}

tg_status tg_linear_init(tg_linear_layer *layer, tg_params *params, const char *name,
                         const tg_linear_config *config, tg_rng *rng, tg_error *error) {
    tgi_before before = tgi_before_init(params, rng);
    tg_linear_layer made = {0};
    tg_status status = init(&made, params, name, config, rng, error);
    *layer = status == TG_OK ? made : (tg_linear_layer){0};
    return tgi_end_init(status, &before, params, rng);
}

tg_var tg_linear_forward(const tg_linear_layer *layer, tg_var x) {
    tg_tape *tape = tg_tape_of(x);
    tg_var weight = tg_parameter(tape, layer->weight);
    tg_shape shape = tg_shape_of(x);
    if (layer->bias == NULL && shape.rank == 1) /* a vector is a matrix of one row */
        return tg_reshape(tg_matmul(tg_reshape(x, tg_shape_2d(1, shape.extent[0])), weight),
                          tg_shape_1d(-1));
    if (layer->bias == NULL)
        return tg_matmul(x, weight);
    return tg_linear(x, weight, tg_parameter(tape, layer->bias));
}
