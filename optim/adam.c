#include "optim/adam.h"

#include <math.h>

#include "optim/optimizer_internal.h"

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
    double correction1 = 1 - power(o->beta1, o->steps);
    double correction2 = 1 - power(o->beta2, o->steps);
    const tgi_adam_step scalars = {.beta1 = (tg_real)o->beta1,
                                   .one_minus_beta1 = (tg_real)(1 - o->beta1),
                                   .beta2 = (tg_real)o->beta2,
                                   .one_minus_beta2 = (tg_real)(1 - o->beta2),
                                   .step_size = (tg_real)(o->rate / correction1),
                                   .root_correction2 = (tg_real)sqrt(correction2),
                                   .epsilon = (tg_real)o->epsilon,
                                   .weight_decay = (tg_real)o->weight_decay};
    o->context.kernels->adam(n, &scalars, grad, value, state[0], state[1]);
}

static const tgi_optimizer_kind kind = {
    .name = "adam",
    .states = 2,
    .state_names = {"first_moment", "second_moment"},
    .step = step,
};

tg_adam_config tg_adam_defaults(double rate) {
    return (tg_adam_config){.rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

tg_optimizer *tg_adam_create(const tg_context *context, tg_param *const *params, size_t count,
                             const tg_adam_config *config, tg_error *error) {
    const struct {
        const char *name;
        double value, limit;
    } settings[] = {{"beta1", config->beta1, 1},
                    {"beta2", config->beta2, 1},
                    {"epsilon", config->epsilon, INFINITY},
                    {"weight decay", config->weight_decay, INFINITY}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (!(settings[i].value >= 0 && settings[i].value < settings[i].limit)) {
            tg_fail(error, TG_EINVAL, "adam: %s %g outside [0, %g)", settings[i].name,
                    settings[i].value, settings[i].limit);
            return NULL;
        }
    const tg_optimizer with = {.rate = config->rate,
                               .beta1 = config->beta1,
                               .beta2 = config->beta2,
                               .epsilon = config->epsilon,
                               .weight_decay = config->weight_decay};
    return tgi_optimizer_create(context, &kind, params, count, &with, error);
}
