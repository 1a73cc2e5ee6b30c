#include "train/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"
#include "tensor/file.h"
#include "tensor/format.h"
#include "train/plot_internal.h"
#include "train/run_internal.h"

#define TIMEOUT_SECONDS 20

/* A log with no more rows than this is drawn with a point at each. */
#define FEW_ROWS 40

/* All that a plot needs on its way. */
struct plot {
    tg_allocator allocator;
    const char *directory, *name;
    const tg_plot_curve_options *options;
    char *script;    /* "<name>.gp", at the head of the block that holds the other names too */
    char *picture;   /* "<name>.svg" */
    char *temporary; /* "<name>.svg.tmp" */
    char *path;      /* "<directory>/" and the name of a file in it */
    size_t names_size, path_size;
    char *setting; /* what tells the script to draw the temporary */
    size_t setting_size;
};

/* ---- what is asked for ---- */

static tg_status check_text(const char *what, const char *text, tg_error *error) {
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return tg_fail(error, TG_EINVAL, "plot: the %s has the control character 0x%02x", what,
                           (unsigned)(unsigned char)*c);
    return TG_OK;
}

static tg_status check_component(const char *what, const char *name, tg_error *error) {
    if (name == NULL || name[0] == '\0')
        return tg_fail(error, TG_EINVAL, "plot: there is no %s", what);
    if (name[0] == '-' || strchr(name, '/') != NULL)
        return tg_fail(error, TG_EINVAL,
                       "plot: the %s is \"%s\", which holds '/' or begins with '-'", what, name);
    return check_text(what, name, error);
}

static tg_status check_columns(const tg_plot_curve_options *options, tg_error *error) {
    if (options->column_count < 1 || options->columns == NULL)
        return tg_fail(error, TG_EINVAL, "plot: there are no columns to draw");
    tg_status status = TG_OK;
    for (int i = 0; i < options->column_count && status == TG_OK; i++)
        status = options->columns[i] == NULL
                     ? tg_fail(error, TG_EINVAL, "plot: column %d has no name", i)
                     : check_text("name of a column", options->columns[i], error);
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
        status = check_text("label of a reference", options->references[i].label, error);
    }
    return status;
}

static tg_status check_options(const char *directory, const char *name,
                               const tg_plot_curve_options *options, tg_error *error) {
    if (directory == NULL || options == NULL)
        return tg_fail(error, TG_EINVAL, "plot: no directory or no options are given (NULL)");
    if (!(options->timeout >= 0))
        return tg_fail(error, TG_EINVAL, "plot: the timeout is negative or not a number");
    tg_status status = check_component("name of the plot", name, error);
    if (status == TG_OK)
        status = check_component("name of the data", options->data, error);
    if (status == TG_OK)
        status = check_text("title", options->title, error);
    if (status == TG_OK)
        status = check_text("label of the x axis", options->x_label, error);
    if (status == TG_OK)
        status = check_text("label of the y axis", options->y_label, error);
    if (status == TG_OK)
        status = check_columns(options, error);
    return status == TG_OK ? check_references(options, error) : status;
}

/* ---- names ---- */

static tg_status make_names(struct plot *plot, tg_error *error) {
    size_t name = strlen(plot->name) + sizeof ".svg.tmp";
    size_t data = strlen(plot->options->data) + 1;
    plot->path_size = strlen(plot->directory) + 1 + (name > data ? name : data);
    plot->names_size = 3 * name + plot->path_size;
    plot->script = tgi_allocate(&plot->allocator, plot->names_size);
    if (plot->script == NULL)
        return tg_fail(error, TG_ENOMEM, "plot: out of memory for the names of %s", plot->name);
    plot->picture = plot->script + name;
    plot->temporary = plot->picture + name;
    plot->path = plot->temporary + name;
    snprintf(plot->script, name, "%s.gp", plot->name);
    snprintf(plot->picture, name, "%s.svg", plot->name);
    snprintf(plot->temporary, name, "%s.svg.tmp", plot->name);
    plot->setting = tgi_plot_setting(&plot->allocator, plot->temporary, &plot->setting_size);
    if (plot->setting == NULL)
        return tg_fail(error, TG_ENOMEM, "plot: out of memory for the names of %s", plot->name);
    return TG_OK;
}

static void release_names(struct plot *plot) {
    tgi_release(&plot->allocator, plot->script, plot->names_size);
    tgi_release(&plot->allocator, plot->setting, plot->setting_size);
}

