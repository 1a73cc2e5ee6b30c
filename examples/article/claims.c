#include "article/claims.h"

#include <math.h>

#include "article/tables.h"

/* Where a claim's number is found: a cell of a table, or (ARTICLE_TABLES) the loss. */
typedef struct source {
    enum { OF_BOTH, OF_ARTICLE, OF_SOLVED } of; /* whose claim it is */
    claim_group group;
    const char *name, *text;
    article_table table;
    int row, column;
    double low, high;
} source;

/* The ids of words, as article_words has them. */
enum { RISE = 1, OF = 2, WAS = 4, SLOW = 5, FALL = 7, FAST = 8 };

#define HALF 0.47, 0.53

/* What the article says of its model, which is on its plateau, and what there is to say of one at the
 * floor: the same but at position 8, where the first clause tells the noun. */
static const source sources[] = {
    {OF_BOTH, CLAIM_DECISIVE, "p_slow_at_5", "p(slow) at the first \"was\"", ARTICLE_PREDICTIONS, 5,
     SLOW, 0.99, 1},
    {OF_BOTH, CLAIM_DECISIVE, "p_fast_at_13", "p(fast) at the second \"was\"", ARTICLE_PREDICTIONS,
     13, FAST, 0.99, 1},
    {OF_SOLVED, CLAIM_NOUN, "p_fall_at_8", "p(fall) after \"the\" at 8", ARTICLE_PREDICTIONS, 8,
     FALL, 0.99, 1},
    {OF_BOTH, CLAIM_SPLITS, "p_rise_at_0", "p(rise) after \"the\" at 0", ARTICLE_PREDICTIONS, 0,
     RISE, HALF},
    {OF_BOTH, CLAIM_SPLITS, "p_fall_at_0", "p(fall) after \"the\" at 0", ARTICLE_PREDICTIONS, 0,
     FALL, HALF},
    {OF_BOTH, CLAIM_SPLITS, "p_of_at_1", "p(of) after \"rise\" at 1", ARTICLE_PREDICTIONS, 1, OF,
     HALF},
    {OF_BOTH, CLAIM_SPLITS, "p_was_at_1", "p(was) after \"rise\" at 1", ARTICLE_PREDICTIONS, 1, WAS,
     HALF},
    {OF_ARTICLE, CLAIM_SPLITS, "p_rise_at_8", "p(rise) after \"the\" at 8", ARTICLE_PREDICTIONS, 8,
     RISE, HALF},
    {OF_ARTICLE, CLAIM_SPLITS, "p_fall_at_8", "p(fall) after \"the\" at 8", ARTICLE_PREDICTIONS, 8,
     FALL, HALF},
    {OF_BOTH, CLAIM_SPLITS, "p_of_at_9", "p(of) after \"fall\" at 9", ARTICLE_PREDICTIONS, 9, OF,
     HALF},
    {OF_BOTH, CLAIM_SPLITS, "p_was_at_9", "p(was) after \"fall\" at 9", ARTICLE_PREDICTIONS, 9, WAS,
     HALF},
    {OF_BOTH, CLAIM_ATTENTION, "attention_5_on_rise", "attention of the first \"was\" on \"rise\"",
     ARTICLE_ATTENTION, 5, 1, 0.9, 1},
    {OF_BOTH, CLAIM_ATTENTION, "attention_13_on_fall",
     "attention of the second \"was\" on \"fall\"", ARTICLE_ATTENTION, 13, 9, 0.9, 1},
    {OF_ARTICLE, CLAIM_LOSS, "loss_at_plateau", "loss on the corpus, near 32 ln 2 / 88",
     ARTICLE_TABLES, 32, 0, -CLAIMS_NEAR, CLAIMS_NEAR},
    {OF_SOLVED, CLAIM_LOSS, "loss_at_floor", "loss on the corpus, near 24 ln 2 / 88",
     ARTICLE_TABLES, 24, 0, -CLAIMS_NEAR, CLAIMS_NEAR},
};

_Static_assert(sizeof sources / sizeof sources[0] <= CLAIMS_MOST, "room for all");

double claims_floor(void) {
    return 24 * log(2.0) / 88;
}

double claims_plateau(void) {
    return 32 * log(2.0) / 88;
}

static claim claim_of(const source *from, const article_matrix *tables, double loss) {
    bool of_loss = from->table == ARTICLE_TABLES;
    double base = of_loss ? from->row * log(2.0) / 88 : 0;
    claim c = {.group = from->group,
               .name = from->name,
               .text = from->text,
               .value = loss,
               .low = base + from->low,
               .high = base + from->high};
    if (!of_loss) {
        const article_matrix *table = &tables[from->table];
        c.value = (double)table->values[from->row * table->columns + from->column];
    }
    c.holds = c.value >= c.low && c.value <= c.high;
    return c;
}

tg_status claims_measure(const tg_transformer *model, tg_tape *tape, double loss, bool solved,
                         claims *measured, tg_error *error) {
    article_matrix tables[ARTICLE_TABLES];
    measured->count = 0;
    tg_tape_reset(tape);
    tg_status status =
        article_tables_compute(model, article_sentence, ARTICLE_LENGTH, tape, tables, error);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0] && status == TG_OK; i++)
        if (sources[i].of != (solved ? OF_ARTICLE : OF_SOLVED))
            measured->list[measured->count++] = claim_of(&sources[i], tables, loss);
    tg_tape_reset(tape);
    return status;
}

bool claims_all_hold(const claims *measured) {
    for (int i = 0; i < measured->count; i++)
        if (!measured->list[i].holds)
            return false;
    return true;
}

bool claims_group_holds(const claims *measured, claim_group group) {
    for (int i = 0; i < measured->count; i++)
        if (measured->list[i].group == group && !measured->list[i].holds)
            return false;
    return true;
}

bool claims_near(double loss, double level) {
    return fabs(loss - level) <= CLAIMS_NEAR;
}

void claims_print(const claims *measured, FILE *out) {
    for (int i = 0; i < measured->count; i++) {
        const claim *c = &measured->list[i];
        fprintf(out, "  %-42s %8.5f   %.4f to %.4f   %s\n", c->text, c->value, c->low, c->high,
                c->holds ? "holds" : "does not hold");
    }
}

const char *claims_verdict(double loss) {
    if (claims_near(loss, claims_floor()))
        return "The loss is at the floor, 24 ln 2 / 88 = 0.18904: whatever can be predicted is, the "
               "second noun from the first clause too.";
    if (claims_near(loss, claims_plateau()))
        return "The loss is on the plateau, 32 ln 2 / 88 = 0.25205, where the article's model is: "
               "all but the second noun is predicted, and that is left at one half.";
    if (loss < claims_plateau())
        return "The loss is between the floor, 0.18904, and the plateau, 0.25205: the second noun is "
               "predicted in part.";
    return "The loss is above the plateau, 0.25205: some word is not predicted that can be, at one "
           "of the two \"was\" most likely.";
}
