/* open_memstream() */
#define _POSIX_C_SOURCE 200809L

#include "article/study_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <tapegrad.h>

#include "article/claims.h"
#include "article/picture_script.h"
#include "article/statistics.h"

enum { PATH_SIZE = 4096, QUANTILES = 5, TOGETHER = 2 };

/* The criteria in the order of study_criterion: the column in seeds.csv, and a text for people. */
static const struct {
    const char *column, *text;
} criteria[STUDY_CRITERIA] = {
    {"decisive", "decisive: p(slow), p(fast) 0.99 or more at \"was\""},
    {"attention", "attention: 0.9 or more on both nouns"},
    {"splits", NULL}, /* depends on the claims */
    {"noun", "second noun: p(fall) 0.99 or more at 8"},
    {"plateau", "loss within 0.001 of the plateau, 32 ln 2 / 88"},
    {"floor", "loss within 0.001 of the floor, 24 ln 2 / 88"},
    {"all", "all claims of the recipe"},
};

static const char *text_of(int criterion, bool solved) {
    if (criterion == STUDY_SPLITS)
        return solved ? "splits: one half at 0, 1, 9, within 0.03"
                      : "splits: one half at 0, 1, 8, 9, within 0.03";
    return criteria[criterion].text;
}

/* Only a solved recipe claims something of the second noun. */
static bool is_asked(int criterion, bool solved) {
    return criterion != STUDY_NOUN || solved;
}

/* ---- the table ---- */

/* How many results meet all the criteria of a set, a bit for each. */
static int64_t count_meeting(const study *made, unsigned set) {
    int64_t meeting = 0;
    for (int64_t i = 0; i < made->count; i++) {
        bool holds = true;
        for (int c = 0; c < STUDY_CRITERIA; c++)
            holds = holds && (!(set >> c & 1) || made->results[i].holds[c]);
        meeting += holds;
    }
    return meeting;
}

static void print_share(const study *made, unsigned set, const char *text, FILE *out) {
    int64_t hits = count_meeting(made, set);
    share_interval interval = wilson_interval(hits, made->count);
    fprintf(out, "  %-50s %7" PRId64 "   %.3f   %.3f to %.3f\n", text, hits,
            (double)hits / (double)made->count, interval.low, interval.high);
}

void study_print(const study *made, const article_recipe *recipe, FILE *out) {
    static const struct {
        unsigned set;
        const char *text;
    } together[TOGETHER] = {
        {1u << STUDY_FLOOR | 1u << STUDY_DECISIVE, "floor and decisive"},
        {1u << STUDY_FLOOR | 1u << STUDY_DECISIVE | 1u << STUDY_ATTENTION,
         "floor, decisive and attention"},
    };
    fprintf(out, "recipe %s, %" PRId64 " steps, seeds %" PRId64 " to %" PRId64 "\n\n", recipe->name,
            recipe_steps(recipe), made->results[0].seed, made->results[made->count - 1].seed);
    fprintf(out, "  %-50s %7s   %-5s   %s\n", "criterion", "seeds", "share", "95 % interval");
    for (int c = 0; c < STUDY_CRITERIA; c++)
        if (is_asked(c, recipe->solved))
            print_share(made, 1u << c, text_of(c, recipe->solved), out);
    fputc('\n', out);
    for (int i = 0; i < TOGETHER; i++)
        print_share(made, together[i].set, together[i].text, out);
    fputc('\n', out);
}

/* ---- CSV ---- */

static void print_seeds(const study *made, bool solved, FILE *out) {
    fputs("seed,loss", out);
    for (int c = 0; c < STUDY_CRITERIA; c++)
        if (is_asked(c, solved))
            fprintf(out, ",%s", criteria[c].column);
    fputc('\n', out);
    for (int64_t i = 0; i < made->count; i++) {
        const study_result *result = &made->results[i];
        fprintf(out, "%" PRId64 ",%.*g", result->seed, TG_CSV_DIGITS, result->loss);
        for (int c = 0; c < STUDY_CRITERIA; c++)
            if (is_asked(c, solved))
                fprintf(out, ",%d", result->holds[c]);
        fputc('\n', out);
    }
}

