/* posix_openpt(), syscall() */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include "support.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "comma_locale.h"
#include "train/progress.h"

/* The clock of the test: the library's calls come through here. Below 0 it is the real one. */
static double fake_time = -1;
static long looks;

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (fake_time < 0)
        return (int)syscall(SYS_clock_gettime, clock, now);
    looks++;
    now->tv_sec = (time_t)fake_time;
    now->tv_nsec = (long)((fake_time - (double)now->tv_sec) * 1e9);
    return 0;
}

/* ---- a terminal ---- */

static char shown[1 << 20]; /* all that came out of it */
static size_t shown_size;
static int master = -1;

static FILE *open_terminal(unsigned short columns) {
    master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(slave, 0);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    ck_assert_int_eq(ioctl(slave, TIOCSWINSZ, &size), 0);
    struct termios mode;
    ck_assert_int_eq(tcgetattr(slave, &mode), 0);
    mode.c_oflag &= ~(tcflag_t)OPOST; /* or '\n' would come out as "\r\n" */
    ck_assert_int_eq(tcsetattr(slave, TCSANOW, &mode), 0);
    ck_assert_int_eq(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(setenv("TERM", "xterm", 1), 0);
    ck_assert_int_eq(unsetenv("COLUMNS"), 0);
    FILE *file = fdopen(slave, "w");
    ck_assert_ptr_nonnull(file);
    return file;
}

static void resize_terminal(unsigned short columns) {
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    ck_assert_int_eq(ioctl(master, TIOCSWINSZ, &size), 0);
}

static void drain_terminal(void) {
    ssize_t got = 1;
    while (got > 0 && shown_size < sizeof shown - 1) {
        got = read(master, shown + shown_size, sizeof shown - 1 - shown_size);
        shown_size += got > 0 ? (size_t)got : 0;
    }
    shown[shown_size] = '\0';
}

/* What stands in the terminal's line after all of `text`, as a terminal of endless width shows it;
 * the line's greatest length is returned. */
static size_t final_line(const char *text, char line[256]) {
    memset(line, 0, 256);
    size_t column = 0, longest = 0;
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '\r') {
            column = 0;
            continue;
        }
        ck_assert_uint_lt(column, 255);
        line[column++] = *text;
        longest = column > longest ? column : longest;
    }
    for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--)
        line[end - 1] = '\0';
    return longest;
}

static int count_of(const char *text, char c) {
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == c;
    return count;
}

/* A run of steps that take `step_seconds`, from `first` to `last`. */
static void run(tg_progress *progress, int64_t first, int64_t last, double step_seconds) {
    for (int64_t done = first; done <= last; done++) {
        fake_time += step_seconds;
        tg_progress_update(progress, done, 2.0 / (double)done);
        if (master >= 0)
            drain_terminal();
    }
}

START_TEST(a_bar) {
    FILE *file = open_terminal(80);
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "train", 6000);
    run(&progress, 1, 3000, 0.01);
    char line[256];
    ck_assert_uint_le(final_line(shown, line), 79);
    /* drawn some steps before 3000, in the last tenth of a second */
    ck_assert_msg(strncmp(line, "train [############..............]  49%  2", 42) == 0, "%s", line);
    ck_assert_msg(strstr(line, "/6000  loss 0.00066") != NULL, "%s", line);
    ck_assert_msg(strstr(line, "  30s left") != NULL, "%s", line);
    run(&progress, 3001, 6000, 0.01);
    tg_progress_end(&progress);
    drain_terminal();
    final_line(shown, line);
    ck_assert_str_eq(line, "train [##########################] 100%  6000/6000"
                           "  loss 0.0003333  in 1m00s");
    ck_assert_int_eq(count_of(shown, '\n'), 1);
    ck_assert_int_eq(shown[shown_size - 1], '\n');
    ck_assert_int_eq(count_of(shown, '\x1b'), 0);
    fake_time = -1;
    fclose(file);
}
END_TEST

START_TEST(at_most_ten_draws_a_second_and_few_looks_at_the_clock) {
    FILE *file = open_terminal(80);
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "train", 1000000);
    run(&progress, 1, 1000000, 20e-6); /* 20 seconds */
    int draws = count_of(shown, '\r');
    ck_assert_int_le(draws, 200);
    ck_assert_int_ge(draws, 150);
    ck_assert_int_le(looks, 2000);
    tg_progress_end(&progress);
    fake_time = -1;
    fclose(file);
}
END_TEST

