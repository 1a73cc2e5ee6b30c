#include "nn/embedding.h"

#include "autograd/ops.h"
#include "nn/module_internal.h"

tg_status tg_embedding_init(tg_embedding_layer *layer, tg_params *params, const char *name,
                            const tg_embedding_config *config, tg_rng *rng, tg_error *error) {
    tgi_before before = tgi_before_init(params, rng);
    const char *table = config->table != NULL ? config->table : "weight";
    tg_status status = tgi_add_param(params, name, table, tg_shape_2d(config->rows, config->width),
                                     &layer->table, error);
    if (status == TG_OK)
        status = tg_init_table(&config->init, layer->table, rng, error);
    if (status != TG_OK)
        *layer = (tg_embedding_layer){0};
    return tgi_end_init(status, &before, params, rng);
}

tg_var tg_embedding_forward(const tg_embedding_layer *layer, tg_var ids) {
    return tg_embedding(tg_parameter(tg_tape_of(ids), layer->table), ids);
}
