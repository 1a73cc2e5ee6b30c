#include "train/checkpoint.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"

enum { NAME_SIZE = 256 };

/* The extents of a transformer's config, by name. */
static const struct {
    const char *name;
    size_t offset;
} extents[] = {
    {"config/vocabulary", offsetof(tg_transformer_config, vocabulary)},
    {"config/context", offsetof(tg_transformer_config, context)},
    {"config/width", offsetof(tg_transformer_config, width)},
    {"config/key_width", offsetof(tg_transformer_config, key_width)},
    {"config/hidden", offsetof(tg_transformer_config, hidden)},
    {"config/layers", offsetof(tg_transformer_config, layers)},
};

enum { EXTENTS = sizeof extents / sizeof extents[0] };

static int64_t *extent_of(tg_transformer_config *config, int i) {
    return (int64_t *)(void *)((char *)config + extents[i].offset);
}

static const char *name_of_state(tg_optimizer_state state, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, "optimizer/%s/%s", state.name, tg_param_name(state.param));
    return name;
}

/* ---- saving ---- */

static tg_status add_reals(tg_archive_writer *writer, const char *name, tg_shape shape,
                           const tg_real *elements, tg_error *error) {
    tg_array array = {.name = name, .element = TG_ELEMENT_REAL, .shape = shape, .data = elements};
    return tg_archive_writer_add(writer, &array, error);
}

static tg_status add_params(tg_archive_writer *writer, const tg_params *params, tg_error *error) {
    tg_status status = TG_OK;
    for (size_t i = 0; i < tg_params_count(params) && status == TG_OK; i++) {
        const tg_param *param = tg_params_at(params, i);
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "param/%s", tg_param_name(param));
        status = add_reals(writer, name, tg_param_shape(param), tg_param_value(param), error);
    }
    return status;
}

static tg_status add_optimizer(tg_archive_writer *writer, const tg_optimizer *optimizer,
                               tg_error *error) {
    char name[NAME_SIZE];
    tg_status status =
        tg_archive_writer_add_text(writer, "optimizer/name", tg_optimizer_name(optimizer), error);
    if (status == TG_OK)
        status = tg_archive_writer_add_int64(writer, "optimizer/steps",
                                             tg_optimizer_steps(optimizer), error);
    for (size_t i = 0; i < tg_optimizer_setting_count(optimizer) && status == TG_OK; i++) {
        tg_optimizer_setting setting = tg_optimizer_setting_at(optimizer, i);
        snprintf(name, sizeof name, "optimizer/%s", setting.name);
        status = tg_archive_writer_add_float64(writer, name, setting.value, error);
    }
    for (size_t i = 0; i < tg_optimizer_state_count(optimizer) && status == TG_OK; i++) {
        tg_optimizer_state state = tg_optimizer_state_at(optimizer, i);
        status = add_reals(writer, name_of_state(state, name), tg_param_shape(state.param),
                           state.elements, error);
    }
    return status;
}

static tg_status add_rng(tg_archive_writer *writer, const tg_rng *rng, tg_error *error) {
    int64_t words[TG_RNG_WORDS];
    for (int i = 0; i < TG_RNG_WORDS; i++)
        words[i] = rng->word[i];
    tg_array array = {.name = "rng/words",
                      .element = TG_ELEMENT_INT64,
                      .shape = tg_shape_1d(TG_RNG_WORDS),
                      .data = words};
    tg_status status = tg_archive_writer_add(writer, &array, error);
    if (status == TG_OK)
        status = tg_archive_writer_add_int64(writer, "rng/next", rng->next, error);
    if (status == TG_OK)
        status = tg_archive_writer_add_int64(writer, "rng/has_cached", rng->has_cached, error);
    if (status == TG_OK)
        status = tg_archive_writer_add_float64(writer, "rng/cached", rng->cached, error);
    return status;
}

