#include <string.h>

#include "train/plot_internal.h"

/* The height of a line of text, as a share of the plot's height. */
#define LINE_HEIGHT "0.06"

/* "set <what> '<string>'", unless there is no string. */
static void add_setting(tgi_plot_text *text, const char *what, const char *string,
                        const char *rest) {
    if (string == NULL)
        return;
    tgi_plot_add(text, "set %s ", what);
    tgi_plot_add_quoted(text, string, "");
    tgi_plot_add(text, "%s\n", rest);
}

static void add_axes(tgi_plot_text *text, const tg_plot_curve_options *options) {
    add_setting(text, "title", options->title, " font ',20'");
    add_setting(text, "xlabel", options->x_label, "");
    add_setting(text, "ylabel", options->y_label, "");
    if (options->logarithmic)
        tgi_plot_add(text, "set logscale y\n");
    tgi_plot_add(text, "set border 3 linecolor rgb '#808080'\n"
                       "set tics nomirror out textcolor rgb '#404040'\n"
                       "set grid linetype 1 linecolor rgb '#e4e4e4' linewidth 1\n");
    if (options->column_count > 1)
        tgi_plot_add(text, "set key below center horizontal Left reverse samplen 2 height 0.7\n");
    else
        tgi_plot_add(text, "set key off\n");
}

static void add_curves(tgi_plot_text *text, const tg_plot_curve_options *options, bool points) {
    /* Colours that differ for all kinds of colour vision: Okabe and Ito, "Color Universal Design",
     * https://jfly.uni-koeln.de/color/ */
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#000000"};
    const char *next = "\nplot ";
    for (int i = 0; i < options->reference_count; i++) {
        tgi_plot_add(text, "%s", next);
        tgi_plot_add_number(text, options->references[i].y);
        tgi_plot_add(text, " notitle with lines dashtype 2 linewidth 1.5 linecolor rgb '#808080'");
        next = ", \\\n     ";
    }
    for (int i = 0; i < options->column_count; i++) {
        tgi_plot_add(text, "%s", next);
        tgi_plot_add_quoted(text, options->data, "");
        tgi_plot_add(text, " using 1:(column(");
        tgi_plot_add_quoted(text, options->columns[i], "");
        tgi_plot_add(text, ")) title ");
        tgi_plot_add_quoted(text, options->columns[i], "");
        tgi_plot_add(text, " with %s linewidth 2 linecolor rgb '%s'",
                     points ? "linespoints pointtype 7 pointsize 0.5" : "lines",
                     colours[(size_t)i % (sizeof colours / sizeof colours[0])]);
        next = ", \\\n     ";
    }
    tgi_plot_add(text, "\n");
}

/* ---- labels of references ----
 *
 * They stand right of the plot, where no curve runs through them. */

/* Characters of UTF-8. */
static size_t width_of(const char *string) {
    size_t width = 0;
    for (; *string != '\0'; string++)
        width += ((unsigned char)*string & 0xc0) != 0x80;
    return width;
}

/* How many references have a label, and the characters of the longest. */
static int count_labels(const tg_plot_curve_options *options, size_t *width) {
    int count = 0;
    *width = 0;
    for (int i = 0; i < options->reference_count; i++) {
        const char *label = options->references[i].label;
        count += label != NULL;
        if (label != NULL && width_of(label) > *width)
            *width = width_of(label);
    }
    return count;
}

/* The reference with a label that comes after `last` from below, equal ones in their order; -1: the
 * first. -1 where there is none. */
static int next_from_below(const tg_plot_curve_options *options, int last) {
    const tg_plot_reference *references = options->references;
    int next = -1;
    for (int i = 0; i < options->reference_count; i++) {
        bool behind = last < 0 || references[i].y > references[last].y ||
                      (references[i].y == references[last].y && i > last);
        if (references[i].label != NULL && behind &&
            (next < 0 || references[i].y < references[next].y))
            next = i;
    }
    return next;
}

/* Where the labels go is known once the axis is: the curves are drawn for that first, on nothing.
 * place1, place2 ... are the heights of the labels from below, as shares of the plot's height. */
static void add_places(tgi_plot_text *text, const tg_plot_curve_options *options, int count,
                       bool points) {
    tgi_plot_add(text, "# Labels that would overlap are moved apart, once the axis is known.\n"
                       "set terminal push\nset terminal unknown\n");
    add_curves(text, options, points);
    tgi_plot_add(text, "\nset terminal pop\nplace(y) = %s\n",
                 options->logarithmic ? "log(y / GPVAL_Y_MIN) / log(GPVAL_Y_MAX / GPVAL_Y_MIN)"
                                      : "(y - GPVAL_Y_MIN) / (GPVAL_Y_MAX - GPVAL_Y_MIN)");
    int reference = -1;
    for (int i = 1; i <= count; i++) {
        reference = next_from_below(options, reference);
        tgi_plot_add(text, "place%d = place(", i);
        tgi_plot_add_number(text, options->references[reference].y);
        tgi_plot_add(text, ")\n");
    }
    tgi_plot_add(text, "do for [pass = 1:100] {\n");
    for (int i = 1; i < count; i++)
        tgi_plot_add(text,
                     "    overlap = " LINE_HEIGHT " - (place%d - place%d)\n"
                     "    if (overlap > 0) { place%d = place%d - overlap / 2; place%d = place%d + "
                     "overlap / 2 }\n",
                     i + 1, i, i, i, i + 1, i + 1);
    tgi_plot_add(text, "}\n");
}

/* The label at its place, and a stroke that leads from its line to it. */
static void add_label(tgi_plot_text *text, const tg_plot_reference *reference, int place) {
    tgi_plot_add(text, "set arrow from graph 1, first ");
    tgi_plot_add_number(text, reference->y);
    tgi_plot_add(text,
                 " to graph 1.025, graph place%d nohead linewidth 1 linecolor rgb '#808080'\n"
                 "set label ",
                 place);
    tgi_plot_add_quoted(text, reference->label, "");
    tgi_plot_add(text, " at graph 1.03, graph place%d left textcolor rgb '#606060'\n", place);
}

/* A label that is alone stands at its line. */
static void add_only_label(tgi_plot_text *text, const tg_plot_reference *reference) {
    tgi_plot_add(text, "set label ");
    tgi_plot_add_quoted(text, reference->label, "");
    tgi_plot_add(text, " at graph 1.01, first ");
    tgi_plot_add_number(text, reference->y);
    tgi_plot_add(text, " left textcolor rgb '#606060'\n");
}

/* Returns whether the curves have been plotted on the way. */
static bool add_labels(tgi_plot_text *text, const tg_plot_curve_options *options, bool points) {
    size_t width;
    int count = count_labels(options, &width), reference = -1;
    if (count > 0)
        tgi_plot_add(text, "set rmargin %zu\n", 3 * width / 4 + 4);
    if (count == 1)
        add_only_label(text, &options->references[next_from_below(options, -1)]);
    if (count < 2)
        return false;
    add_places(text, options, count, points);
    for (int i = 1; i <= count; i++) {
        reference = next_from_below(options, reference);
        add_label(text, &options->references[reference], i);
    }
    return true;
}

void tgi_plot_add_curve(tgi_plot_text *text, const tg_plot_curve_options *options, bool points) {
    tgi_plot_add(text, "set datafile separator comma\n");
    add_axes(text, options);
    if (add_labels(text, options, points))
        tgi_plot_add(text, "replot\n");
    else
        add_curves(text, options, points);
}
