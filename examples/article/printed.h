/* The numbers that the article prints: its trained weights, and what they make of one sentence.
 *
 * Source: Gian C, "Next Word Prediction Using Attention and Transformer", July 27, 2026. The values
 * are its own, with the two decimals that it prints; the model behind them had more. */
#ifndef ARTICLE_PRINTED_H
#define ARTICLE_PRINTED_H

#include <stdint.h>

#include "autograd/param.h"

/* Decimals as printed, whatever tg_real is. */
typedef struct article_printed {
    const char *symbol; /* what the article calls it: "WQ", "Q" */
    const char *name;   /* of the parameter, or the label that a forward pass gives it */
    int64_t rows, columns;
    const double *values; /* rows x columns, row-major */
} article_printed;

enum { ARTICLE_WORDS = 9, ARTICLE_LENGTH = 14, ARTICLE_WEIGHTS = 11, ARTICLE_CELLS = 1302 };

/* The places of the tables, in the article's order. T: positions. */
typedef enum article_table {
    ARTICLE_INPUT,         /* X (T, 6) */
    ARTICLE_QUERY,         /* Q (T, 6) */
    ARTICLE_KEY,           /* K (T, 6) */
    ARTICLE_SCORES,        /* Q K^T / sqrt(6) (T, T) */
    ARTICLE_MASKED_SCORES, /* -INFINITY where a position would look ahead */
    ARTICLE_ATTENTION,     /* A (T, T) */
    ARTICLE_VALUE,         /* V (T, 6) */
    ARTICLE_MIX,           /* Z (T, 6) */
    ARTICLE_HIDDEN,        /* (T, 6) */
    ARTICLE_OUTPUT,        /* y (T, 6) */
    ARTICLE_PREDICTIONS,   /* (T, 9) */
    ARTICLE_TABLES         /* how many: together ARTICLE_CELLS cells */
} article_table;

/* The vocabulary in the order of the embedding table. */
extern const char *const article_words[ARTICLE_WORDS];

/* The sentence of the tables: ARTICLE_LENGTH words that go in, and the last, which does not. */
extern const int32_t article_sentence[ARTICLE_LENGTH + 1];

/* Token and position embeddings, WQ, WK, WV, WO, W1, b1, W2, b2, WU. A vector has one row. */
extern const article_printed article_weights[ARTICLE_WEIGHTS];

/* The tables of that sentence, at the places of article_table. Where the article leaves zeros at
 * the end away, they are written out ("-0." is -0.00). */
extern const article_printed article_tables[ARTICLE_TABLES];

/* Sets the parameters of the article's model, made with the name "", to the printed weights.
 * TG_ENOTFOUND for a parameter that is missing, TG_ESHAPE for one of another shape; then nothing
 * has changed. */
tg_status article_load_printed(tg_params *params, tg_error *error);

#endif
