#include "article/matrix.h"

#include <inttypes.h>
#include <string.h>

enum {
    LINE = 110,      /* columns of the page */
    BETWEEN = 4,     /* blanks between two matrices, besides the gap */
    LONGEST = 5,     /* letters of a word above a column; what is longer is cut */
    LABEL_SIZE = 128 /* a number and the longest word of a vocabulary */
};

/* One or two matrices of one shape, side by side, and the measures of all their lines. */
typedef struct layout {
    const article_matrix *matrices;
    int count;
    article_axis rows, columns;
    int digits; /* of the last row's number */
    int label;  /* width of the widest row label */
    int value;  /* width of the widest value or column label */
    int gap;    /* blanks before each of them, at least */
} layout;

static int widest(int a, int b) {
    return a > b ? a : b;
}

/* "5 was", "was" or "5", the number in `digits` columns. Returns the length. */
static int write_label(article_axis axis, int64_t place, int digits, bool cut,
                       char label[LABEL_SIZE]) {
    char number[32] = "";
    const char *word = "";
    if (axis.words != NULL)
        word = axis.words[axis.ids != NULL ? axis.ids[place] : place];
    if (axis.words == NULL || axis.numbered)
        snprintf(number, sizeof number, "%*" PRId64 "%s", digits, place, *word == '\0' ? "" : " ");
    cut = cut && strlen(word) > LONGEST;
    snprintf(label, LABEL_SIZE, cut ? "%s%.3s." : "%s%s", number, word);
    return (int)strlen(label);
}

/* Columns of the page that the layout takes. */
static int64_t total_width(const layout *l) {
    int64_t cells = l->count * l->matrices[0].columns;
    return l->label + cells * (l->gap + l->value) + (l->count - 1) * BETWEEN;
}

static layout measure(const article_matrix *matrices, int count, article_axis rows,
                      article_axis columns) {
    char label[LABEL_SIZE];
    const article_matrix *first = &matrices[0];
    layout l = {.matrices = matrices, .count = count, .rows = rows, .columns = columns, .gap = 2};
    l.digits = snprintf(NULL, 0, "%" PRId64, first->rows - 1);
    l.label = (int)strlen(first->symbol);
    for (int64_t i = 0; i < first->rows; i++)
        l.label = widest(l.label, write_label(rows, i, l.digits, false, label));
    for (int64_t j = 0; j < first->columns; j++)
        l.value = widest(l.value, write_label(columns, j, 1, true, label));
    for (int k = 0; k < count; k++)
        for (int64_t i = 0; i < first->rows * first->columns; i++)
            l.value = widest(l.value, snprintf(NULL, 0, "%.2f", (double)matrices[k].values[i]));
    if (total_width(&l) > LINE)
        l.gap = 1;
    return l;
}

static void print_headings(FILE *file, const layout *l) {
    char label[LABEL_SIZE];
    fprintf(file, "%-*s", l->label, l->matrices[0].symbol);
    for (int k = 0; k < l->count; k++) {
        fprintf(file, "%*s", k > 0 ? BETWEEN : 0, "");
        for (int64_t j = 0; j < l->matrices[0].columns; j++) {
            write_label(l->columns, j, 1, true, label);
            fprintf(file, "%*s", l->gap + l->value, label);
        }
    }
    fprintf(file, "\n");
}

static void print_row(FILE *file, const layout *l, int64_t row) {
    char label[LABEL_SIZE];
    int64_t columns = l->matrices[0].columns;
    write_label(l->rows, row, l->digits, false, label);
    fprintf(file, "%-*s", l->label, label);
    for (int k = 0; k < l->count; k++) {
        fprintf(file, "%*s", k > 0 ? BETWEEN : 0, "");
        for (int64_t j = 0; j < columns; j++)
            fprintf(file, "%*.2f", l->gap + l->value,
                    (double)l->matrices[k].values[row * columns + j]);
    }
    fprintf(file, "\n");
}

static void print_layout(FILE *file, const layout *l) {
    print_headings(file, l);
    for (int64_t i = 0; i < l->matrices[0].rows; i++)
        print_row(file, l, i);
    fprintf(file, "\n");
}

void article_print_matrix(FILE *file, const article_matrix *matrix, article_axis rows,
                          article_axis columns) {
    layout l = measure(matrix, 1, rows, columns);
    print_layout(file, &l);
}

void article_print_pair(FILE *file, const article_matrix pair[2], const char *const captions[2],
                        article_axis rows, article_axis columns) {
    layout both = measure(pair, 2, rows, columns);
    if (total_width(&both) <= LINE) {
        int block = (int)pair[0].columns * (both.gap + both.value);
        fprintf(file, "%*s%-*s%s\n", both.label + both.gap, "", block + BETWEEN, captions[0],
                captions[1]);
        print_layout(file, &both);
        return;
    }
    for (int k = 0; k < 2; k++) {
        fprintf(file, "%s\n", captions[k]);
        article_print_matrix(file, &pair[k], rows, columns);
    }
}
