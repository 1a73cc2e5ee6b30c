/* Vocabularies: words and their ids, numbered from 0 in the order in which they were added.
 *
 * A word has 1 to TG_WORD_MAX bytes, none of them whitespace or a control character of ASCII; what
 * lies beyond ASCII (UTF-8, say) is taken byte by byte. Words in a text are parted by ASCII
 * whitespace: space, \t, \n, \v, \f, \r. NULL for a vocabulary, a word or a text is TG_EINVAL. */
#ifndef TG_VOCABULARY_H
#define TG_VOCABULARY_H

#include <stdint.h>

#include "tensor/context.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes that a word may have. */
#define TG_WORD_MAX 63

typedef struct tg_vocabulary tg_vocabulary;

/* An empty vocabulary, owned by the caller. NULL, with the reason in `error`, when memory is out. */
tg_vocabulary *tg_vocabulary_create(const tg_context *context, tg_error *error);

/* NULL is legal. */
void tg_vocabulary_free(tg_vocabulary *vocabulary);

/* The id of `word` into *id (NULL where it is not wanted), after adding it where it is new.
 * TG_EINVAL for what is no word, TG_ENOMEM: then nothing has changed. */
tg_status tg_vocabulary_add(tg_vocabulary *vocabulary, const char *word, int32_t *id,
                            tg_error *error);

/* Adds the words of `text` that are new, in the order of the text. Where it fails, as
 * tg_vocabulary_add does, the words before the one at fault have been added. */
tg_status tg_vocabulary_add_text(tg_vocabulary *vocabulary, const char *text, tg_error *error);

/* The id of `word` into *id. TG_ENOTFOUND where it is not in the vocabulary (the message names the
 * word and, where they are few, the known ones), TG_EINVAL for what is no word; then *id is left
 * alone. */
tg_status tg_vocabulary_id(const tg_vocabulary *vocabulary, const char *word, int32_t *id,
                           tg_error *error);

/* How many words there are. */
int32_t tg_vocabulary_count(const tg_vocabulary *vocabulary);

/* The word with this id, or NULL outside 0 <= id < count. Valid until the vocabulary is freed. */
const char *tg_vocabulary_word(const tg_vocabulary *vocabulary, int32_t id);

/* The ids of the words of `text` into ids[0 .. *count), where `ids` has room for `capacity`.
 * TG_ERANGE where the text has more words than that: *count is then the number of its words, so
 * that a call with NULL and 0 asks how much room is needed. TG_ENOTFOUND and TG_EINVAL as for
 * tg_vocabulary_id: *count is then the number of words before the one at fault. */
tg_status tg_vocabulary_encode(const tg_vocabulary *vocabulary, const char *text, int32_t *ids,
                               int64_t capacity, int64_t *count, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
