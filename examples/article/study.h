/* A study: many seeds of one recipe, trained on several threads, and what came of each. */
#ifndef ARTICLE_STUDY_H
#define ARTICLE_STUDY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "article/recipe.h"
#include "tensor/status.h"

enum { STUDY_POINTS = 200, STUDY_MOST_SEEDS = 1000000, STUDY_MOST_THREADS = 256 };

/* What a seed is asked in the end. Those of the loss are within CLAIMS_NEAR (article/claims.h). */
typedef enum study_criterion {
    STUDY_DECISIVE,
    STUDY_ATTENTION,
    STUDY_SPLITS,
    STUDY_NOUN, /* of a recipe whose claims are "solved" */
    STUDY_PLATEAU,
    STUDY_FLOOR,
    STUDY_ALL, /* all claims of the recipe */
    STUDY_CRITERIA
} study_criterion;

typedef struct study_result {
    int64_t seed;
    double loss; /* on the corpus, after the last step; it need not be finite */
    bool holds[STUDY_CRITERIA];
} study_result;

typedef struct study_plan {
    const article_recipe *recipe;
    int64_t first, seeds; /* the seeds first, first + 1 ...; 1 to STUDY_MOST_SEEDS of them */
    int64_t threads;      /* 1 to STUDY_MOST_THREADS */
    bool search;          /* stop at the first seed, in their order, of which everything holds */
    FILE *progress;       /* where it is shown; NULL: nowhere */
} study_plan;

/* The training loss of a seed is kept at `points` steps: the mean over the steps since the point
 * before. Where a recipe has at most STUDY_POINTS steps, that is the loss of each step. */
typedef struct study {
    int64_t count;         /* of results */
    study_result *results; /* [count], in the order of the seeds */
    bool found;            /* of a search: the last result is what was looked for */
    int64_t points;        /* 0 for a search */
    int64_t *steps;        /* [points]: the last step of each, counted from 1 */
    double *losses;        /* [count, points] */
} study;

/* Trains the seeds. What comes out depends on neither the number of threads nor their speed; where
 * the system gives fewer threads than wanted, it takes longer. The error is that of the first seed
 * that failed, and names it. To be freed whatever comes out. */
tg_status study_run(const study_plan *plan, study *made, tg_error *error);
void study_free(study *made);

#endif
