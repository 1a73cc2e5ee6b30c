/* The decoder-only transformer: token and position embeddings, blocks of causal self-attention and
 * a feed-forward network, each added to its input, and a projection onto the vocabulary.
 *
 *     x = E[token] + P[position]
 *     hidden = x + attention(x)
 *     y = hidden + feed_forward(hidden)             the next block's x
 *     logits = y WU
 */
#ifndef TG_TRANSFORMER_H
#define TG_TRANSFORMER_H

#include "autograd/tape.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_transformer_config {
    int64_t vocabulary; /* tokens */
    int64_t context;    /* positions: the longest input */
    int64_t width;      /* of a token's vector */
    int64_t key_width;  /* of queries, keys and values */
    int64_t hidden;     /* units of the feed-forward network */
    int64_t layers;     /* blocks */
    tg_init token, position, weight;
} tg_transformer_config;

/* The model of the article: 9 words, 14 positions, width 6, key width 6, 12 hidden units, one
 * block, drawn as PyTorch draws. */
tg_transformer_config tg_transformer_article(void);

typedef struct tg_block {
    tg_attention attention;
    tg_feed_forward feed_forward;
    const char *hidden, *output; /* labels "blocks.N.hidden" and "blocks.N.output" */
} tg_block;

/* Everything belongs to the tg_params that it was made in. A forward pass labels "input", what
 * attention and feed-forward label under "blocks.N.attention" and "blocks.N.feed_forward",
 * "blocks.N.hidden", "blocks.N.output" and "logits" (each behind the model's name, if it has one). */
typedef struct tg_transformer {
    tg_transformer_config config;
    tg_embedding_layer token, position;
    tg_block *blocks; /* config.layers */
    tg_linear_layer unembedding;
    const char *input, *logits; /* labels */

    /* What may be changed from one forward pass to the next. Besides, an attention's `scale` may
     * be. */
    int64_t window; /* how many tokens a position sees, itself the last; 0: all before it */
    double dropout; /* of the input x (tg_dropout); 0 is none */
    tg_rng *rng;    /* for dropout: borrowed */
} tg_transformer;

/* Adds the parameters "embedding.token", "embedding.position", "blocks.N.attention.query" ... and
 * "unembedding" (behind `name` and a dot, where name is not "") and draws them in the order token,
 * position, then of each block query, key, value, output, w1, b1, w2, b2, then unembedding.
 * TG_EINVAL for an extent below 1; else as of tg_params_add. */
tg_status tg_transformer_init(tg_transformer *model, tg_params *params, const char *name,
                              const tg_transformer_config *config, tg_rng *rng, tg_error *error);

/* ids (T,) or (B, T), T from 1 to the context, -> logits (T, vocabulary) or (B, T, vocabulary). */
tg_var tg_transformer_forward(const tg_transformer *model, tg_var ids);

#ifdef __cplusplus
}
#endif

#endif
