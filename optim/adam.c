#include "optim/adam.h"

#include <math.h>

#include "optim/optimizer_internal.h"

enum { RATE, BETA1, BETA2, EPSILON, WEIGHT_DECAY, SETTINGS };

/* base^n by squaring: the same digits everywhere, which pow does not promise. */
static double power(double base, int64_t n) {
    double result = 1;
    for (; n > 0; n /= 2, base *= base)
        if (n % 2 == 1)
            result *= base;
    return result;
}

static void step(const tg_optimizer *o, int64_t n, const tg_real *grad, tg_real *value,
                 tg_real *const *state) {
    const double beta1 = o->settings[BETA1], beta2 = o->settings[BETA2];
    double correction1 = 1 - power(beta1, o->steps);
    double correction2 = 1 - power(beta2, o->steps);
    const tgi_adam_step scalars = {.beta1 = (tg_real)beta1,
                                   .one_minus_beta1 = (tg_real)(1 - beta1),
                                   .beta2 = (tg_real)beta2,
                                   .one_minus_beta2 = (tg_real)(1 - beta2),
                                   .step_size = (tg_real)(o->settings[RATE] / correction1),
                                   .root_correction2 = (tg_real)sqrt(correction2),
                                   .epsilon = (tg_real)o->settings[EPSILON],
                                   .weight_decay = (tg_real)o->settings[WEIGHT_DECAY]};
    o->context.kernels->adam(n, &scalars, grad, value, state[0], state[1]);
}

static const tgi_optimizer_kind kind = {
    .name = "adam",
    .settings = SETTINGS,
    .setting = {{"rate", TGI_SETTING_LIMIT},
                {"beta1", 1},
                {"beta2", 1},
                {"epsilon", TGI_SETTING_LIMIT},
                {"weight_decay", TGI_SETTING_LIMIT}},
    .states = 2,
    .state_names = {"first_moment", "second_moment"},
    .step = step,
};

tg_adam_config tg_adam_defaults(double rate) {
    return (tg_adam_config){.rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

tg_optimizer *tg_adam_create(const tg_context *context, tg_param *const *params, size_t count,
                             const tg_adam_config *config, tg_error *error) {
    const double settings[SETTINGS] = {[RATE] = config->rate,
                                       [BETA1] = config->beta1,
                                       [BETA2] = config->beta2,
                                       [EPSILON] = config->epsilon,
                                       [WEIGHT_DECAY] = config->weight_decay};
    return tgi_optimizer_create(context, &kind, params, count, settings, error);
}
