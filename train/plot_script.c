#include "train/plot_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/format.h"

/* A text that grows: bytes[used] is its NUL. `failed` sticks. */
struct text {
    const tg_allocator *allocator;
    char *bytes;
    size_t used, size;
    bool failed;
};

static void release(struct text *text) {
    tgi_release(text->allocator, text->bytes, text->size);
    text->bytes = NULL;
    text->used = text->size = 0;
}

/* Room for `more` bytes and a NUL. */
static void reserve(struct text *text, size_t more) {
    if (text->size - text->used > more)
        return;
    size_t size = 2 * text->size + more + 512;
    char *bytes = tgi_allocate(text->allocator, size);
    if (bytes == NULL) {
        text->failed = true;
        return;
    }
    size_t used = text->used;
    memcpy(bytes, used > 0 ? text->bytes : "", used + 1);
    release(text);
    text->bytes = bytes;
    text->used = used;
    text->size = size;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text->failed = text->failed || length < 0;
    if (!text->failed)
        reserve(text, (size_t)length);
    if (text->failed)
        return;
    va_start(arguments, format);
    vsnprintf(text->bytes + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    text->used += (size_t)length;
}

/* A string of gnuplot's, in which nothing has a meaning but the quote, which is written twice. */
static void add_quoted(struct text *text, const char *string, const char *suffix) {
    add(text, "'");
    for (const char *c = string; *c != '\0'; c++)
        add(text, "%.*s", *c == '\'' ? 2 : 1, *c == '\'' ? "''" : c);
    add(text, "%s'", suffix);
}

/* "set <what> '<string>'", unless there is no string. */
static void add_setting(struct text *text, const char *what, const char *string, const char *rest) {
    if (string == NULL)
        return;
    add(text, "set %s ", what);
    add_quoted(text, string, "");
    add(text, "%s\n", rest);
}

static void add_output(struct text *text, const char *name, const char *data) {
    add(text, "# Draws %s as %s.svg. To draw it again: gnuplot %s.gp\n", data, name, name);
    add(text, "reset\n"
              "set terminal svg size 960,540 font 'sans-serif,16' background rgb 'white' "
              "noenhanced\n"
              "if (!exists('picture')) picture = ");
    add_quoted(text, name, ".svg");
    add(text, "\nset output picture\n");
}

static void add_axes(struct text *text, const tg_plot_curve_options *options) {
    add(text, "\n");
    add_setting(text, "title", options->title, " font ',20'");
    add_setting(text, "xlabel", options->x_label, "");
    add_setting(text, "ylabel", options->y_label, "");
    if (options->logarithmic)
        add(text, "set logscale y\n");
    add(text, "set border 3 linecolor rgb '#808080'\n"
              "set tics nomirror out textcolor rgb '#404040'\n"
              "set grid linetype 1 linecolor rgb '#e4e4e4' linewidth 1\n");
    if (options->column_count > 1)
        add(text, "set key below center horizontal Left reverse samplen 2 height 0.7\n");
    else
        add(text, "set key off\n");
}

/* Characters of UTF-8. */
static size_t width_of(const char *string) {
    size_t width = 0;
    for (; *string != '\0'; string++)
        width += ((unsigned char)*string & 0xc0) != 0x80;
    return width;
}

static void add_number(struct text *text, double value) {
    char number[TGI_FORMAT_DOUBLE_SIZE];
    tgi_format_double(number, sizeof number, value, 9);
    add(text, "%s", number);
}

/* Labels stand right of the plot, where no curve runs through them. */
static void add_reference_labels(struct text *text, const tg_plot_curve_options *options) {
    size_t width = 0;
    for (int i = 0; i < options->reference_count; i++) {
        const tg_plot_reference *reference = &options->references[i];
        if (reference->label == NULL)
            continue;
        add(text, "set label ");
        add_quoted(text, reference->label, "");
        add(text, " at graph 1.01, first ");
        add_number(text, reference->y);
        add(text, " left textcolor rgb '#606060'\n");
        width = width_of(reference->label) > width ? width_of(reference->label) : width;
    }
    if (width > 0)
        add(text, "set rmargin %zu\n", 3 * width / 4 + 3);
}

static void add_curves(struct text *text, const tg_plot_curve_options *options, bool points) {
    /* Colours that differ for all kinds of colour vision: Okabe and Ito, "Color Universal Design",
     * https://jfly.uni-koeln.de/color/ */
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#000000"};
    const char *next = "\nplot ";
    for (int i = 0; i < options->reference_count; i++) {
        add(text, "%s", next);
        add_number(text, options->references[i].y);
        add(text, " notitle with lines dashtype 2 linewidth 1.5 linecolor rgb '#808080'");
        next = ", \\\n     ";
    }
    for (int i = 0; i < options->column_count; i++) {
        add(text, "%s", next);
        add_quoted(text, options->data, "");
        add(text, " using 1:(column(");
        add_quoted(text, options->columns[i], "");
        add(text, ")) title ");
        add_quoted(text, options->columns[i], "");
        add(text, " with %s linewidth 2 linecolor rgb '%s'",
            points ? "linespoints pointtype 7 pointsize 0.5" : "lines",
            colours[(size_t)i % (sizeof colours / sizeof colours[0])]);
        next = ", \\\n     ";
    }
    add(text, "\n");
}

/* The text's block, or NULL where memory ran out on the way. */
static char *finish(struct text *text, size_t *size) {
    if (text->failed)
        release(text);
    *size = text->size;
    return text->bytes;
}

char *tgi_plot_script(const tg_allocator *allocator, const char *name,
                      const tg_plot_curve_options *options, bool points, size_t *size) {
    struct text text = {.allocator = allocator};
    add_output(&text, name, options->data);
    add(&text, "set datafile separator comma\n");
    add_axes(&text, options);
    add_reference_labels(&text, options);
    add_curves(&text, options, points);
    return finish(&text, size);
}

char *tgi_plot_setting(const tg_allocator *allocator, const char *picture, size_t *size) {
    struct text text = {.allocator = allocator};
    add(&text, "picture=");
    add_quoted(&text, picture, "");
    return finish(&text, size);
}