START_TEST(slow_steps_are_each_shown) {
    FILE *file = open_terminal(80);
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "train", 1000000);
    run(&progress, 1, 20, 2);
    ck_assert_int_eq(count_of(shown, '\r'), 20);
    /* and after quick ones it takes some steps, not a fifth of the run, to notice */
    run(&progress, 21, 50000, 1e-4);
    int before = count_of(shown, '\r');
    run(&progress, 50001, 50500, 2);
    ck_assert_int_ge(count_of(shown, '\r') - before, 250);
    tg_progress_end(&progress);
    fake_time = -1;
    fclose(file);
}
END_TEST

static const struct {
    unsigned short columns;
    const char *label;
    const char *line; /* at 57 percent */
} widths[] = {
    {1, "train", ""},
    {2, "train", ""},
    {5, "train", "  57"},
    {6, "train", "  57%"},
    {12, "train", "train  57%"},
    {20, "train", "train [###...]  57%"},
    {20, "a rather long label", " [######.....]  57%"},
    {40, "train", "train [#####.....]  57%  loss 0.01754"},
    {40, "", " [###...]  57%  114/200  loss 0.01754"},
    {60, "train", "train [####....]  57%  114/200  loss 0.01754    1m26s left"},
    {80, "train", "train [###############.............]  57%  114/200  loss 0.01754    1m26s left"},
    {500, "train",
     "train [######################..................]  57%  114/200  loss 0.01754    1m26s left"},
};

START_TEST(any_width) {
    FILE *file = open_terminal(widths[_i].columns);
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, widths[_i].label, 200);
    run(&progress, 1, 114, 1);
    char line[256];
    size_t longest = final_line(shown, line);
    ck_assert_uint_lt(longest, widths[_i].columns);
    ck_assert_str_eq(line, widths[_i].line);
    fake_time = -1;
    fclose(file);
}
END_TEST

START_TEST(a_terminal_that_is_made_narrower_or_tells_no_width) {
    FILE *file = open_terminal(80);
    tg_progress progress;
    fake_time = 1000;
    ck_assert_int_eq(setenv("COLUMNS", "40", 1), 0);
    tg_progress_begin(&progress, file, "train", 200);
    run(&progress, 1, 113, 1);
    char line[256];
    ck_assert_uint_gt(final_line(shown, line), 70);
    resize_terminal(20);
    shown_size = 0;
    run(&progress, 114, 114, 1);
    ck_assert_uint_le(final_line(shown, line), 19);
    ck_assert_str_eq(line, "train [###...]  57%");
    resize_terminal(0);
    shown_size = 0;
    run(&progress, 115, 115, 1);
    ck_assert_uint_le(final_line(shown, line), 39);
    ck_assert_str_eq(line, "train [#####.....]  57%  loss 0.01739");
    fake_time = -1;
    fclose(file);
}
END_TEST

START_TEST(a_shorter_bar_leaves_nothing_of_a_longer_one) {
    FILE *file = open_terminal(80);
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "train", 200);
    run(&progress, 1, 3, 100);
    char line[256];
    final_line(shown, line);
    ck_assert_msg(strstr(line, "loss 0.6667     5h28m left") != NULL, "%s", line);
    fake_time += 1;
    tg_progress_update(&progress, 200, 0);
    tg_progress_end(&progress);
    drain_terminal();
    final_line(shown, line);
    ck_assert_msg(strstr(line, "loss 0          in 5m01s") != NULL, "%s", line);
    ck_assert_str_eq(strstr(line, "in 5m01s"), "in 5m01s");
    fake_time = -1;
    fclose(file);
}
END_TEST

/* ---- a file ---- */

static char directory[256], path[300];

static char *lines_of(int64_t first, int64_t last, int64_t total, double step_seconds) {
    snprintf(path, sizeof path, "%s/log", directory);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "train", total);
    run(&progress, first, last, step_seconds);
    tg_progress_end(&progress);
    fake_time = -1;
    fclose(file);
    size_t size;
    char *text = test_read_file(path, &size);
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(text[i] == '\n' || text[i] >= ' ', "byte 0x%02x in a log", text[i]);
    return text;
}