/* The path of a file in the directory; valid until the next call. */
static const char *path_of(struct plot *plot, const char *file) {
    snprintf(plot->path, plot->path_size, "%s/%s", plot->directory, file);
    return plot->path;
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

/* The same, of the file. */
static tg_status count_rows(struct plot *plot, int64_t *rows, tg_error *error) {
    unsigned char *bytes;
    size_t size;
    *rows = 0;
    tg_status status = tgi_file_read(&plot->allocator, path_of(plot, plot->options->data),
                                     PTRDIFF_MAX, &bytes, &size, error);
    if (status != TG_OK)
        return status;
    status = inspect(plot->options, (const char *)bytes, size, rows, error);
    tgi_release(&plot->allocator, bytes, size);
    return status;
}

/* ---- drawing ---- */

static void set_outcome(const struct plot *plot, tg_plot_result result, const char *cause,
                        tg_plot_outcome *outcome) {
    outcome->result = result;
    if (result == TG_PLOT_DRAWN)
        snprintf(outcome->note, sizeof outcome->note, "drew %s/%s", plot->directory, plot->picture);
    else
        snprintf(outcome->note, sizeof outcome->note,
                 "%s is not drawn: %s; to draw it later, run \"gnuplot %s\" in %s", plot->picture,
                 cause, plot->script, plot->directory);
}

/* Puts the temporary in place of the picture, if there is anything in it. NULL, or the fault. */
static const char *keep_picture(const struct plot *plot, int directory) {
    struct stat about;
    if (fstatat(directory, plot->temporary, &about, 0) != 0 || about.st_size == 0)
        return "it drew nothing";
    if (renameat(directory, plot->temporary, directory, plot->picture) != 0)
        return "the picture cannot be renamed";
    return NULL;
}

/* What kept the program from drawing, in words. */
static void name_cause(const tgi_run_result *run, const char *program, double timeout, char *cause,
                       size_t size) {
    char seconds[TGI_FORMAT_DOUBLE_SIZE];
    tgi_format_double(seconds, sizeof seconds, timeout, 3);
    if (run->end == TGI_RUN_NOT_FOUND)
        snprintf(cause, size, "there is no program %s", program);
    else if (run->end == TGI_RUN_TIMED_OUT)
        snprintf(cause, size, "%s took more than %s s", program, seconds);
    else if (run->message[0] != '\0')
        snprintf(cause, size, "%s: %s", program, run->message);
    else
        snprintf(cause, size, "%s exited with %d", program, run->code);
}

static void run_gnuplot(const struct plot *plot, int directory, tg_plot_outcome *outcome) {
    const tg_plot_curve_options *options = plot->options;
    const char *program = options->gnuplot != NULL ? options->gnuplot : "gnuplot";
    /* -d: a person's own settings would show in the picture */
    const char *const arguments[] = {program, "-d", "-e", plot->setting, plot->script, NULL};
    /* GNUTERM: a terminal that gnuplot does not know there makes it fail in the end */
    static const char *const settings[] = {"LC_ALL=C", "GNUTERM=svg", NULL};
    double timeout = options->timeout > 0 ? options->timeout : TIMEOUT_SECONDS;
    tgi_run_result run = tgi_run(&plot->allocator, directory, arguments, settings, timeout);
    tg_plot_result result = run.end == TGI_RUN_NOT_FOUND   ? TG_PLOT_NO_GNUPLOT
                            : run.end == TGI_RUN_TIMED_OUT ? TG_PLOT_TIMED_OUT
                                                           : TG_PLOT_FAILED;
    char cause[TGI_RUN_MESSAGE + 100];
    name_cause(&run, program, timeout, cause, sizeof cause);
    if (run.end == TGI_RUN_EXITED && run.code == 0) {
        const char *fault = keep_picture(plot, directory);
        result = fault == NULL ? TG_PLOT_DRAWN : TG_PLOT_FAILED;
        snprintf(cause, sizeof cause, "%s: %s", program, fault != NULL ? fault : "");
    }
    if (result != TG_PLOT_DRAWN)
        unlinkat(directory, plot->temporary, 0);
    set_outcome(plot, result, cause, outcome);
}

static void draw(const struct plot *plot, tg_plot_outcome *outcome) {
    int directory = open(plot->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        set_outcome(plot, TG_PLOT_FAILED, "the directory cannot be opened", outcome);
        return;
    }
    unlinkat(directory, plot->temporary, 0); /* of a run that was killed */
    run_gnuplot(plot, directory, outcome);
    close(directory);
}

static tg_status write_script(struct plot *plot, bool points, tg_error *error) {
    size_t size;
    char *script = tgi_plot_script(&plot->allocator, plot->name, plot->options, points, &size);
    if (script == NULL)
        return tg_fail(error, TG_ENOMEM, "plot: out of memory for the script of %s", plot->name);
    tg_status status = tgi_file_replace(&plot->allocator, path_of(plot, plot->script), script,
                                        strlen(script), error);
    tgi_release(&plot->allocator, script, size);
    return status;
}

tg_status tg_plot_curve(const tg_context *context, const char *directory, const char *name,
                        const tg_plot_curve_options *options, tg_plot_outcome *outcome,
                        tg_error *error) {
    tg_status status = check_options(directory, name, options, error);
    if (status != TG_OK)
        return status;
    struct plot plot = {.allocator = tgi_context_of(context).allocator,
                        .directory = directory[0] != '\0' ? directory : ".",
                        .name = name,
                        .options = options};
    status = make_names(&plot, error);
    tg_plot_outcome reached = {.result = TG_PLOT_FAILED};
    tg_error fault = {0};
    int64_t rows = 0;
    if (status == TG_OK) {
        count_rows(&plot, &rows, &fault);
        status = write_script(&plot, rows <= FEW_ROWS, error);
    }
    if (status == TG_OK && fault.status == TG_OK)
        draw(&plot, &reached);
    else if (status == TG_OK)
        set_outcome(&plot, TG_PLOT_FAILED, fault.message, &reached);
    release_names(&plot);
    if (status == TG_OK && outcome != NULL)
        *outcome = reached;
    return status;
}
