#include "article/picture_script.h"

#include <inttypes.h>
#include <math.h>

/* The ramps change their lightness evenly, to survive a copy in black and white. Text on them is
 * black or white, whichever contrasts more: by the formula of WCAG 2.2 that changes at these shares
 * of the range, and never falls below 4.5 to 1. */
static const char *const ramps[] = {
    [SCALE_SHARES] = "0 '#ffffff', 0.5 '#7fb1d6', 1 '#0b3c70'",
    [SCALE_SIGNED] = "-1 '#1f5a9e', -0.5 '#86b5da', 0 '#ffffff', 0.5 '#f6b36d', 1 '#a84f00'",
};
static const char *const dark[] = {
    [SCALE_SHARES] = "v / range > 0.738",
    [SCALE_SIGNED] = "v / range < -0.832 || v / range > 0.922",
};

void script_quoted(const sheet *s, const char *text) {
    fputc('\'', s->script);
    for (; *text != '\0'; text++)
        fputs(*text == '\'' ? "''" : (const char[]){*text, '\0'}, s->script);
    fputc('\'', s->script);
}

/* "screen 0.1234, screen 0.5678": gnuplot counts from the bottom. */
static void print_point(const sheet *s, double x, double y) {
    fprintf(s->script, "screen %.4f, screen %.4f", x / PICTURE_WIDTH, 1 - y / s->height);
}

void script_text(const sheet *s, double x, double y, const char *alignment, int font_size,
                 const char *colour, const char *text) {
    fprintf(s->script, "set label ");
    script_quoted(s, text);
    fprintf(s->script, " at ");
    print_point(s, x, y);
    fprintf(s->script, " %s font ',%d' textcolor rgb '%s'\n", alignment, font_size, colour);
}

void script_title(const sheet *s, const char *title, const char *suffix, const char *subtitle) {
    fprintf(s->script, "set label ");
    script_quoted(s, title);
    if (suffix != NULL) {
        fprintf(s->script, " . ");
        script_quoted(s, suffix);
    }
    fprintf(s->script, " at ");
    print_point(s, PICTURE_WIDTH / 2, 32);
    fprintf(s->script, " center font ',20'\n");
    script_text(s, PICTURE_WIDTH / 2, 60, "center", 14, PICTURE_GREY, subtitle);
}

void script_area(const sheet *s, const sheet_area *area) {
    double right = area->left + area->width, bottom = area->top + area->height;
    fprintf(s->script,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            area->left / PICTURE_WIDTH, right / PICTURE_WIDTH, 1 - area->top / s->height,
            1 - bottom / s->height);
}

void script_values(const sheet *s, const char *block, const article_matrix *matrix) {
    fprintf(s->script, "$%s << end\n", block);
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->columns; j++)
            fprintf(s->script, " %14.9g%s", (double)matrix->values[i * matrix->columns + j],
                    j + 1 < matrix->columns ? "" : "\n");
    fprintf(s->script, "end\n");
}

double script_range(const article_matrix *matrices, int count) {
    double largest = 0;
    for (int k = 0; k < count; k++)
        for (int64_t i = 0; i < matrices[k].rows * matrices[k].columns; i++)
            if (isfinite(matrices[k].values[i]))
                largest = fmax(largest, fabs((double)matrices[k].values[i]));
    if (largest <= 0)
        return 1;
    double digit = pow(10, floor(log10(largest)) - 1);
    return digit > 0 ? ceil(largest / digit) * digit : largest;
}

