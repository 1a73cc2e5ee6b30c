/* Corpora: a vocabulary and sentences as ids of its words. */
#ifndef TG_CORPUS_H
#define TG_CORPUS_H

#include <stdint.h>

#include "tensor/context.h"
#include "tensor/status.h"
#include "train/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Somebody else's ids, borrowed to be read. */
typedef struct tg_sentence {
    const int32_t *ids; /* ids[length] */
    int64_t length;
} tg_sentence;

typedef struct tg_corpus {
    tg_vocabulary *vocabulary;
    const tg_sentence *sentences; /* sentences[count] */
    int64_t count;
    /* Internal: what the sentences point into, and where it came from. */
    int32_t *ids; /* ids[total]: the sentences one behind the other */
    int64_t total;
    tg_allocator allocator;
} tg_corpus;

/* A corpus of sentences[count]; all texts are copied. The words of `first` are numbered before those
 * of the sentences, so that it sets the order of the vocabulary; NULL leaves the order to the
 * sentences. Owned by the caller. NULL, with the reason in `error`: a word that is none, a NULL
 * sentence or a negative count (TG_EINVAL, see vocabulary.h), TG_ENOMEM. */
tg_corpus *tg_corpus_create(const tg_context *context, const char *first,
                            const char *const *sentences, int64_t count, tg_error *error);

/* The corpus that the model of the article is trained on: "the rise was slow but the fall was
 * fast", with and without "of the machine" in either clause, in both orders of the clauses. Eight
 * sentences of 9, 12, 12 and 15 words, twice, in the article's order. The vocabulary has the nine
 * words in the order of the article's embedding table: the, rise, of, machine, was, slow, but,
 * fall, fast. Owned by the caller; NULL, with the reason in `error`, when memory is out. */
tg_corpus *tg_corpus_clause_swapped(const tg_context *context, tg_error *error);

/* NULL is legal. */
void tg_corpus_free(tg_corpus *corpus);

#ifdef __cplusplus
}
#endif

#endif
