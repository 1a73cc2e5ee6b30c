#include "train/plot.h"

#include <fcntl.h>
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

enum { TIMEOUT_SECONDS = 20, WIDTH = 960, HEIGHT = 540 };

/* All that a plot needs on its way. */
struct plot {
    tg_allocator allocator;
    const char *directory, *name;
    tg_plot_script_options options; /* with the defaults filled in */
    char *script;    /* "<name>.gp", at the head of the block that holds the other names too */
    char *picture;   /* "<name>.svg" */
    char *temporary; /* "<name>.svg.tmp" */
    char *path;      /* "<directory>/<name>.gp" */
    size_t names_size;
    tgi_plot_text setting; /* what tells the script to draw the temporary */
};

/* ---- what is asked for ---- */

tg_status tgi_plot_check_text(const char *what, const char *text, tg_error *error) {
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return tg_fail(error, TG_EINVAL, "plot: the %s has the control character 0x%02x", what,
                           (unsigned)(unsigned char)*c);
    return TG_OK;
}

tg_status tgi_plot_check_name(const char *what, const char *name, tg_error *error) {
    if (name == NULL || name[0] == '\0')
        return tg_fail(error, TG_EINVAL, "plot: there is no %s", what);
    if (name[0] == '-' || strchr(name, '/') != NULL)
        return tg_fail(error, TG_EINVAL,
                       "plot: the %s is \"%s\", which holds '/' or begins with '-'", what, name);
    return tgi_plot_check_text(what, name, error);
}

static tg_status check_request(const char *directory, const char *name, const char *script,
                               const tg_plot_script_options *options, tg_error *error) {
    if (directory == NULL || script == NULL)
        return tg_fail(error, TG_EINVAL, "plot: no directory or no script is given (NULL)");
    if (!(options->timeout >= 0))
        return tg_fail(error, TG_EINVAL, "plot: the timeout is negative or not a number");
    if (options->width < 0 || options->width > TG_PLOT_SIDE || options->height < 0 ||
        options->height > TG_PLOT_SIDE)
        return tg_fail(error, TG_EINVAL, "plot: a picture of %d by %d pixels, at most %d by %d",
                       options->width, options->height, TG_PLOT_SIDE, TG_PLOT_SIDE);
    return tgi_plot_check_name("name of the plot", name, error);
}

static void fill_in_defaults(tg_plot_script_options *options) {
    if (options->gnuplot == NULL)
        options->gnuplot = "gnuplot";
    if (options->timeout <= 0)
        options->timeout = TIMEOUT_SECONDS;
    if (options->width == 0)
        options->width = WIDTH;
    if (options->height == 0)
        options->height = HEIGHT;
}

/* ---- names ---- */

static tg_status make_names(struct plot *plot, tg_error *error) {
    size_t name = strlen(plot->name) + sizeof ".svg.tmp";
    size_t path = strlen(plot->directory) + 1 + name;
    plot->names_size = 3 * name + path;
    plot->script = tgi_allocate(&plot->allocator, plot->names_size);
    if (plot->script == NULL)
        return tg_fail(error, TG_ENOMEM, "plot: out of memory for the names of %s", plot->name);
    plot->picture = plot->script + name;
    plot->temporary = plot->picture + name;
    plot->path = plot->temporary + name;
    snprintf(plot->script, name, "%s.gp", plot->name);
    snprintf(plot->picture, name, "%s.svg", plot->name);
    snprintf(plot->temporary, name, "%s.svg.tmp", plot->name);
    snprintf(plot->path, path, "%s/%s", plot->directory, plot->script);
    tgi_plot_add(&plot->setting, "picture=");
    tgi_plot_add_quoted(&plot->setting, plot->temporary, "");
    if (plot->setting.failed)
        return tg_fail(error, TG_ENOMEM, "plot: out of memory for the names of %s", plot->name);
    return TG_OK;
}

static void release_names(struct plot *plot) {
    tgi_release(&plot->allocator, plot->script, plot->names_size);
    tgi_plot_release(&plot->setting);
}

/* ---- the script ---- */

/* The variable `picture` is forgotten at the end, so that one gnuplot may run several scripts. */
static void add_frame(tgi_plot_text *text, const struct plot *plot, const char *script) {
    tgi_plot_add(text, "# Draws %s. To draw it again: gnuplot %s\n", plot->picture, plot->script);
    tgi_plot_add(text,
                 "reset\n"
                 "set terminal svg size %d,%d font 'sans-serif,16' background rgb 'white' "
                 "noenhanced\n"
                 "if (!exists('picture')) picture = ",
                 plot->options.width, plot->options.height);
    tgi_plot_add_quoted(text, plot->picture, "");
    tgi_plot_add(text, "\nset output picture\n\n%s\nunset output\nundefine picture\n", script);
}

static tg_status write_script(const struct plot *plot, const char *script, tg_error *error) {
    tgi_plot_text text = {.allocator = &plot->allocator};
    add_frame(&text, plot, script);
    tg_status status =
        text.failed
            ? tg_fail(error, TG_ENOMEM, "plot: out of memory for the script of %s", plot->name)
            : tgi_file_replace(&plot->allocator, plot->path, text.bytes, text.used, error);
    tgi_plot_release(&text);
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
                 "%s is not drawn: %.300s; to draw it later, run \"gnuplot %s\" in %s",
                 plot->picture, cause, plot->script, plot->directory);
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
    const char *program = plot->options.gnuplot;
    double timeout = plot->options.timeout;
    /* -d: a person's own settings would show in the picture */
    const char *const arguments[] = {program, "-d", "-e", plot->setting.bytes, plot->script, NULL};
    /* GNUTERM: a terminal that gnuplot does not know there makes it fail in the end */
    static const char *const settings[] = {"LC_ALL=C", "GNUTERM=svg", NULL};
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

tg_status tg_plot_script(const tg_context *context, const char *directory, const char *name,
                         const char *script, const tg_plot_script_options *options,
                         tg_plot_outcome *outcome, tg_error *error) {
    struct plot plot = {.allocator = tgi_context_of(context).allocator, .name = name};
    plot.setting.allocator = &plot.allocator;
    if (options != NULL)
        plot.options = *options;
    tg_status status = check_request(directory, name, script, &plot.options, error);
    if (status != TG_OK)
        return status;
    fill_in_defaults(&plot.options);
    plot.directory = directory[0] != '\0' ? directory : ".";
    status = make_names(&plot, error);
    if (status == TG_OK)
        status = write_script(&plot, script, error);
    tg_plot_outcome reached = {.result = TG_PLOT_FAILED};
    if (status == TG_OK && plot.options.fault == NULL)
        draw(&plot, &reached);
    else if (status == TG_OK)
        set_outcome(&plot, TG_PLOT_FAILED, plot.options.fault, &reached);
    release_names(&plot);
    if (status == TG_OK && outcome != NULL)
        *outcome = reached;
    return status;
}
