#include "nn/feed_forward.h"

#include "autograd/ops.h"
#include "nn/module_internal.h"

tg_status tg_feed_forward_init(tg_feed_forward *feed_forward, tg_params *params, const char *name,
                               const tg_feed_forward_config *config, tg_rng *rng, tg_error *error) {
    tgi_before before = tgi_before_init(params, rng);
    tg_linear_config first = {config->width, config->hidden, "w1", "b1", .init = config->init};
    tg_linear_config second = {config->hidden, config->width, "w2", "b2", .init = config->init};
    tg_feed_forward made = {.label = NULL};
    tg_status status = tg_linear_init(&made.first, params, name, &first, rng, error);
    if (status == TG_OK)
        status = tg_linear_init(&made.second, params, name, &second, rng, error);
    if (status == TG_OK && (made.label = tgi_path(params, name, "hidden")) == NULL)
        status = tg_fail(error, TG_ENOMEM, "feed_forward: no memory for its label");
    *feed_forward = status == TG_OK ? made : (tg_feed_forward){0};
    return tgi_end_init(status, &before, params, rng);
}

tg_var tg_feed_forward_forward(const tg_feed_forward *feed_forward, tg_var x) {
    tg_var hidden = tg_relu(tg_linear_forward(&feed_forward->first, x));
    return tg_linear_forward(&feed_forward->second, tg_label(hidden, feed_forward->label));
}
