/* Batches for the prediction of the next word. */
#ifndef TG_BATCH_H
#define TG_BATCH_H

#include <stdint.h>

#include "tensor/context.h"
#include "tensor/status.h"
#include "tensor/tensor.h"
#include "train/corpus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* B sentences side by side, padded to one length T. Start it as {0}. */
typedef struct tg_batch {
    tg_tensor inputs;  /* (B, T) of TG_INT32: the words but the last, then the id 0 */
    tg_tensor targets; /* (B, T) of TG_INT32: the words but the first, then the ignored value */
    int64_t counted;   /* targets that are not ignored */
} tg_batch;

/* The batch of sentences[count]: B = count, and T is the length of the longest less one, since
 * its last word has no successor; target (b, t) is the word that follows input (b, t). A sentence
 * of fewer than two words is a row of padding. `ignored` marks targets that a loss passes over; it
 * is negative, so that no word is taken for it. Overwrites `batch` without reading it; on failure
 * it is {0}. TG_EINVAL where no sentence has two words or `ignored` is not negative, TG_ERANGE for
 * a negative id, TG_ESHAPE where B x T overflows, TG_ENOMEM. */
tg_status tg_batch_init(tg_batch *batch, const tg_context *context, const tg_sentence *sentences,
                        int64_t count, int32_t ignored, tg_error *error);

/* Frees both tensors and leaves {0}. NULL and {0} are legal. */
void tg_batch_free(tg_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
