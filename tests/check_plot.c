/* realpath() */
#define _XOPEN_SOURCE 700

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "comma_locale.h"
#include "train/plot.h"

static char directory[256];

static void setup(void) {
    test_directory_make(directory);
    setenv("HOME", directory, 1);
    unsetenv("DISPLAY");
    unsetenv("GNUTERM");
}

static void teardown(void) {
    test_directory_remove(directory);
}

static const char *path_of(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    test_write_file(path_of(name), text, strlen(text));
}

static char *read_text(const char *name) {
    size_t size;
    return test_read_file(path_of(name), &size);
}

static bool exists(const char *name) {
    return access(path_of(name), F_OK) == 0;
}

static const char *const columns[2] = {"loss", "val_loss"};
static const tg_plot_reference references[2] = {{2.1972245773362196, "guessing, ln 9"},
                                                {0.125, NULL}};

static tg_plot_curve_options usual_options(void) {
    return (tg_plot_curve_options){.title = "The model_1's loss",
                                   .x_label = "step",
                                   .y_label = "loss (nats)",
                                   .data = "metrics.csv",
                                   .columns = columns,
                                   .column_count = 2,
                                   .references = references,
                                   .reference_count = 2};
}

static void write_metrics(void) {
    char text[4096] = "step,loss,val_loss\n";
    for (int step = 0; step <= 60; step++)
        sprintf(text + strlen(text), "%d,%d,%s\n", step, 60 - step, step == 30 ? "nan" : "1.5");
    write_text("metrics.csv", text);
}

static tg_plot_outcome plot(const tg_plot_curve_options *options) {
    tg_plot_outcome outcome = {0};
    tg_error error = {0};
    ck_assert_msg(tg_plot_curve(NULL, directory, "loss", options, &outcome, &error) == TG_OK, "%s",
                  error.message);
    ck_assert_msg(strpbrk(outcome.note, "\n\r\x1b") == NULL, "%s", outcome.note);
    ck_assert(!exists("loss.svg.tmp"));
    return outcome;
}

