/* What the article claims of its model, measured on a model at hand. */
#ifndef ARTICLE_CLAIMS_H
#define ARTICLE_CLAIMS_H

#include <stdio.h>

#include <tapegrad.h>

/* What a claim is about. */
typedef enum claim_group {
    CLAIM_DECISIVE,  /* "slow" and "fast" are all but certain behind the two "was" */
    CLAIM_SPLITS,    /* what cannot be told is left at one half */
    CLAIM_NOUN,      /* the second noun is predicted */
    CLAIM_ATTENTION, /* the two "was" look at their nouns */
    CLAIM_LOSS
} claim_group;

/* A number that the article gives or implies, and the bounds within which it holds. */
typedef struct claim {
    claim_group group;
    const char *name;
    const char *text; /* for people */
    double value;
    double low, high; /* holds where low <= value <= high */
    bool holds;
} claim;

enum { CLAIMS_MOST = 16 };

typedef struct claims {
    int count;
    claim list[CLAIMS_MOST];
} claims;

/* The mean loss over the corpus's 88 words of a model that predicts all that can be predicted, and
 * of one that leaves the second noun at one half: 24 ln 2 / 88 and 32 ln 2 / 88. */
double claims_floor(void);
double claims_plateau(void);

/* Measures the model on the article's sentence; `loss` is its loss on the corpus. `solved`: not what
 * the article says of its model, but what there is to say of one that reaches the floor, and so
 * predicts the second noun. Resets the tape. */
tg_status claims_measure(const tg_transformer *model, tg_tape *tape, double loss, bool solved,
                         claims *measured, tg_error *error);

bool claims_all_hold(const claims *measured);

/* Whether all claims of the group hold; true of a group that has none. */
bool claims_group_holds(const claims *measured, claim_group group);

/* Whether the loss is within CLAIMS_NEAR of a level, such as claims_floor(). */
#define CLAIMS_NEAR 0.001
bool claims_near(double loss, double level);

/* The claims as a table. */
void claims_print(const claims *measured, FILE *out);

/* One line: which plateau or floor this loss is, and what that means. A static string. */
const char *claims_verdict(double loss);

#endif
