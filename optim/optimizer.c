#include "optim/optimizer_internal.h"

#include <inttypes.h>
#include <string.h>

#include "tensor/allocator_internal.h"

static tg_status check_setting(const tgi_optimizer_kind *kind, int i, double value,
                               tg_error *error) {
    if (value >= 0 && value < kind->setting[i].limit)
        return TG_OK;
    return tg_fail(error, TG_EINVAL, "%s: %s %g outside [0, %g)", kind->name, kind->setting[i].name,
                   value, kind->setting[i].limit);
}

/* The elements of all parameters, each of which may be listed once. */
static tg_status count_elements(const char *name, tg_param *const *params, size_t count,
                                int64_t *elements, tg_error *error) {
    *elements = 0;
    if (params == NULL && count > 0)
        return tg_fail(error, TG_EINVAL, "%s: the list of parameters is NULL", name);
    for (size_t i = 0; i < count; i++) {
        if (params[i] == NULL)
            return tg_fail(error, TG_EINVAL, "%s: parameter %zu is NULL", name, i);
        for (size_t j = 0; j < i; j++)
            if (params[j] == params[i])
                return tg_fail(error, TG_EINVAL, "%s: parameter %s is listed twice", name,
                               tg_param_name(params[i]));
        *elements += tg_param_count(params[i]);
    }
    return TG_OK;
}

tg_optimizer *tgi_optimizer_create(const tg_context *context, const tgi_optimizer_kind *kind,
                                   tg_param *const *params, size_t count, const double *settings,
                                   tg_error *error) {
    int64_t elements;
    for (int i = 0; i < kind->settings; i++)
        if (check_setting(kind, i, settings[i], error) != TG_OK)
            return NULL;
    if (count_elements(kind->name, params, count, &elements, error) != TG_OK)
        return NULL;
    tg_context own = tgi_context_of(context);
    tg_optimizer *made = tgi_allocate(&own.allocator, sizeof *made);
    tg_param **list = tgi_allocate(&own.allocator, count * sizeof *list);
    size_t bytes = (size_t)kind->states * (size_t)elements * sizeof(tg_real);
    tg_real *states = tgi_allocate_zeroed(&own.allocator, bytes);
    if (made == NULL || list == NULL || states == NULL) {
        tgi_release(&own.allocator, made, sizeof *made);
        tgi_release(&own.allocator, list, count * sizeof *list);
        tgi_release(&own.allocator, states, bytes);
        tg_fail(error, TG_ENOMEM, "%s: no memory for the state of %" PRId64 " elements", kind->name,
                elements);
        return NULL;
    }
    if (count > 0)
        memcpy(list, params, count * sizeof *list);
    *made = (tg_optimizer){.kind = kind,
                           .context = own,
                           .params = list,
                           .count = count,
                           .elements = elements,
                           .states = states};
    memcpy(made->settings, settings, (size_t)kind->settings * sizeof *settings);
    return made;
}

void tg_optimizer_free(tg_optimizer *optimizer) {
    if (optimizer == NULL)
        return;
    tg_allocator allocator = optimizer->context.allocator;
    tgi_release(&allocator, optimizer->states,
                (size_t)optimizer->kind->states * (size_t)optimizer->elements * sizeof(tg_real));
    tgi_release(&allocator, optimizer->params, optimizer->count * sizeof *optimizer->params);
    tgi_release(&allocator, optimizer, sizeof *optimizer);
}

void tg_optimizer_step(tg_optimizer *optimizer) {
    if (optimizer == NULL)
        return;
    tg_real *state[TGI_STATES];
    for (int k = 0; k < TGI_STATES; k++)
        state[k] = optimizer->states + (k < optimizer->kind->states ? k * optimizer->elements : 0);
    optimizer->steps++;
    for (size_t i = 0; i < optimizer->count; i++) {
        tg_param *param = optimizer->params[i];
        int64_t n = tg_param_count(param);
        optimizer->kind->step(optimizer, n, tg_param_grad(param), tg_param_edit(param), state);
        for (int k = 0; k < optimizer->kind->states; k++)
            state[k] += n;
    }
}

tg_status tg_optimizer_set_rate(tg_optimizer *optimizer, double rate, tg_error *error) {
    return tg_optimizer_set(optimizer, "rate", rate, error);
}

double tg_optimizer_rate(const tg_optimizer *optimizer) {
    return optimizer != NULL ? optimizer->settings[0] : 0;
}

size_t tg_optimizer_setting_count(const tg_optimizer *optimizer) {
    return optimizer != NULL ? (size_t)optimizer->kind->settings : 0;
}

tg_optimizer_setting tg_optimizer_setting_at(const tg_optimizer *optimizer, size_t i) {
    if (i >= tg_optimizer_setting_count(optimizer))
        return (tg_optimizer_setting){0};
    return (tg_optimizer_setting){optimizer->kind->setting[i].name, optimizer->settings[i]};
}

tg_status tg_optimizer_set(tg_optimizer *optimizer, const char *name, double value,
                           tg_error *error) {
    if (optimizer == NULL)
        return tg_fail(error, TG_ENOMEM, "optimizer: one that could not be made");
    const tgi_optimizer_kind *kind = optimizer->kind;
    for (int i = 0; i < kind->settings && name != NULL; i++) {
        if (strcmp(kind->setting[i].name, name) != 0)
            continue;
        tg_status status = check_setting(kind, i, value, error);
        if (status == TG_OK)
            optimizer->settings[i] = value;
        return status;
    }
    return tg_fail(error, TG_ENOTFOUND, "%s: no setting \"%s\"", kind->name,
                   name != NULL ? name : "NULL");
}

const char *tg_optimizer_name(const tg_optimizer *optimizer) {
    return optimizer != NULL ? optimizer->kind->name : "";
}

int64_t tg_optimizer_steps(const tg_optimizer *optimizer) {
    return optimizer != NULL ? optimizer->steps : 0;
}

tg_status tg_optimizer_set_steps(tg_optimizer *optimizer, int64_t steps, tg_error *error) {
    if (optimizer == NULL)
        return tg_fail(error, TG_ENOMEM, "optimizer: one that could not be made");
    const int64_t most = INT64_C(1) << 53; /* more than any run takes, far from overflow */
    if (steps < 0 || steps > most)
        return tg_fail(error, TG_EINVAL, "%s: %" PRId64 " steps, outside 0..%" PRId64,
                       optimizer->kind->name, steps, most);
    optimizer->steps = steps;
    return TG_OK;
}

size_t tg_optimizer_state_count(const tg_optimizer *optimizer) {
    return optimizer != NULL ? (size_t)optimizer->kind->states * optimizer->count : 0;
}

tg_optimizer_state tg_optimizer_state_at(const tg_optimizer *optimizer, size_t i) {
    if (i >= tg_optimizer_state_count(optimizer))
        return (tg_optimizer_state){0};
    size_t k = i / optimizer->count, which = i % optimizer->count;
    tg_real *elements = optimizer->states + (int64_t)k * optimizer->elements;
    for (size_t j = 0; j < which; j++)
        elements += tg_param_count(optimizer->params[j]);
    return (tg_optimizer_state){optimizer->kind->state_names[k], optimizer->params[which],
                                elements};
}
