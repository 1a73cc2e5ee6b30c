/* open_memstream() */
#define _POSIX_C_SOURCE 200809L

#include "article/pictures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "article/embedding_map.h"
#include "article/heat_map.h"
#include "article/tables.h"
#include "article/weights_map.h"
#include "train/plot.h"

/* All that the pictures show. */
typedef struct album {
    const char *suffix;
    article_matrix weights[ARTICLE_WEIGHTS], tables[ARTICLE_TABLES];
} album;

const char *const article_picture_names[ARTICLE_PICTURES] = {"attention", "scores", "prediction",
                                                             "weights", "embedding"};

static const article_axis vocabulary = {.words = article_words};
static const article_axis places = {
    .words = article_words, .ids = article_sentence, .numbered = true};

/* ---- the pictures ---- */

static tg_status write_attention(const sheet *s, const album *a, tg_error *error) {
    (void)error;
    heat_map_write(
        s, &(heat_map){.matrix = &a->tables[ARTICLE_ATTENTION],
                       .block = "attention",
                       .title = "Attention A: where a position looks",
                       .suffix = a->suffix,
                       .subtitle = "A = softmax of the masked scores, row by row",
                       .rows = places,
                       .columns = places,
                       .row_caption = "the position that looks",
                       .column_caption = "where it looks",
                       .legend = "Each row sums to 1. Grey: words to come, which no position sees.",
                       .scale = SCALE_SHARES,
                       .causal = true});
    return TG_OK;
}

static tg_status write_scores(const sheet *s, const album *a, tg_error *error) {
    (void)error;
    heat_map_write(s, &(heat_map){.matrix = &a->tables[ARTICLE_MASKED_SCORES],
                                  .block = "scores",
                                  .title = "Masked scores S: how well a key answers a query",
                                  .suffix = a->suffix,
                                  .subtitle = "S = Q K^T / sqrt(6)",
                                  .rows = places,
                                  .columns = places,
                                  .row_caption = "query of the position that looks",
                                  .column_caption = "key of the position that is looked at",
                                  .legend = "Grey: masked, as words to come.",
                                  .scale = SCALE_SIGNED,
                                  .causal = true});
    return TG_OK;
}

static tg_status write_prediction(const sheet *s, const album *a, tg_error *error) {
    (void)error;
    heat_map_write(s,
                   &(heat_map){.matrix = &a->tables[ARTICLE_PREDICTIONS],
                               .block = "prediction",
                               .title = "Predictions p: the word that follows",
                               .suffix = a->suffix,
                               .subtitle = "p = softmax(y WU), row by row",
                               .rows = places,
                               .columns = vocabulary,
                               .row_caption = "after the word at this position",
                               .column_caption = "probability of the word that follows",
                               .legend = "Each row sums to 1. Outlined: the word that does follow.",
                               .scale = SCALE_SHARES,
                               .marked = article_sentence + 1});
    return TG_OK;
}

static tg_status write_weights(const sheet *s, const album *a, tg_error *error) {
    (void)error;
    weights_map_write(s, a->weights, a->suffix);
    return TG_OK;
}

static tg_status write_embedding(const sheet *s, const album *a, tg_error *error) {
    return embedding_map_write(s, &a->weights[0], article_words, &a->weights[1], a->suffix, error);
}

/* ---- what is shown ---- */

/* The parameters in the order of article_weights, if they are of these shapes. */
static tg_status find_weights(const tg_transformer *model, article_matrix weights[ARTICLE_WEIGHTS],
                              tg_error *error) {
    if (model->config.layers != 1)
        return tg_fail(error, TG_ESHAPE, "article_pictures: %" PRId64 " blocks, not one",
                       model->config.layers);
    const tg_block *block = &model->blocks[0];
    const tg_param *const params[ARTICLE_WEIGHTS] = {
        model->token.table,
        model->position.table,
        block->attention.query.weight,
        block->attention.key.weight,
        block->attention.value.weight,
        block->attention.output.weight,
        block->feed_forward.first.weight,
        block->feed_forward.first.bias,
        block->feed_forward.second.weight,
        block->feed_forward.second.bias,
        model->unembedding.weight,
    };
    for (int i = 0; i < ARTICLE_WEIGHTS; i++) {
        const article_printed *printed = &article_weights[i];
        tg_shape shape = tg_param_shape(params[i]);
        int64_t rows = shape.rank == 1 ? 1 : shape.extent[0],
                columns = shape.extent[shape.rank - 1];
        if (rows != printed->rows || columns != printed->columns)
            return tg_fail(error, TG_ESHAPE,
                           "article_pictures: %s is %" PRId64 " x %" PRId64 ", not %" PRId64
                           " x %" PRId64,
                           printed->symbol, rows, columns, printed->rows, printed->columns);
        weights[i] = (article_matrix){printed->symbol, rows, columns, tg_param_value(params[i])};
    }
    return TG_OK;
}

