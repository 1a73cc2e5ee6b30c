/* Recipes as texts and as files, and what holds at each of their steps. */
#include "support.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "article/recipe.h"

/* ---- texts ---- */

static void assert_same_stage(const recipe_stage *a, const recipe_stage *b) {
    ck_assert_int_eq(a->steps, b->steps);
    ck_assert(a->rate == b->rate && a->end_rate == b->end_rate);
    ck_assert(a->dropout == b->dropout && a->score_factor == b->score_factor);
    ck_assert_int_eq(a->window, b->window);
    ck_assert_int_eq(a->positions_frozen, b->positions_frozen);
    ck_assert_int_eq(a->noun_unscored, b->noun_unscored);
    ck_assert_int_eq(a->every, b->every);
    ck_assert_int_eq(a->every_window, b->every_window);
}

/* All but the seed, which is no part of the text. */
static void assert_same_recipe(const article_recipe *a, const article_recipe *b) {
    ck_assert_str_eq(a->name, b->name);
    ck_assert_int_eq(a->sgd, b->sgd);
    ck_assert_int_eq(a->solved, b->solved);
    ck_assert(a->token_deviation == b->token_deviation);
    ck_assert(a->position_deviation == b->position_deviation);
    ck_assert(a->weight_deviation == b->weight_deviation);
    ck_assert_int_eq(a->stage_count, b->stage_count);
    for (int i = 0; i < a->stage_count; i++)
        assert_same_stage(&a->stages[i], &b->stages[i]);
}

static void assert_round_trip(const article_recipe *recipe) {
    char text[RECIPE_TEXT];
    article_recipe back;
    tg_error error = {TG_OK, ""};
    recipe_format(recipe, text);
    ck_assert_msg(recipe_parse("other", text, &back, &error) == TG_OK, "%s in %s", error.message,
                  text);
    assert_same_recipe(recipe, &back);
}

START_TEST(test_known_recipes_come_back) {
    int count = 0;
    for (; recipe_at(count) != NULL; count++) {
        assert_round_trip(recipe_at(count));
        ck_assert_ptr_eq(recipe_named(recipe_at(count)->name), recipe_at(count));
    }
    ck_assert_int_eq(count, 3);
    ck_assert_str_eq(recipe_at(0)->name, "article");
    ck_assert_ptr_null(recipe_at(-1));
    ck_assert_ptr_null(recipe_named("Article"));
}
END_TEST

/* Numbers that need all their digits, and as many characters as the text has room for. */
START_TEST(test_odd_numbers_come_back) {
    article_recipe recipe = {.sgd = true,
                             .token_deviation = 0.1 + 0.2,
                             .position_deviation = 0,
                             .weight_deviation = 2.2250738585072014e-308,
                             .solved = true,
                             .stage_count = RECIPE_STAGES};
    memset(recipe.name, 'n', RECIPE_NAME - 1);
    for (int i = 0; i < RECIPE_STAGES; i++)
        recipe.stages[i] = (recipe_stage){.steps = 1000000000,
                                          .rate = 1e-12 * (1 + 0x1p-52),
                                          .end_rate = 1.0 / 3e-5,
                                          .dropout = 0.1 * 3,
                                          .score_factor = 1e-6 / 0.99999999,
                                          .window = 999999999,
                                          .positions_frozen = i % 2 == 0,
                                          .noun_unscored = i % 3 == 0,
                                          .every = i == 4 ? 0 : 1000000000 - i,
                                          .every_window = i == 4 ? 0 : i};
    assert_round_trip(&recipe);
}
END_TEST

START_TEST(test_a_text_is_read) {
    static const char text[] = "# a comment\r\n"
                               "\n"
                               "weight 0.5\toptimizer sgd # and another\n"
                               "stage 10 1e-2 0 0.5 2 all trained unscored 3 all\r\n"
                               "  stage 1 1 1 0 1 7 frozen scored - - # no end of line";
    article_recipe recipe;
    tg_error error = {TG_OK, ""};
    ck_assert_msg(recipe_parse("mine", text, &recipe, &error) == TG_OK, "%s", error.message);
    const article_recipe expected = {.name = "mine",
                                     .sgd = true,
                                     .token_deviation = 1,
                                     .position_deviation = 0.1,
                                     .weight_deviation = 0.5,
                                     .stage_count = 2,
                                     .stages = {{10, 0.01, 0, 0.5, 2, 0, false, true, 3, 0},
                                                {1, 1, 1, 0, 1, 7, true, false, 0, 0}}};
    assert_same_recipe(&expected, &recipe);
}
END_TEST

#define GOOD  "stage 1 1 1 0 1 all trained scored - -\n"
#define FORTY "1234567890123456789012345678901234567890"
#define FOUR  GOOD GOOD GOOD GOOD

