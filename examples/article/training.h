/* A training run of the article's model: everything it is made of, and one step of it. */
#ifndef ARTICLE_TRAINING_H
#define ARTICLE_TRAINING_H

#include <tapegrad.h>

#include "article/recipe.h"

/* Requests to the allocator, to show that a step makes none. */
typedef struct request_count {
    int64_t requests;
} request_count;

typedef struct training {
    request_count count;
    tg_context *context;
    tg_corpus *corpus;
    tg_batch batch;              /* (8, 14) */
    tg_tensor targets_but_nouns; /* its targets, with the noun behind "but the" ignored */
    article_recipe recipe;
    tg_rng rng;
    tg_params *params;
    tg_transformer model;
    double score_scale; /* 1 / sqrt(6) */
    tg_optimizer *optimizer;
    tg_tape *tape;
    int64_t step;
    int64_t seed;
} training;

/* A run at its start, drawn from `seed`. The kernels are those that the environment variable
 * TAPEGRAD_KERNELS names, if it does. To be freed whatever comes out. */
tg_status training_init(training *run, const article_recipe *recipe, int64_t seed, tg_error *error);
void training_free(training *run);

/* One step over the eight sentences; *loss is the mean over the words that this step
 * scores, as the model was before it, with the dropout and the window of the recipe. */
tg_status training_step(training *run, double *loss, tg_error *error);

/* The loss as the parameters are now. */
tg_status training_loss(training *run, double *loss, tg_error *error);

/* What a checkpoint holds of the run. */
tg_training_state training_state(training *run);

/* Takes the state from a checkpoint. On failure the run is as it was. */
tg_status training_restore(training *run, const tg_archive *archive, tg_error *error);

/* The CRC-32 of the bytes of all parameters, in their order. */
uint32_t training_checksum(const training *run);

#endif
