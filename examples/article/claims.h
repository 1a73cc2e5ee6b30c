/* What the article claims of its model, measured on a model at hand. */
#ifndef ARTICLE_CLAIMS_H
#define ARTICLE_CLAIMS_H

#include <stdio.h>

#include <tapegrad.h>

/* A number that the article gives or implies, and the bounds within which it holds. */
typedef struct claim {
    const char *name;
    const char *text; /* for people */
    double value;
    double low, high; /* holds where low <= value <= high */
    bool holds;
} claim;

enum { CLAIMS = 13 };

/* The mean loss over the corpus's 88 words of a model that predicts all that can be predicted, and
 * of one that leaves the second noun at one half: 24 ln 2 / 88 and 32 ln 2 / 88. */
double claims_floor(void);
double claims_plateau(void);

/* Measures the model on the article's sentence; `loss` is its loss on the corpus. Resets the
 * tape. */
tg_status claims_measure(const tg_transformer *model, tg_tape *tape, double loss,
                         claim claims[CLAIMS], tg_error *error);

bool claims_all_hold(const claim claims[CLAIMS]);

/* The claims as a table. */
void claims_print(const claim claims[CLAIMS], FILE *out);

#endif