/* The longest word's bytes, 1 at least. */
static size_t width_of(const tg_vocabulary *vocabulary) {
    size_t width = 1;
    for (int32_t i = 0; i < tg_vocabulary_count(vocabulary); i++) {
        size_t length = strlen(tg_vocabulary_word(vocabulary, i));
        width = length > width ? length : width;
    }
    return width;
}

/* words[count] of `width` bytes each, filled up with zeros. */
static tg_status add_vocabulary(const tg_allocator *allocator, tg_archive_writer *writer,
                                const tg_vocabulary *vocabulary, tg_error *error) {
    size_t width = width_of(vocabulary), count = (size_t)tg_vocabulary_count(vocabulary);
    char *words = tgi_allocate_zeroed(allocator, count * width);
    if (words == NULL)
        return tg_fail(error, TG_ENOMEM, "checkpoint: no memory for the vocabulary");
    for (size_t i = 0; i < count; i++) {
        const char *word = tg_vocabulary_word(vocabulary, (int32_t)i);
        memcpy(words + i * width, word, strlen(word));
    }
    tg_array array = {.name = "vocabulary",
                      .element = TG_ELEMENT_BYTES,
                      .element_size = width,
                      .shape = tg_shape_1d((int64_t)count),
                      .data = words};
    tg_status status = tg_archive_writer_add(writer, &array, error);
    tgi_release(allocator, words, count * width);
    return status;
}

static tg_status add_config(tg_archive_writer *writer, const tg_transformer_config *config,
                            tg_error *error) {
    tg_transformer_config copy = *config;
    tg_status status = TG_OK;
    for (int i = 0; i < EXTENTS && status == TG_OK; i++)
        status = tg_archive_writer_add_int64(writer, extents[i].name, *extent_of(&copy, i), error);
    return status;
}

static tg_status add_state(const tg_allocator *allocator, tg_archive_writer *writer,
                           const tg_training_state *state, tg_error *error) {
    tg_status status = add_params(writer, state->params, error);
    if (status == TG_OK && state->optimizer != NULL)
        status = add_optimizer(writer, state->optimizer, error);
    if (status == TG_OK)
        status = tg_archive_writer_add_int64(writer, "step", state->step, error);
    if (status == TG_OK)
        status = tg_archive_writer_add_int64(writer, "seed", state->seed, error);
    if (status == TG_OK && state->rng != NULL)
        status = add_rng(writer, state->rng, error);
    if (status == TG_OK)
        status = tg_archive_writer_add_int64(writer, "data/position", state->position, error);
    if (status == TG_OK && state->vocabulary != NULL)
        status = add_vocabulary(allocator, writer, state->vocabulary, error);
    if (status == TG_OK && state->recipe != NULL)
        status = tg_archive_writer_add_text(writer, "recipe", state->recipe, error);
    if (status == TG_OK && state->config != NULL)
        status = add_config(writer, state->config, error);
    return status;
}

tg_status tg_checkpoint_save(const tg_context *context, const char *path,
                             const tg_training_state *state, tg_error *error) {
    if (path == NULL || state == NULL || state->params == NULL)
        return tg_fail(error, TG_EINVAL, "checkpoint: a path and parameters are needed");
    tg_context own = tgi_context_of(context);
    tg_error cause = {TG_OK, ""};
    tg_archive_writer *writer = tg_archive_writer_create(context, &cause);
    tg_status status =
        writer == NULL ? cause.status : add_state(&own.allocator, writer, state, &cause);
    if (status == TG_OK)
        status = tg_archive_writer_save(writer, path, &cause);
    tg_archive_writer_free(writer);
    return status == TG_OK ? TG_OK : tg_fail(error, status, "%s", cause.message);
}

/* ---- loading ---- */

/* One pass over what is to be loaded. The first only looks: reals go to `scratch`, nothing else
 * changes. The second writes, and cannot fail. */