static void assert_holds(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

/* How many strokes a colour has in the picture: one in the key, one for the curve, and one more for
 * each of its gaps. */
static int strokes_of(const char *picture, const char *colour) {
    int strokes = 0;
    for (const char *at = strstr(picture, colour); at != NULL; at = strstr(at + 1, colour)) {
        const char *path = strstr(at, "d='");
        const char *end = path != NULL ? strchr(path + 3, '\'') : NULL;
        const char *element = strchr(at, '>');
        for (const char *c = path; path != NULL && path < element && c < end; c++)
            strokes += *c == 'M';
    }
    return strokes;
}

/* ---- pictures ---- */

START_TEST(a_picture) {
    write_metrics();
    tg_plot_curve_options options = usual_options();
    tg_plot_outcome outcome = plot(&options);
    ck_assert_int_eq(outcome.result, TG_PLOT_DRAWN);
    assert_holds(outcome.note, "/loss.svg");
    char *picture = read_text("loss.svg");
    assert_holds(picture, "</svg>");
    assert_holds(picture, "The model_1's loss");
    assert_holds(picture, ">val_loss<");
    assert_holds(picture, ">loss (nats)<");
    assert_holds(picture, ">guessing, ln 9<");
    /* the first curve is whole, the second has a gap where it is nan */
    ck_assert_int_eq(strokes_of(picture, "rgb(  0, 114, 178)"), 2);
    ck_assert_int_eq(strokes_of(picture, "rgb(213,  94,   0)"), 3);
    free(picture);
}
END_TEST

/* The script alone gives the same picture, from the shell and with no display. */
START_TEST(the_script_by_hand) {
    write_metrics();
    tg_plot_curve_options options = usual_options();
    plot(&options);
    char *picture = read_text("loss.svg");
    ck_assert_int_eq(unlink(path_of("loss.svg")), 0);
    char command[400];
    snprintf(command, sizeof command, "cd '%s' && LC_ALL=C gnuplot loss.gp 2>errors", directory);
    ck_assert_int_eq(system(command), 0);
    char *again = read_text("loss.svg"), *messages = read_text("errors");
    ck_assert_str_eq(again, picture);
    ck_assert_str_eq(messages, "");
    free(picture);
    free(again);
    free(messages);
}
END_TEST

/* A person's own gnuplot settings, a display that is not there, signals that the program ignores. */
START_TEST(surroundings_that_do_not_matter) {
    write_metrics();
    write_text(".gnuplot", "set terminal dumb\nexit status 3\n");
    setenv("DISPLAY", ":99", 1);
    setenv("GNUTERM", "x11", 1);
    signal(SIGCHLD, _i == 0 ? SIG_DFL : SIG_IGN);
    signal(SIGPIPE, _i == 0 ? SIG_DFL : SIG_IGN);
    tg_plot_curve_options options = usual_options();
    tg_plot_outcome outcome = plot(&options);
    signal(SIGCHLD, SIG_DFL);
    ck_assert_msg(outcome.result == TG_PLOT_DRAWN, "%s", outcome.note);
    ck_assert(exists("loss.svg"));
}
END_TEST

START_TEST(a_comma_for_a_point) {
    write_metrics();
    tg_plot_curve_options options = usual_options();
    plot(&options);
    char *script = read_text("loss.gp"), *picture = read_text("loss.svg");
    comma_locale_enter(directory);
    ck_assert_int_eq(plot(&options).result, TG_PLOT_DRAWN);
    char *same_script = read_text("loss.gp"), *same_picture = read_text("loss.svg");
    ck_assert_str_eq(same_script, script);
    ck_assert_str_eq(same_picture, picture);
    assert_holds(script, "2.19722458");
    free(script);
    free(picture);
    free(same_script);
    free(same_picture);
}
END_TEST

START_TEST(names_that_a_shell_would_read) {
    char odd[400];
    snprintf(odd, sizeof odd, "%s/it's a \"$HOME\" `touch pwned`; dir", directory);
    ck_assert_int_eq(mkdir(odd, 0777), 0);
    strcpy(directory, odd);
    static const char *const odd_columns[1] = {"it's `touch pwned`"};
    write_text("a 'log' `touch pwned` @x \\.csv", "step,it's `touch pwned`\n1,2\n2,3\n3,nan\n");
    tg_plot_curve_options options = {.title = "a 'title' `touch pwned` \"$x\" @HOME \\",
                                     .data = "a 'log' `touch pwned` @x \\.csv",
                                     .columns = odd_columns,
                                     .column_count = 1};
    tg_plot_outcome outcome = {0};
    ck_assert_int_eq(
        tg_plot_curve(NULL, directory, "a 'plot' `touch pwned` \\", &options, &outcome, NULL),
        TG_OK);
    ck_assert_msg(outcome.result == TG_PLOT_DRAWN, "%s", outcome.note);
    char *picture = read_text("a 'plot' `touch pwned` \\.svg");
    assert_holds(picture, "a 'title' `touch pwned` \"$x\" @HOME \\");
    ck_assert(!exists("pwned"));
    free(picture);
    *strstr(directory, "/it's") = '\0';
}
END_TEST

static const struct {
    const char *text;
    bool logarithmic;
    tg_plot_result result;
    const char *note;
} data[] = {
    {"step,loss,val_loss\n5,1,2\n", false, TG_PLOT_DRAWN, "drew"},
    {"step,loss,val_loss\n5,1,2\n6,nan,3\n7,inf,-inf\n8,1e-05,1\n", false, TG_PLOT_DRAWN, "drew"},
    {"step,loss,val_loss\n5,1,2\n6,0,-3\n7,0.5,1\n", true, TG_PLOT_DRAWN, "drew"},
    {"step,loss,val_loss\n5,1,2\n6,1.5", false, TG_PLOT_DRAWN, "drew"},
    {"step,loss,val_loss\n5,nan,nan\n6,nan,nan\n", false, TG_PLOT_FAILED, "undefined"},
    {"step,loss,val_loss\n", false, TG_PLOT_FAILED, "metrics.csv has no rows"},
    {"step,loss,val_loss\n\n\n", false, TG_PLOT_FAILED, "metrics.csv has no rows"},
    {"step,loss,val_loss", false, TG_PLOT_FAILED, "metrics.csv has no rows"},
    {"", false, TG_PLOT_FAILED, "metrics.csv has no column \"loss\""},
    {"step,loss,val_los\n1,2,3\n", false, TG_PLOT_FAILED, "has no column \"val_loss\""},
    {"step,loss,val_loss_\n1,2,3\n", false, TG_PLOT_FAILED, "has no column \"val_loss\""},
    {NULL, false, TG_PLOT_FAILED, "No such file"},
};

/* Where there is nothing to draw, an older picture stays, and the script is written. */
START_TEST(data_of_all_kinds) {
    if (data[_i].text != NULL)
        write_text("metrics.csv", data[_i].text);
    write_text("loss.svg", "an older picture");
    tg_plot_curve_options options = usual_options();
    options.reference_count = 0;
    options.logarithmic = data[_i].logarithmic;
    tg_plot_outcome outcome = plot(&options);
    ck_assert_msg(outcome.result == data[_i].result, "%s", outcome.note);
    assert_holds(outcome.note, data[_i].note);
    char *picture = read_text("loss.svg");
    if (data[_i].result == TG_PLOT_DRAWN) {
        assert_holds(picture, "</svg>");
    } else {
        ck_assert_str_eq(picture, "an older picture");
        assert_holds(outcome.note, "run \"gnuplot loss.gp\" in ");
        assert_holds(outcome.note, directory);
    }
    ck_assert(exists("loss.gp"));
    free(picture);
}
END_TEST

START_TEST(a_point_for_each_of_few_rows) {
    write_text("metrics.csv", "step,loss,val_loss\n5,1,2\n");
    tg_plot_curve_options options = usual_options();
    plot(&options);
    char *few = read_text("loss.gp");
    assert_holds(few, "with linespoints");
    write_metrics();
    plot(&options);
    char *many = read_text("loss.gp");
    ck_assert_ptr_null(strstr(many, "linespoints"));
    free(few);
    free(many);
}
END_TEST

START_TEST(the_script_is_replaced) {
    write_metrics();
    tg_plot_curve_options options = usual_options();
    options.logarithmic = true;
    plot(&options);
    char *script = read_text("loss.gp");
    assert_holds(script, "\nset terminal svg ");
    assert_holds(script, "noenhanced\n");
    assert_holds(script, "\nset title 'The model_1''s loss'");
    assert_holds(script, "\nset logscale y\n");
    free(script);
    options = (tg_plot_curve_options){.data = "metrics.csv", .columns = columns, .column_count = 1};
    plot(&options);
    script = read_text("loss.gp");
    ck_assert_ptr_null(strstr(script, "logscale"));
    ck_assert_ptr_null(strstr(script, "title 'The"));
    ck_assert_ptr_null(strstr(script, "set xlabel"));
    free(script);
}
END_TEST

/* ---- labels of references ---- */

/* The height of a text in the picture, in pixels from the top. */
static double height_of(const char *picture, const char *text) {
    char wanted[80];
    snprintf(wanted, sizeof wanted, ">%s<", text);
    const char *at = strstr(picture, wanted), *place = NULL;
    ck_assert_msg(at != NULL, "no text %s", text);
    for (const char *c = picture; c < at; c++)
        if (strncmp(c, "translate(", 10) == 0)
            place = c;
    double x, y;
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(sscanf(place, "translate(%lf,%lf)", &x, &y), 2);
    return y;
}

/* References at y, and labels "a" to "d", which are to stand in the order of `from_above`, "=" where
 * they are so far apart that they stand at their lines. */
static const struct {
    double y[4];
    int count;
    bool logarithmic;
    const char *from_above;
} near[] = {
    {{20, 20.1}, 2, false, "ba"},        {{20.1, 20}, 2, false, "ab"},
    {{20, 20, 20}, 3, false, "cba"},     {{30, 30.2, 29.9, 30.1}, 4, false, "bdac"},
    {{1.0, 1.02, 1.01}, 3, true, "bca"}, {{10, 40}, 2, false, "=ba"},
    {{40, 10, 20}, 3, true, "=acb"},
};

START_TEST(labels_stand_apart) {
    static const char *const names[4] = {"label a", "label b", "label c", "label d"};
    tg_plot_reference marks[4];
    for (int i = 0; i < near[_i].count; i++)
        marks[i] = (tg_plot_reference){near[_i].y[i], names[i]};
    write_metrics();
    tg_plot_curve_options options = usual_options();
    options.references = marks;
    options.reference_count = near[_i].count;
    options.logarithmic = near[_i].logarithmic;
    tg_plot_outcome outcome = plot(&options);
    ck_assert_msg(outcome.result == TG_PLOT_DRAWN, "%s", outcome.note);
    char *picture = read_text("loss.svg");
    double top = height_of(picture, "label a"), bottom = top, above = 0;
    bool at_their_lines = near[_i].from_above[0] == '=';
    for (const char *c = near[_i].from_above + at_their_lines; *c != '\0'; c++) {
        double height = height_of(picture, names[*c - 'a']);
        if (above > 0) /* a line of the font of 16 pixels */
            ck_assert_msg(height - above > 19, "%c is only %g below", *c, height - above);
        above = height;
        top = fmin(top, height);
        bottom = fmax(bottom, height);
    }
    /* no farther apart than they need to be */
    ck_assert(at_their_lines || bottom - top < 23 * (near[_i].count - 1));
    free(picture);
}
END_TEST

/* Where there is room, a label's height is that of its line. */
START_TEST(labels_stand_at_their_lines) {
    static const tg_plot_reference marks[2] = {{10, "low"}, {40, "high"}};
    write_metrics(); /* from 0 to 60 */
    tg_plot_curve_options options = usual_options();
    options.references = marks;
    plot(&options);
    char *picture = read_text("loss.svg");
    test_assert_near(height_of(picture, "low"), height_of(picture, " 10"), 0.01);
    test_assert_near(height_of(picture, "high"), height_of(picture, " 40"), 0.01);
    free(picture);
}
END_TEST

/* ---- scripts ---- */

static tg_plot_outcome run_script(const char *name, const char *script,
                                  const tg_plot_script_options *options) {
    tg_plot_outcome outcome = {0};
    tg_error error = {0};
    ck_assert_msg(tg_plot_script(NULL, directory, name, script, options, &outcome, &error) == TG_OK,
                  "%s", error.message);
    ck_assert_msg(strpbrk(outcome.note, "\n\r\x1b") == NULL, "%s", outcome.note);
    return outcome;
}

START_TEST(a_script) {
    tg_plot_outcome outcome = run_script("wave", "set title 'a_wave'\nplot sin(x)", NULL);
    ck_assert_msg(outcome.result == TG_PLOT_DRAWN, "%s", outcome.note);
    char *picture = read_text("wave.svg"), *script = read_text("wave.gp");
    assert_holds(picture, "width=\"960\" height=\"540\"");
    assert_holds(picture, ">a_wave<");
    assert_holds(picture, "</svg>");
    assert_holds(script, "\nset title 'a_wave'\nplot sin(x)\n");
    ck_assert(!exists("wave.svg.tmp"));
    free(picture);
    free(script);
}
END_TEST

START_TEST(a_script_on_another_sheet) {
    tg_plot_script_options options = {.width = 300, .height = 10000};
    ck_assert_int_eq(run_script("wave", "plot sin(x)\n", &options).result, TG_PLOT_DRAWN);
    char *picture = read_text("wave.svg");
    assert_holds(picture, "width=\"300\" height=\"10000\"");
    free(picture);
}
END_TEST

/* One gnuplot runs them one after the other: each draws its own picture. */
START_TEST(scripts_in_one_gnuplot) {
    run_script("a", "set title 'first'\nset logscale\nplot x\n", NULL);
    run_script("b", "set title 'second'\nplot x\n", NULL);
    ck_assert_int_eq(unlink(path_of("a.svg")), 0);
    ck_assert_int_eq(unlink(path_of("b.svg")), 0);
    char command[400];
    snprintf(command, sizeof command, "cd '%s' && gnuplot *.gp 2>errors", directory);
    ck_assert_int_eq(system(command), 0);
    char *first = read_text("a.svg"), *second = read_text("b.svg");
    assert_holds(first, ">first<");
    assert_holds(first, "</svg>");
    assert_holds(second, ">second<");
    assert_holds(second, ">-10<"); /* the linear axis from -10 to 10 */
    assert_holds(second, "</svg>");
    free(first);
    free(second);
}
END_TEST

START_TEST(a_script_that_fails) {
    write_text("wave.svg", "an older picture");
    tg_plot_outcome outcome = run_script("wave", "plot sin(x)\nplot nothing_like_this\n", NULL);
    ck_assert_int_eq(outcome.result, TG_PLOT_FAILED);
    assert_holds(outcome.note, "wave.svg is not drawn: gnuplot: ");
    assert_holds(outcome.note, "nothing_like_this");
    assert_holds(outcome.note, "run \"gnuplot wave.gp\" in ");
    char *picture = read_text("wave.svg");
    ck_assert_str_eq(picture, "an older picture");
    ck_assert(!exists("wave.svg.tmp"));
    free(picture);
}
END_TEST

START_TEST(a_script_that_is_written_only) {
    tg_plot_script_options options = {.fault = "nobody is there"};
    tg_plot_outcome outcome = run_script("wave", "plot sin(x)\n", &options);
    char wanted[600];
    snprintf(wanted, sizeof wanted,
             "wave.svg is not drawn: nobody is there; to draw it later, run \"gnuplot wave.gp\" in "
             "%s",
             directory);
    ck_assert_int_eq(outcome.result, TG_PLOT_FAILED);
    ck_assert_str_eq(outcome.note, wanted);
    ck_assert(exists("wave.gp"));
    ck_assert(!exists("wave.svg"));
}
END_TEST

START_TEST(a_script_that_takes_too_long) {
    tg_plot_script_options options = {.timeout = 0.3};
    tg_plot_outcome outcome = run_script("wave", "plot sin(x)\npause 600\n", &options);
    ck_assert_int_eq(outcome.result, TG_PLOT_TIMED_OUT);
    assert_holds(outcome.note, "gnuplot took more than 0.3 s");
    ck_assert(!exists("wave.svg"));
    ck_assert(!exists("wave.svg.tmp"));
}
END_TEST

/* ---- programs in gnuplot's place ---- */

static const struct {
    const char *program; /* a shell script; NULL for none */
    double timeout;
    tg_plot_result result;
    const char *note;
} fakes[] = {
    {NULL, 0, TG_PLOT_NO_GNUPLOT, "there is no program "},
    {"exit 1", 0, TG_PLOT_FAILED, "fake exited with 1"},
    {"echo first >&2; echo 'last\tone' >&2; echo >&2; exit 2", 0, TG_PLOT_FAILED, "fake: lastone;"},
    {"exit 127", 0, TG_PLOT_NO_GNUPLOT, "there is no program "},
    {"exit 126", 0, TG_PLOT_FAILED, "cannot be executed"},
    {"kill -9 $$", 0, TG_PLOT_FAILED, "ended by signal 9"},
    {"exit 0", 0, TG_PLOT_FAILED, "it drew nothing"},
    {": > loss.svg.tmp", 0, TG_PLOT_FAILED, "it drew nothing"},
    {"echo part > loss.svg.tmp; exit 1", 0, TG_PLOT_FAILED, "fake exited with 1"},
    {"echo picture > loss.svg.tmp", 0, TG_PLOT_DRAWN, "drew "},
    {"i=0; while [ $i -lt 20000 ]; do echo 'a line of fifty bytes or so, again and again' >&2;"
     " i=$((i + 1)); done; echo the end >&2; exit 1",
     0, TG_PLOT_FAILED, "fake: the end;"},
    {"sleep 600", 0.3, TG_PLOT_TIMED_OUT, "fake took more than 0.3 s"},
    {"exec 2>&-; sleep 600", 0.3, TG_PLOT_TIMED_OUT, "fake took more than 0.3 s"},
    {"trap '' TERM INT HUP; while :; do sleep 0.01; done", 0.3, TG_PLOT_TIMED_OUT, "took more"},
    {"sleep 3 & exit 1", 2, TG_PLOT_FAILED, "fake exited with 1"},
};

static void write_fake(const char *body) {
    char text[400];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", body);
    write_text("fake", text);
    ck_assert_int_eq(chmod(path_of("fake"), 0755), 0);
}

START_TEST(what_gnuplot_may_do) {
    write_metrics();
    write_text("loss.svg", "an older picture");
    if (fakes[_i].program != NULL)
        write_fake(fakes[_i].program);
    char program[400];
    strcpy(program, path_of("fake"));
    tg_plot_curve_options options = usual_options();
    options.gnuplot = program;
    options.timeout = fakes[_i].timeout;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    tg_plot_outcome outcome = plot(&options);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert_msg(outcome.result == fakes[_i].result, "%d: %s", outcome.result, outcome.note);
    assert_holds(outcome.note, fakes[_i].note);
    if (fakes[_i].timeout > 0)
        ck_assert_int_lt(end.tv_sec - begin.tv_sec, 3);
    char *picture = read_text("loss.svg");
    ck_assert_str_eq(picture, fakes[_i].result == TG_PLOT_DRAWN ? "picture\n" : "an older picture");
    ck_assert(exists("loss.gp"));
    free(picture);
}
END_TEST

START_TEST(no_gnuplot_in_the_path) {
    write_metrics();
    setenv("PATH", path_of("nowhere"), 1);
    tg_plot_curve_options options = usual_options();
    tg_plot_outcome outcome = plot(&options);
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    ck_assert_int_eq(outcome.result, TG_PLOT_NO_GNUPLOT);
    char wanted[600];
    snprintf(wanted, sizeof wanted,
             "loss.svg is not drawn: there is no program gnuplot; to draw it later, run \"gnuplot "
             "loss.gp\" in %s",
             directory);
    ck_assert_str_eq(outcome.note, wanted);
    ck_assert(exists("loss.gp"));
    ck_assert(!exists("loss.svg"));
}
END_TEST

START_TEST(a_file_that_cannot_be_executed) {
    write_metrics();
    write_fake("exit 0");
    chmod(path_of("fake"), 0644);
    char program[400];
    strcpy(program, path_of("fake"));
    tg_plot_curve_options options = usual_options();
    options.gnuplot = program;
    tg_plot_outcome outcome = plot(&options);
    ck_assert_int_eq(outcome.result, TG_PLOT_FAILED);
    assert_holds(outcome.note, "cannot be executed");
}
END_TEST

START_TEST(a_program_without_standard_descriptors) {
    write_metrics();
    write_fake("echo why >&2; exit 1");
    char program[400];
    strcpy(program, path_of("fake"));
    tg_plot_curve_options options = usual_options(), with_fake = options;
    with_fake.gnuplot = program;
    tg_plot_outcome outcome = {0}, fake_outcome = {0};
    int kept[3];
    for (int i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD, 10);
        close(i);
    }
    tg_status status = tg_plot_curve(NULL, directory, "loss", &options, &outcome, NULL);
    tg_plot_curve(NULL, directory, "loss", &with_fake, &fake_outcome, NULL);
    bool closed = fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
    for (int i = 0; i < 3; i++)
        dup2(kept[i], i);
    ck_assert_int_eq(status, TG_OK);
    ck_assert_msg(outcome.result == TG_PLOT_DRAWN, "%s", outcome.note);
    assert_holds(fake_outcome.note, "fake: why;");
    ck_assert(closed);
}
END_TEST

