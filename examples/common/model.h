/* A trained model at work: what predicting takes from a checkpoint, and a sentence run through it.
 *
 *     model m;
 *     prediction made;
 *     if (model_load_file(&m, "runs/article/checkpoint.npz", &error) == TG_OK &&
 *         model_predict(&m, "the rise of the machine was", &made, &error) == TG_OK)
 *         ...                          // row made.length - 1 of made.next: the word that follows
 *     model_free(&m);
 *
 * T: words of the sentence, V: words of the vocabulary. `error` is always given. */
#ifndef COMMON_MODEL_H
#define COMMON_MODEL_H

#include <tapegrad.h>

/* There is no optimiser and no generator: they are of use only to training. */
typedef struct model {
    tg_vocabulary *vocabulary;
    tg_params *params;
    tg_transformer transformer;
    tg_tape *tape;
    int32_t *ids; /* of the sentence: as many as the context of the transformer */
} model;

/* What the model makes of a sentence; good until its next one. */
typedef struct prediction {
    int64_t length;      /* T */
    const int32_t *ids;  /* ids[T] of the sentence's words */
    const tg_real *next; /* [T, V]: row i is the distribution of the word behind word i */
} prediction;

/* The model in an archive, which tg_archive_open or tg_archive_open_memory has read, and which may
 * be freed afterwards. TG_ENOTFOUND, TG_EMISMATCH or TG_EFORMAT where it holds no whole model,
 * TG_ENOMEM. To be freed whatever comes out. */
tg_status model_load(model *m, const tg_archive *archive, tg_error *error);

/* The same from a file, which the message names. */
tg_status model_load_file(model *m, const char *path, tg_error *error);

void model_free(model *m);

/* Runs the model forward on the words of `sentence`. TG_EINVAL for a sentence without words, or with
 * more than the model's context; TG_ENOTFOUND for a word that it does not know; TG_ENONFINITE where
 * the weights give no distribution; TG_ENOMEM. */
tg_status model_predict(model *m, const char *sentence, prediction *made, tg_error *error);

/* What each word of the last sentence attends to in a block of the transformer: [T, T], row i sums
 * to 1 over the words 0 to i. */
const tg_real *model_attention(const model *m, int64_t block);

#endif