/* Beside first, then renamed. */
static tg_status write_seeds(const study *made, bool solved, const char *directory,
                             tg_error *error) {
    char path[PATH_SIZE], beside[PATH_SIZE + 4];
    snprintf(path, sizeof path, "%s/seeds.csv", directory);
    snprintf(beside, sizeof beside, "%s.tmp", path);
    FILE *file = fopen(beside, "w");
    if (file == NULL)
        return tg_fail(error, TG_EIO, "%.300s: %s", beside, strerror(errno));
    print_seeds(made, solved, file);
    bool failed = ferror(file) || fflush(file) != 0;
    if (fclose(file) != 0 || failed || rename(beside, path) != 0) {
        tg_fail(error, TG_EIO, "%.300s: %s", path, strerror(errno));
        remove(beside);
        return TG_EIO;
    }
    return TG_OK;
}

/* The quantiles over the seeds at a point; column[count] is room to sort in. */
static void quantiles_at(const study *made, int64_t point, double *column,
                         double quantiles[QUANTILES]) {
    static const double wanted[QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
    for (int64_t i = 0; i < made->count; i++)
        column[i] = made->losses[i * made->points + point];
    sort_losses(column, made->count);
    for (int i = 0; i < QUANTILES; i++)
        quantiles[i] = quantile_of(column, made->count, wanted[i]);
}

static tg_status write_curves(const study *made, const char *directory, tg_error *error) {
    static const char *const columns[QUANTILES] = {"p5", "p25", "median", "p75", "p95"};
    char path[PATH_SIZE], beside[PATH_SIZE + 4];
    double quantiles[QUANTILES];
    snprintf(path, sizeof path, "%s/curves.csv", directory);
    snprintf(beside, sizeof beside, "%s.tmp", path);
    double *column = calloc((size_t)made->count, sizeof *column);
    if (column == NULL)
        return tg_fail(error, TG_ENOMEM, "study: out of memory for %" PRId64 " losses",
                       made->count);
    tg_csv *csv = tg_csv_create(NULL, beside, columns, QUANTILES, error);
    tg_status status = csv != NULL ? TG_OK : error->status;
    for (int64_t p = 0; p < made->points && status == TG_OK; p++) {
        quantiles_at(made, p, column, quantiles);
        status = tg_csv_row(csv, made->steps[p], quantiles, error);
    }
    tg_status closed = tg_csv_close(csv, status == TG_OK ? error : NULL);
    free(column);
    if (status == TG_OK)
        status = closed;
    if (status == TG_OK && rename(beside, path) != 0)
        status = tg_fail(error, TG_EIO, "%.300s: %s", path, strerror(errno));
    if (status != TG_OK)
        remove(beside);
    return status;
}

tg_status study_write(const study *made, const article_recipe *recipe, const char *directory,
                      tg_error *error) {
    tg_status status = write_seeds(made, recipe->solved, directory, error);
    return status == TG_OK ? write_curves(made, directory, error) : status;
}

/* ---- the chart ---- */

enum { HEIGHT = 540 };

/* A dashed line over the whole width. Its label stands right of the plot, where no curve runs through
 * it, a line above or below: two levels, of which the higher one is written above, never overlap. */
static void write_level(const sheet *s, double level, const char *name, const char *formula,
                        double offset) {
    fprintf(s->script,
            "set arrow from graph 0, first %.9g to graph 1, first %.9g nohead front dashtype 2 "
            "linewidth 1.5 linecolor rgb '" PICTURE_GREY "'\n"
            "set label '%s %.4f = %s' at graph 1.01, first %.9g left offset 0,%g "
            "font ',14' textcolor rgb '" PICTURE_GREY "'\n",
            level, level, name, level, formula, level, offset);
}

/* Between the stages, if there are several; where the noun is unscored, that is said on top. */
static void write_stages(const sheet *s, const article_recipe *recipe) {
    int64_t begin = 0;
    for (int i = 0; i < recipe->stage_count && recipe->stage_count > 1; i++) {
        const recipe_stage *stage = &recipe->stages[i];
        if (i > 0)
            fprintf(s->script,
                    "set arrow from %" PRId64 ", graph 0 to %" PRId64
                    ", graph 1 nohead back linewidth 1 linecolor rgb '#b8b8b8'\n",
                    begin, begin);
        fprintf(s->script,
                "set label '%d%s' at %.9g, graph 1.035 center font ',13' textcolor rgb "
                "'" PICTURE_GREY "'\n",
                i + 1, stage->noun_unscored ? "*" : "", (double)begin + (double)stage->steps / 2);
        begin += stage->steps;
    }
}

/* What the numbers above the stages mean; "" where there are none. */
static const char *stage_note(const article_recipe *recipe) {
    bool unscored = false;
    for (int i = 0; i < recipe->stage_count; i++)
        unscored = unscored || recipe->stages[i].noun_unscored;
    return recipe->stage_count < 2 ? ""
           : unscored              ? "; stages on top, *: mean without the noun behind \"but the\""
                                   : "; stages on top";
}

static void write_head(const sheet *s, const study *made, const article_recipe *recipe) {
    char title[200], subtitle[200];
    snprintf(title, sizeof title, "Recipe %s: the loss of %" PRId64 " seed%s", recipe->name,
             made->count, made->count == 1 ? "" : "s");
    snprintf(subtitle, sizeof subtitle, "training loss, step by step%s", stage_note(recipe));
    script_title(s, title, NULL, subtitle);
    script_area(s,
                &(sheet_area){.left = 100, .top = 110, .width = 620, .height = HEIGHT - 110 - 75});
}

static void write_axes(const sheet *s, const study *made) {
    fprintf(s->script,
            "set datafile separator comma\nset datafile missing 'inf'\n"
            "set logscale y\nset xrange [0:%" PRId64 "]\nset yrange [0.15:] noextend\n"
            "set ytics (0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100, 1000)\n"
            "set xlabel 'step' offset 0,0.6\nset ylabel 'loss (nats per word)' offset 2.5,0\n"
            "set border 3 linecolor rgb '#808080'\n"
            "set tics nomirror out textcolor rgb '#404040'\n"
            "set key at graph 1.01, graph 1 left top Left reverse samplen 2 font ',14'\n",
            made->steps[made->points - 1]);
}

static void write_script(const sheet *s, const study *made, const article_recipe *recipe) {
    write_head(s, made, recipe);
    write_axes(s, made);
    write_stages(s, recipe);
    write_level(s, claims_plateau(), "plateau", "32 ln 2 / 88", 0.45);
    write_level(s, claims_floor(), "floor", "24 ln 2 / 88", -0.45);
    fprintf(s->script,
            "plot 'curves.csv' using 1:2:6 with filledcurves fillcolor rgb '#dbe8f4' "
            "title '90 %% of the seeds', \\\n"
            "     '' using 1:3:5 with filledcurves fillcolor rgb '#9dc3e3' title '50 %%', \\\n"
            "     '' using 1:4 with lines linewidth 2 linecolor rgb '" PICTURE_BLUE
            "' title 'median'\n");
}

tg_status study_draw(const study *made, const article_recipe *recipe, const char *directory,
                     tg_plot_outcome *outcome, tg_error *error) {
    char *script = NULL;
    size_t size;
    sheet s = {open_memstream(&script, &size), HEIGHT};
    if (s.script == NULL)
        return tg_fail(error, TG_ENOMEM, "study: out of memory for a script");
    write_script(&s, made, recipe);
    bool failed = ferror(s.script) != 0;
    failed = fclose(s.script) != 0 || failed;
    const tg_plot_script_options options = {.width = PICTURE_WIDTH, .height = HEIGHT};
    tg_status status =
        failed ? tg_fail(error, TG_ENOMEM, "study: out of memory for a script")
               : tg_plot_script(NULL, directory, "study", script, &options, outcome, error);
    free(script);
    return status;
}
