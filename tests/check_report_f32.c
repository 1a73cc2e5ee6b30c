/* The report: a page with every claim, word and matrix, well-formed, with its pictures inside, and
 * put in place as a whole or not at all. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "article/printed.h"
#include "article/report.h"
#include "article/steps.h"
#include "common/html.h"

/* The article's own model, and a run that could have ended in it. */
typedef struct fixture {
    char directory[256], path[300];
    tg_params *params;
    tg_transformer model;
    article_recipe recipe;
    claims measured;
    article_summary summary;
} fixture;

static void fixture_make(fixture *f) {
    *f = (fixture){.params = tg_params_create(NULL)};
    test_directory_make(f->directory);
    snprintf(f->path, sizeof f->path, "%s/report.html", f->directory);
    tg_transformer_config config = tg_transformer_article();
    ck_assert_int_eq(tg_transformer_init(&f->model, f->params, "", &config, NULL, NULL), TG_OK);
    ck_assert_int_eq(article_load_printed(f->params, NULL), TG_OK);
    f->recipe = *recipe_named("article");
    f->measured = (claims){
        .count = 3,
        .list = {
            {.text = "p(slow) at the first \"was\"",
             .value = 0.98765432,
             .low = 0.9,
             .high = 1,
             .holds = true},
            {.text = "x < y & z", .value = 0.25, .low = 0.47, .high = 0.53},
            {.text = "loss", .value = 0.252075, .low = 0.2511, .high = 0.2531, .holds = true}}};
    f->summary = (article_summary){.recipe = f->recipe.name,
                                   .seed = -42,
                                   .steps = 3700,
                                   .final_loss = 0.252075,
                                   .measured = &f->measured,
                                   .checksum = 0xabc,
                                   .wall_seconds = 0.1875};
}

static void fixture_free(fixture *f) {
    tg_params_free(f->params);
    test_directory_remove(f->directory);
}

