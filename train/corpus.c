#include "train/corpus.h"

#include <stdio.h>

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"
#include "tensor/tensor_internal.h"

/* Adds the words of all texts, and counts them with their repetitions. */
static tg_status collect_words(tg_corpus *corpus, const char *first, const char *const *texts,
                               tg_error *error) {
    tg_status status = tg_vocabulary_add_text(corpus->vocabulary, first, error);
    for (int64_t i = 0; i < corpus->count && status == TG_OK; i++) {
        status = tg_vocabulary_add_text(corpus->vocabulary, texts[i], error);
        int64_t words = 0;
        if (status == TG_OK)
            tg_vocabulary_encode(corpus->vocabulary, texts[i], NULL, 0, &words, NULL);
        if (words > INT64_MAX - corpus->total)
            return tg_fail(error, TG_EINVAL, "corpus: more words than can be counted");
        corpus->total += words;
    }
    return status;
}

/* Room for `count` sentences and `total` ids; both counts are set with the blocks that they are
 * the sizes of, so that tg_corpus_free may be called at any point. */
static tg_status make_ids(tg_corpus *corpus, const char *const *texts, tg_error *error) {
    int64_t count;
    size_t bytes;
    tg_status status = tgi_array_size(TG_INT32, tg_shape_1d(corpus->total), &count, &bytes, error);
    if (status != TG_OK)
        return status;
    tg_sentence *sentences =
        tgi_allocate(&corpus->allocator, (size_t)corpus->count * sizeof *sentences);
    corpus->sentences = sentences;
    corpus->ids = tgi_allocate(&corpus->allocator, bytes);
    if (sentences == NULL || corpus->ids == NULL)
        return tg_fail(error, TG_ENOMEM, "corpus: no memory for %lld sentences of %lld words",
                       (long long)corpus->count, (long long)count);
    int64_t used = 0;
    for (int64_t i = 0; i < corpus->count && status == TG_OK; i++) {
        sentences[i].ids = corpus->ids + used;
        status = tg_vocabulary_encode(corpus->vocabulary, texts[i], corpus->ids + used,
                                      corpus->total - used, &sentences[i].length, error);
        used += sentences[i].length;
    }
    return status;
}

tg_corpus *tg_corpus_create(const tg_context *context, const char *first,
                            const char *const *sentences, int64_t count, tg_error *error) {
    if (count < 0 || (uint64_t)count > PTRDIFF_MAX / sizeof(tg_sentence)) {
        tg_fail(error, TG_EINVAL, "corpus: %lld sentences", (long long)count);
        return NULL;
    }
    if (sentences == NULL && count > 0) {
        tg_fail(error, TG_EINVAL, "corpus: no sentences are given (NULL)");
        return NULL;
    }
    tg_allocator allocator = tgi_context_of(context).allocator;
    tg_corpus *corpus = tgi_allocate_zeroed(&allocator, sizeof *corpus);
    if (corpus == NULL) {
        tg_fail(error, TG_ENOMEM, "corpus: out of memory");
        return NULL;
    }
    corpus->allocator = allocator;
    corpus->count = count;
    corpus->vocabulary = tg_vocabulary_create(context, error);
    if (corpus->vocabulary == NULL ||
        collect_words(corpus, first != NULL ? first : "", sentences, error) != TG_OK ||
        make_ids(corpus, sentences, error) != TG_OK) {
        tg_corpus_free(corpus);
        return NULL;
    }
    return corpus;
}

tg_corpus *tg_corpus_clause_swapped(const tg_context *context, tg_error *error) {
    static const struct {
        const char *noun, *adjective;
    } clauses[2] = {{"rise", "slow"}, {"fall", "fast"}};
    static const char *const lengths[2] = {"", " of the machine"};
    char texts[8][80];
    const char *sentences[8];
    for (int i = 0; i < 8; i++) {
        int opening = i >> 2; /* which clause opens; then whether each is long, the last fastest */
        int closing = 1 - opening;
        snprintf(texts[i], sizeof texts[i], "the %s%s was %s but the %s%s was %s",
                 clauses[opening].noun, lengths[i >> 1 & 1], clauses[opening].adjective,
                 clauses[closing].noun, lengths[i & 1], clauses[closing].adjective);
        sentences[i] = texts[i];
    }
    return tg_corpus_create(context, texts[3], sentences, 8, error);
}

void tg_corpus_free(tg_corpus *corpus) {
    if (corpus == NULL)
        return;
    tg_allocator allocator = corpus->allocator;
    tg_vocabulary_free(corpus->vocabulary);
    tgi_release(&allocator, (void *)corpus->sentences,
                (size_t)corpus->count * sizeof *corpus->sentences);
    tgi_release(&allocator, corpus->ids, (size_t)corpus->total * sizeof *corpus->ids);
    tgi_release(&allocator, corpus, sizeof *corpus);
}