/* The directory, the arguments, the locale, an empty stdin, and a stdout that leads nowhere. */
START_TEST(what_gnuplot_is_given) {
    write_metrics();
    write_fake("{ pwd -P; echo \"$# $1 $2 $3 $4\"; echo \"$LC_ALL\"; cat; } > given; echo noise");
    char program[400], real[4096];
    strcpy(program, path_of("fake"));
    ck_assert_ptr_nonnull(realpath(directory, real));
    setenv("LC_ALL", "C.UTF-8", 1);
    tg_plot_curve_options options = usual_options();
    options.gnuplot = program;
    int output = dup(STDOUT_FILENO), input = dup(STDIN_FILENO);
    write_text("input", "some input\n");
    dup2(open(path_of("input"), O_RDONLY), STDIN_FILENO);
    dup2(open(path_of("output"), O_WRONLY | O_CREAT, 0666), STDOUT_FILENO);
    plot(&options);
    dup2(output, STDOUT_FILENO);
    dup2(input, STDIN_FILENO);
    char wanted[5000];
    snprintf(wanted, sizeof wanted, "%s\n4 -d -e picture='loss.svg.tmp' loss.gp\nC\n", real);
    char *given = read_text("given"), *printed = read_text("output");
    ck_assert_str_eq(given, wanted);
    ck_assert_str_eq(printed, "");
    ck_assert_str_eq(getenv("LC_ALL"), "C.UTF-8");
    free(given);
    free(printed);
}
END_TEST

