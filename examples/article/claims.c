#include "article/claims.h"

#include <math.h>

#include "article/tables.h"

/* Where a claim's number is found: a cell of a table, or (ARTICLE_TABLES) the loss. */
typedef struct source {
    const char *name, *text;
    article_table table;
    int row, column;
    double low, high;
} source;

/* The ids of words, as article_words has them. */
enum { RISE = 1, OF = 2, WAS = 4, SLOW = 5, FALL = 7, FAST = 8 };

#define HALF 0.47, 0.53

static const source sources[CLAIMS] = {
    {"p_slow_at_5", "p(slow) at the first \"was\"", ARTICLE_PREDICTIONS, 5, SLOW, 0.99, 1},
    {"p_fast_at_13", "p(fast) at the second \"was\"", ARTICLE_PREDICTIONS, 13, FAST, 0.99, 1},
    {"p_rise_at_0", "p(rise) after \"the\" at 0", ARTICLE_PREDICTIONS, 0, RISE, HALF},
    {"p_fall_at_0", "p(fall) after \"the\" at 0", ARTICLE_PREDICTIONS, 0, FALL, HALF},
    {"p_of_at_1", "p(of) after \"rise\" at 1", ARTICLE_PREDICTIONS, 1, OF, HALF},
    {"p_was_at_1", "p(was) after \"rise\" at 1", ARTICLE_PREDICTIONS, 1, WAS, HALF},
    {"p_rise_at_8", "p(rise) after \"the\" at 8", ARTICLE_PREDICTIONS, 8, RISE, HALF},
    {"p_fall_at_8", "p(fall) after \"the\" at 8", ARTICLE_PREDICTIONS, 8, FALL, HALF},
    {"p_of_at_9", "p(of) after \"fall\" at 9", ARTICLE_PREDICTIONS, 9, OF, HALF},
    {"p_was_at_9", "p(was) after \"fall\" at 9", ARTICLE_PREDICTIONS, 9, WAS, HALF},
    {"attention_5_on_rise", "attention of the first \"was\" on \"rise\"", ARTICLE_ATTENTION, 5, 1,
     0.9, 1},
    {"attention_13_on_fall", "attention of the second \"was\" on \"fall\"", ARTICLE_ATTENTION, 13,
     9, 0.9, 1},
    {"loss_at_plateau", "loss on the corpus, near 32 ln 2 / 88", ARTICLE_TABLES, 0, 0, -0.001,
     0.001},
};

double claims_floor(void) {
    return 24 * log(2.0) / 88;
}

double claims_plateau(void) {
    return 32 * log(2.0) / 88;
}

static double value_of(const source *from, const article_matrix *tables, double loss) {
    if (from->table == ARTICLE_TABLES)
        return loss;
    const article_matrix *table = &tables[from->table];
    return (double)table->values[from->row * table->columns + from->column];
}

tg_status claims_measure(const tg_transformer *model, tg_tape *tape, double loss,
                         claim claims[CLAIMS], tg_error *error) {
    article_matrix tables[ARTICLE_TABLES];
    tg_tape_reset(tape);
    tg_status status =
        article_tables_compute(model, article_sentence, ARTICLE_LENGTH, tape, tables, error);
    for (int i = 0; i < CLAIMS && status == TG_OK; i++) {
        const source *from = &sources[i];
        double base = from->table == ARTICLE_TABLES ? claims_plateau() : 0;
        double value = value_of(from, tables, loss);
        claims[i] = (claim){.name = from->name,
                            .text = from->text,
                            .value = value,
                            .low = base + from->low,
                            .high = base + from->high};
        claims[i].holds = value >= claims[i].low && value <= claims[i].high;
    }
    tg_tape_reset(tape);
    return status;
}

bool claims_all_hold(const claim claims[CLAIMS]) {
    for (int i = 0; i < CLAIMS; i++)
        if (!claims[i].holds)
            return false;
    return true;
}

void claims_print(const claim claims[CLAIMS], FILE *out) {
    for (int i = 0; i < CLAIMS; i++) {
        const claim *c = &claims[i];
        fprintf(out, "  %-42s %8.5f   %.4f to %.4f   %s\n", c->text, c->value, c->low, c->high,
                c->holds ? "holds" : "does not hold");
    }
}
