#include "article/training.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "article/printed.h"

static void *counted_allocate(void *user, size_t bytes) {
    request_count *count = user;
    count->requests++;
    return malloc(bytes);
}

static void counted_release(void *user, void *block, size_t bytes) {
    (void)user;
    (void)bytes;
    free(block);
}

static tg_optimizer *make_optimizer(const training *run, tg_error *error) {
    tg_param *const *list = tg_params_list(run->params);
    size_t count = tg_params_count(run->params);
    double rate = run->recipe.stages[0].rate;
    if (run->recipe.sgd) {
        tg_sgd_config config = {rate, 0.9};
        return tg_sgd_create(run->context, list, count, &config, error);
    }
    tg_adam_config config = tg_adam_defaults(rate);
    return tg_adam_create(run->context, list, count, &config, error);
}

static tg_status make_model(training *run, tg_error *error) {
    const article_recipe *recipe = &run->recipe;
    tg_transformer_config config = tg_transformer_article();
    config.token = (tg_init){TG_INIT_NORMAL, recipe->token_deviation};
    config.position = (tg_init){TG_INIT_NORMAL, recipe->position_deviation};
    config.weight = (tg_init){TG_INIT_NORMAL, recipe->weight_deviation};
    run->params = tg_params_create(run->context);
    tg_status status = tg_transformer_init(&run->model, run->params, "", &config, &run->rng, error);
    run->model.rng = &run->rng;
    run->score_scale = status == TG_OK ? run->model.blocks[0].attention.scale : 0;
    return status;
}

/* The sentences as a batch, and its targets once more without the nouns behind "but the". */
static tg_status make_batch(training *run, tg_error *error) {
    run->corpus = tg_corpus_clause_swapped(run->context, error);
    if (run->corpus == NULL)
        return error->status;
    tg_status status = tg_batch_init(&run->batch, run->context, run->corpus->sentences,
                                     run->corpus->count, TG_IGNORED, error);
    const tg_tensor *targets = &run->batch.targets;
    if (status == TG_OK)
        status =
            tg_tensor_init(&run->targets_but_nouns, run->context, TG_INT32, targets->shape, error);
    int32_t but = 0;
    if (status == TG_OK)
        status = tg_vocabulary_id(run->corpus->vocabulary, "but", &but, error);
    for (int64_t i = 0; i < targets->count && status == TG_OK; i++) {
        bool behind = i > 0 && run->batch.inputs.integer[i - 1] == but;
        run->targets_but_nouns.integer[i] = behind ? TG_IGNORED : targets->integer[i];
    }
    return status;
}

tg_status training_init(training *run, const article_recipe *recipe, int64_t seed,
                        tg_error *error) {
    *run = (training){.recipe = *recipe, .seed = seed};
    const tg_allocator allocator = {counted_allocate, counted_release, &run->count};
    const tg_context_options options = {&allocator, getenv("TAPEGRAD_KERNELS")};
    run->context = tg_context_create(&options, error);
    if (run->context == NULL)
        return error->status;
    tg_rng_seed(&run->rng, (uint64_t)seed);
    tg_status status = make_batch(run, error);
    if (status == TG_OK)
        status = make_model(run, error);
    if (status != TG_OK)
        return status;
    run->optimizer = make_optimizer(run, error);
    run->tape = tg_tape_create(run->context);
    if (run->optimizer == NULL)
        return error->status;
    return run->tape != NULL ? TG_OK : tg_fail(error, TG_ENOMEM, "tape: out of memory");
}

void training_free(training *run) {
    tg_tape_free(run->tape);
    tg_optimizer_free(run->optimizer);
    tg_params_free(run->params);
    tg_tensor_free(&run->targets_but_nouns);
    tg_batch_free(&run->batch);
    tg_corpus_free(run->corpus);
    tg_context_free(run->context);
}

/* The loss of the batch, on the tape. */
static tg_var batch_loss(const training *run, const tg_tensor *targets) {
    const tg_tensor *inputs = &run->batch.inputs;
    tg_var logits = tg_transformer_forward(
        &run->model, tg_integers(run->tape, inputs->shape, inputs->integer)); /* [8,14,9] */
    return tg_cross_entropy(logits, tg_integers(run->tape, targets->shape, targets->integer),
                            TG_IGNORED, TG_MEAN);
}

/* Sets the model as the recipe wants it at this step; NULL: as it is when it is used. */
static void set_moment(training *run, const recipe_moment *moment) {
    static const recipe_moment at_use = {.score_factor = 1};
    if (moment == NULL)
        moment = &at_use;
    run->model.window = moment->window;
    run->model.dropout = moment->dropout;
    run->model.blocks[0].attention.scale = run->score_scale * moment->score_factor;
}

/* One step of the optimiser; frozen positions go through it and come out as they were. */
static void optimize(training *run, const recipe_moment *moment) {
    tg_real kept[ARTICLE_LENGTH * 6]; /* the article's position table */
    tg_param *positions = run->model.position.table;
    size_t bytes = (size_t)tg_param_count(positions) * sizeof *kept;
    tg_optimizer_set_rate(run->optimizer, moment->rate, NULL);
    if (moment->positions_frozen)
        memcpy(kept, tg_param_value(positions), bytes);
    tg_optimizer_step(run->optimizer);
    if (moment->positions_frozen)
        memcpy(tg_param_edit(positions), kept, bytes);
}

/* Ends the tape's step, with its error if it has one. */
static tg_status end_step(const training *run, tg_error *error) {
    if (error != NULL && tg_tape_error(run->tape)->status != TG_OK)
        *error = *tg_tape_error(run->tape);
    return tg_tape_reset(run->tape);
}

tg_status training_step(training *run, double *loss, tg_error *error) {
    recipe_moment moment = recipe_moment_at(&run->recipe, run->step);
    set_moment(run, &moment);
    tg_params_zero_grad(run->params);
    tg_var mean =
        batch_loss(run, moment.noun_unscored ? &run->targets_but_nouns : &run->batch.targets);
    if (tg_backward(mean) == TG_OK) {
        *loss = (double)tg_item(mean);
        optimize(run, &moment);
        run->step++;
    }
    return end_step(run, error);
}

tg_status training_loss(training *run, double *loss, tg_error *error) {
    set_moment(run, NULL);
    *loss = (double)tg_item(batch_loss(run, &run->batch.targets));
    return end_step(run, error);
}

tg_training_state training_state(training *run) {
    return (tg_training_state){.params = run->params,
                               .optimizer = run->optimizer,
                               .rng = &run->rng,
                               .config = &run->model.config,
                               .vocabulary = run->corpus->vocabulary,
                               .step = run->step,
                               .seed = run->seed};
}

tg_status training_restore(training *run, const tg_archive *archive, tg_error *error) {
    tg_training_state state = training_state(run);
    tg_status status = tg_checkpoint_restore(run->context, archive, &state, error);
    if (status == TG_OK) {
        run->step = state.step;
        run->seed = state.seed;
    }
    return status;
}

uint32_t training_checksum(const training *run) {
    uLong crc = crc32(0, NULL, 0);
    for (size_t i = 0; i < tg_params_count(run->params); i++) {
        const tg_param *param = tg_params_at(run->params, i);
        crc = crc32(crc, (const Bytef *)tg_param_value(param),
                    (uInt)((size_t)tg_param_count(param) * sizeof(tg_real)));
    }
    return (uint32_t)crc;
}