static tg_status check_finite(const article_matrix *matrix, tg_error *error) {
    for (int64_t i = 0; i < matrix->rows * matrix->columns; i++)
        if (!isfinite(matrix->values[i]))
            return tg_fail(error, TG_ENONFINITE,
                           "article_pictures: %s has %g in row %" PRId64 ", column %" PRId64,
                           matrix->symbol, (double)matrix->values[i], i / matrix->columns,
                           i % matrix->columns);
    return TG_OK;
}

static tg_status check_suffix(const char *suffix, tg_error *error) {
    for (const char *c = suffix; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return tg_fail(error, TG_EINVAL,
                           "article_pictures: the title has the control character 0x%02x",
                           (unsigned)(unsigned char)*c);
    return TG_OK;
}

/* ---- drawing ---- */

typedef struct picture {
    tg_status (*write)(const sheet *s, const album *a, tg_error *error);
    int height;
} picture;

static picture picture_of(int i) {
    const picture pictures[ARTICLE_PICTURES] = {
        {write_attention, heat_map_height(ARTICLE_LENGTH)},
        {write_scores, heat_map_height(ARTICLE_LENGTH)},
        {write_prediction, heat_map_height(ARTICLE_LENGTH)},
        {write_weights, WEIGHTS_MAP_HEIGHT},
        {write_embedding, EMBEDDING_MAP_HEIGHT},
    };
    return pictures[i];
}

/* The script of a picture into *text, which the caller frees. */
static tg_status compose(const picture *p, const album *a, char **text, tg_error *error) {
    size_t size;
    *text = NULL;
    sheet s = {open_memstream(text, &size), p->height};
    if (s.script == NULL)
        return tg_fail(error, TG_ENOMEM, "article_pictures: out of memory for a script");
    tg_status status = p->write(&s, a, error);
    bool failed = ferror(s.script) != 0;
    if ((fclose(s.script) != 0 || failed) && status == TG_OK)
        status = tg_fail(error, TG_ENOMEM, "article_pictures: out of memory for a script");
    return status;
}

/* What has kept pictures from being drawn: the first one's note, and the names of the others. */
typedef struct shortfall {
    tg_plot_outcome first;
    char others[100];
    bool hopeless; /* gnuplot is not there, or hangs: it is not tried again */
} shortfall;

static void remember(shortfall *missing, const tg_plot_outcome *outcome, const char *name) {
    if (outcome->result == TG_PLOT_DRAWN)
        return;
    size_t used = strlen(missing->others);
    if (missing->first.note[0] == '\0')
        missing->first = *outcome;
    else
        snprintf(missing->others + used, sizeof missing->others - used, "%s%s",
                 used > 0 ? ", " : "", name);
    if (outcome->result != TG_PLOT_FAILED)
        missing->hopeless = true;
}

static tg_status draw(int i, const album *a, const char *directory, shortfall *missing,
                      tg_error *error) {
    picture p = picture_of(i);
    char *script;
    tg_status status = compose(&p, a, &script, error);
    tg_plot_script_options options = {.width = PICTURE_WIDTH,
                                      .height = p.height,
                                      .fault = missing->hopeless ? "gnuplot cannot draw" : NULL};
    tg_plot_outcome outcome;
    if (status == TG_OK)
        status = tg_plot_script(NULL, directory, article_picture_names[i], script, &options,
                                &outcome, error);
    if (status == TG_OK)
        remember(missing, &outcome, article_picture_names[i]);
    free(script);
    return status;
}

static tg_status draw_all(const album *a, const char *directory, FILE *notes, tg_error *error) {
    shortfall missing = {.first = {.note = ""}};
    tg_status status = TG_OK;
    for (int i = 0; i < ARTICLE_PICTURES && status == TG_OK; i++)
        status = draw(i, a, directory, &missing, error);
    if (notes != NULL && missing.first.note[0] != '\0')
        fprintf(notes, "%s%s%s\n", missing.first.note,
                missing.others[0] != '\0' ? "; likewise " : "", missing.others);
    return status;
}

tg_status article_pictures(const tg_transformer *model, const char *directory,
                           const char *title_suffix, FILE *notes, tg_error *error) {
    album a = {.suffix = title_suffix};
    tg_status status = check_suffix(title_suffix, error);
    if (status == TG_OK)
        status = find_weights(model, a.weights, error);
    for (int i = 0; i < ARTICLE_WEIGHTS && status == TG_OK; i++)
        status = check_finite(&a.weights[i], error);
    if (status != TG_OK)
        return status;
    tg_tape *tape = tg_tape_create(NULL);
    status = article_tables_compute(model, article_sentence, ARTICLE_LENGTH, tape, a.tables, error);
    if (status == TG_OK)
        status = draw_all(&a, directory, notes, error);
    tg_tape_free(tape);
    return status;
}
