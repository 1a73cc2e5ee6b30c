/* The article's way through its model as data: thirteen steps from the embedding to the prediction,
 * each a formula and the matrices of it. walkthrough.h prints them, report.h makes a page of them. */
#ifndef ARTICLE_STEPS_H
#define ARTICLE_STEPS_H

#include "article/matrix.h"
#include "nn/transformer.h"

enum { ARTICLE_STEPS = 13, STEP_MATRICES = 5 };

typedef struct step_matrix {
    article_matrix matrix;
    article_axis rows, columns;
    bool trained; /* parameters of the model; else what they make of the sentence */
    bool shares;  /* each row is of shares that sum to 1 */
} step_matrix;

typedef struct article_step {
    const char *title, *formula; /* in ASCII; "q_i" is q with the index i */
    int count;
    step_matrix matrices[STEP_MATRICES]; /* what the formula takes, then what comes out */
} article_step;

/* Runs the model, of one block, on ids[length], and lists the steps in the article's order, with
 * rows and columns named by words[vocabulary], the words of the ids. The matrices are the model's
 * and the tape's, and good until its reset. TG_EINVAL for a model of several blocks or `length`
 * below 1, else the first error of the forward pass. */
tg_status article_steps_compute(const tg_transformer *model, const char *const *words,
                                const int32_t *ids, int64_t length, tg_tape *tape,
                                article_step steps[ARTICLE_STEPS], tg_error *error);

#endif