typedef struct pass {
    const tg_archive *archive;
    tg_training_state *state;
    tg_real *scratch; /* NULL in the second pass; as large as the largest array */
    tg_error *error;
} pass;

static tg_status load_params(const pass *p) {
    tg_status status = TG_OK;
    for (size_t i = 0; i < tg_params_count(p->state->params) && status == TG_OK; i++) {
        tg_param *param = tg_params_at(p->state->params, i);
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "param/%s", tg_param_name(param));
        status =
            tg_archive_read_reals(p->archive, name, tg_param_shape(param),
                                  p->scratch != NULL ? p->scratch : tg_param_edit(param), p->error);
    }
    return status;
}

static bool is_extent(const char *name) {
    for (int i = 0; i < EXTENTS; i++)
        if (strcmp(name, extents[i].name) == 0)
            return true;
    return false;
}

/* Neither another parameter nor a part of a config that this version does not know, without which the
 * others may not be understood. Other arrays, a comment, say, are passed over. */
static tg_status check_no_others(const pass *p) {
    char shown[NAME_SIZE];
    for (int64_t i = 0; i < tg_archive_count(p->archive); i++) {
        const char *name = tg_archive_at(p->archive, i)->name;
        snprintf(shown, sizeof shown, "%.120s", name);
        if (strncmp(name, "param/", 6) == 0) {
            if (tg_params_find(p->state->params, name + 6) == NULL)
                return tg_fail(p->error, TG_EMISMATCH, "checkpoint: the model has no parameter %s",
                               shown + 6);
        } else if (strncmp(name, "config/", 7) == 0 && !is_extent(name)) {
            return tg_fail(p->error, TG_EMISMATCH,
                           "checkpoint: \"%s\" is unknown: of a later version?", shown);
        }
    }
    return TG_OK;
}

