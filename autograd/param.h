/* Parameters: what training changes. A tg_params owns them; modules, tapes and optimisers hold
 * pointers, which stay valid until it is freed, however many are added.
 *
 * Names are paths, "blocks.0.attention.query", and serve the optimiser and the checkpoint alike. */
#ifndef TG_PARAM_H
#define TG_PARAM_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/context.h"
#include "tensor/real.h"
#include "tensor/shape.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_params tg_params;
typedef struct tg_param tg_param;

/* An empty set; NULL when memory is out. NULL is legal wherever a tg_params is expected: adding to
 * it fails with TG_ENOMEM, so that one check at the end suffices. */
tg_params *tg_params_create(const tg_context *context);

/* Frees the set and all its parameters. NULL is legal. */
void tg_params_free(tg_params *params);

/* A new parameter of zeros into *param. The name is copied: 1 to 127 characters of letters, digits,
 * '.', '_' and '-'. TG_EINVAL for another name or one that is taken, TG_ESHAPE, TG_ENOMEM; then
 * nothing has changed and *param is NULL. */
tg_status tg_params_add(tg_params *params, const char *name, tg_shape shape, tg_param **param,
                        tg_error *error);

/* How many; the i-th in the order of adding (NULL outside); the one of this name (NULL if none). */
size_t tg_params_count(const tg_params *params);
tg_param *tg_params_at(const tg_params *params, size_t i);
tg_param *tg_params_find(const tg_params *params, const char *name);

/* All of them, tg_params_count in number, in the order of adding; valid until the next one is added.
 * NULL where there are none. */
tg_param *const *tg_params_list(const tg_params *params);

/* Elements of all parameters together. */
int64_t tg_params_elements(const tg_params *params);

/* Forgets the gradients: each counts as zeros until a backward pass adds to it. */
void tg_params_zero_grad(tg_params *params);

/* `bytes` that live as long as the set and are freed with it, cleared; for what a module needs
 * besides its parameters. NULL when memory is out. */
void *tg_params_allocate(tg_params *params, size_t bytes);

const char *tg_param_name(const tg_param *param);
tg_shape tg_param_shape(const tg_param *param);
int64_t tg_param_count(const tg_param *param);

/* The value, to be read. Row-major, tg_param_count elements. */
const tg_real *tg_param_value(const tg_param *param);

/* The value, to be changed now. A recording that has used the parameter can no longer go backward:
 * it would mix old and new values. */
tg_real *tg_param_edit(tg_param *param);

/* The gradient that backward passes have summed up since tg_params_zero_grad; of the value's shape.
 * To be read, or changed in place (to clip it, say). */
tg_real *tg_param_grad(tg_param *param);

#ifdef __cplusplus
}
#endif

#endif
