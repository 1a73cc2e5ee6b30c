#include "optim/sgd.h"

#include "optim/optimizer_internal.h"

enum { RATE, MOMENTUM, SETTINGS };

static void step(const tg_optimizer *o, int64_t n, const tg_real *grad, tg_real *value,
                 tg_real *const *state) {
    o->context.kernels->momentum(n, (tg_real)o->settings[RATE], (tg_real)o->settings[MOMENTUM],
                                 grad, value, state[0]);
}

static const tgi_optimizer_kind kind = {
    .name = "sgd",
    .settings = SETTINGS,
    .setting = {{"rate", TGI_SETTING_LIMIT}, {"momentum", 1}},
    .states = 1,
    .state_names = {"velocity"},
    .step = step,
};

tg_optimizer *tg_sgd_create(const tg_context *context, tg_param *const *params, size_t count,
                            const tg_sgd_config *config, tg_error *error) {
    const double settings[SETTINGS] = {[RATE] = config->rate, [MOMENTUM] = config->momentum};
    return tgi_optimizer_create(context, &kind, params, count, settings, error);
}
