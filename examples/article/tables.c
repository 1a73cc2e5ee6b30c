#include "article/tables.h"

#include <inttypes.h>
#include <math.h>

#include "autograd/ops.h"

/* Under which name a forward pass leaves each table. */
static void list_labels(const tg_transformer *model, const char *labels[ARTICLE_TABLES]) {
    const tg_block *block = &model->blocks[0];
    const tg_attention_labels *attention = &block->attention.labels;
    labels[ARTICLE_INPUT] = model->input;
    labels[ARTICLE_QUERY] = attention->query;
    labels[ARTICLE_KEY] = attention->key;
    labels[ARTICLE_SCORES] = attention->scores;
    labels[ARTICLE_MASKED_SCORES] = attention->masked_scores;
    labels[ARTICLE_ATTENTION] = attention->weights;
    labels[ARTICLE_VALUE] = attention->value;
    labels[ARTICLE_MIX] = attention->mix;
    labels[ARTICLE_HIDDEN] = block->hidden;
    labels[ARTICLE_OUTPUT] = block->output;
    labels[ARTICLE_PREDICTIONS] = article_tables[ARTICLE_PREDICTIONS].name;
}

tg_status article_tables_compute(const tg_transformer *model, const int32_t *ids, int64_t length,
                                 tg_tape *tape, article_matrix tables[ARTICLE_TABLES],
                                 tg_error *error) {
    if (model->config.layers != 1)
        return tg_fail(error, TG_EINVAL, "article_tables_compute: %" PRId64 " blocks, not one",
                       model->config.layers);
    const char *labels[ARTICLE_TABLES];
    list_labels(model, labels);
    tg_var logits =
        tg_transformer_forward(model, tg_integers(tape, tg_shape_1d(length), ids)); /* [T,V] */
    tg_label(tg_softmax(logits, -1), labels[ARTICLE_PREDICTIONS]);
    if (tg_tape_error(tape)->status != TG_OK)
        return tg_fail(error, tg_tape_error(tape)->status, "%s", tg_tape_error(tape)->message);
    for (int i = 0; i < ARTICLE_TABLES; i++) {
        tg_var var = tg_find(tape, labels[i]);
        if (!tg_is_valid(var))
            return tg_fail(error, TG_ENOTFOUND, "article_tables_compute: no %s in the forward pass",
                           labels[i]);
        tg_shape shape = tg_shape_of(var);
        tables[i] = (article_matrix){article_tables[i].symbol, shape.extent[0], shape.extent[1],
                                     tg_value(var)};
    }
    return TG_OK;
}

static bool cells_agree(double computed, double printed) {
    return computed == printed || fabs(computed - printed) <= ARTICLE_TOLERANCE;
}

static void compare_table(article_table table, const article_matrix *computed,
                          article_comparison *comparison) {
    for (int64_t i = 0; i < computed->rows * computed->columns; i++) {
        article_difference cell = {table, i / computed->columns, i % computed->columns,
                                   (double)computed->values[i], article_tables[table].values[i]};
        comparison->cells++;
        if (cells_agree(cell.computed, cell.printed)) {
            comparison->agreeing++;
            comparison->agreeing_in[table]++;
        } else if (comparison->listed < ARTICLE_LISTED) {
            comparison->first[comparison->listed++] = cell;
        }
    }
}

tg_status article_tables_compare(const article_matrix tables[ARTICLE_TABLES],
                                 article_comparison *comparison, tg_error *error) {
    *comparison = (article_comparison){0};
    for (int i = 0; i < ARTICLE_TABLES; i++) {
        const article_printed *printed = &article_tables[i];
        if (tables[i].rows != printed->rows || tables[i].columns != printed->columns)
            return tg_fail(error, TG_ESHAPE,
                           "article_tables_compare: %s is %" PRId64 " x %" PRId64
                           ", and printed as %" PRId64 " x %" PRId64,
                           printed->symbol, tables[i].rows, tables[i].columns, printed->rows,
                           printed->columns);
        compare_table((article_table)i, &tables[i], comparison);
    }
    return TG_OK;
}

void article_print_differences(FILE *file, const article_comparison *comparison) {
    int64_t differing = comparison->cells - comparison->agreeing;
    for (int i = 0; i < comparison->listed; i++) {
        const article_difference *cell = &comparison->first[i];
        fprintf(file, "%s, row %" PRId64 ", column %" PRId64 ": %.4f, but %.2f is printed\n",
                article_tables[cell->table].symbol, cell->row, cell->column, cell->computed,
                cell->printed);
    }
    if (differing > comparison->listed)
        fprintf(file, "and %" PRId64 " more\n", differing - comparison->listed);
}

void article_print_verdict(FILE *file, const article_comparison *comparison) {
    fprintf(file, "%" PRId64 " of %" PRId64 " cells as printed\n", comparison->agreeing,
            comparison->cells);
}