static const struct {
    const char *text, *message;
} malformed[] = {
    {"", "no stage"},
    {"# stage 1 1 1 0 1 all trained scored - -", "no stage"},
    {"learning 1\n" GOOD, "line 1: \"learning\" is none of recipe, optimizer, claims, token, "
                          "position, weight, stage"},
    {GOOD "recipe\n", "line 2: \"\" is no recipe"},
    {"recipe " FORTY "123456789012345678901234", "line 1: \"" FORTY "\" is no recipe"},
    {"\n\noptimizer adamw\n", "line 3: \"adamw\" is no optimizer"},
    {"claims", "line 1: \"\" is no claims"},
    {"claims plain", "line 1: \"plain\" is no claims"},
    {"token 1 position -0.1", "line 1: \"-0.1\" is no position"},
    {"token x", "line 1: \"x\" is no token"},
    {"token 1x", "line 1: \"1x\" is no token"},
    {"weight nan", "line 1: \"nan\" is no weight"},
    {"weight inf", "line 1: \"inf\" is no weight"},
    {"weight 1000001", "line 1: \"1000001\" is no weight"},
    {"stage 1 1 1 0 1 all trained scored -", "line 1: a stage has 10 columns, not 9"},
    {"stage 1 1 1 0 1 all trained scored - - -", "line 1: a stage has 10 columns, not 11"},
    {"stage", "line 1: a stage has 10 columns, not 0"},
    {"stage 0 1 1 0 1 all trained scored - -", "line 1: \"0\" is no steps"},
    {"stage -1 1 1 0 1 all trained scored - -", "line 1: \"-1\" is no steps"},
    {"stage 1.5 1 1 0 1 all trained scored - -", "line 1: \"1.5\" is no steps"},
    {"stage 1000000001 1 1 0 1 all trained scored - -", "line 1: \"1000000001\" is no steps"},
    {"stage 99999999999999999999 1 1 0 1 all trained scored - -",
     "line 1: \"99999999999999999999\" is no steps"},
    {"stage all 1 1 0 1 all trained scored - -", "line 1: \"all\" is no steps"},
    {"stage 1 0 1 0 1 all trained scored - -", "line 1: \"0\" is no rate"},
    {"stage 1 1 -1 0 1 all trained scored - -", "line 1: \"-1\" is no end"},
    {"stage 1 1 1 1 1 all trained scored - -", "line 1: \"1\" is no dropout"},
    {"stage 1 1 1 0 0 all trained scored - -", "line 1: \"0\" is no scores"},
    {"stage 1 1 1 0 1 0 trained scored - -", "line 1: \"0\" is no window"},
    {"stage 1 1 1 0 1 - trained scored - -", "line 1: \"-\" is no window"},
    {"stage 1 1 1 0 1 all thawed scored - -", "line 1: \"thawed\" is no positions"},
    {"stage 1 1 1 0 1 all trained noun - -", "line 1: \"noun\" is no noun"},
    {"stage 1 1 1 0 1 all trained scored 0 2", "line 1: \"0\" is no every"},
    {"stage 1 1 1 0 1 all trained scored 4 -", "line 1: \"-\" is no window"},
    {"stage 1 1 1 0 1 all trained scored - 2", "line 1: \"2\" is no window"},
    {"recipe a\033[1mb", "line 1: the control character 0x1b"},
    {GOOD "# \177", "line 2: the control character 0x7f"},
    {FOUR FOUR GOOD, "line 9: more than 8 stages"},
};

START_TEST(test_malformed_texts_are_named) {
    article_recipe recipe;
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(recipe_parse("x", malformed[_i].text, &recipe, &error), TG_EFORMAT);
    ck_assert_str_eq(error.message, malformed[_i].message);
}
END_TEST

START_TEST(test_lines_have_a_limit) {
    char text[300];
    article_recipe recipe;
    tg_error error = {TG_OK, ""};
    snprintf(text, sizeof text, GOOD "#%0254d\n", 0);
    ck_assert_int_eq(recipe_parse("x", text, &recipe, &error), TG_OK);
    snprintf(text, sizeof text, GOOD "#%0255d\n", 0);
    ck_assert_int_eq(recipe_parse("x", text, &recipe, &error), TG_EFORMAT);
    ck_assert_str_eq(error.message, "line 2: longer than 255 bytes");
}
END_TEST

/* ---- files ---- */

static char directory[256];

static void setup(void) {
    test_directory_make(directory);
}

static void teardown(void) {
    test_directory_remove(directory);
}

static const char *file_with(const char *name, const char *text, size_t size) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    test_write_file(path, text, size);
    return path;
}

