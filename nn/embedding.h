/* A table of vectors, one for each id. */
#ifndef TG_EMBEDDING_H
#define TG_EMBEDDING_H

#include "autograd/tape.h"
#include "nn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_embedding_config {
    int64_t rows, width;
    const char *table; /* the last part of its name; NULL: "weight" */
    tg_init init;
} tg_embedding_config;

/* The table belongs to the tg_params it was made in. */
typedef struct tg_embedding_layer {
    tg_param *table; /* (rows, width) */
} tg_embedding_layer;

/* Adds "name.weight" to params and draws it from rng (NULL: it stays zeros). Errors as of
 * tg_params_add and tg_init_table. */
tg_status tg_embedding_init(tg_embedding_layer *layer, tg_params *params, const char *name,
                            const tg_embedding_config *config, tg_rng *rng, tg_error *error);

/* ids (...) -> (..., width), on the tape of ids. */
tg_var tg_embedding_forward(const tg_embedding_layer *layer, tg_var ids);

#ifdef __cplusplus
}
#endif

#endif
