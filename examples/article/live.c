/* isatty(), fileno() */
#define _POSIX_C_SOURCE 200809L

#include "article/live.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DRAW_SECONDS 0.5
#define LOOK_SECONDS 0.02
#define END_SECONDS  0.9 /* for the last drawing and gnuplot's end together */
#define PATIENCE     10.0

/* gnuplot prints this line when it has done what came before. */
#define DONE "tapegrad: done"

enum {
    PATH_SIZE = 4096,
    MOST_POINTS = 2000, /* that are drawn, about */
    LEAST_WIDTH = 20,
    MOST_WIDTH = 160,
    LEAST_HEIGHT = 8,
    MOST_HEIGHT = 40
};

/* ---- what is drawn on ---- */

static bool is_terminal(FILE *file) {
    const char *term = getenv("TERM");
    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && isatty(fileno(file));
}

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

static bool has_display(void) {
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

/* Leaves a column and a line for the cursor, and a line for the prompt. False where that is too
 * small for a drawing. */
static bool measure(FILE *terminal, int *width, int *height) {
    struct winsize size = {0};
    bool known =
        ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *width = (known ? size.ws_col : 80) - 1;
    *height = (known ? size.ws_row : 24) - 2;
    *width = *width < MOST_WIDTH ? *width : MOST_WIDTH;
    *height = *height < MOST_HEIGHT ? *height : MOST_HEIGHT;
    return *width >= LEAST_WIDTH && *height >= LEAST_HEIGHT;
}

/* ---- when it fails ---- */

/* One line, in place of a progress bar, and no more drawing. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
give_up(live *view, const char *format, ...) {
    va_list arguments;
    if (view->gnuplot.id > 0)
        child_finish(&view->gnuplot, 0);
    fprintf(view->terminal, "%slive: ", is_terminal(view->terminal) ? "\r\033[J" : "");
    va_start(arguments, format);
    vfprintf(view->terminal, format, arguments);
    va_end(arguments);
    fprintf(view->terminal, "; training goes on without pictures\n");
    fflush(view->terminal);
}

/* gnuplot has closed its side: it has ended, or is about to. */
static void is_gone(live *view) {
    child_receive(&view->gnuplot); /* its last words */
    const char *line = child_last_line(&view->gnuplot);
    child_end end = child_finish(&view->gnuplot, child_clock() + 0.1);
    if (end == CHILD_NOT_FOUND && line[0] == '\0')
        give_up(view, "gnuplot was not found");
    else
        give_up(view, "gnuplot has ended%s%.120s", line[0] != '\0' ? ": " : "", line);
}

/* ---- what gnuplot answers ---- */

/* It has listed its terminals, between blanks: a window if there is one. */
static void choose(live *view) {
    static const char *const windows[] = {"qt", "wxt", "x11"};
    view->chosen = true;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0] && has_display(); i++) {
        char name[8];
        snprintf(name, sizeof name, " %s ", windows[i]);
        if (strstr(view->gnuplot.answer, name) != NULL) {
            view->window = windows[i];
            return;
        }
    }
    if (!is_terminal(view->terminal))
        give_up(view, "this gnuplot opens no windows, and there is no terminal to draw on");
}

/* Puts the drawing, which follows a form feed, in place of the one before. What gnuplot warned of
 * stands before it, and is passed over; so are control characters. */
static void show(live *view) {
    const char *drawing = strrchr(view->gnuplot.answer, '\f');
    if (view->window != NULL || drawing == NULL)
        return;
    drawing += strcspn(drawing, "\n");
    drawing += *drawing == '\n';
    fputc('\r', view->terminal);
    if (view->height > 0)
        fprintf(view->terminal, "\033[%dA", view->height);
    fputs("\033[J", view->terminal);
    view->height = 0;
    for (const char *c = drawing; *c != '\0'; c++) {
        view->height += *c == '\n';
        if (*c == '\n' || ((unsigned char)*c >= ' ' && *c != 0x7f))
            fputc(*c, view->terminal);
    }
    fflush(view->terminal);
}

/* Shows what has come. False as long as gnuplot has something to do, and when it is gone. */
static bool is_idle(live *view, double now) {
    child *gnuplot = &view->gnuplot;
    child_state state = gnuplot->waiting ? child_receive(gnuplot) : CHILD_BUSY;
    if (state == CHILD_GONE)
        is_gone(view);
    else if (state == CHILD_ANSWERED && view->chosen)
        show(view);
    else if (state == CHILD_ANSWERED)
        choose(view);
    else if (gnuplot->waiting && now - gnuplot->asked > view->patience)
        give_up(view, "gnuplot does not answer");
    return gnuplot->id > 0 && !gnuplot->waiting;
}

/* ---- drawing ---- */

