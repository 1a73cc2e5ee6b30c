#include "common/show.h"

#include <inttypes.h>
#include <math.h>

enum {
    PAGE = 80,
    WORD = 20,                         /* columns of a word; what is longer is cut */
    LABEL_SIZE = 32 + TG_WORD_MAX + 2, /* a number, a word and a dot */
    DECIMALS = 3,
    NUMBER = 2 + DECIMALS, /* columns of a value in a list */
    GAP = 3,               /* blanks before an entry of a list, at least */
};

/* What is lower would be 0.000. */
static const double least = 0.0005;

/* ---- words ---- */

static bool begins_character(char c) {
    return ((unsigned char)c & 0xc0) != 0x80; /* other bytes of UTF-8 go on with one */
}

/* The characters of a text in UTF-8, each of which is taken for one column. */
static int columns_of(const char *text) {
    int columns = 0;
    for (; *text != '\0'; text++)
        columns += begins_character(*text);
    return columns;
}

/* The bytes of the first `columns` characters. */
static int bytes_of(const char *text, int columns) {
    int bytes = 0;
    for (; text[bytes] != '\0'; bytes++)
        if (begins_character(text[bytes]) && columns-- == 0)
            break;
    return bytes;
}

/* A word as it is shown, behind what stands in front of it: in full, or cut, with a dot at its end. */
static void write_word(const char *before, const char *word, char label[LABEL_SIZE]) {
    bool cut = columns_of(word) > WORD;
    snprintf(label, LABEL_SIZE, "%s%.*s%s", before, bytes_of(word, cut ? WORD - 1 : WORD), word,
             cut ? "." : "");
}

static void print_padded(FILE *out, const char *label, int columns) {
    fprintf(out, "%s%*s", label, columns - columns_of(label), "");
}

static int widest(int a, int b) {
    return a > b ? a : b;
}

/* ---- the highest values first ---- */

/* The place of the highest value behind the one at `before`, of equal values the first; with -1 the
 * highest of all. -1 where none is left that is listed. */
static int64_t next_highest(const tg_real *values, int64_t count, int64_t before) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        bool is_behind =
            before < 0 || values[i] < values[before] || (values[i] == values[before] && i > before);
        if (is_behind && (double)values[i] >= least && (best < 0 || values[i] > values[best]))
            best = i;
    }
    return best;
}

/* ---- the sentence ---- */

void show_sentence(const model *m, const prediction *made, FILE *out) {
    char label[LABEL_SIZE];
    int used = 0;
    for (int64_t i = 0; i <= made->length; i++) {
        if (i < made->length)
            write_word("", tg_vocabulary_word(m->vocabulary, made->ids[i]), label);
        else
            snprintf(label, sizeof label, "...");
        int columns = columns_of(label);
        bool breaks = used + 1 + columns > PAGE;
        fprintf(out, "%s%s", i == 0 ? "" : breaks ? "\n" : " ", label);
        used = (i == 0 || breaks ? 0 : used + 1) + columns;
    }
    fprintf(out, "\n");
}

/* ---- the words that may follow, with bars ---- */

/* A line of the distribution; the bar of probability 1 goes to the edge of the page. */
static void print_bar(FILE *out, const char *label, int columns, double probability) {
    int full = PAGE - (2 + columns + 2 + 6 + 2);
    int length = (int)(probability * full + 0.5);
    fprintf(out, "  ");
    print_padded(out, label, columns);
    fprintf(out, "  %.4f%s", probability, length > 0 ? "  " : "");
    for (int i = 0; i < length && i < full; i++)
        fputc('#', out);
    fprintf(out, "\n");
}

