/* strtok_r(), fsync(), st_mtim */
#define _POSIX_C_SOURCE 200809L

#include "article/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "article/printed.h"
#include "article/report_matrix.h"
#include "article/report_style.h"
#include "common/html.h"

enum { PATH_SIZE = 4096, STAGE_COLUMNS = 10 };

/* ---- the opening, and the claims ---- */

static void write_opening(FILE *page, const article_summary *s) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>Next-word prediction, trained from scratch: recipe ",
          page);
    html_text(page, s->recipe);
    fprintf(page, ", seed %" PRId64 "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
            s->seed, report_style);
    fputs("<h1>Next-word prediction, trained from scratch</h1>\n"
          "<p>A transformer with one head and 6 features was trained on eight sentences to predict "
          "their next words; this page shows how that went, and every matrix with which the model "
          "reads one of them. The model and the sentences are those of “Next Word Prediction Using "
          "Attention and Transformer” by Gian C (July 27, 2026), the numbers those of this "
          "run.</p>\n",
          page);
}

static void write_claim(FILE *page, const claim *c) {
    fputs("<tr><th scope=\"row\">", page);
    html_text(page, c->text);
    fprintf(page, "</th><td>%.5f</td><td>%.4f to %.4f</td><td class=\"%s\">%s</td></tr>\n",
            c->value, c->low, c->high, c->holds ? "yes" : "no",
            c->holds ? "✓ holds" : "✗ does not hold");
}

static void write_claims(FILE *page, const article_recipe *recipe, const article_summary *s) {
    const claims *measured = s->measured;
    bool all = claims_all_hold(measured);
    int holding = 0;
    for (int i = 0; i < measured->count; i++)
        holding += measured->list[i].holds;
    fprintf(page, "<h2>%s</h2>\n",
            recipe->solved ? "What there is to say of a model that predicts the second noun"
                           : "What the article claims of its model, measured on this one");
    fprintf(page, "<p class=\"verdict %s\"><strong>%s ", all ? "yes" : "no", all ? "✓" : "✗");
    if (all)
        fputs("All of it holds.", page);
    else
        fprintf(page, "%d of %d hold.", holding, measured->count);
    fputs("</strong> ", page);
    html_text(page, claims_verdict(s->final_loss));
    fputs("</p>\n<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Claims\">"
          "<table class=\"claims\">\n<thead><tr><th scope=\"col\">claim</th><th scope=\"col\">"
          "value</th><th scope=\"col\">bounds</th><th scope=\"col\">verdict</th></tr></thead>\n"
          "<tbody>\n",
          page);
    for (int i = 0; i < measured->count; i++)
        write_claim(page, &measured->list[i]);
    fputs("</tbody></table></div>\n", page);
}

/* ---- the settings ---- */

static void write_facts(FILE *page, const article_recipe *recipe, const article_summary *s) {
    fputs("<dl>\n<dt>recipe</dt><dd>", page);
    html_text(page, s->recipe);
    fprintf(page,
            "</dd>\n<dt>optimizer</dt><dd>%s</dd>\n<dt>seed</dt><dd>%" PRId64
            "</dd>\n<dt>steps</dt><dd>%" PRId64 "</dd>\n<dt>final loss</dt><dd>%.9g nats per "
            "word</dd>\n<dt>checksum</dt><dd>%08" PRIx32
            " (CRC-32 of all parameters)</dd>\n<dt>drawn from</dt><dd>normal distributions, "
            "deviations %g (words), %g (positions), %g (weights)</dd>\n<dt>time</dt><dd>%.3f "
            "s</dd>\n</dl>\n",
            recipe->sgd ? "SGD with momentum 0.9" : "Adam", s->seed, s->steps, s->final_loss,
            s->checksum, recipe->token_deviation, recipe->position_deviation,
            recipe->weight_deviation, s->wall_seconds);
}

/* The words of a line behind its first as cells. */
static void write_stage(FILE *page, int number, char *line) {
    char *rest = line;
    strtok_r(rest, " ", &rest);
    fprintf(page, "<tr><th scope=\"row\">%d</th>", number);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        fputs("<td>", page);
        html_text(page, word);
        fputs("</td>", page);
    }
    fputs("</tr>\n", page);
}

