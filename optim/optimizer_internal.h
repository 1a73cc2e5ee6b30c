/* Internal: what an optimiser is. */
#ifndef TGI_OPTIMIZER_INTERNAL_H
#define TGI_OPTIMIZER_INTERNAL_H

#include "optim/optimizer.h"
#include "tensor/context_internal.h"
#include "tensor/kernels/kernels.h"

enum { TGI_STATES = 2, TGI_SETTINGS = 5 };

/* Above all sense, and so far below the largest float that no quotient overflows. */
#define TGI_SETTING_LIMIT 1e9

/* A kind of optimiser: its settings, how many arrays it keeps of each parameter, and one step over
 * one. */
typedef struct tgi_optimizer_kind {
    const char *name;
    int settings;
    struct {
        const char *name;
        double limit; /* legal are 0 and what is below this */
    } setting[TGI_SETTINGS];
    int states;
    const char *state_names[TGI_STATES];
    /* `optimizer->steps` counts this step already. state[k] is the k-th array of this parameter. */
    void (*step)(const tg_optimizer *optimizer, int64_t n, const tg_real *grad, tg_real *value,
                 tg_real *const *state);
} tgi_optimizer_kind;

struct tg_optimizer {
    const tgi_optimizer_kind *kind;
    tg_context context;
    tg_param **params;
    size_t count;
    int64_t elements; /* of all parameters */
    tg_real *states;  /* kind->states times elements: all of the first array, then the second */
    int64_t steps;
    double settings[TGI_SETTINGS]; /* as kind->setting names them; the first is the rate */
};

/* An optimiser of this kind with states of zeros and kind->settings settings. NULL, with the reason
 * in `error`, when memory is out or an argument is wrong. */
tg_optimizer *tgi_optimizer_create(const tg_context *context, const tgi_optimizer_kind *kind,
                                   tg_param *const *params, size_t count, const double *settings,
                                   tg_error *error);

#endif
