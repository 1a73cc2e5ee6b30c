#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"
#include "tensor/file.h"
#include "train/plot_internal.h"

/* A log with no more rows than this is drawn with a point at each. */
#define FEW_ROWS 40

/* ---- what is asked for ---- */

static tg_status check_columns(const tg_plot_curve_options *options, tg_error *error) {
    if (options->column_count < 1 || options->columns == NULL)
        return tg_fail(error, TG_EINVAL, "plot: there are no columns to draw");
    tg_status status = TG_OK;
    for (int i = 0; i < options->column_count && status == TG_OK; i++)
        status = options->columns[i] == NULL
                     ? tg_fail(error, TG_EINVAL, "plot: column %d has no name", i)
                     : tgi_plot_check_text("name of a column", options->columns[i], error);
    return status;
}

static tg_status check_references(const tg_plot_curve_options *options, tg_error *error) {
    if (options->reference_count < 0 ||
        (options->reference_count > 0 && options->references == NULL))
        return tg_fail(error, TG_EINVAL, "plot: %d references at NULL", options->reference_count);
    tg_status status = TG_OK;
    for (int i = 0; i < options->reference_count && status == TG_OK; i++) {
        double y = options->references[i].y;
        if (!isfinite(y) || (options->logarithmic && y <= 0))
            return tg_fail(error, TG_EINVAL, "plot: reference %d is not on the axis", i);
        status = tgi_plot_check_text("label of a reference", options->references[i].label, error);
    }
    return status;
}

static tg_status check_options(const char *directory, const tg_plot_curve_options *options,
                               tg_error *error) {
    if (directory == NULL || options == NULL)
        return tg_fail(error, TG_EINVAL, "plot: no directory or no options are given (NULL)");
    tg_status status = tgi_plot_check_name("name of the data", options->data, error);
    if (status == TG_OK)
        status = tgi_plot_check_text("title", options->title, error);
    if (status == TG_OK)
        status = tgi_plot_check_text("label of the x axis", options->x_label, error);
    if (status == TG_OK)
        status = tgi_plot_check_text("label of the y axis", options->y_label, error);
    if (status == TG_OK)
        status = check_columns(options, error);
    return status == TG_OK ? check_references(options, error) : status;
}

/* ---- the data ---- */

/* Whether the header of length bytes names the column. */
static bool has_column(const char *header, size_t length, const char *column) {
    size_t wanted = strlen(column);
    for (size_t start = 0; start <= length;) {
        const char *comma = memchr(header + start, ',', length - start);
        size_t end = comma != NULL ? (size_t)(comma - header) : length;
        if (end - start == wanted && memcmp(header + start, column, wanted) == 0)
            return true;
        start = end + 1;
    }
    return false;
}

/* The number of rows in the text of a log. An error where there is nothing to draw. */
static tg_status inspect(const tg_plot_curve_options *options, const char *text, size_t size,
                         int64_t *rows, tg_error *error) {
    const char *newline = memchr(text, '\n', size);
    size_t header = newline != NULL ? (size_t)(newline - text) : size;
    for (int i = 0; i < options->column_count; i++)
        if (!has_column(text, header, options->columns[i]))
            return tg_fail(error, TG_EFORMAT, "%s has no column \"%s\"", options->data,
                           options->columns[i]);
    for (size_t i = header + 1; i < size; i++)
        *rows += text[i - 1] == '\n' && text[i] != '\n';
    return *rows > 0 ? TG_OK : tg_fail(error, TG_EFORMAT, "%s has no rows", options->data);
}

/* The same, of the file in the directory. */
static tg_status count_rows(const tg_allocator *allocator, const char *directory,
                            const tg_plot_curve_options *options, int64_t *rows, tg_error *error) {
    *rows = 0;
    size_t path_size = strlen(directory) + 1 + strlen(options->data) + 1, size;
    char *path = tgi_allocate(allocator, path_size);
    if (path == NULL)
        return tg_fail(error, TG_ENOMEM, "plot: out of memory for the path of %s", options->data);
    snprintf(path, path_size, "%s/%s", directory[0] != '\0' ? directory : ".", options->data);
    unsigned char *bytes;
    tg_status status = tgi_file_read(allocator, path, PTRDIFF_MAX, &bytes, &size, error);
    tgi_release(allocator, path, path_size);
    if (status != TG_OK)
        return status;
    status = inspect(options, (const char *)bytes, size, rows, error);
    tgi_release(allocator, bytes, size);
    return status;
}

/* ---- drawing ---- */

tg_status tg_plot_curve(const tg_context *context, const char *directory, const char *name,
                        const tg_plot_curve_options *options, tg_plot_outcome *outcome,
                        tg_error *error) {
    tg_status status = check_options(directory, options, error);
    if (status != TG_OK)
        return status;
    tg_allocator allocator = tgi_context_of(context).allocator;
    int64_t rows;
    tg_error fault = {0};
    count_rows(&allocator, directory, options, &rows, &fault);
    tgi_plot_text script = {.allocator = &allocator};
    tgi_plot_add_curve(&script, options, rows <= FEW_ROWS);
    tg_plot_script_options how = {.gnuplot = options->gnuplot,
                                  .timeout = options->timeout,
                                  .fault = fault.status != TG_OK ? fault.message : NULL};
    status = script.failed
                 ? tg_fail(error, TG_ENOMEM, "plot: out of memory for the script of the curves")
                 : tg_plot_script(context, directory, name, script.bytes, &how, outcome, error);
    tgi_plot_release(&script);
    return status;
}