void script_colours(const sheet *s, colour_scale scale, double range, double roomy,
                    const sheet_area *bar) {
    double low = scale == SCALE_SIGNED ? -range : 0;
    fprintf(s->script,
            "range = %.9g\nset palette defined (%s)\nset cbrange [%.9g:%.9g]\n"
            "set cbtics scale 0 font ',12' textcolor rgb '#404040'\n"
            "set style line 1 linecolor rgb '#808080'\n"
            "set colorbox user origin ",
            range, ramps[scale], low, range);
    print_point(s, bar->left, bar->top + bar->height);
    fprintf(s->script, " size screen %.4f, screen %.4f border 1\n", bar->width / PICTURE_WIDTH,
            bar->height / s->height);
    const char *format = range < roomy          ? "%.2f"
                         : range < 10 * roomy   ? "%.1f"
                         : range < 1000 * roomy ? "%.0f"
                                                : "%.0e";
    fprintf(s->script, "dark(v) = %s   # where white text is easier to read\n", dark[scale]);
    fprintf(s->script, "text(v) = sprintf('%s', v)\n", format);
}

/* The labels of an axis: 'was' 5; with the number before the word, '5' . ' was', or above it. */
static void print_tics(const sheet *s, const char *axis, int64_t count, article_axis labels,
                       bool stacked, int font_size) {
    bool both = labels.words != NULL && labels.numbered;
    fprintf(s->script, "set %s (", axis);
    for (int64_t i = 0; i < count; i++) {
        if (labels.words == NULL || labels.numbered)
            fprintf(s->script, stacked ? "\"%" PRId64 "%s\"" : "'%" PRId64 "%s'", i,
                    !both     ? ""
                    : stacked ? "\\n"
                              : " ");
        if (both)
            fprintf(s->script, ".");
        if (labels.words != NULL)
            script_quoted(s, labels.words[labels.ids != NULL ? labels.ids[i] : i]);
        fprintf(s->script, " %" PRId64 "%s", i, i + 1 < count ? ", " : "");
    }
    fprintf(s->script, ") scale 0%s font ',%d'%s\n", stacked ? " offset 0,-0.45" : " offset 0.5,0",
            font_size, labels.words == NULL ? " textcolor rgb '" PICTURE_GREY "'" : "");
}

void script_axes(const sheet *s, int64_t rows, int64_t columns, article_axis row_labels,
                 article_axis column_labels, int font_size) {
    fprintf(s->script,
            "unset border\nunset xtics\nset key off\n"
            "set xrange [-0.5:%g]\nset x2range [-0.5:%g]\nset yrange [%g:-0.5]\n",
            (double)columns - 0.5, (double)columns - 0.5, (double)rows - 0.5);
    print_tics(s, "x2tics", columns, column_labels, true, font_size);
    print_tics(s, "ytics", rows, row_labels, false, font_size);
}

/* The values as text where a condition on their row, column and value holds. */
static void print_values(const sheet *s, const char *block, const char *condition, int font_size,
                         const char *colour) {
    fprintf(s->script,
            ", \\\n     $%s matrix using (%s ? $1 : NaN):2:(text($3)) with labels font "
            "',%d' textcolor rgb '%s'",
            block, condition, font_size, colour);
}

void script_cells(const sheet *s, const char *block, colour_scale scale, bool causal,
                  int font_size) {
    const char *boxes = ":2:(0.5):(0.5)";
    const char *border = "fillstyle solid border lc rgb 'white'";
    fprintf(s->script, "shown(row, column) = %s\n", causal ? "column <= row" : "1");
    fprintf(s->script, "faint(v) = %s\n", scale == SCALE_SHARES ? "v < 0.005" : "0");
    fprintf(s->script, "plot ");
    if (causal)
        fprintf(s->script,
                "$%s matrix using (shown($2, $1) ? NaN : $1)%s with boxxyerror fillcolor rgb "
                "'#e6e6e6' %s, \\\n     ",
                block, boxes, border);
    fprintf(s->script,
            "$%s matrix using (shown($2, $1) ? $1 : NaN)%s:3 with boxxyerror fillcolor palette %s",
            block, boxes, border);
    print_values(s, block, "shown($2, $1) && !dark($3) && !faint($3)", font_size, "black");
    print_values(s, block, "shown($2, $1) && dark($3)", font_size, "white");
    if (scale == SCALE_SHARES)
        print_values(s, block, "shown($2, $1) && faint($3)", font_size, "#767676");
}
