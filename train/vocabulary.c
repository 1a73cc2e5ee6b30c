#include "train/vocabulary.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"

/* Words lie in blocks that never move, so that a word that was handed out stays valid. */
#define BLOCK_TEXT 8192

struct block {
    struct block *before;
    size_t used;
    char text[BLOCK_TEXT];
};

/* Open addressing with linear probing. A slot holds id + 1, or 0 where it is free; there are always
 * at least twice as many slots (a power of two) as words. */
struct tg_vocabulary {
    tg_allocator allocator;
    const char **words; /* words[capacity] */
    int32_t *slots;     /* slots[2 * capacity] */
    struct block *block;
    int32_t count;
    int32_t capacity; /* a power of two, or 0 before the first word */
};

/* A word inside a text: not NUL-terminated. */
struct span {
    const char *text;
    size_t length;
};

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_control(char c) {
    return (unsigned char)c < ' ' || c == 0x7f;
}

static tg_status check_word(struct span word, tg_error *error) {
    if (word.length == 0)
        return tg_fail(error, TG_EINVAL, "vocabulary: an empty word");
    if (word.length > TG_WORD_MAX)
        return tg_fail(error, TG_EINVAL, "vocabulary: a word of %zu bytes, more than %d",
                       word.length, TG_WORD_MAX);
    for (size_t i = 0; i < word.length; i++) {
        if (is_space(word.text[i]))
            return tg_fail(error, TG_EINVAL, "vocabulary: whitespace inside a word");
        if (is_control(word.text[i]))
            return tg_fail(error, TG_EINVAL, "vocabulary: a word with the control character 0x%02x",
                           (unsigned)(unsigned char)word.text[i]);
    }
    return TG_OK;
}

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash(struct span word) {
    uint64_t state = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < word.length; i++)
        state = (state ^ (unsigned char)word.text[i]) * UINT64_C(0x100000001b3);
    return state ^ (state >> 32);
}

static bool same(const char *known, struct span word) {
    return strncmp(known, word.text, word.length) == 0 && known[word.length] == '\0';
}

/* The slot of a word, or the free one where it belongs. There must be slots. */
static size_t find_slot(const tg_vocabulary *vocabulary, struct span word) {
    size_t mask = 2 * (size_t)vocabulary->capacity - 1;
    size_t slot = (size_t)hash(word) & mask;
    while (vocabulary->slots[slot] != 0 &&
           !same(vocabulary->words[vocabulary->slots[slot] - 1], word))
        slot = (slot + 1) & mask;
    return slot;
}

/* The id, or -1. */
static int32_t find(const tg_vocabulary *vocabulary, struct span word) {
    if (vocabulary->count == 0)
        return -1;
    return vocabulary->slots[find_slot(vocabulary, word)] - 1;
}

static void release_tables(const tg_allocator *allocator, const char **words, int32_t *slots,
                           int32_t capacity) {
    tgi_release(allocator, words, (size_t)capacity * sizeof *words);
    tgi_release(allocator, slots, 2 * (size_t)capacity * sizeof *slots);
}

/* Room for one more word in both tables. */
static bool grow_tables(tg_vocabulary *vocabulary) {
    if (vocabulary->count < vocabulary->capacity)
        return true;
    if (vocabulary->capacity > INT32_MAX / 2)
        return false;
    tg_vocabulary old = *vocabulary;
    int32_t capacity = old.capacity == 0 ? 16 : 2 * old.capacity;
    const char **words = tgi_allocate(&old.allocator, (size_t)capacity * sizeof *words);
    int32_t *slots = tgi_allocate_zeroed(&old.allocator, 2 * (size_t)capacity * sizeof *slots);
    if (words == NULL || slots == NULL) {
        release_tables(&old.allocator, words, slots, capacity);
        return false;
    }
    vocabulary->words = words;
    vocabulary->slots = slots;
    vocabulary->capacity = capacity;
    for (int32_t id = 0; id < old.count; id++) {
        words[id] = old.words[id];
        struct span word = {words[id], strlen(words[id])};
        slots[find_slot(vocabulary, word)] = id + 1;
    }
    release_tables(&old.allocator, old.words, old.slots, old.capacity);
    return true;
}

/* Room for one more word of this length in the last block. */
static bool grow_text(tg_vocabulary *vocabulary, size_t length) {
    if (vocabulary->block != NULL && BLOCK_TEXT - vocabulary->block->used > length)
        return true;
    struct block *block = tgi_allocate(&vocabulary->allocator, sizeof *block);
    if (block == NULL)
        return false;
    block->before = vocabulary->block;
    block->used = 0;
    vocabulary->block = block;
    return true;
}

static tg_status add(tg_vocabulary *vocabulary, struct span word, int32_t *id, tg_error *error) {
    tg_status status = check_word(word, error);
    if (status != TG_OK)
        return status;
    *id = find(vocabulary, word);
    if (*id >= 0)
        return TG_OK;
    if (!grow_tables(vocabulary) || !grow_text(vocabulary, word.length))
        return tg_fail(error, TG_ENOMEM, "vocabulary: no memory for word %ld",
                       (long)vocabulary->count);
    struct block *block = vocabulary->block;
    char *copy = block->text + block->used;
    memcpy(copy, word.text, word.length);
    copy[word.length] = '\0';
    block->used += word.length + 1;
    vocabulary->slots[find_slot(vocabulary, word)] = vocabulary->count + 1;
    *id = vocabulary->count++;
    vocabulary->words[*id] = copy;
    return TG_OK;
}