START_TEST(test_a_recipe_is_found) {
    article_recipe recipe;
    ck_assert_int_eq(recipe_find("solved", &recipe, NULL), TG_OK);
    assert_same_recipe(recipe_named("solved"), &recipe);
    ck_assert_int_eq(recipe.seed, recipe_named("solved")->seed);
    ck_assert_int_eq(recipe_find(file_with("mine.txt", GOOD, strlen(GOOD)), &recipe, NULL), TG_OK);
    ck_assert_str_eq(recipe.name, "mine.txt");
    ck_assert_int_eq(recipe.seed, 0);
}
END_TEST

static void assert_not_found(const char *path, tg_status status, const char *words) {
    article_recipe recipe;
    tg_error error = {TG_OK, ""};
    ck_assert_int_eq(recipe_find(path, &recipe, &error), status);
    ck_assert_msg(strstr(error.message, words) != NULL, "no \"%s\" in %s", words, error.message);
}

START_TEST(test_what_is_no_recipe_is_told) {
    char *large = malloc(20000);
    ck_assert_ptr_nonnull(large);
    memset(large, '\n', 20000);
    assert_not_found("none", TG_ENOTFOUND,
                     "\"none\" is none of article, solved, plain, and no file");
    assert_not_found(directory, TG_EIO, "Is a directory");
    assert_not_found(file_with("large", large, 20000), TG_EIO, "large: too long for a recipe");
    assert_not_found(file_with("bad", "x", 1), TG_EFORMAT, "bad: line 1: \"x\" is none of");
    free(large);
}
END_TEST

/* The files that come with the examples: their names, and the sum of their stages. */
static const struct {
    const char *name;
    int64_t steps;
    bool solved;
} examples[] = {
    {"a-simple", 2300, false}, {"b2", 3200, true},      {"b3", 6200, true},
    {"b-simple", 3200, true},  {"b-mixed", 3200, true}, {"a-mixed", 3750, false},
};

START_TEST(test_the_example_files_are_recipes) {
    char path[512];
    article_recipe recipe;
    tg_error error = {TG_OK, ""};
    snprintf(path, sizeof path, "%s/examples/recipes/%s.txt", TG_TEST_SOURCE, examples[_i].name);
    ck_assert_msg(recipe_find(path, &recipe, &error) == TG_OK, "%s", error.message);
    ck_assert_str_eq(recipe.name, examples[_i].name);
    ck_assert_int_eq(recipe_steps(&recipe), examples[_i].steps);
    ck_assert_int_eq(recipe.solved, examples[_i].solved);
    assert_round_trip(&recipe);
}
END_TEST

/* ---- moments ---- */

/* By hand from the stages, at and around their borders. */
static const struct {
    const char *recipe;
    int64_t step;
    recipe_moment expected; /* rate, dropout, scores, window, positions frozen, noun unscored */
} moments[] = {
    {"article", 0, {0.03, 0.05, 0.5, 2, true, false}},
    {"article", 399, {0.03, 0.05, 0.5, 2, true, false}},
    {"article", 400, {0.03, 0.05, 0.5, 2, true, false}},
    {"article", 401, {0.03, 0.05, 0.5, 5, true, true}},
    {"article", 403, {0.03, 0.05, 0.5, 5, true, true}},
    {"article", 404, {0.03, 0.05, 0.5, 2, true, false}},
    {"article", 2396, {0.03, 0.05, 0.5, 2, true, false}},
    {"article", 2399, {0.03, 0.05, 0.5, 5, true, true}},
    {"article", 2400, {0.03, 0.05, 0.5, 0, false, true}},
    {"article", 3399, {0.03, 0.05, 0.5, 0, false, true}},
    {"article", 3400, {0.03, 0, 1, 0, false, false}},
    {"article", 3401, {0.0299, 0, 1, 0, false, false}},
    {"article", 3550, {0.015, 0, 1, 0, false, false}},
    {"article", 3699, {0.0001, 0, 1, 0, false, false}},
    {"article", 3700, {0, 0, 1, 0, false, false}},
    {"article", 1000000000000, {0, 0, 1, 0, false, false}},
    {"solved", 1999, {0.02, 0.05, 0.5, 5, false, false}},
    {"solved", 2000, {0.02, 0.05, 1, 0, false, false}},
    {"solved", 5000, {0.005, 0.05, 1, 0, false, false}},
    {"solved", 5999, {0.000005, 0.05, 1, 0, false, false}},
    {"solved", 6000, {0.002, 0, 1, 0, false, false}},
    {"solved", 6200, {0.002, 0, 1, 0, false, false}},
    {"plain", 0, {0.1, 0, 1, 0, false, false}},
    {"plain", 500, {0.1, 0, 1, 0, false, false}},
};