static char *make_page(const fixture *f, const char *pictures) {
    tg_error error = {0};
    tg_status status =
        article_report(f->path, pictures, &f->model, &f->recipe, &f->summary, &error);
    ck_assert_msg(status == TG_OK, "%s", error.message);
    size_t size;
    char *page = test_read_file(f->path, &size);
    ck_assert_uint_eq(size, strlen(page));
    return page;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void assert_holds(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in the text", part);
}

static int files_in(const char *directory) {
    char command[400];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    int count = -1;
    ck_assert_int_eq(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

/* ---- what is in the page ---- */

START_TEST(claims_and_settings) {
    fixture f;
    fixture_make(&f);
    char *page = make_page(&f, NULL);
    ck_assert_int_eq(strncmp(page, "<!DOCTYPE html>\n", 16), 0);
    ck_assert_str_eq(page + strlen(page) - strlen("</html>\n"), "</html>\n");
    assert_holds(page, "p(slow) at the first &quot;was&quot;</th><td>0.98765</td>"
                       "<td>0.9000 to 1.0000</td><td class=\"yes\">✓ holds</td>");
    assert_holds(page, "x &lt; y &amp; z</th><td>0.25000</td><td>0.4700 to 0.5300</td>"
                       "<td class=\"no\">✗ does not hold</td>");
    ck_assert_int_eq(count_of(page, "✓ holds"), 2);
    assert_holds(page, "✗ 2 of 3 hold.");
    assert_holds(page, "What the article claims of its model");
    assert_holds(page, "The loss is on the plateau, 32 ln 2 / 88 = 0.25205");
    assert_holds(page, "<dd>-42</dd>");
    assert_holds(page, "<dd>3700</dd>");
    assert_holds(page, "<dd>0.252075 nats");
    assert_holds(page, "<dd>00000abc (CRC-32");
    assert_holds(page, "<dd>Adam</dd>");
    for (int i = 0; i < ARTICLE_WORDS; i++)
        assert_holds(page, article_words[i]);
    ck_assert_ptr_null(strstr(page, "http"));
    ck_assert_ptr_null(strstr(page, "<img"));
    ck_assert_ptr_null(strstr(page, "Pictures"));
    ck_assert_int_eq(files_in(f.directory), 1);
    free(page);
    fixture_free(&f);
}
END_TEST

START_TEST(of_a_solved_model) {
    fixture f;
    fixture_make(&f);
    f.recipe = *recipe_named("solved");
    f.recipe.sgd = true;
    f.measured.list[1].holds = true;
    f.summary.final_loss = 0.18905;
    char *page = make_page(&f, NULL);
    assert_holds(page, "What there is to say of a model that predicts the second noun");
    assert_holds(page, "✓ All of it holds.");
    assert_holds(page, "The loss is at the floor");
    assert_holds(page, "SGD with momentum 0.9");
    ck_assert_ptr_null(strstr(page, "✗"));
    free(page);
    fixture_free(&f);
}
END_TEST

/* A name with all that has a meaning, and bytes that are no text. */
START_TEST(names_are_escaped) {
    fixture f;
    fixture_make(&f);
    snprintf(f.recipe.name, sizeof f.recipe.name, "</title><b>\"R&D's\"\x01\xff\xc3\xa9\xe2\x82");
    char *page = make_page(&f, NULL);
    ck_assert_int_eq(count_of(page, "&lt;/title&gt;&lt;b&gt;&quot;R&amp;D&#39;s&quot;"
                                    "\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"),
                     3); /* the title, the settings, the recipe */
    ck_assert_ptr_null(strstr(page, "<b>"));
    ck_assert_int_eq(count_of(page, "</title>"), 1);
    free(page);
    fixture_free(&f);
}
END_TEST

#define BAD "\xef\xbf\xbd"

/* What is UTF-8 stands in chapter 3.9 of the Unicode Standard. */
static const struct {
    const char *text, *html;
} texts[] = {
    {"", ""},
    {"a b\tc\nd", "a b\tc\nd"},
    {"<&>\"'", "&lt;&amp;&gt;&quot;&#39;"},
    {"\x01\x1b\x7f\r", BAD BAD BAD BAD},
    {"\xc3\xa9\xe2\x88\x9e\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x88\x9e\xf0\x9f\x98\x80"},
    {"\xc0\xaf", BAD BAD},                 /* an overlong slash */
    {"\xe0\x80\xaf", BAD BAD BAD},         /* and another */
    {"\xf0\x80\x80\xaf", BAD BAD BAD BAD}, /* and another */
    {"\xed\xa0\x80", BAD BAD BAD},         /* a surrogate */
    {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* behind the last */
    {"\xc2\x85", BAD BAD},                 /* a control character */
    {"\xef\xbf\xbe", BAD BAD BAD},         /* no character */
    {"\xe2\x82", BAD BAD},                 /* cut */
    {"\xe2<", BAD "&lt;"},                 /* cut before a character with a meaning */
    {"\xff\xfe", BAD BAD},
};

static char *written(void (*write)(FILE *, const char *), const char *text) {
    char *html;
    size_t size;
    FILE *page = open_memstream(&html, &size);
    write(page, text);
    fclose(page);
    return html;
}

START_TEST(text_as_html) {
    char *html = written(html_text, texts[_i].text);
    ck_assert_str_eq(html, texts[_i].html);
    free(html);
}
END_TEST

START_TEST(formulas_as_html) {
    static const char *const formulas[][2] = {
        {"s_ij = q_i . k_j / sqrt(d_k)",
         "s<sub>ij</sub> = q<sub>i</sub> · k<sub>j</sub> / √(d<sub>k</sub>)"},
        {"s_ij where j <= i, -inf where j > i", "s<sub>ij</sub> where j ≤ i, −∞ where j &gt; i"},
        {"E[word_i] + P[i]", "E[word<sub>i</sub>] + P[i]"},
        {"a_ & _b", "a_ &amp; <sub>b</sub>"},
        {"_", "_"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        char *html = written(html_formula, formulas[i][0]);
        ck_assert_str_eq(html, formulas[i][1]);
        free(html);
    }
}
END_TEST

/* ---- the page as others read it ---- */

static const char *python(void) {
    static const char *const programs[] = {"/usr/bin/python3", "python3"};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char command[128];
        snprintf(command, sizeof command, "%s -c 0 >/dev/null 2>&1", programs[i]);
        if (system(command) == 0)
            return programs[i];
    }
    return NULL;
}

/* What a strict reader finds in the page; NULL where there is no Python. To be freed. */
static char *read_strictly(const fixture *f) {
    char command[1024];
    const char *program = python();
    if (program == NULL)
        return NULL;
    snprintf(command, sizeof command,
             "PYTHONIOENCODING=utf-8 %s '%s/tests/report_page.py' '%s' >'%s/listing' 2>&1", program,
             TG_TEST_SOURCE, f->path, f->directory);
    int status = system(command);
    snprintf(command, sizeof command, "%s/listing", f->directory);
    size_t size;
    char *listing = test_read_file(command, &size);
    ck_assert_msg(status == 0, "%s", listing);
    return listing;
}

/* Lines in this order, others in between. The values are those that the article prints. */
static const char *const listed[] = {
    "title Next-word prediction, trained from scratch: recipe article, seed -42",
    "doctype doctype html",
    "charset utf-8",
    "claim | value | bounds | verdict",
    "p(slow) at the first \"was\" | 0.98765 | 0.9000 to 1.0000 | ✓ holds",
    "x < y & z | 0.25000 | 0.4700 to 0.5300 | ✗ does not hold",
    "table The stages of the recipe, one after the other",
    "stage | steps | rate | end rate | dropout | score factor | window | positions | second noun | "
    "every | window then",
    "1 | 400 | 0.03 | 0.03 | 0.05 | 0.5 | 2 | frozen | scored | - | -",
    "4 | 300 | 0.03 | 0 | 0 | 1 | all | trained | scored | - | -",
    "table E, 9 × 6, trained",
    "E | 0 | 1 | 2 | 3 | 4 | 5",
    "machine | 0.49 | 0.82 | 4.62 | -1.45 | -3.26 | 1.93",
    "table P, 14 × 6, trained",
    "13 was | 0.76 | 0.64 | -0.54 | -0.23 | 0.79 | 0.04",
    "table X, 14 × 6, computed",
    "6 slow | 0.55 | -2.07 | -1.68 | -2.52 | -1.19 | 0.36",
    "table WQ, 6 × 6, trained",
    "3 | -1.65 | -1.29 | 0.42 | 1.13 | -1.36 | -1.41",
    "table Q, 14 × 6, computed",
    "5 was | 0.56 | 0.82 | -2.38 | -0.90 | 4.29 | -3.52",
    "table WK, 6 × 6, trained",
    "table K, 14 × 6, computed",
    "9 fall | 1.79 | 3.56 | -0.57 | -4.02 | 8.50 | -3.05",
    "table S, 14 × 14, computed",
    "S | the | rise | of | the | machine | was | slow | but | the | fall | of | the | machine | "
    "was",
    "10 of | 1.88 | 2.45 | -1.81 | 3.16 | -0.98 | 1.42 | 0.49 | -2.86 | 2.09 | 1.99 | -3.91 | "
    "1.53 | -0.87 | 0.88",
    "table masked S, 14 × 14, computed",
    "2 of | -3.22 | -16.52 | 7.73 | −∞ | −∞ | −∞ | −∞ | −∞ | −∞ | −∞ | −∞ | −∞ | −∞ | −∞",
    "table A, 14 × 14, computed",
    "1 rise | 0.09 | 0.91 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | "
    "0.00 | 0.00",
    "table WV, 6 × 6, trained",
    "table V, 14 × 6, computed",
    "12 machine | 5.61 | -2.77 | -0.59 | 4.30 | -5.59 | -1.44",
    "table Z, 14 × 6, computed",
    "table WO, 6 × 6, trained",
    "table hidden, 14 × 6, computed",
    "8 the | 0.22 | -2.32 | 1.22 | 2.63 | 0.40 | -0.31",
    "table W1, 6 × 12, trained",
    "table b1, 1 × 12, trained",
    " | 0.76 | 0.53 | 0.14 | 0.52 | -0.08 | -0.60 | 0.18 | 0.75 | -0.12 | 0.37 | 0.14 | 0.91",
    "table W2, 12 × 6, trained",
    "table b2, 1 × 6, trained",
    "table y, 14 × 6, computed",
    "12 machine | 13.11 | -8.90 | -23.49 | -3.83 | -22.25 | -5.47",
    "table WU, 6 × 9, trained",
    "WU | the | rise | of | machine | was | slow | but | fall | fast",
    "table p, 14 × 9, computed",
    "13 was | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 1.00",
};

START_TEST(a_strict_reader) {
    fixture f;
    fixture_make(&f);
    free(make_page(&f, NULL));
    char *listing = read_strictly(&f);
    const char *at = listing;
    for (size_t i = 0; i < sizeof listed / sizeof listed[0] && listing != NULL; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s%s\n", i == 0 ? "" : "\n", listed[i]);
        at = strstr(at, line);
        ck_assert_msg(at != NULL, "not found in its place: %s", listed[i]);
        at += strlen(line) - 1;
    }
    free(listing);
    fixture_free(&f);
}
END_TEST

START_TEST(a_strict_reader_of_a_strange_name) {
    fixture f;
    fixture_make(&f);
    snprintf(f.recipe.name, sizeof f.recipe.name, "</style><script src=http://x>&amp\xc3");
    f.recipe.stage_count = RECIPE_STAGES;
    for (int i = 0; i < RECIPE_STAGES; i++)
        f.recipe.stages[i] = recipe_named("article")->stages[1];
    free(make_page(&f, NULL));
    char *listing = read_strictly(&f);
    if (listing != NULL) {
        assert_holds(listing, "recipe </style><script src=http://x>&amp\xef\xbf\xbd, seed -42\n");
        assert_holds(listing, "\n8 | 2000 | 0.03 |");
    }
    free(listing);
    fixture_free(&f);
}
END_TEST

/* ---- pictures ---- */

static void write_in(const fixture *f, const char *name, const void *bytes, size_t size) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    test_write_file(path, bytes, size);
}

static void set_time(const fixture *f, const char *name, time_t seconds, long nanoseconds) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    const struct timespec times[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Each place of base64's group of three, and every byte. */
START_TEST(pictures_are_in_the_page) {
    static const char *const names[] = {"loss.svg", "attention.svg", "scores.svg"};
    fixture f;
    fixture_make(&f);
    unsigned char bytes[1000];
    char expected[3][64];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t i = 0; i < 3; i++) {
        write_in(&f, names[i], bytes, 998 + i);
        snprintf(expected[i], sizeof expected[i], "\nimage %zu %08lx\n", 998 + i,
                 crc32(0, bytes, (uInt)(998 + i)));
    }
    write_in(&f, "prediction.svg", "", 0);
    write_in(&f, "other.svg", "<svg/>", 6);
    char path[400];
    snprintf(path, sizeof path, "%s/weights.svg", f.directory);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    char *page = make_page(&f, f.directory);
    ck_assert_int_eq(count_of(page, "<img "), 3);
    ck_assert_int_eq(count_of(page, "<h2>Pictures</h2>"), 1);
    assert_holds(page, "src=\"data:image/svg+xml;base64,AAcOFRwj"); /* by Python's base64 */
    char *listing = read_strictly(&f);
    const char *at = listing;
    for (size_t i = 0; i < 3 && listing != NULL; i++) {
        at = strstr(at, expected[i]);
        ck_assert_msg(at != NULL, "not found in its place: %s", expected[i]);
        at += strlen(expected[i]) - 1;
    }
    free(listing);
    free(page);
    fixture_free(&f);
}
END_TEST

/* A script that was written anew, and not run. */
START_TEST(pictures_of_another_run_are_left_out) {
    fixture f;
    fixture_make(&f);
    write_in(&f, "loss.svg", "<svg/>", 6);
    write_in(&f, "loss.gp", "plot", 4);
    set_time(&f, "loss.svg", 1000000, 500);
    set_time(&f, "loss.gp", 1000000, 501);
    char *page = make_page(&f, f.directory);
    ck_assert_int_eq(count_of(page, "<img "), 0);
    free(page);
    set_time(&f, "loss.gp", 1000000, 500);
    page = make_page(&f, f.directory);
    ck_assert_int_eq(count_of(page, "<img "), 1);
    free(page);
    fixture_free(&f);
}
END_TEST

/* ---- faults ---- */

static void assert_old_page(const fixture *f, int files) {
    size_t size;
    char *page = test_read_file(f->path, &size);
    ck_assert_str_eq(page, "the old page");
    ck_assert_int_eq(files_in(f->directory), files);
    free(page);
}

START_TEST(what_cannot_be_written) {
    fixture f;
    tg_error error = {0};
    fixture_make(&f);
    char path[5000];
    snprintf(path, sizeof path, "%s/none/report.html", f.directory);
    ck_assert_int_eq(article_report(path, NULL, &f.model, &f.recipe, &f.summary, &error), TG_EIO);
    assert_holds(error.message, "/none/report.html");
    assert_holds(error.message, strerror(ENOENT));
    snprintf(path, sizeof path, "%s/taken", f.directory);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(article_report(path, NULL, &f.model, &f.recipe, &f.summary, &error), TG_EIO);
    assert_holds(error.message, "/taken: ");
    ck_assert_int_eq(files_in(f.directory), 1);
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(article_report(path, NULL, &f.model, &f.recipe, &f.summary, &error),
                     TG_EINVAL);
    fixture_free(&f);
}
END_TEST

START_TEST(a_full_disk_leaves_the_old_page) {
    fixture f;
    tg_error error = {0};
    fixture_make(&f);
    write_in(&f, "report.html", "the old page", 12);
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    const struct rlimit small = {20000, RLIM_INFINITY}, large = {RLIM_INFINITY, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    tg_status status = article_report(f.path, NULL, &f.model, &f.recipe, &f.summary, &error);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
    ck_assert_int_eq(status, TG_EIO);
    assert_holds(error.message, f.path);
    assert_holds(error.message, strerror(EFBIG));
    assert_old_page(&f, 1);
    fixture_free(&f);
}
END_TEST

START_TEST(what_cannot_be_computed) {
    fixture f;
    tg_error error = {0};
    fixture_make(&f);
    write_in(&f, "report.html", "the old page", 12);
    f.model.config.layers = 2;
    ck_assert_int_eq(article_report(f.path, NULL, &f.model, &f.recipe, &f.summary, &error),
                     TG_EINVAL);
    assert_holds(error.message, "2 blocks");
    assert_old_page(&f, 1);
    f.model.config.layers = 1;
    fixture_free(&f);
}
END_TEST

START_TEST(a_picture_that_cannot_be_read) {
    fixture f;
    tg_error error = {0};
    if (geteuid() == 0)
        return; /* who may read everything */
    fixture_make(&f);
    write_in(&f, "report.html", "the old page", 12);
    write_in(&f, "scores.svg", "<svg/>", 6);
    char path[400];
    snprintf(path, sizeof path, "%s/scores.svg", f.directory);
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(article_report(f.path, f.directory, &f.model, &f.recipe, &f.summary, &error),
                     TG_EIO);
    assert_holds(error.message, path);
    assert_holds(error.message, strerror(EACCES));
    assert_old_page(&f, 2);
    fixture_free(&f);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("report");
    TCase *t = tcase_create("report");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, claims_and_settings);
    tcase_add_test(t, of_a_solved_model);
    tcase_add_test(t, names_are_escaped);
    tcase_add_loop_test(t, text_as_html, 0, (int)(sizeof texts / sizeof texts[0]));
    tcase_add_test(t, formulas_as_html);
    tcase_add_test(t, a_strict_reader);
    tcase_add_test(t, a_strict_reader_of_a_strange_name);
    tcase_add_test(t, pictures_are_in_the_page);
    tcase_add_test(t, pictures_of_another_run_are_left_out);
    tcase_add_test(t, what_cannot_be_written);
    tcase_add_test(t, a_full_disk_leaves_the_old_page);
    tcase_add_test(t, what_cannot_be_computed);
    tcase_add_test(t, a_picture_that_cannot_be_read);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return test_main(suite());
}
