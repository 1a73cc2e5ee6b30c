#include "article/recipe.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER 0, 0

#define RATE_LEAST 1e-12
#define RATE_MOST  9e8

static const article_recipe recipes[] = {
    /* Attention learns the nouns in a small view first; the second noun is scored last. */
    {.name = "article",
     .token_deviation = 1,
     .position_deviation = 0.1,
     .weight_deviation = 0.3,
     .seed = 818,
     .stage_count = 4,
     .stages = {{400, 0.03, 0.03, 0.05, 0.5, 2, true, false, NEVER},
                {2000, 0.03, 0.03, 0.05, 0.5, 5, true, true, 4, 2},
                {1000, 0.03, 0.03, 0.05, 0.5, 0, false, true, NEVER},
                {300, 0.03, 0, 0, 1, 0, false, false, NEVER}}},
    {.name = "solved",
     .token_deviation = 1,
     .position_deviation = 0.1,
     .weight_deviation = 0.3,
     .solved = true,
     .seed = 13,
     .stage_count = 3,
     .stages = {{2000, 0.02, 0.02, 0.05, 0.5, 5, false, false, NEVER},
                {4000, 0.02, 0, 0.05, 1, 0, false, false, NEVER},
                {200, 0.002, 0.002, 0, 1, 0, false, false, NEVER}}},
    /* Adam on all eight sentences at once, and nothing else. */
    {.name = "plain",
     .token_deviation = 1,
     .position_deviation = 0.1,
     .weight_deviation = 0.3,
     .seed = 834,
     .stage_count = 1,
     .stages = {{500, 0.1, 0.1, 0, 1, 0, false, false, NEVER}}},
};

enum { RECIPES = sizeof recipes / sizeof recipes[0] };

const article_recipe *recipe_at(int i) {
    return i >= 0 && i < (int)RECIPES ? &recipes[i] : NULL;
}

const article_recipe *recipe_named(const char *name) {
    for (int i = 0; i < (int)RECIPES; i++)
        if (strcmp(recipes[i].name, name) == 0)
            return &recipes[i];
    return NULL;
}

int64_t recipe_steps(const article_recipe *recipe) {
    int64_t steps = 0;
    for (int i = 0; i < recipe->stage_count; i++)
        steps += recipe->stages[i].steps;
    return steps;
}

recipe_moment recipe_moment_at(const article_recipe *recipe, int64_t t) {
    int i = 0;
    while (i + 1 < recipe->stage_count && t >= recipe->stages[i].steps)
        t -= recipe->stages[i++].steps;
    const recipe_stage *s = &recipe->stages[i];
    double way = t < s->steps ? (double)t / (double)s->steps : 1;
    bool other = s->every > 0 && t % s->every == 0;
    return (recipe_moment){.rate = s->rate + (s->end_rate - s->rate) * way,
                           .dropout = s->dropout,
                           .score_factor = s->score_factor,
                           .window = other ? s->every_window : s->window,
                           .positions_frozen = s->positions_frozen,
                           .noun_unscored = s->noun_unscored && !other};
}

tg_status recipe_scale_rate(article_recipe *recipe, double rate, tg_error *error) {
    double factor = rate / recipe->stages[0].rate;
    for (int i = 0; i < recipe->stage_count; i++) {
        recipe_stage *s = &recipe->stages[i];
        s->rate *= factor;
        s->end_rate *= factor;
        if (!(s->rate >= RATE_LEAST && s->rate <= RATE_MOST && s->end_rate <= RATE_MOST))
            return tg_fail(error, TG_EINVAL,
                           "recipe: a first rate of %g gives stage %d one outside %g..%g", rate,
                           i + 1, RATE_LEAST, RATE_MOST);
    }
    return TG_OK;
}

/* ---- text ---- */

enum { NUMBER = 32 };

