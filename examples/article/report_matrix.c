#include "article/report_matrix.h"

#include <inttypes.h>
#include <math.h>

#include "common/html.h"

/* Shares from here on are tinted: what is below is printed as 0.00. */
#define LEAST_TINTED 0.005

static void write_label(FILE *page, article_axis axis, int64_t place) {
    const char *word = "";
    if (axis.words != NULL)
        word = axis.words[axis.ids != NULL ? axis.ids[place] : place];
    if (axis.words == NULL || axis.numbered)
        fprintf(page, "%" PRId64 "%s", place, *word == '\0' ? "" : " ");
    html_text(page, word);
}

static void write_cell(FILE *page, double value, bool share) {
    if (isinf(value))
        fprintf(page, "<td class=\"masked\">%s∞</td>", value < 0 ? "−" : "");
    else if (share && value >= LEAST_TINTED)
        fprintf(page, "<td class=\"share\" style=\"--share:%.2f\">%.2f</td>", value, value);
    else
        fprintf(page, "<td>%.2f</td>", value);
}

static void write_head(FILE *page, const step_matrix *shown) {
    fputs("<thead><tr><th scope=\"col\">", page);
    html_text(page, shown->matrix.symbol);
    fputs("</th>", page);
    for (int64_t j = 0; j < shown->matrix.columns; j++) {
        fputs("<th scope=\"col\">", page);
        write_label(page, shown->columns, j);
        fputs("</th>", page);
    }
    fputs("</tr></thead>\n<tbody>\n", page);
}

void report_matrix(FILE *page, const step_matrix *shown) {
    const article_matrix *matrix = &shown->matrix;
    fputs("<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"", page);
    html_text(page, matrix->symbol);
    fputs("\"><table class=\"matrix\">\n<caption>", page);
    html_text(page, matrix->symbol);
    fprintf(page, ", %" PRId64 " × %" PRId64 ", %s</caption>\n", matrix->rows, matrix->columns,
            shown->trained ? "trained" : "computed");
    write_head(page, shown);
    for (int64_t i = 0; i < matrix->rows; i++) {
        fputs("<tr><th scope=\"row\">", page);
        write_label(page, shown->rows, i);
        fputs("</th>", page);
        for (int64_t j = 0; j < matrix->columns; j++)
            write_cell(page, (double)matrix->values[i * matrix->columns + j], shown->shares);
        fputs("</tr>\n", page);
    }
    fputs("</tbody></table></div>\n", page);
}