/* "; known: the, rise", or how many there are where they are too many to be listed. */
static const char *known_words(const tg_vocabulary *vocabulary, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "; known:");
    for (int32_t id = 0; id < vocabulary->count; id++) {
        int length =
            snprintf(text + used, size - used, "%s %s", id == 0 ? "" : ",", vocabulary->words[id]);
        if ((size_t)length >= size - used) {
            snprintf(text, size, " among the %ld known", (long)vocabulary->count);
            return text;
        }
        used += (size_t)length;
    }
    return vocabulary->count == 0 ? "; it is empty" : text;
}

static tg_status look_up(const tg_vocabulary *vocabulary, struct span word, int32_t *id,
                         tg_error *error) {
    tg_status status = check_word(word, error);
    if (status != TG_OK)
        return status;
    int32_t found = find(vocabulary, word);
    if (found < 0) {
        char known[140];
        return tg_fail(error, TG_ENOTFOUND, "vocabulary: no word \"%.*s\"%s", (int)word.length,
                       word.text, known_words(vocabulary, known, sizeof known));
    }
    *id = found;
    return TG_OK;
}

/* The first word from *text on, and *text behind it; length 0 at the end of the text. */
static struct span next_word(const char **text) {
    const char *start = *text;
    while (is_space(*start))
        start++;
    const char *end = start;
    while (*end != '\0' && !is_space(*end))
        end++;
    *text = end;
    return (struct span){start, (size_t)(end - start)};
}

static tg_status check_given(const tg_vocabulary *vocabulary, const char *text, tg_error *error) {
    if (vocabulary == NULL)
        return tg_fail(error, TG_EINVAL, "vocabulary: none is given (NULL)");
    if (text == NULL)
        return tg_fail(error, TG_EINVAL, "vocabulary: no word or text is given (NULL)");
    return TG_OK;
}

tg_vocabulary *tg_vocabulary_create(const tg_context *context, tg_error *error) {
    tg_allocator allocator = tgi_context_of(context).allocator;
    tg_vocabulary *vocabulary = tgi_allocate_zeroed(&allocator, sizeof *vocabulary);
    if (vocabulary == NULL) {
        tg_fail(error, TG_ENOMEM, "vocabulary: out of memory");
        return NULL;
    }
    vocabulary->allocator = allocator;
    return vocabulary;
}

void tg_vocabulary_free(tg_vocabulary *vocabulary) {
    if (vocabulary == NULL)
        return;
    tg_allocator allocator = vocabulary->allocator;
    release_tables(&allocator, vocabulary->words, vocabulary->slots, vocabulary->capacity);
    while (vocabulary->block != NULL) {
        struct block *block = vocabulary->block;
        vocabulary->block = block->before;
        tgi_release(&allocator, block, sizeof *block);
    }
    tgi_release(&allocator, vocabulary, sizeof *vocabulary);
}

tg_status tg_vocabulary_add(tg_vocabulary *vocabulary, const char *word, int32_t *id,
                            tg_error *error) {
    tg_status status = check_given(vocabulary, word, error);
    if (status != TG_OK)
        return status;
    int32_t added;
    status = add(vocabulary, (struct span){word, strlen(word)}, &added, error);
    if (status == TG_OK && id != NULL)
        *id = added;
    return status;
}

tg_status tg_vocabulary_add_text(tg_vocabulary *vocabulary, const char *text, tg_error *error) {
    tg_status status = check_given(vocabulary, text, error);
    if (status != TG_OK)
        return status;
    struct span word = next_word(&text);
    for (; word.length > 0 && status == TG_OK; word = next_word(&text)) {
        int32_t id;
        status = add(vocabulary, word, &id, error);
    }
    return status;
}

tg_status tg_vocabulary_id(const tg_vocabulary *vocabulary, const char *word, int32_t *id,
                           tg_error *error) {
    tg_status status = check_given(vocabulary, word, error);
    if (status != TG_OK)
        return status;
    return look_up(vocabulary, (struct span){word, strlen(word)}, id, error);
}

int32_t tg_vocabulary_count(const tg_vocabulary *vocabulary) {
    return vocabulary == NULL ? 0 : vocabulary->count;
}

const char *tg_vocabulary_word(const tg_vocabulary *vocabulary, int32_t id) {
    return id >= 0 && id < tg_vocabulary_count(vocabulary) ? vocabulary->words[id] : NULL;
}

static int64_t count_words(const char *text) {
    int64_t count = 0;
    while (next_word(&text).length > 0)
        count++;
    return count;
}

tg_status tg_vocabulary_encode(const tg_vocabulary *vocabulary, const char *text, int32_t *ids,
                               int64_t capacity, int64_t *count, tg_error *error) {
    *count = 0;
    tg_status status = check_given(vocabulary, text, error);
    if (status != TG_OK)
        return status;
    *count = count_words(text);
    if (*count > capacity)
        return tg_fail(error, TG_ERANGE, "vocabulary: %lld words, room for %lld", (long long)*count,
                       (long long)capacity);
    int64_t words = *count;
    for (*count = 0; *count < words; ++*count) {
        status = look_up(vocabulary, next_word(&text), &ids[*count], error);
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}