/* This program in gnuplot's place: shells have signal masks of their own. */
#define AS_GNUPLOT "TEST_PLOT_AS_GNUPLOT"

static int blocked_signals(void) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int blocked = 0;
    for (int signal = 1; signal < 32; signal++)
        blocked += sigismember(&mask, signal) == 1;
    return blocked;
}

START_TEST(no_signal_is_blocked_in_gnuplot) {
    write_metrics();
    tg_plot_curve_options options = usual_options();
    options.gnuplot = "/proc/self/exe";
    sigset_t all, before;
    sigfillset(&all);
    setenv(AS_GNUPLOT, "1", 1);
    sigprocmask(SIG_BLOCK, &all, &before);
    tg_plot_outcome outcome = plot(&options);
    int blocked = blocked_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_gt(blocked, 20);
    assert_holds(outcome.note, "it drew nothing"); /* exit code 0 */
}
END_TEST

static bool is_running(long pid) {
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state != 'Z';
}

START_TEST(what_it_started_is_killed_too) {
    write_metrics();
    write_fake("sleep 600 & echo $! > pid; wait");
    char program[400];
    strcpy(program, path_of("fake"));
    tg_plot_curve_options options = usual_options();
    options.gnuplot = program;
    options.timeout = 0.5;
    ck_assert_int_eq(plot(&options).result, TG_PLOT_TIMED_OUT);
    char *pid = read_text("pid");
    for (int i = 0; i < 200 && is_running(atol(pid)); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    ck_assert(!is_running(atol(pid)));
    free(pid);
}
END_TEST

/* ---- errors ---- */

static const char *const no_name[1] = {NULL};
static const char *const bad_name[1] = {"a\nb"};
static const tg_plot_reference at_nan[1] = {{NAN, NULL}}, at_zero[1] = {{0, NULL}},
                               bad_label[1] = {{1, "\x1b[1m"}};

static const struct {
    const char *name;
    tg_plot_curve_options options;
    const char *message;
} faults[] = {
    {NULL, {.data = "d", .columns = columns, .column_count = 1}, "no name of the plot"},
    {"", {.data = "d", .columns = columns, .column_count = 1}, "no name of the plot"},
    {"a/b", {.data = "d", .columns = columns, .column_count = 1}, "\"a/b\""},
    {"-p", {.data = "d", .columns = columns, .column_count = 1}, "\"-p\""},
    {"a\nb", {.data = "d", .columns = columns, .column_count = 1}, "0x0a"},
    {"loss", {.columns = columns, .column_count = 1}, "no name of the data"},
    {"loss", {.data = "../d", .columns = columns, .column_count = 1}, "\"../d\""},
    {"loss", {.data = "d", .columns = columns}, "no columns"},
    {"loss", {.data = "d", .column_count = 1}, "no columns"},
    {"loss", {.data = "d", .columns = no_name, .column_count = 1}, "column 0 has no name"},
    {"loss", {.data = "d", .columns = bad_name, .column_count = 1}, "0x0a"},
    {"loss", {.title = "a\rb", .data = "d", .columns = columns, .column_count = 1}, "title"},
    {"loss", {.x_label = "\n", .data = "d", .columns = columns, .column_count = 1}, "x axis"},
    {"loss", {.y_label = "\n", .data = "d", .columns = columns, .column_count = 1}, "y axis"},
    {"loss",
     {.data = "d", .columns = columns, .column_count = 1, .reference_count = 1},
     "1 references at NULL"},
    {"loss",
     {.data = "d", .columns = columns, .column_count = 1, .reference_count = -1},
     "-1 references"},
    {"loss",
     {.data = "d",
      .columns = columns,
      .column_count = 1,
      .references = at_nan,
      .reference_count = 1},
     "reference 0 is not on the axis"},
    {"loss",
     {.data = "d",
      .columns = columns,
      .column_count = 1,
      .references = at_zero,
      .reference_count = 1,
      .logarithmic = true},
     "reference 0 is not on the axis"},
    {"loss",
     {.data = "d",
      .columns = columns,
      .column_count = 1,
      .references = bad_label,
      .reference_count = 1},
     "0x1b"},
    {"loss", {.data = "d", .columns = columns, .column_count = 1, .timeout = -1}, "timeout"},
    {"loss", {.data = "d", .columns = columns, .column_count = 1, .timeout = NAN}, "timeout"},
};

START_TEST(options_that_are_none) {
    tg_plot_outcome outcome = {.result = TG_PLOT_TIMED_OUT};
    tg_error error = {0};
    ck_assert_int_eq(
        tg_plot_curve(NULL, directory, faults[_i].name, &faults[_i].options, &outcome, &error),
        TG_EINVAL);
    assert_holds(error.message, faults[_i].message);
    ck_assert_int_eq(outcome.result, TG_PLOT_TIMED_OUT);
    ck_assert(!exists("loss.gp"));
    ck_assert_int_eq(tg_plot_curve(NULL, NULL, "loss", &faults[0].options, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_plot_curve(NULL, directory, "loss", NULL, NULL, NULL), TG_EINVAL);
}
END_TEST

static const struct {
    const char *name, *script;
    tg_plot_script_options options;
    const char *message;
} script_faults[] = {
    {NULL, "plot x\n", {0}, "no name of the plot"},
    {"a/b", "plot x\n", {0}, "\"a/b\""},
    {"-p", "plot x\n", {0}, "\"-p\""},
    {"a\nb", "plot x\n", {0}, "0x0a"},
    {"a", NULL, {0}, "no script"},
    {"a", "plot x\n", {.timeout = -1}, "timeout"},
    {"a", "plot x\n", {.timeout = NAN}, "timeout"},
    {"a", "plot x\n", {.width = -1}, "-1 by 0"},
    {"a", "plot x\n", {.height = -1}, "0 by -1"},
    {"a", "plot x\n", {.width = 10001}, "10001 by 0"},
    {"a", "plot x\n", {.height = 10001}, "0 by 10001"},
};

START_TEST(scripts_that_are_none) {
    tg_plot_outcome outcome = {.result = TG_PLOT_TIMED_OUT};
    tg_error error = {0};
    ck_assert_int_eq(tg_plot_script(NULL, directory, script_faults[_i].name,
                                    script_faults[_i].script, &script_faults[_i].options, &outcome,
                                    &error),
                     TG_EINVAL);
    assert_holds(error.message, script_faults[_i].message);
    ck_assert_int_eq(outcome.result, TG_PLOT_TIMED_OUT);
    ck_assert(!exists("a.gp"));
    ck_assert_int_eq(tg_plot_script(NULL, NULL, "a", "plot x\n", NULL, NULL, NULL), TG_EINVAL);
}
END_TEST

START_TEST(a_script_that_cannot_be_written) {
    write_metrics();
    tg_plot_curve_options options = usual_options();
    tg_error error = {0};
    ck_assert_int_eq(mkdir(path_of("loss.gp"), 0777), 0);
    ck_assert_int_eq(tg_plot_curve(NULL, directory, "loss", &options, NULL, &error), TG_EIO);
    assert_holds(error.message, path_of("loss.gp"));
    ck_assert_int_eq(tg_plot_curve(NULL, path_of("nowhere"), "loss", &options, NULL, &error),
                     TG_EIO);
    assert_holds(error.message, "/nowhere");
    assert_holds(error.message, strerror(ENOENT));
}
END_TEST

START_TEST(out_of_memory_at_every_allocation) {
    write_metrics();
    write_fake("echo picture > loss.svg.tmp");
    char program[400];
    strcpy(program, path_of("fake"));
    tg_plot_curve_options options = usual_options();
    options.gnuplot = program;
    test_memory memory = {0};
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
    size_t failures = 0;
    tg_plot_outcome outcome = {.result = TG_PLOT_FAILED};
    while (outcome.result != TG_PLOT_DRAWN) {
        memory.requests = 0;
        memory.fail_at = failures + 1;
        tg_error error = {0};
        tg_status status = tg_plot_curve(context, directory, "loss", &options, &outcome, &error);
        ck_assert(status == TG_ENOMEM || status == TG_OK);
        ck_assert_int_eq(error.status, status);
        ck_assert_uint_eq(memory.live_blocks, 1);
        ck_assert_int_eq(exists("loss.svg"), outcome.result == TG_PLOT_DRAWN);
        failures += outcome.result != TG_PLOT_DRAWN;
    }
    ck_assert_uint_ge(failures, 5);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static TCase *pictures(void) {
    TCase *tests = tcase_create("pictures");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_picture);
    tcase_add_test(tests, the_script_by_hand);
    tcase_add_loop_test(tests, surroundings_that_do_not_matter, 0, 2);
    tcase_add_test(tests, a_comma_for_a_point);
    tcase_add_test(tests, names_that_a_shell_would_read);
    tcase_add_loop_test(tests, data_of_all_kinds, 0, (int)(sizeof data / sizeof data[0]));
    tcase_add_test(tests, a_point_for_each_of_few_rows);
    tcase_add_test(tests, the_script_is_replaced);
    return tests;
}

static TCase *labels(void) {
    TCase *tests = tcase_create("labels");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, labels_stand_apart, 0, (int)(sizeof near / sizeof near[0]));
    tcase_add_test(tests, labels_stand_at_their_lines);
    return tests;
}

static TCase *scripts(void) {
    TCase *tests = tcase_create("scripts");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_script);
    tcase_add_test(tests, a_script_on_another_sheet);
    tcase_add_test(tests, scripts_in_one_gnuplot);
    tcase_add_test(tests, a_script_that_fails);
    tcase_add_test(tests, a_script_that_is_written_only);
    tcase_add_test(tests, a_script_that_takes_too_long);
    return tests;
}