/* The stages as the recipe's own text has them, so that both show the same digits. */
static void write_stages(FILE *page, const article_recipe *recipe) {
    static const char *const columns[STAGE_COLUMNS] = {
        "steps",  "rate",      "end rate",    "dropout", "score factor",
        "window", "positions", "second noun", "every",   "window then"};
    char text[RECIPE_TEXT], *rest = text;
    int number = 0;
    recipe_format(recipe, text);
    fputs(
        "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Stages\"><table class=\"stages\">\n"
        "<caption>The stages of the recipe, one after the other</caption>\n"
        "<thead><tr><th scope=\"col\">stage</th>",
        page);
    for (int i = 0; i < STAGE_COLUMNS; i++)
        fprintf(page, "<th scope=\"col\">%s</th>", columns[i]);
    fputs("</tr></thead>\n<tbody>\n", page);
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
        if (strncmp(line, "stage ", strlen("stage ")) == 0)
            write_stage(page, ++number, line);
    fputs("</tbody></table></div>\n", page);
}

static void write_settings(FILE *page, const article_recipe *recipe, const article_summary *s) {
    char text[RECIPE_TEXT];
    fputs("<h2>Settings</h2>\n", page);
    write_facts(page, recipe, s);
    write_stages(page, recipe);
    fputs(
        "<p class=\"soft\">The rate goes from the one to the other in a straight line. A position "
        "sees as many words as the window has, itself the last. Once in as many steps as stand "
        "under “every”, the other window holds, and all words are scored.</p>\n"
        "<details><summary>The recipe as a file for <code>train_example --recipe</code></summary>"
        "\n<pre>",
        page);
    recipe_format(recipe, text);
    html_text(page, text);
    fputs("</pre></details>\n", page);
}

/* ---- the pictures ---- */

typedef struct picture {
    const char *name, *caption;
} picture;

static const picture pictures[] = {
    {"loss", "The loss over the steps, and the two lines that it can end on."},
    {"attention", "Attention: where each position looks."},
    {"scores", "The masked scores that attention comes from."},
    {"prediction", "The words that may follow each position."},
    {"weights", "All matrices of the model."},
    {"embedding", "Words and positions in the plane of two principal components."},
};

enum { PICTURES = sizeof pictures / sizeof pictures[0] };

