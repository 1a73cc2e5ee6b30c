#include "nn/feed_forward.h"

#include "autograd/ops.h"
#include "nn/path.h"

tg_status tg_feed_forward_init(tg_feed_forward *feed_forward, tg_params *params, const char *name,
                               const tg_feed_forward_config *config, tg_rng *rng, tg_error *error) {
    tg_linear_config first = {config->width, config->hidden, "w1", "b1", .init = config->init};
    tg_linear_config second = {config->hidden, config->width, "w2", "b2", .init = config->init};
    tg_status status = tg_linear_init(&feed_forward->first, params, name, &first, rng, error);
    if (status == TG_OK)
        status = tg_linear_init(&feed_forward->second, params, name, &second, rng, error);
    feed_forward->label = tgi_path(params, name, "hidden");
    if (status == TG_OK && feed_forward->label == NULL)
        status = tg_fail(error, TG_ENOMEM, "feed_forward: no memory for the label of %s", name);
    return status;
}

tg_var tg_feed_forward_forward(const tg_feed_forward *feed_forward, tg_var x) {
    tg_var hidden = tg_relu(tg_linear_forward(&feed_forward->first, x));
    return tg_linear_forward(&feed_forward->second, tg_label(hidden, feed_forward->label));
}
