#include "optim/sgd.h"

#include "optim/optimizer_internal.h"

static void step(const tg_optimizer *o, int64_t n, const tg_real *grad, tg_real *value,
                 tg_real *const *state) {
    o->context.kernels->momentum(n, (tg_real)o->rate, (tg_real)o->momentum, grad, value, state[0]);
}

static const tgi_optimizer_kind kind = {
    .name = "sgd",
    .states = 1,
    .state_names = {"velocity"},
    .step = step,
};

tg_optimizer *tg_sgd_create(const tg_context *context, tg_param *const *params, size_t count,
                            const tg_sgd_config *config, tg_error *error) {
    if (!(config->momentum >= 0 && config->momentum < 1)) {
        tg_fail(error, TG_EINVAL, "sgd: momentum %g outside [0, 1)", config->momentum);
        return NULL;
    }
    const tg_optimizer with = {.rate = config->rate, .momentum = config->momentum};
    return tgi_optimizer_create(context, &kind, params, count, &with, error);
}