/* Steps of 1/64 second. */
static const char *const all_lines = "train: 600/6000 (10%), loss 0.003333, 9.4s, 1m24s left\n"
                                     "train: 1200/6000 (20%), loss 0.001667, 19s, 1m15s left\n"
                                     "train: 1800/6000 (30%), loss 0.001111, 28s, 1m06s left\n"
                                     "train: 2400/6000 (40%), loss 0.0008333, 38s, 56s left\n"
                                     "train: 3000/6000 (50%), loss 0.0006667, 47s, 47s left\n"
                                     "train: 3600/6000 (60%), loss 0.0005556, 56s, 38s left\n"
                                     "train: 4200/6000 (70%), loss 0.0004762, 1m06s, 28s left\n"
                                     "train: 4800/6000 (80%), loss 0.0004167, 1m15s, 19s left\n"
                                     "train: 5400/6000 (90%), loss 0.0003704, 1m24s, 9.4s left\n"
                                     "train: 6000/6000 (100%), loss 0.0003333, 1m34s\n";

START_TEST(ten_lines_in_a_file) {
    char *text = lines_of(1, 6000, 6000, 1.0 / 64);
    ck_assert_str_eq(text, all_lines);
    ck_assert_int_le(looks, 15);
    free(text);
}
END_TEST

START_TEST(lines_where_the_point_is_a_comma) {
    comma_locale_enter(directory);
    char *text = lines_of(1, 6000, 6000, 1.0 / 64);
    ck_assert_str_eq(text, all_lines);
    free(text);
}
END_TEST

START_TEST(lines_of_a_resumed_run) {
    char *text = lines_of(4501, 6000, 6000, 1.0 / 64);
    ck_assert_str_eq(text, "train: 4800/6000 (80%), loss 0.0004167, 4.7s, 19s left\n"
                           "train: 5400/6000 (90%), loss 0.0003704, 14s, 9.4s left\n"
                           "train: 6000/6000 (100%), loss 0.0003333, 23s\n");
    free(text);
}
END_TEST

START_TEST(lines_of_a_run_that_is_broken_off) {
    char *text = lines_of(1, 1300, 6000, 1.0 / 64);
    ck_assert_int_eq(count_of(text, '\n'), 3);
    ck_assert_msg(strstr(text, "\ntrain: 1300/6000 (21%), loss 0.001538, 20s, 1m13s left\n") !=
                      NULL,
                  "%s", text);
    free(text);
}
END_TEST

START_TEST(lines_of_a_short_run) {
    char *text = lines_of(1, 3, 3, 1.0 / 64);
    ck_assert_str_eq(text, "train: 1/3 (33%), loss 2, 0.0s\n"
                           "train: 2/3 (66%), loss 1, 0.0s, 0.0s left\n"
                           "train: 3/3 (100%), loss 0.6667, 0.0s\n");
    free(text);
    text = lines_of(1, 0, 3, 1);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

START_TEST(a_loss_that_is_no_number) {
    char text[256] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "a\x1b[1m\rb", 1);
    tg_progress_update(&progress, 1, NAN);
    tg_progress_end(&progress);
    fake_time = -1;
    fclose(file);
    ck_assert_str_eq(text, "a?[1m?b: 1/1 (100%), loss nan, 0.0s\n");
}
END_TEST

START_TEST(a_long_label_is_cut_between_characters) {
    char text[256] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "123456789 123456789 123456789 \xc3\xa9\xc3\xa9", 1);
    tg_progress_update(&progress, 1, 1);
    tg_progress_end(&progress);
    fake_time = -1;
    fclose(file);
    ck_assert_str_eq(text, "123456789 123456789 123456789 : 1/1 (100%), loss 1, 0.0s\n");
}
END_TEST

static const struct { const char *term; } plain_terms[] = {{"dumb"}, {""}, {NULL}};

START_TEST(lines_on_a_terminal_that_cannot_draw) {
    FILE *file = open_terminal(80);
    if (plain_terms[_i].term != NULL)
        setenv("TERM", plain_terms[_i].term, 1);
    else
        unsetenv("TERM");
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "train", 6000);
    run(&progress, 1, 6000, 1.0 / 64);
    tg_progress_end(&progress);
    fake_time = -1;
    drain_terminal();
    ck_assert_str_eq(shown, all_lines);
    fclose(file);
}
END_TEST

