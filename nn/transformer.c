#include "nn/transformer.h"

#include <inttypes.h>
#include <stdio.h>

#include "autograd/ops.h"
#include "autograd/tape_internal.h"
#include "nn/module_internal.h"

tg_transformer_config tg_transformer_article(void) {
    return (tg_transformer_config){
        .vocabulary = 9, .context = 14, .width = 6, .key_width = 6, .hidden = 12, .layers = 1};
}

static tg_status check_config(const tg_transformer_config *config, tg_error *error) {
    const struct {
        const char *name;
        int64_t extent;
    } extents[] = {{"vocabulary", config->vocabulary}, {"context", config->context},
                   {"width", config->width},           {"key width", config->key_width},
                   {"hidden", config->hidden},         {"layers", config->layers}};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++)
        if (extents[i].extent < 1 || extents[i].extent > INT32_MAX)
            return tg_fail(error, TG_EINVAL, "transformer: %s %" PRId64 " outside 1..%d",
                           extents[i].name, extents[i].extent, INT32_MAX);
    return TG_OK;
}

static tg_status init_block(tg_block *block, tg_params *params, const char *name,
                            const tg_transformer_config *config, tg_rng *rng, tg_error *error) {
    tg_attention_config attention = {config->width, config->key_width, config->weight};
    tg_feed_forward_config feed_forward = {config->width, config->hidden, config->weight};
    const char *attention_name = tgi_path(params, name, "attention");
    const char *feed_forward_name = tgi_path(params, name, "feed_forward");
    block->hidden = tgi_path(params, name, "hidden");
    block->output = tgi_path(params, name, "output");
    if (attention_name == NULL || feed_forward_name == NULL || block->hidden == NULL ||
        block->output == NULL)
        return tg_fail(error, TG_ENOMEM, "transformer: no memory for the labels of a block");
    tg_status status =
        tg_attention_init(&block->attention, params, attention_name, &attention, rng, error);
    if (status == TG_OK)
        status = tg_feed_forward_init(&block->feed_forward, params, feed_forward_name,
                                      &feed_forward, rng, error);
    return status;
}

static tg_status init_blocks(tg_transformer *model, tg_params *params, const char *name,
                             tg_rng *rng, tg_error *error) {
    size_t layers = (size_t)model->config.layers;
    model->blocks = tg_params_allocate(params, layers * sizeof *model->blocks);
    if (model->blocks == NULL)
        return tg_fail(error, TG_ENOMEM, "transformer: no memory for %zu blocks", layers);
    tg_status status = TG_OK;
    for (size_t i = 0; i < layers && status == TG_OK; i++) {
        char part[32];
        snprintf(part, sizeof part, "blocks.%zu", i);
        const char *path = tgi_path(params, name, part);
        if (path == NULL)
            return tg_fail(error, TG_ENOMEM, "transformer: no memory for the name of %s", part);
        status = init_block(&model->blocks[i], params, path, &model->config, rng, error);
    }
    return status;
}

static tg_status init_embeddings(tg_transformer *model, tg_params *params, const char *name,
                                 tg_rng *rng, tg_error *error) {
    const tg_transformer_config *config = &model->config;
    const char *path = tgi_path(params, name, "embedding");
    if (path == NULL)
        return tg_fail(error, TG_ENOMEM, "transformer: no memory for the name of the embedding");
    tg_embedding_config token = {config->vocabulary, config->width, "token", config->token};
    tg_embedding_config position = {config->context, config->width, "position", config->position};
    tg_status status = tg_embedding_init(&model->token, params, path, &token, rng, error);
    if (status == TG_OK)
        status = tg_embedding_init(&model->position, params, path, &position, rng, error);
    return status;
}

static tg_status init(tg_transformer *model, tg_params *params, const char *name, tg_rng *rng,
                      tg_error *error) {
    tg_linear_config unembedding = {model->config.width, model->config.vocabulary,
                                    .weight = "unembedding", .no_bias = true,
                                    .init = model->config.weight};
    tg_status status = check_config(&model->config, error);
    if (status != TG_OK)
        return status;
    model->input = tgi_path(params, name, "input");
    model->logits = tgi_path(params, name, "logits");
    if (model->input == NULL || model->logits == NULL)
        return tg_fail(error, TG_ENOMEM, "transformer: no memory for labels");
    status = init_embeddings(model, params, name, rng, error);
    if (status == TG_OK)
        status = init_blocks(model, params, name, rng, error);
    if (status == TG_OK)
        status = tg_linear_init(&model->unembedding, params, name, &unembedding, rng, error);
    return status;
}

tg_status tg_transformer_init(tg_transformer *model, tg_params *params, const char *name,
                              const tg_transformer_config *config, tg_rng *rng, tg_error *error) {
    tgi_before before = tgi_before_init(params, rng);
    tg_transformer made = {.config = *config};
    tg_status status = init(&made, params, name, rng, error);
    *model = status == TG_OK ? made : (tg_transformer){.blocks = NULL};
    return tgi_end_init(status, &before, params, rng);
}

/* The vectors of positions 0 to length - 1. */
static tg_var positions(const tg_transformer *model, tg_tape *tape, int64_t length) {
    void *elements = NULL;
    tg_var ids =
        tgi_tape_leaf(tape, TG_INT32, tg_shape_1d(length), false, "transformer", &elements);
    int32_t *position = elements;
    for (int64_t i = 0; elements != NULL && i < length; i++)
        position[i] = (int32_t)i;
    return tg_embedding_forward(&model->position, ids);
}

static tg_var block_forward(const tg_block *block, tg_var x, tg_var mask) {
    tg_var hidden = tg_add(x, tg_attention_forward(&block->attention, x, mask));
    tg_label(hidden, block->hidden);
    tg_var output = tg_add(hidden, tg_feed_forward_forward(&block->feed_forward, hidden));
    return tg_label(output, block->output);
}

tg_var tg_transformer_forward(const tg_transformer *model, tg_var ids) {
    tg_tape *tape = tg_tape_of(ids);
    tg_shape shape = tg_shape_of(ids);
    int64_t length = shape.rank > 0 ? shape.extent[shape.rank - 1] : 0;
    if (length < 1 || length > model->config.context) {
        char text[TG_SHAPE_TEXT];
        tg_tape_fail(tape, TG_ESHAPE,
                     "transformer: ids %s: from 1 to %" PRId64 " tokens in the last axis",
                     tg_shape_text(shape, text), model->config.context);
        return tgi_no_var(tape);
    }
    tg_var x = tg_add(tg_embedding_forward(&model->token, ids), /* [B,T,D] + [T,D] */
                      positions(model, tape, length));
    tg_label(x, model->input);
    if (model->dropout != 0)
        x = tg_dropout(x, model->dropout, model->rng);
    tg_var mask = tg_window_mask(tape, length, model->window);
    for (int64_t i = 0; i < model->config.layers; i++)
        x = block_forward(&model->blocks[i], x, mask);
    return tg_label(tg_linear_forward(&model->unembedding, x), model->logits);
}