static void draw(live *view, double now) {
    char commands[LIVE_PLOT + 256], terminal[64];
    int width, height;
    if (view->window != NULL)
        snprintf(terminal, sizeof terminal, "%s noraise", view->window);
    else if (measure(view->terminal, &width, &height))
        snprintf(terminal, sizeof terminal, "dumb size %d,%d noenhanced", width, height);
    else
        return;
    snprintf(commands, sizeof commands,
             "thin = %" PRId64 "\nset terminal %s\n%s\nprint '" DONE "'\n",
             view->step / MOST_POINTS + 1, terminal, view->plot);
    view->drawn = view->step;
    view->drawn_time = now;
    if (!child_ask(&view->gnuplot, commands))
        is_gone(view);
}

void live_update(live *view, int64_t step) {
    view->step = step;
    if (view->gnuplot.id <= 0)
        return;
    double now = child_clock();
    if (now < view->next_look)
        return;
    view->next_look = now + LOOK_SECONDS;
    if (is_idle(view, now) && now - view->drawn_time >= DRAW_SECONDS && step > view->drawn)
        draw(view, now);
}

/* ---- the beginning ---- */

/* Adds a text; where it has no room, *used is LIVE_PLOT. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
add(char plot[LIVE_PLOT], size_t *used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(plot + *used, LIVE_PLOT - *used, format, arguments);
    va_end(arguments);
    *used = length >= 0 && (size_t)length < LIVE_PLOT - *used ? *used + (size_t)length : LIVE_PLOT;
}

/* In single quotes only the quote has a meaning, and is written twice. */
static void add_quoted(char plot[LIVE_PLOT], size_t *used, const char *text) {
    add(plot, used, "'");
    for (; *text != '\0'; text++)
        add(plot, used, "%.*s", *text == '\'' ? 2 : 1, *text == '\'' ? "''" : text);
    add(plot, used, "'");
}

/* The command that draws; false for what cannot be part of a command. */
static bool compose(live *view, const char *data, const live_options *options) {
    size_t used = 0;
    add(view->plot, &used, "plot ");
    for (int i = 0; i < options->reference_count; i++) {
        const tg_plot_reference *reference = &options->references[i];
        add(view->plot, &used, "%.9g title ", reference->y);
        add_quoted(view->plot, &used, reference->label != NULL ? reference->label : "");
        add(view->plot, &used, " with lines linetype %d dashtype 2, ", i + 2);
    }
    add_quoted(view->plot, &used, data);
    add(view->plot, &used, " using 1:2 every thin skip 1 title 'loss' with lines linetype 1");
    return used < LIVE_PLOT && strpbrk(view->plot, "\n\r") == NULL;
}

/* The directory of a path, and the name of the file in it. */
static const char *split_path(const char *path, char directory[PATH_SIZE]) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(directory, PATH_SIZE, "%.*s", length > 0 ? (int)length : 1, length > 0 ? path : ".");
    return slash != NULL ? slash + 1 : path;
}

static void start(live *view, const char *directory, const char *gnuplot) {
    const char *const arguments[] = {gnuplot, "-d", NULL};
    /* GNUTERM: it opens nothing before it is told to */
    static const char *const settings[] = {"LC_ALL", "C", "GNUTERM", "unknown", NULL};
    int cause = child_start(&view->gnuplot, directory, arguments, settings, DONE);
    if (cause != 0)
        give_up(view, "gnuplot cannot be started: %s", strerror(cause));
    else if (!child_ask(&view->gnuplot, "set print '-'\nset datafile separator ','\n"
                                        "set logscale y\nset title 'loss (nats per word)'\n"
                                        "print 'terminals: ' . GPVAL_TERMINALS . ' '\n"
                                        "print '" DONE "'\n"))
        is_gone(view);
}

void live_begin(live *view, const char *csv_path, const live_options *options, FILE *terminal) {
    static const live_options defaults = {0};
    char directory[PATH_SIZE];
    options = options != NULL ? options : &defaults;
    *view = (live){.terminal = terminal,
                   .patience = options->patience > 0 ? options->patience : PATIENCE};
    if (!has_display() && !is_terminal(terminal))
        give_up(view, "there is neither a display nor a terminal to draw on");
    else if (strlen(csv_path) >= PATH_SIZE ||
             !compose(view, split_path(csv_path, directory), options))
        give_up(view, "gnuplot cannot be told the name of the log");
    else
        start(view, directory, options->gnuplot != NULL ? options->gnuplot : "gnuplot");
}

/* ---- the end ---- */

/* True when gnuplot has answered by then. */
static bool wait_until_idle(live *view, double deadline) {
    for (;;) {
        double now = child_clock();
        if (is_idle(view, now))
            return true;
        if (view->gnuplot.id <= 0 || now >= deadline)
            return false;
        struct pollfd socket = {.fd = view->gnuplot.socket, .events = POLLIN};
        poll(&socket, 1, 10);
    }
}

void live_end(live *view) {
    double deadline = child_clock() + END_SECONDS;
    if (view->gnuplot.id > 0 && wait_until_idle(view, deadline) && view->step > view->drawn) {
        draw(view, child_clock());
        wait_until_idle(view, deadline);
    }
    if (view->gnuplot.id > 0)
        child_finish(&view->gnuplot, deadline);
}
