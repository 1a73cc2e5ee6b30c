/* The live view: what it tells gnuplot, what it shows, and that nothing that gnuplot does holds up
 * or ends the program. Scripts stand in gnuplot's place; the time is the real one. */
#define _XOPEN_SOURCE 700 /* posix_openpt() */

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "article/live.h"

static char directory[256];
static live view; /* too large for a stack that is checked */

static const char *path_of(const char *name) {
    static char paths[4][400];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void setup(void) {
    test_directory_make(directory);
    ck_assert_int_eq(unsetenv("DISPLAY"), 0);
    ck_assert_int_eq(unsetenv("WAYLAND_DISPLAY"), 0);
    ck_assert_int_eq(setenv("TERM", "xterm", 1), 0);
    test_write_file(path_of("loss.csv"), "step,loss\n1,2.5\n2,1.5\n3,0.5\n", 28);
}

static void teardown(void) {
    test_directory_remove(directory);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Updates, a millisecond apart, for so long; returns how long the longest took. */
static double run_for(double seconds, int64_t *step) {
    const struct timespec pause = {.tv_nsec = 1000000};
    double longest = 0;
    for (double begin = now(); now() - begin < seconds;) {
        double before = now();
        live_update(&view, ++*step);
        longest = now() - before > longest ? now() - before : longest;
        nanosleep(&pause, NULL);
    }
    return longest;
}

static char *text_of(const char *name) {
    size_t size;
    return access(path_of(name), F_OK) == 0 ? test_read_file(path_of(name), &size) : strdup("");
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void assert_holds(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

/* ---- in gnuplot's place ---- */

static void write_fake(const char *body) {
    char text[2048];
    int length = snprintf(text, sizeof text, "#!/bin/sh\n%s\n", body);
    ck_assert_int_lt(length, (int)sizeof text);
    test_write_file(path_of("fake"), text, (size_t)length);
    ck_assert_int_eq(chmod(path_of("fake"), 0755), 0);
}

/* Writes what it is told to "told", with the directory and arguments first and "the end" last, and
 * answers as gnuplot does; its terminals are `terminals`. */
static void write_recorder(const char *terminals) {
    char body[1024];
    snprintf(
        body, sizeof body,
        "pwd >told; echo \"$@ $LC_ALL $GNUTERM\" >>told; i=0\n"
        "while IFS= read -r line; do\n"
        "  printf '%%s\\n' \"$line\" >>told\n"
        "  case \"$line\" in\n"
        "  plot*) i=$((i+1)); echo warned; printf '\\f  \\ndrawing %%d\\n\\033[31mend\\n' $i;;\n"
        "  *GPVAL_TERMINALS*) echo 'terminals: %s ';;\n"
        "  \"print '\"*) printf '%%s\\n' \"$line\" | sed \"s/^print '//; s/'\\$//\";;\n"
        "  esac\n"
        "done\n"
        "echo the end >>told",
        terminals);
    write_fake(body);
}

static live_options fake_options(void) {
    static char path[400];
    strcpy(path, path_of("fake"));
    return (live_options){.gnuplot = path};
}

/* The process that a fake has written its number of to `name` is gone within a second. */
static void assert_dead(const char *name) {
    const struct timespec pause = {.tv_nsec = 10000000};
    char *text = text_of(name);
    pid_t id = (pid_t)strtol(text, NULL, 10);
    ck_assert_msg(id > 0, "%s: \"%s\"", name, text);
    free(text);
    char stat[64];
    snprintf(stat, sizeof stat, "/proc/%ld/stat", (long)id);
    for (int i = 0; i < 100; i++) {
        char state = ' ';
        FILE *file = fopen(stat, "r"); /* an orphan may stay as a zombie where nobody reaps it */
        if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = ' ';
        if (file != NULL)
            fclose(file);
        if (state == 'Z' || (kill(id, 0) != 0 && errno == ESRCH))
            return;
        nanosleep(&pause, NULL);
    }
    ck_abort_msg("process %ld of %s is still there", (long)id, name);
}

/* ---- terminals ---- */

static int master = -1;
static char shown[1 << 18];
static size_t shown_size;

static FILE *open_terminal(void) {
    master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(slave, 0);
    struct termios mode;
    ck_assert_int_eq(tcgetattr(slave, &mode), 0);
    mode.c_oflag &= ~(tcflag_t)OPOST; /* or '\n' would come out as "\r\n" */
    ck_assert_int_eq(tcsetattr(slave, TCSANOW, &mode), 0);
    ck_assert_int_eq(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    FILE *file = fdopen(slave, "w");
    ck_assert_ptr_nonnull(file);
    return file;
}

static void set_size(unsigned short columns, unsigned short rows) {
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    ck_assert_int_eq(ioctl(master, TIOCSWINSZ, &size), 0);
}

static const char *drain_terminal(void) {
    ssize_t got = 1;
    while (got > 0 && shown_size < sizeof shown - 1) {
        got = read(master, shown + shown_size, sizeof shown - 1 - shown_size);
        shown_size += got > 0 ? (size_t)got : 0;
    }
    shown[shown_size] = '\0';
    return shown;
}

/* A file that is no terminal, and what has been written to it. */
static FILE *open_notes(void) {
    return fopen(path_of("notes"), "w");
}

/* ---- what gnuplot is told ---- */

START_TEST(a_window) {
    const tg_plot_reference references[] = {{0.25, "it's the plateau"}, {0.125, NULL}};
    live_options options = fake_options();
    options.references = references;
    options.reference_count = 2;
    write_recorder("dumb svg wxt x11 unknown");
    ck_assert_int_eq(setenv(_i == 0 ? "DISPLAY" : "WAYLAND_DISPLAY", "any", 1), 0);
    FILE *notes = open_notes();
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, notes);
    run_for(1.3, &step);
    step = 10000;
    live_update(&view, step);
    live_end(&view);
    fclose(notes);
    char *told = text_of("told"), *noted = text_of("notes");
    ck_assert_str_eq(noted, "");
    assert_holds(told, directory);
    assert_holds(told, "\n-d C unknown\n");
    assert_holds(told, "set datafile separator ','\n");
    assert_holds(told,
                 "\nthin = 1\nset terminal wxt noraise\nplot 0.25 title 'it''s the plateau' ");
    assert_holds(told, "with lines linetype 2 dashtype 2, 0.125 title '' with lines linetype 3 "
                       "dashtype 2, 'loss.csv' using 1:2 every thin skip 1 title 'loss' with");
    assert_holds(told, "\nthin = 6\n");
    ck_assert_int_ge(count_of(told, "\nplot "), 3); /* at 0, 0.5, 1 and the end */
    ck_assert_int_le(count_of(told, "\nplot "), 4);
    ck_assert_str_eq(told + strlen(told) - strlen("the end\n"), "the end\n");
    free(told);
    free(noted);
}
END_TEST

START_TEST(in_a_terminal) {
    const live_options options = fake_options();
    write_recorder("dumb qt");
    FILE *terminal = open_terminal();
    set_size(100, 30);
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, terminal);
    run_for(0.4, &step);
    set_size(60, 20);
    run_for(0.5, &step);
    live_end(&view);
    fflush(terminal);
    static const char drawings[] =
        "\r\033[Jdrawing 1\n[31mend\n\r\033[2A\033[Jdrawing 2\n[31mend\n";
    ck_assert_int_eq(strncmp(drain_terminal(), drawings, strlen(drawings)), 0);
    char *told = text_of("told");
    assert_holds(told, "set terminal dumb size 99,28 noenhanced\nplot 'loss.csv'");
    assert_holds(told, "set terminal dumb size 59,18 noenhanced\nplot 'loss.csv'");
    ck_assert_int_le(count_of(told, "\nplot "), 3);
    free(told);
    fclose(terminal);
}
END_TEST

/* No drawing is asked for that has no room. */
START_TEST(in_a_tiny_terminal) {
    const live_options options = fake_options();
    write_recorder("dumb");
    FILE *terminal = open_terminal();
    set_size(20, 30);
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, terminal);
    run_for(0.3, &step);
    live_end(&view);
    ck_assert_str_eq(drain_terminal(), "");
    char *told = text_of("told");
    ck_assert_int_eq(count_of(told, "\nplot "), 0);
    free(told);
    fclose(terminal);
}
END_TEST

START_TEST(a_run_that_is_over_at_once) {
    const live_options options = fake_options();
    write_recorder("dumb");
    FILE *terminal = open_terminal();
    set_size(80, 24);
    live_begin(&view, path_of("loss.csv"), &options, terminal);
    live_update(&view, 1);
    live_end(&view);
    ck_assert_str_eq(drain_terminal(), "\r\033[Jdrawing 1\n[31mend\n");
    fclose(terminal);
}
END_TEST

START_TEST(by_gnuplot_itself) {
    if (system("gnuplot --version >/dev/null 2>&1") != 0)
        return; /* not on this machine */
    FILE *terminal = open_terminal();
    set_size(70, 20);
    const tg_plot_reference plateau = {0.9, "the plateau"};
    const live_options options = {.references = &plateau, .reference_count = 1};
    live_begin(&view, path_of("loss.csv"), &options, terminal);
    live_update(&view, 1);
    for (double begin = now(); view.drawn < 2 && now() - begin < 5;)
        live_update(&view, 2);
    live_update(&view, 3);
    live_end(&view);
    const char *text = drain_terminal();
    assert_holds(text, "loss (nats per word)");
    assert_holds(text, "the plateau ####");
    assert_holds(text, "loss ****");
    ck_assert_ptr_null(strstr(text, "tapegrad"));
    ck_assert_ptr_null(strstr(text, "live:"));
    ck_assert_int_eq(count_of(text, "\033[J"), 2);
    fclose(terminal);
}
END_TEST

/* ---- where nothing can be drawn ---- */

static void assert_note(const char *note) {
    char *noted = text_of("notes");
    char expected[400];
    snprintf(expected, sizeof expected, "live: %s; training goes on without pictures\n", note);
    ck_assert_str_eq(noted, expected);
    free(noted);
}

START_TEST(neither_display_nor_terminal) {
    const live_options options = fake_options();
    write_recorder("dumb qt");
    FILE *notes = open_notes();
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, notes);
    run_for(0.2, &step);
    live_end(&view);
    fclose(notes);
    assert_note("there is neither a display nor a terminal to draw on");
    ck_assert_int_ne(access(path_of("told"), F_OK), 0);
}
END_TEST

START_TEST(a_terminal_that_cannot_move_its_cursor) {
    FILE *terminal = open_terminal();
    ck_assert_int_eq(setenv("TERM", "dumb", 1), 0);
    live_begin(&view, path_of("loss.csv"), NULL, terminal);
    live_update(&view, 1);
    live_end(&view);
    ck_assert_str_eq(drain_terminal(),
                     "live: there is neither a display nor a terminal to draw on; "
                     "training goes on without pictures\n");
    fclose(terminal);
}
END_TEST

START_TEST(a_gnuplot_without_windows) {
    const live_options options = fake_options();
    write_recorder("dumb svg x11ish");
    ck_assert_int_eq(setenv("DISPLAY", ":0", 1), 0);
    FILE *notes = open_notes();
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, notes);
    run_for(0.3, &step);
    live_end(&view);
    fclose(notes);
    assert_note("this gnuplot opens no windows, and there is no terminal to draw on");
}
END_TEST