static tg_status load_settings(const pass *p) {
    tg_optimizer *optimizer = p->state->optimizer;
    for (size_t i = 0; i < tg_optimizer_setting_count(optimizer); i++) {
        tg_optimizer_setting setting = tg_optimizer_setting_at(optimizer, i);
        double old = setting.value;
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "optimizer/%s", setting.name);
        tg_status status = tg_archive_read_float64(p->archive, name, &setting.value, p->error);
        if (status == TG_OK)
            status = tg_optimizer_set(optimizer, setting.name, setting.value, p->error);
        if (p->scratch != NULL)
            tg_optimizer_set(optimizer, setting.name, old, NULL);
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

/* A text of the file's for a message: its first bytes, none of which a terminal obeys. */
static const char *printable(const char *text, char out[TG_WORD_MAX + 1]) {
    size_t n = 0;
    for (; text[n] != '\0' && n < TG_WORD_MAX; n++)
        out[n] = (unsigned char)text[n] < ' ' || text[n] == 0x7f ? '?' : text[n];
    out[n] = '\0';
    return out;
}

/* Whether the optimiser writes an array of this name. */
static bool is_of_optimizer(const tg_optimizer *optimizer, const char *name) {
    char own[NAME_SIZE];
    bool found = strcmp(name, "optimizer/name") == 0 || strcmp(name, "optimizer/steps") == 0;
    for (size_t i = 0; i < tg_optimizer_setting_count(optimizer) && !found; i++) {
        snprintf(own, sizeof own, "optimizer/%s", tg_optimizer_setting_at(optimizer, i).name);
        found = strcmp(name, own) == 0;
    }
    for (size_t i = 0; i < tg_optimizer_state_count(optimizer) && !found; i++)
        found = strcmp(name, name_of_state(tg_optimizer_state_at(optimizer, i), own)) == 0;
    return found;
}

static tg_status check_optimizer_names(const pass *p) {
    for (int64_t i = 0; i < tg_archive_count(p->archive); i++) {
        const char *name = tg_archive_at(p->archive, i)->name;
        if (strncmp(name, "optimizer/", 10) == 0 && !is_of_optimizer(p->state->optimizer, name))
            return tg_fail(p->error, TG_EMISMATCH,
                           "checkpoint: \"%.120s\" is unknown: of a later version?", name);
    }
    return TG_OK;
}

static tg_status load_optimizer(const pass *p) {
    tg_optimizer *optimizer = p->state->optimizer;
    const char *name = "";
    char shown[TG_WORD_MAX + 1];
    int64_t steps = 0, old = tg_optimizer_steps(optimizer);
    tg_status status = tg_archive_read_text(p->archive, "optimizer/name", &name, p->error);
    if (status == TG_OK && strcmp(name, tg_optimizer_name(optimizer)) != 0)
        status = tg_fail(p->error, TG_EMISMATCH, "checkpoint: of the optimiser %s, not %s",
                         printable(name, shown), tg_optimizer_name(optimizer));
    if (status == TG_OK)
        status = check_optimizer_names(p);
    if (status == TG_OK)
        status = tg_archive_read_int64(p->archive, "optimizer/steps", &steps, p->error);
    if (status == TG_OK)
        status = tg_optimizer_set_steps(optimizer, steps, p->error);
    if (p->scratch != NULL)
        tg_optimizer_set_steps(optimizer, old, NULL);
    if (status == TG_OK)
        status = load_settings(p);
    for (size_t i = 0; i < tg_optimizer_state_count(optimizer) && status == TG_OK; i++) {
        tg_optimizer_state state = tg_optimizer_state_at(optimizer, i);
        char path[NAME_SIZE];
        status = tg_archive_read_reals(p->archive, name_of_state(state, path),
                                       tg_param_shape(state.param),
                                       p->scratch != NULL ? p->scratch : state.elements, p->error);
    }
    return status;
}

/* An integer in 0..limit. */
static tg_status read_below(const pass *p, const char *name, int64_t limit, int64_t *out) {
    tg_status status = tg_archive_read_int64(p->archive, name, out, p->error);
    if (status == TG_OK && (*out < 0 || *out > limit))
        status = tg_fail(p->error, TG_EFORMAT, "checkpoint: %s is %" PRId64 ", outside 0..%" PRId64,
                         name, *out, limit);
    return status;
}

static tg_status load_rng(const pass *p) {
    tg_rng rng = {.next = 0};
    int64_t next, has_cached;
    const tg_array *words = tg_archive_find(p->archive, "rng/words");
    if (words == NULL)
        return tg_fail(p->error, TG_ENOTFOUND, "checkpoint: no rng/words");
    if (words->element != TG_ELEMENT_INT64 || words->shape.rank != 1 ||
        words->count != TG_RNG_WORDS)
        return tg_fail(p->error, TG_EMISMATCH, "checkpoint: rng/words is not %d int64",
                       TG_RNG_WORDS);
    const int64_t *word = words->data;
    for (int i = 0; i < TG_RNG_WORDS; i++) {
        if (word[i] < 0 || word[i] > UINT32_MAX)
            return tg_fail(p->error, TG_EFORMAT, "checkpoint: rng/words holds %" PRId64, word[i]);
        rng.word[i] = (uint32_t)word[i];
    }
    tg_status status = read_below(p, "rng/next", UINT32_MAX, &next);
    if (status == TG_OK)
        status = read_below(p, "rng/has_cached", 1, &has_cached);
    if (status == TG_OK)
        status = tg_archive_read_float64(p->archive, "rng/cached", &rng.cached, p->error);
    if (status != TG_OK)
        return status;
    rng.next = (uint32_t)next;
    rng.has_cached = (int32_t)has_cached;
    tg_error cause = {TG_OK, ""};
    if (tg_rng_check(&rng, &cause) != TG_OK)
        return tg_fail(p->error, TG_EFORMAT, "checkpoint: %.200s", cause.message);
    if (p->scratch == NULL)
        *p->state->rng = rng;
    return TG_OK;
}

static tg_status load_numbers(const pass *p) {
    int64_t step, seed, position;
    tg_status status = read_below(p, "step", INT64_C(1) << 53, &step);
    if (status == TG_OK)
        status = tg_archive_read_int64(p->archive, "seed", &seed, p->error);
    if (status == TG_OK)
        status = read_below(p, "data/position", INT64_MAX, &position);
    if (status == TG_OK && p->scratch == NULL) {
        p->state->step = step;
        p->state->seed = seed;
        p->state->position = position;
    }
    return status;
}

/* Zeros may only fill a word up. */
static tg_status check_words(const tg_array *array, tg_error *error) {
    const char *word = array->data;
    for (int64_t i = 0; i < array->count; i++, word += array->element_size)
        for (size_t j = 1; j < array->element_size; j++)
            if (word[j - 1] == '\0' && word[j] != '\0')
                return tg_fail(error, TG_EFORMAT, "checkpoint: a NUL inside word %" PRId64, i);
    return TG_OK;
}

/* The strings of the vocabulary: *width bytes each. */
static tg_status find_words(const tg_archive *archive, const char **words, size_t *width,
                            int32_t *count, tg_error *error) {
    const tg_array *array = tg_archive_find(archive, "vocabulary");
    if (array == NULL)
        return tg_fail(error, TG_ENOTFOUND, "checkpoint: no vocabulary");
    if (array->element != TG_ELEMENT_BYTES || array->shape.rank != 1 ||
        array->element_size > TG_WORD_MAX || array->count > INT32_MAX)
        return tg_fail(error, TG_EMISMATCH, "checkpoint: the vocabulary is not a row of words");
    *words = array->data;
    *width = array->element_size;
    *count = (int32_t)array->count;
    return check_words(array, error);
}

/* The i-th word, ended by a NUL. */
static const char *copy_word(const char *words, size_t width, int32_t i,
                             char word[TG_WORD_MAX + 1]) {
    memcpy(word, words + (size_t)i * width, width);
    word[width] = '\0';
    return word;
}

static tg_status check_vocabulary(const pass *p) {
    const tg_vocabulary *vocabulary = p->state->vocabulary;
    const char *words = NULL;
    char word[TG_WORD_MAX + 1], shown[TG_WORD_MAX + 1];
    size_t width = 0;
    int32_t count = 0;
    tg_status status = find_words(p->archive, &words, &width, &count, p->error);
    if (status != TG_OK)
        return status;
    if (count != tg_vocabulary_count(vocabulary))
        return tg_fail(p->error, TG_EMISMATCH,
                       "checkpoint: a vocabulary of %" PRId32 " words, not %" PRId32, count,
                       tg_vocabulary_count(vocabulary));
    for (int32_t i = 0; i < count; i++)
        if (strcmp(copy_word(words, width, i, word), tg_vocabulary_word(vocabulary, i)) != 0)
            return tg_fail(p->error, TG_EMISMATCH,
                           "checkpoint: word %" PRId32 " is \"%s\", not \"%s\"", i,
                           printable(word, shown), tg_vocabulary_word(vocabulary, i));
    return TG_OK;
}

static tg_status check_config(const pass *p) {
    tg_transformer_config wanted = *p->state->config, found;
    tg_status status = tg_checkpoint_config(p->archive, &found, p->error);
    for (int i = 0; i < EXTENTS && status == TG_OK; i++)
        if (*extent_of(&found, i) != *extent_of(&wanted, i))
            status = tg_fail(p->error, TG_EMISMATCH,
                             "checkpoint: %s is %" PRId64 ", the model's %" PRId64, extents[i].name,
                             *extent_of(&found, i), *extent_of(&wanted, i));
    return status;
}

static tg_status run_pass(const pass *p) {
    const tg_training_state *state = p->state;
    tg_status status = state->config != NULL ? check_config(p) : TG_OK;
    if (status == TG_OK && state->vocabulary != NULL)
        status = check_vocabulary(p);
    if (status == TG_OK)
        status = check_no_others(p);
    if (status == TG_OK)
        status = load_params(p);
    if (status == TG_OK && state->optimizer != NULL)
        status = load_optimizer(p);
    if (status == TG_OK && state->rng != NULL)
        status = load_rng(p);
    if (status == TG_OK)
        status = load_numbers(p);
    return status;
}

/* The optimiser may drive other parameters than those of the state. */
static int64_t largest_array(const tg_training_state *state) {
    int64_t largest = 0;
    for (size_t i = 0; i < tg_params_count(state->params); i++) {
        int64_t count = tg_param_count(tg_params_at(state->params, i));
        largest = count > largest ? count : largest;
    }
    size_t arrays = state->optimizer != NULL ? tg_optimizer_state_count(state->optimizer) : 0;
    for (size_t i = 0; i < arrays; i++) {
        int64_t count = tg_param_count(tg_optimizer_state_at(state->optimizer, i).param);
        largest = count > largest ? count : largest;
    }
    return largest;
}

tg_status tg_checkpoint_restore(const tg_context *context, const tg_archive *archive,
                                tg_training_state *state, tg_error *error) {
    if (archive == NULL || state == NULL || state->params == NULL)
        return tg_fail(error, TG_EINVAL, "checkpoint: an archive and parameters are needed");
    tg_context own = tgi_context_of(context);
    size_t bytes = (size_t)largest_array(state) * sizeof(tg_real);
    pass p = {.archive = archive, .state = state, .error = error};
    p.scratch = tgi_allocate(&own.allocator, bytes);
    if (p.scratch == NULL)
        return tg_fail(error, TG_ENOMEM, "checkpoint: no memory for %zu bytes", bytes);
    tg_status status = run_pass(&p);
    tgi_release(&own.allocator, p.scratch, bytes);
    p.scratch = NULL;
    return status == TG_OK ? run_pass(&p) : status;
}

tg_status tg_checkpoint_load(const tg_context *context, const char *path, tg_training_state *state,
                             tg_error *error) {
    tg_error cause = {TG_OK, ""};
    tg_archive *archive = tg_archive_open(context, path, &cause);
    if (archive == NULL)
        return tg_fail(error, cause.status, "%s", cause.message);
    tg_status status = tg_checkpoint_restore(context, archive, state, &cause);
    tg_archive_free(archive);
    return status == TG_OK ? TG_OK : tg_fail(error, status, "%.200s: %.300s", path, cause.message);
}

tg_status tg_checkpoint_config(const tg_archive *archive, tg_transformer_config *config,
                               tg_error *error) {
    *config = (tg_transformer_config){0};
    tg_status status = TG_OK;
    for (int i = 0; i < EXTENTS && status == TG_OK; i++)
        status = tg_archive_read_int64(archive, extents[i].name, extent_of(config, i), error);
    return status;
}

tg_vocabulary *tg_checkpoint_vocabulary(const tg_context *context, const tg_archive *archive,
                                        tg_error *error) {
    const char *words = NULL;
    char word[TG_WORD_MAX + 1];
    size_t width = 0;
    int32_t count = 0, id = 0;
    if (find_words(archive, &words, &width, &count, error) != TG_OK)
        return NULL;
    tg_vocabulary *vocabulary = tg_vocabulary_create(context, error);
    for (int32_t i = 0; vocabulary != NULL && i < count; i++) {
        tg_status status =
            tg_vocabulary_add(vocabulary, copy_word(words, width, i, word), &id, error);
        if (status == TG_OK && id != i)
            status = tg_fail(error, TG_EFORMAT, "checkpoint: the word \"%s\" twice", word);
        if (status != TG_OK) {
            tg_vocabulary_free(vocabulary);
            return NULL;
        }
    }
    return vocabulary;
}