static bool is_older(const struct stat *a, const struct stat *b) {
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* The picture of this run in `directory`, its path in `path`; NULL where there is none. */
static FILE *open_picture(const char *directory, const char *name, char path[PATH_SIZE],
                          tg_error *error) {
    struct stat script, drawn;
    if (snprintf(path, PATH_SIZE, "%s/%s.gp", directory, name) >= PATH_SIZE)
        return NULL;
    bool has_script = stat(path, &script) == 0;
    snprintf(path, PATH_SIZE, "%s/%s.svg", directory, name);
    if (stat(path, &drawn) != 0 || !S_ISREG(drawn.st_mode) || drawn.st_size == 0 ||
        (has_script && is_older(&drawn, &script)))
        return NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        tg_fail(error, TG_EIO, "report: %.150s: %s", path, strerror(errno));
    return file;
}

/* As an image of its own: ids of one picture are not those of another. */
static tg_status write_picture(FILE *page, const char *directory, const picture *p, bool *first,
                               tg_error *error) {
    char path[PATH_SIZE];
    tg_error cause = {TG_OK, ""};
    FILE *file = open_picture(directory, p->name, path, &cause);
    if (file == NULL)
        return cause.status == TG_OK ? TG_OK : tg_fail(error, cause.status, "%s", cause.message);
    if (*first)
        fputs("<h2>Pictures</h2>\n", page);
    *first = false;
    fprintf(
        page,
        "<figure id=\"%s\">\n<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><img alt=\"%s\" src=\"data:image/svg+xml;base64,",
        p->name, p->name, p->caption);
    tg_status status = TG_OK;
    if (!html_base64(page, file))
        status = tg_fail(error, TG_EIO, "report: %.150s: %s", path, strerror(errno));
    fclose(file);
    fprintf(page, "\"></div>\n<figcaption>%s</figcaption>\n</figure>\n", p->caption);
    return status;
}

static tg_status write_pictures(FILE *page, const char *directory, tg_error *error) {
    bool first = true;
    tg_status status = TG_OK;
    for (int i = 0; i < PICTURES && status == TG_OK && directory != NULL; i++)
        status = write_picture(page, directory, &pictures[i], &first, error);
    return status;
}

/* ---- the way through the model ---- */

static void write_contents(FILE *page, const article_step *steps) {
    fputs("<nav aria-label=\"Steps\"><ol class=\"steps\">\n", page);
    for (int i = 0; i < ARTICLE_STEPS; i++) {
        fprintf(page, "<li><a href=\"#step-%d\">", i + 1);
        html_text(page, steps[i].title);
        fputs("</a></li>\n", page);
    }
    fputs("</ol></nav>\n", page);
}

static void write_step(FILE *page, int number, const article_step *step) {
    fprintf(page, "<section id=\"step-%d\">\n<h3>%d. ", number, number);
    html_text(page, step->title);
    fputs("</h3>\n<p class=\"formula\">", page);
    html_formula(page, step->formula);
    fputs("</p>\n<div class=\"matrices\">\n", page);
    for (int k = 0; k < step->count; k++)
        report_matrix(page, &step->matrices[k]);
    fputs("</div>\n</section>\n", page);
}

static void write_steps(FILE *page, const tg_transformer_config *config,
                        const article_step *steps) {
    fputs("<h2>From the words to the predictions</h2>\n<p>The sentence: “", page);
    for (int i = 0; i < ARTICLE_LENGTH; i++) {
        fputs(i == 0 ? "" : " ", page);
        html_text(page, article_words[article_sentence[i]]);
    }
    fprintf(page,
            "”. It has %d positions; the vocabulary has %" PRId64
            " words; d<sub>model</sub> = %" PRId64 ", d<sub>k</sub> = %" PRId64 ", and %" PRId64
            " hidden units.</p>\n",
            ARTICLE_LENGTH, config->vocabulary, config->width, config->key_width, config->hidden);
    write_contents(page, steps);
    for (int i = 0; i < ARTICLE_STEPS; i++)
        write_step(page, i + 1, &steps[i]);
}

/* ---- the file ---- */

static tg_status write_page(FILE *page, const char *directory, const tg_transformer_config *config,
                            const article_recipe *recipe, const article_summary *summary,
                            const article_step *steps, tg_error *error) {
    write_opening(page, summary);
    write_claims(page, recipe, summary);
    write_settings(page, recipe, summary);
    tg_status status = write_pictures(page, directory, error);
    write_steps(page, config, steps);
    fputs("</main>\n</body>\n</html>\n", page);
    return status;
}

/* Ends the file beside, and puts it in its place if all went well so far. */
static tg_status put_in_place(FILE *page, const char *beside, const char *path, tg_status status,
                              tg_error *error) {
    errno = EIO; /* where an earlier write has failed, and flushing does not fail again */
    bool written = fflush(page) == 0 && !ferror(page) && fsync(fileno(page)) == 0;
    int cause = errno;
    if (fclose(page) != 0 && written) {
        written = false;
        cause = errno;
    }
    if (status == TG_OK && written && rename(beside, path) != 0) {
        written = false;
        cause = errno;
    }
    if (status == TG_OK && !written)
        status = tg_fail(error, TG_EIO, "report: %.150s: %s", path, strerror(cause));
    if (status != TG_OK)
        remove(beside);
    return status;
}

tg_status article_report(const char *path, const char *directory, const tg_transformer *model,
                         const article_recipe *recipe, const article_summary *summary,
                         tg_error *error) {
    char beside[PATH_SIZE];
    if (snprintf(beside, sizeof beside, "%s.tmp", path) >= (int)sizeof beside)
        return tg_fail(error, TG_EINVAL, "report: the path is too long");
    article_step steps[ARTICLE_STEPS];
    tg_tape *tape = tg_tape_create(NULL);
    tg_status status = article_steps_compute(model, article_words, article_sentence, ARTICLE_LENGTH,
                                             tape, steps, error);
    FILE *page = NULL;
    if (status == TG_OK && (page = fopen(beside, "w")) == NULL)
        status = tg_fail(error, TG_EIO, "report: %.150s: %s", beside, strerror(errno));
    if (page != NULL) {
        status = write_page(page, directory, &model->config, recipe, summary, steps, error);
        status = put_in_place(page, beside, path, status, error);
    }
    tg_tape_free(tape);
    return status;
}