static TCase *programs(void) {
    TCase *tests = tcase_create("programs");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, what_gnuplot_may_do, 0, (int)(sizeof fakes / sizeof fakes[0]));
    tcase_add_test(tests, no_gnuplot_in_the_path);
    tcase_add_test(tests, a_file_that_cannot_be_executed);
    tcase_add_test(tests, a_program_without_standard_descriptors);
    tcase_add_test(tests, what_gnuplot_is_given);
    tcase_add_test(tests, no_signal_is_blocked_in_gnuplot);
    tcase_add_test(tests, what_it_started_is_killed_too);
    return tests;
}

static TCase *errors(void) {
    TCase *tests = tcase_create("errors");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, options_that_are_none, 0, (int)(sizeof faults / sizeof faults[0]));
    tcase_add_loop_test(tests, scripts_that_are_none, 0,
                        (int)(sizeof script_faults / sizeof script_faults[0]));
    tcase_add_test(tests, a_script_that_cannot_be_written);
    tcase_add_test(tests, out_of_memory_at_every_allocation);
    return tests;
}

static Suite *suite(void) {
    Suite *made = suite_create("plot");
    suite_add_tcase(made, pictures());
    suite_add_tcase(made, labels());
    suite_add_tcase(made, scripts());
    suite_add_tcase(made, programs());
    suite_add_tcase(made, errors());
    return made;
}

int main(void) {
    if (getenv(AS_GNUPLOT) != NULL)
        return blocked_signals();
    return test_main(suite());
}
