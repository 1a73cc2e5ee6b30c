/* Recipes: how the article's model is drawn and trained, as data.
 *
 * A recipe is a text of a few lines, which the program prints (--print-recipe) and reads from a file
 * (--recipe FILE):
 *
 *     recipe article
 *     optimizer adam
 *     token 1  position 0.1  weight 0.3
 *     claims article
 *
 *     # steps  rate  end  dropout  scores  window  positions  noun      every  window
 *     stage 400  0.03 0.03  0.05     0.5     2       frozen     scored    -      -
 *     stage 300  0.03 0     0        1       all     trained    scored    -      -
 *
 * "#" begins a comment. token, position and weight are the deviations of the normal draws that the
 * embeddings and the weights start from; claims names what is measured in the end: "article", or
 * "solved" for a model that predicts the second noun. A stage's columns:
 *
 *     steps      how many it lasts
 *     rate, end  the learning rate at its first step, and what it goes to in a straight line: at
 *                step t of the stage it is rate + (end - rate) t / steps
 *     dropout    of the input E + P, a fresh mask for each sentence, position and component
 *     scores     what the attention scores are multiplied by
 *     window     how many tokens a position sees, itself the last; "all" for all before it
 *     positions  "frozen": the optimiser's state goes on, the position table keeps its values
 *     noun       "unscored": the loss passes over the noun behind "but the"
 *     every      every so many steps, from the first on, another window holds and all is scored;
 *                "-" for none
 *
 * Behind the last stage its end rate and the rest of it hold on. The rate depends on the step alone,
 * so that a run that was resumed is one that never stopped. */
#ifndef ARTICLE_RECIPE_H
#define ARTICLE_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/status.h"

enum { RECIPE_STAGES = 8, RECIPE_NAME = 64 };

typedef struct recipe_stage {
    int64_t steps;
    double rate, end_rate;
    double dropout;
    double score_factor;
    int64_t window; /* 0: all */
    bool positions_frozen;
    bool noun_unscored;
    int64_t every;        /* 0: never */
    int64_t every_window; /* 0: all */
} recipe_stage;

typedef struct article_recipe {
    char name[RECIPE_NAME];
    bool sgd;                                                     /* with momentum 0.9; else Adam */
    double token_deviation, position_deviation, weight_deviation; /* of normal draws */
    bool solved;                                                  /* which claims are measured */
    int64_t seed;                                                 /* the default */
    int stage_count;
    recipe_stage stages[RECIPE_STAGES];
} article_recipe;

/* What holds at one step. */
typedef struct recipe_moment {
    double rate, dropout, score_factor;
    int64_t window;
    bool positions_frozen, noun_unscored;
} recipe_moment;

/* The recipe of this name: "article", "solved" or "plain"; NULL for another. */
const article_recipe *recipe_named(const char *name);

/* The recipe of this name, or of the file at this path. TG_ENOTFOUND, TG_EIO, or TG_EFORMAT with the
 * path and line. */
tg_status recipe_find(const char *name_or_path, article_recipe *recipe, tg_error *error);

/* The i-th of them, the default first; NULL behind the last. */
const article_recipe *recipe_at(int i);

/* A recipe from a text (its seed is the default recipe's); `name` is what it is called unless the text says. TG_EFORMAT with
 * the line's number and what is wrong with it. */
tg_status recipe_parse(const char *name, const char *text, article_recipe *recipe, tg_error *error);

enum { RECIPE_TEXT = 2048 };

/* Writes the text from which recipe_parse reads the same recipe. */
void recipe_format(const article_recipe *recipe, char text[RECIPE_TEXT]);

/* The steps of all its stages. */
int64_t recipe_steps(const article_recipe *recipe);

/* What holds at step t, counted from 0. */
recipe_moment recipe_moment_at(const article_recipe *recipe, int64_t t);

/* Multiplies all rates, so that the first is `rate`. TG_EINVAL where a stage's rate would leave what
 * a recipe may have, 1e-12 to 9e8. */
tg_status recipe_scale_rate(article_recipe *recipe, double rate, tg_error *error);

#endif