START_TEST(a_name_that_cannot_be_told) {
    static const char *const names[] = {"lo\nss.csv", "lo\rss.csv"};
    ck_assert_int_eq(setenv("DISPLAY", ":0", 1), 0);
    FILE *notes = open_notes();
    live_begin(&view, path_of(names[_i]), NULL, notes);
    live_update(&view, 1);
    live_end(&view);
    fclose(notes);
    assert_note("gnuplot cannot be told the name of the log");
}
END_TEST

/* ---- what gnuplot may do ---- */

static int open_descriptors(void) {
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* `body` NULL: there is no such program. Where the note is NULL there is none. */
static const struct {
    const char *body;
    double patience;
    const char *note;
} faults[] = {
    {NULL, 0, "gnuplot was not found"},
    {"exit 0", 0, "gnuplot has ended"},
    {"exec <&-; echo why >&2; exit 1", 0, "gnuplot has ended: why"},
    {"read line; printf 'first\\nthe\\tcause\\n\\n' >&2; exit 1", 0,
     "gnuplot has ended: the cause"},
    {"kill -9 $$", 0, "gnuplot has ended"},
    {"exit 127", 0, "gnuplot was not found"},
    {"echo 'cannot load libX' >&2; exit 127", 0, "gnuplot has ended: cannot load libX"},
    {"echo $$ >id; exec <&- >&- 2>&-; sleep 600", 0, "gnuplot has ended"},
    {"echo $$ >id; sleep 600", 0.2, "gnuplot does not answer"},
    {"echo $$ >id; trap '' TERM HUP INT; sleep 600 & echo $! >other; wait", 0.2,
     "gnuplot does not answer"},
    {"echo $$ >id; trap '' TERM HUP INT; sleep 600 & echo $! >other; wait", 0, NULL},
    {"echo $$ >id; while :; do echo tapegrad; done", 0.2, "gnuplot does not answer"},
    {"echo $$ >id; while :; do printf 'tapegrad: done '; done", 0, NULL},
    {"echo $$ >id; head -c 100000 /dev/zero; cat >/dev/null", 0.2, "gnuplot does not answer"},
    {"sleep 600 & echo $! >other; exit 0", 0.2, "gnuplot does not answer"},
};

START_TEST(what_gnuplot_may_do) {
    live_options options = fake_options();
    options.patience = faults[_i].patience;
    if (faults[_i].body != NULL)
        write_fake(faults[_i].body);
    ck_assert_int_eq(setenv("DISPLAY", ":0", 1), 0);
    FILE *notes = open_notes();
    int before = open_descriptors();
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, notes);
    double longest = run_for(0.6, &step), begin = now();
    live_end(&view);
    ck_assert_double_lt(longest, 0.3);
    ck_assert_double_lt(now() - begin, 1.5);
    ck_assert_int_eq(open_descriptors(), before);
    fclose(notes);
    char *noted = text_of("notes");
    if (faults[_i].note != NULL)
        assert_note(faults[_i].note);
    else
        ck_assert_str_eq(noted, "");
    free(noted);
    if (access(path_of("id"), F_OK) == 0)
        assert_dead("id");
    if (access(path_of("other"), F_OK) == 0)
        assert_dead("other");
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* It ends between two drawings; SIGPIPE would end the program. */
START_TEST(gnuplot_ends_after_a_drawing) {
    const live_options options = fake_options();
    struct sigaction action;
    ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
    ck_assert(action.sa_handler == SIG_DFL);
    write_fake("while read -r line; do case \"$line\" in\n"
               "plot*) printf '\\f\\ndrawing\\n'; echo 'tapegrad: done'; exit 1;;\n"
               "*GPVAL*) echo 'terminals: dumb ';;\n"
               "*done*) echo 'tapegrad: done';; esac; done");
    FILE *terminal = open_terminal();
    set_size(80, 24);
    int64_t step = 0;
    live_begin(&view, path_of("loss.csv"), &options, terminal);
    run_for(0.8, &step);
    live_end(&view);
    ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
    ck_assert(action.sa_handler == SIG_DFL);
    ck_assert_str_eq(drain_terminal(), "\r\033[Jdrawing\n\r\033[Jlive: gnuplot has ended; "
                                       "training goes on without pictures\n");
    fclose(terminal);
}
END_TEST

#ifdef __linux__
START_TEST(it_ends_with_a_program_that_is_killed) {
    write_fake("echo $$ >id; exec sleep 600");
    ck_assert_int_eq(setenv("DISPLAY", ":0", 1), 0);
    pid_t program = fork();
    if (program == 0) {
        const live_options options = fake_options();
        int64_t step = 0;
        live_begin(&view, path_of("loss.csv"), &options, stderr);
        run_for(0.3, &step);
        raise(SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(program, &status, 0), program);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_dead("id");
}
END_TEST
#endif

static Suite *suite(void) {
    Suite *s = suite_create("live");
    TCase *t = tcase_create("live");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_window, 0, 2);
    tcase_add_test(t, in_a_terminal);
    tcase_add_test(t, in_a_tiny_terminal);
    tcase_add_test(t, a_run_that_is_over_at_once);
    tcase_add_test(t, by_gnuplot_itself);
    tcase_add_test(t, neither_display_nor_terminal);
    tcase_add_test(t, a_terminal_that_cannot_move_its_cursor);
    tcase_add_test(t, a_gnuplot_without_windows);
    tcase_add_loop_test(t, a_name_that_cannot_be_told, 0, 2);
    tcase_add_loop_test(t, what_gnuplot_may_do, 0, (int)(sizeof faults / sizeof faults[0]));
    tcase_add_test(t, gnuplot_ends_after_a_drawing);
#ifdef __linux__
    tcase_add_test(t, it_ends_with_a_program_that_is_killed);
#endif
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return test_main(suite());
}