/* The fewest digits that are read back as the same number. */
static const char *real_text(double value, char text[NUMBER]) {
    int digits = 1;
    do
        snprintf(text, NUMBER, "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    return text;
}

static const char *count_text(int64_t count, const char *zero, char text[NUMBER]) {
    snprintf(text, NUMBER, "%" PRId64, count);
    return count == 0 ? zero : text;
}

static void format_stage(const recipe_stage *s, char *text, size_t size) {
    char rate[NUMBER], end[NUMBER], dropout[NUMBER], scores[NUMBER];
    char window[NUMBER], every[NUMBER], other[NUMBER];
    snprintf(text, size, "stage %6" PRId64 "  %-6s %-6s %-8s %-7s %-7s %-10s %-9s %-6s %s\n",
             s->steps, real_text(s->rate, rate), real_text(s->end_rate, end),
             real_text(s->dropout, dropout), real_text(s->score_factor, scores),
             count_text(s->window, "all", window), s->positions_frozen ? "frozen" : "trained",
             s->noun_unscored ? "unscored" : "scored", count_text(s->every, "-", every),
             s->every == 0 ? "-" : count_text(s->every_window, "all", other));
}

void recipe_format(const article_recipe *recipe, char text[RECIPE_TEXT]) {
    char token[NUMBER], position[NUMBER], weight[NUMBER];
    snprintf(text, RECIPE_TEXT,
             "recipe %s\noptimizer %s\ntoken %s  position %s  weight %s\nclaims %s\n\n"
             "#      steps  rate   end    dropout  scores  window  positions  noun"
             "      every  window\n",
             recipe->name, recipe->sgd ? "sgd" : "adam", real_text(recipe->token_deviation, token),
             real_text(recipe->position_deviation, position),
             real_text(recipe->weight_deviation, weight), recipe->solved ? "solved" : "article");
    for (int i = 0; i < recipe->stage_count; i++) {
        size_t used = strlen(text);
        format_stage(&recipe->stages[i], text + used, RECIPE_TEXT - used);
    }
}

/* The words of one line. */
typedef struct line {
    int number;
    int words;
    char *word[24];
} line;

static void split(char *text, line *l) {
    char *comment = strchr(text, '#');
    if (comment != NULL)
        *comment = '\0';
    l->words = 0;
    for (char *rest = text, *word;
         l->words < 24 && (word = strtok_r(rest, " \t\r", &rest)) != NULL;)
        l->word[l->words++] = word;
}

static bool read_real(const char *word, double least, double most, double *out) {
    char *end;
    *out = strtod(word, &end);
    return end != word && *end == '\0' && *out >= least && *out <= most;
}

static bool read_count(const char *word, const char *zero, int64_t least, int64_t *out) {
    char *end;
    *out = 0;
    if (zero != NULL && strcmp(word, zero) == 0)
        return true;
    errno = 0;
    *out = strtoll(word, &end, 10);
    return end != word && *end == '\0' && errno == 0 && *out >= least && *out <= 1000000000;
}

/* One of two words: false for the first, true for the second. */
static bool read_choice(const char *word, const char *no, const char *yes, bool *out) {
    *out = strcmp(word, yes) == 0;
    return *out || strcmp(word, no) == 0;
}

static tg_status parse_stage(const line *l, article_recipe *recipe, tg_error *error) {
    static const char *const columns[] = {"steps",  "rate",      "end",  "dropout", "scores",
                                          "window", "positions", "noun", "every",   "window"};
    if (l->words != 11)
        return tg_fail(error, TG_EFORMAT, "line %d: a stage has 10 columns, not %d", l->number,
                       l->words - 1);
    if (recipe->stage_count == RECIPE_STAGES)
        return tg_fail(error, TG_EFORMAT, "line %d: more than %d stages", l->number, RECIPE_STAGES);
    recipe_stage *s = &recipe->stages[recipe->stage_count++];
    char *const *w = l->word + 1;
    const bool every = read_count(w[8], "-", 1, &s->every);
    const bool good[] = {read_count(w[0], NULL, 1, &s->steps),
                         read_real(w[1], RATE_LEAST, RATE_MOST, &s->rate),
                         read_real(w[2], 0, RATE_MOST, &s->end_rate),
                         read_real(w[3], 0, 0.999, &s->dropout),
                         read_real(w[4], 1e-6, 1e6, &s->score_factor),
                         read_count(w[5], "all", 1, &s->window),
                         read_choice(w[6], "trained", "frozen", &s->positions_frozen),
                         read_choice(w[7], "scored", "unscored", &s->noun_unscored),
                         every,
                         s->every == 0 ? strcmp(w[9], "-") == 0
                                       : read_count(w[9], "all", 1, &s->every_window)};
    for (int i = 0; i < 10; i++)
        if (!good[i])
            return tg_fail(error, TG_EFORMAT, "line %d: \"%.40s\" is no %s", l->number, w[i],
                           columns[i]);
    return TG_OK;
}

static const char name_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static bool read_name(const char *word, char name[RECIPE_NAME]) {
    size_t length = strspn(word, name_characters);
    if (length == 0 || word[length] != '\0' || length >= RECIPE_NAME)
        return false;
    memcpy(name, word, length + 1);
    return true;
}

/* The name of a file as that of a recipe: "-" for what a name has not, cut where it is too long. */
static void name_after(const char *path, char name[RECIPE_NAME]) {
    const char *slash = strrchr(path, '/');
    snprintf(name, RECIPE_NAME, "%s", slash != NULL ? slash + 1 : path);
    for (char *c = name; *c != '\0'; c++)
        if (strchr(name_characters, *c) == NULL)
            *c = '-';
    if (name[0] == '\0')
        snprintf(name, RECIPE_NAME, "file");
}

/* Pairs of a name and a value. */
static tg_status parse_settings(const line *l, article_recipe *recipe, tg_error *error) {
    for (int i = 0; i < l->words; i += 2) {
        const char *name = l->word[i], *value = i + 1 < l->words ? l->word[i + 1] : "";
        bool good;
        if (strcmp(name, "recipe") == 0)
            good = read_name(value, recipe->name);
        else if (strcmp(name, "optimizer") == 0)
            good = read_choice(value, "adam", "sgd", &recipe->sgd);
        else if (strcmp(name, "claims") == 0)
            good = read_choice(value, "article", "solved", &recipe->solved);
        else if (strcmp(name, "token") == 0)
            good = read_real(value, 0, 1e6, &recipe->token_deviation);
        else if (strcmp(name, "position") == 0)
            good = read_real(value, 0, 1e6, &recipe->position_deviation);
        else if (strcmp(name, "weight") == 0)
            good = read_real(value, 0, 1e6, &recipe->weight_deviation);
        else
            return tg_fail(error, TG_EFORMAT,
                           "line %d: \"%.40s\" is none of recipe, optimizer, claims, token, "
                           "position, weight, stage",
                           l->number, name);
        if (!good)
            return tg_fail(error, TG_EFORMAT, "line %d: \"%.40s\" is no %s", l->number, value,
                           name);
    }
    return TG_OK;
}

tg_status recipe_parse(const char *name, const char *text, article_recipe *recipe,
                       tg_error *error) {
    *recipe =
        (article_recipe){.token_deviation = 1, .position_deviation = 0.1, .weight_deviation = 0.3};
    snprintf(recipe->name, sizeof recipe->name, "%s", name);
    line l = {.number = 0};
    while (*text != '\0') {
        char copy[256];
        size_t length = strcspn(text, "\n");
        l.number++;
        if (length >= sizeof copy)
            return tg_fail(error, TG_EFORMAT, "line %d: longer than %zu bytes", l.number,
                           sizeof copy - 1);
        for (size_t i = 0; i < length; i++) /* none that a terminal would obey */
            if (((unsigned char)text[i] < ' ' && strchr("\t\v\f\r", text[i]) == NULL) ||
                text[i] == 0x7f)
                return tg_fail(error, TG_EFORMAT, "line %d: the control character 0x%02x", l.number,
                               (unsigned)text[i]);
        memcpy(copy, text, length);
        copy[length] = '\0';
        split(copy, &l);
        bool stage = l.words > 0 && strcmp(l.word[0], "stage") == 0;
        tg_status status =
            stage ? parse_stage(&l, recipe, error) : parse_settings(&l, recipe, error);
        if (status != TG_OK)
            return status;
        text += length + (text[length] == '\n');
    }
    if (recipe->stage_count == 0)
        return tg_fail(error, TG_EFORMAT, "no stage");
    return TG_OK;
}

tg_status recipe_find(const char *name_or_path, article_recipe *recipe, tg_error *error) {
    const article_recipe *known = recipe_named(name_or_path);
    if (known != NULL) {
        *recipe = *known;
        return TG_OK;
    }
    char text[16384];
    FILE *file = fopen(name_or_path, "rb");
    if (file == NULL)
        return tg_fail(error, TG_ENOTFOUND,
                       "recipe: \"%.100s\" is none of article, solved, plain, and no file (%s)",
                       name_or_path, strerror(errno));
    errno = 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    bool whole = !ferror(file) && size < sizeof text - 1;
    int cause = errno;
    fclose(file);
    text[size] = '\0';
    if (!whole)
        return tg_fail(error, TG_EIO, "recipe: %.150s: %s", name_or_path,
                       cause != 0 ? strerror(cause) : "too long for a recipe");
    char name[RECIPE_NAME];
    name_after(name_or_path, name);
    tg_error reason = {TG_OK, ""};
    tg_status status = recipe_parse(name, text, recipe, &reason);
    return status == TG_OK
               ? TG_OK
               : tg_fail(error, status, "recipe: %.100s: %.120s", name_or_path, reason.message);
}