void show_next(const model *m, const prediction *made, int64_t most, FILE *out) {
    int64_t words = m->transformer.config.vocabulary;
    const tg_real *row = made->next + (made->length - 1) * words;
    char label[LABEL_SIZE];
    int columns = snprintf(label, sizeof label, "(%" PRId64 " others)", words);
    double rest = 0;
    for (int64_t i = 0; i < words; i++) {
        rest += (double)row[i];
        if ((double)row[i] < least)
            continue;
        write_word("", tg_vocabulary_word(m->vocabulary, (int32_t)i), label);
        columns = widest(columns, columns_of(label));
    }
    int64_t left = words, place = -1;
    while (words - left < most && (place = next_highest(row, words, place)) >= 0) {
        write_word("", tg_vocabulary_word(m->vocabulary, (int32_t)place), label);
        print_bar(out, label, columns, (double)row[place]);
        rest -= (double)row[place];
        left--;
    }
    snprintf(label, sizeof label, "(%" PRId64 " other%s)", left, left == 1 ? "" : "s");
    if (left > 0)
        print_bar(out, label, columns, fmax(rest, 0));
}

/* ---- lists: a line for each word of the sentence ---- */

/* values[T, columns]: the columns are the words of the sentence or those of the vocabulary. */
typedef struct list {
    const model *m;
    const prediction *made;
    const tg_real *values;
    int64_t columns;
    bool of_sentence;
    int64_t most;
} list;

/* "5 was", the number as wide as the last one of the sentence. */
static void write_place(const list *l, int64_t place, char label[LABEL_SIZE]) {
    char number[32];
    int digits = snprintf(number, sizeof number, "%" PRId64, l->made->length - 1);
    snprintf(number, sizeof number, "%*" PRId64 " ", digits, place);
    write_word(number, tg_vocabulary_word(l->m->vocabulary, l->made->ids[place]), label);
}

static void write_column(const list *l, int64_t column, char label[LABEL_SIZE]) {
    if (l->of_sentence)
        write_place(l, column, label);
    else
        write_word("", tg_vocabulary_word(l->m->vocabulary, (int32_t)column), label);
}

/* The widest label before the lines, and the widest in them. */
static void measure(const list *l, int *before, int *inside) {
    char label[LABEL_SIZE];
    *before = *inside = 0;
    for (int64_t i = 0; i < l->made->length; i++) {
        write_place(l, i, label);
        *before = widest(*before, columns_of(label));
        for (int64_t j = 0; j < l->columns; j++)
            if ((double)l->values[i * l->columns + j] >= least) {
                write_column(l, j, label);
                *inside = widest(*inside, columns_of(label));
            }
    }
}

static void print_list(const list *l, FILE *out) {
    char label[LABEL_SIZE];
    int before, inside;
    measure(l, &before, &inside);
    int64_t fitting = (PAGE - 2 - before) / (GAP + inside + 1 + NUMBER);
    int64_t most = fitting < l->most ? fitting : l->most;
    for (int64_t i = 0; i < l->made->length; i++) {
        const tg_real *row = l->values + i * l->columns;
        write_place(l, i, label);
        fprintf(out, "  %s", label);
        int gap = before - columns_of(label) + GAP;
        int64_t place = -1;
        for (int64_t k = 0; k < most && (place = next_highest(row, l->columns, place)) >= 0; k++) {
            write_column(l, place, label);
            fprintf(out, "%*s", gap, "");
            print_padded(out, label, inside);
            fprintf(out, " %.*f", DECIMALS, (double)row[place]);
            gap = GAP;
        }
        fprintf(out, "\n");
    }
}

void show_next_of_each(const model *m, const prediction *made, int64_t most, FILE *out) {
    list l = {m, made, made->next, m->transformer.config.vocabulary, false, most};
    fprintf(out, "What may follow each word\n\n");
    print_list(&l, out);
}

void show_attention(const model *m, const prediction *made, int64_t most, FILE *out) {
    int64_t layers = m->transformer.config.layers;
    for (int64_t i = 0; i < layers; i++) {
        list l = {m, made, model_attention(m, i), made->length, true, most};
        fprintf(out, "%sWhat each word attends to", i == 0 ? "" : "\n");
        if (layers > 1)
            fprintf(out, ", block %" PRId64, i);
        fprintf(out, "\n\n");
        print_list(&l, out);
    }
}