START_TEST(no_file_and_no_steps) {
    tg_progress progress;
    tg_progress_begin(&progress, NULL, "train", 10);
    tg_progress_update(&progress, 1, 1);
    tg_progress_update(&progress, INT64_MAX, 1);
    tg_progress_end(&progress);
    tg_progress_end(&progress);
    tg_progress_update(&progress, 2, 1);
    char text[64] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    tg_progress_begin(&progress, file, NULL, 0);
    tg_progress_update(&progress, 0, 1);
    tg_progress_end(&progress);
    fclose(file);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(numbers_at_their_limits) {
    char text[512] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    tg_progress progress;
    fake_time = 1000;
    tg_progress_begin(&progress, file, "x", INT64_MAX);
    tg_progress_update(&progress, -5, 1);
    tg_progress_update(&progress, 0, 1);
    tg_progress_update(&progress, INT64_MAX, 1);
    tg_progress_end(&progress);
    fclose(file);
    ck_assert_str_eq(text, "x: 9223372036854775807/9223372036854775807 (100%), loss 1, 0.0s\n");
    file = open_terminal(80);
    tg_progress_begin(&progress, file, "x", INT64_MAX);
    tg_progress_update(&progress, 0, 1);
    tg_progress_update(&progress, INT64_MAX / 2, 1);
    tg_progress_update(&progress, INT64_MAX, -1e-300);
    tg_progress_end(&progress);
    fake_time = -1;
    fclose(file);
}
END_TEST

/* A log on a full disk, and a stderr that is closed: the run goes on. */
START_TEST(what_cannot_be_written_is_passed_over) {
    FILE *file = fopen("/dev/full", "w");
    tg_progress progress;
    tg_progress_begin(&progress, file, "train", 10);
    for (int64_t done = 1; done <= 10; done++)
        tg_progress_update(&progress, done, 1);
    tg_progress_end(&progress);
    fclose(file);
    int kept = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    tg_progress_begin(&progress, stderr, "train", 10);
    for (int64_t done = 1; done <= 10; done++)
        tg_progress_update(&progress, done, 1);
    tg_progress_end(&progress);
    dup2(kept, STDERR_FILENO);
    ck_assert_int_eq(progress.running, 0);
}
END_TEST

static void setup(void) {
    test_directory_make(directory);
}

static void teardown(void) {
    test_directory_remove(directory);
}

static TCase *on_a_terminal(void) {
    TCase *tests = tcase_create("terminal");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_bar);
    tcase_add_test(tests, at_most_ten_draws_a_second_and_few_looks_at_the_clock);
    tcase_add_test(tests, slow_steps_are_each_shown);
    tcase_add_loop_test(tests, any_width, 0, (int)(sizeof widths / sizeof widths[0]));
    tcase_add_test(tests, a_terminal_that_is_made_narrower_or_tells_no_width);
    tcase_add_test(tests, a_shorter_bar_leaves_nothing_of_a_longer_one);
    tcase_add_loop_test(tests, lines_on_a_terminal_that_cannot_draw, 0, 3);
    return tests;
}

static TCase *elsewhere(void) {
    TCase *tests = tcase_create("lines");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, ten_lines_in_a_file);
    tcase_add_test(tests, lines_where_the_point_is_a_comma);
    tcase_add_test(tests, lines_of_a_resumed_run);
    tcase_add_test(tests, lines_of_a_run_that_is_broken_off);
    tcase_add_test(tests, lines_of_a_short_run);
    tcase_add_test(tests, a_loss_that_is_no_number);
    tcase_add_test(tests, a_long_label_is_cut_between_characters);
    tcase_add_test(tests, no_file_and_no_steps);
    tcase_add_test(tests, numbers_at_their_limits);
    tcase_add_test(tests, what_cannot_be_written_is_passed_over);
    return tests;
}

static Suite *suite(void) {
    Suite *made = suite_create("progress");
    suite_add_tcase(made, on_a_terminal());
    suite_add_tcase(made, elsewhere());
    return made;
}

int main(void) {
    return test_main(suite());
}