static void assert_moment(const recipe_moment *m, const recipe_moment *expected) {
    ck_assert_double_eq_tol(m->rate, expected->rate, 1e-15);
    ck_assert(m->dropout == expected->dropout && m->score_factor == expected->score_factor);
    ck_assert_int_eq(m->window, expected->window);
    ck_assert_int_eq(m->positions_frozen, expected->positions_frozen);
    ck_assert_int_eq(m->noun_unscored, expected->noun_unscored);
}

START_TEST(test_each_step_has_its_moment) {
    recipe_moment m = recipe_moment_at(recipe_named(moments[_i].recipe), moments[_i].step);
    assert_moment(&m, &moments[_i].expected);
}
END_TEST

/* Behind the last stage its end rate and all else hold on, the other window too. */
START_TEST(test_the_last_stage_holds_on) {
    const article_recipe recipe = {.stage_count = 2,
                                   .stages = {{5, 1, 1, 0, 1, 0, false, false, 0, 0},
                                              {10, 2, 1, 0.1, 3, 4, true, true, 7, 2}}};
    static const struct {
        int64_t step;
        recipe_moment expected;
    } rows[] = {
        {5, {2, 0.1, 3, 2, true, false}},    /* the stage's step 0 */
        {12, {1.3, 0.1, 3, 2, true, false}}, /* 7 */
        {14, {1.1, 0.1, 3, 4, true, true}},  /* 9 */
        {15, {1, 0.1, 3, 4, true, true}},    /* 10 */
        {19, {1, 0.1, 3, 2, true, false}},   /* 14 */
        {75, {1, 0.1, 3, 2, true, false}},   /* 70 */
        {76, {1, 0.1, 3, 4, true, true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        recipe_moment m = recipe_moment_at(&recipe, rows[i].step);
        assert_moment(&m, &rows[i].expected);
    }
}
END_TEST

START_TEST(test_rates_are_scaled_alike) {
    article_recipe recipe = *recipe_named("solved");
    ck_assert_int_eq(recipe_scale_rate(&recipe, 0.01, NULL), TG_OK);
    ck_assert_double_eq_tol(recipe.stages[0].end_rate, 0.01, 1e-15);
    ck_assert_double_eq_tol(recipe.stages[1].rate, 0.01, 1e-15);
    ck_assert(recipe.stages[1].end_rate == 0);
    ck_assert_double_eq_tol(recipe.stages[2].rate, 0.001, 1e-15);
    ck_assert_int_eq(recipe_steps(&recipe), 6200);
}
END_TEST

/* A file whose name no recipe can have: what is written of it can be read again. */
START_TEST(a_file_with_an_odd_name) {
    char place[256], path[300], text[RECIPE_TEXT];
    const char *written = "stage 5 0.1 0.1 0 1 all trained scored - -\n";
    article_recipe recipe, again;
    test_directory_make(place);
    snprintf(path, sizeof path, "%s/my \"own\" #1.txt", place);
    test_write_file(path, written, strlen(written));
    ck_assert_int_eq(recipe_find(path, &recipe, NULL), TG_OK);
    ck_assert_str_eq(recipe.name, "my--own---1.txt");
    recipe_format(&recipe, text);
    ck_assert_int_eq(recipe_parse("other", text, &again, NULL), TG_OK);
    ck_assert_str_eq(again.name, recipe.name);
    test_directory_remove(place);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("recipe");
    TCase *texts = tcase_create("texts");
    tcase_add_test(texts, test_known_recipes_come_back);
    tcase_add_test(texts, test_odd_numbers_come_back);
    tcase_add_test(texts, test_a_text_is_read);
    tcase_add_loop_test(texts, test_malformed_texts_are_named, 0,
                        sizeof malformed / sizeof malformed[0]);
    tcase_add_test(texts, test_lines_have_a_limit);
    suite_add_tcase(s, texts);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, test_a_recipe_is_found);
    tcase_add_test(files, test_what_is_no_recipe_is_told);
    tcase_add_loop_test(files, test_the_example_files_are_recipes, 0,
                        sizeof examples / sizeof examples[0]);
    suite_add_tcase(s, files);
    TCase *steps = tcase_create("moments");
    tcase_add_loop_test(steps, test_each_step_has_its_moment, 0,
                        sizeof moments / sizeof moments[0]);
    tcase_add_test(steps, test_the_last_stage_holds_on);
    tcase_add_test(steps, test_rates_are_scaled_alike);
    tcase_add_test(steps, a_file_with_an_odd_name);
    suite_add_tcase(s, steps);
    return s;
}

int main(void) {
    return test_main(suite());
}
