/* socketpair(), MSG_NOSIGNAL, kill() */
#define _POSIX_C_SOURCE 200809L

#include "article/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define DRAW_SECONDS 0.5
#define LOOK_SECONDS 0.02
#define END_SECONDS  0.9 /* for the last drawing and the end together */
#define PATIENCE     10.0

/* gnuplot prints this line when it has done what came before. */
#define DONE "tapegrad-done"

#define CODE_NOT_STARTED 126
#define CODE_NOT_FOUND   127

enum {
    PATH_SIZE = 4096,
    COMMAND = LIVE_PLOT + 256,
    MOST_POINTS = 2000, /* that are drawn */
    LEAST_WIDTH = 20,
    MOST_WIDTH = 160,
    LEAST_HEIGHT = 8,
    MOST_HEIGHT = 40
};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- gnuplot's side ---- */

/* Becomes gnuplot, in a group of its own that Ctrl-C passes over. */
static void become(int socket, const char *directory, const char *gnuplot, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent || chdir(directory) != 0 || setenv("LC_ALL", "C", 1) != 0 ||
        setenv("GNUTERM", "unknown", 1) != 0 || dup2(socket, STDIN_FILENO) < 0 ||
        dup2(socket, STDOUT_FILENO) < 0 || dup2(socket, STDERR_FILENO) < 0)
        _exit(CODE_NOT_STARTED);
    execlp(gnuplot, gnuplot, "-d", (char *)NULL);
    _exit(errno == ENOENT || errno == ENOTDIR ? CODE_NOT_FOUND : CODE_NOT_STARTED);
}

/* ---- the end of it ---- */

/* Waits for the child until then; false when it still runs. */
static bool reap_until(pid_t child, double deadline, int *status) {
    const struct timespec pause = {.tv_nsec = 5000000};
    *status = 0;
    for (;;) {
        pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (seconds_now() >= deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

/* Ends the child, with all that it has started; returns the status that it ended with, or -1 where
 * it had to be killed. */
static int end_child(live *view, double deadline) {
    int status = 0;
    shutdown(view->socket, SHUT_WR); /* the end of its input */
    bool ended = reap_until(view->child, deadline, &status);
    kill(-view->child, SIGKILL);
    if (!ended) {
        kill(view->child, SIGKILL);
        while (waitpid(view->child, &status, 0) < 0 && errno == EINTR)
            continue;
        status = -1;
    }
    close(view->socket);
    view->child = 0;
    return status;
}

/* One line, and no more drawing. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void give_up(live *view, const char *format, ...) {
    va_list arguments;
    if (view->child > 0)
        end_child(view, 0);
    va_start(arguments, format);
    fprintf(view->terminal, "%slive: ", view->height > 0 ? "\r\033[J" : "");
    vfprintf(view->terminal, format, arguments);
    fprintf(view->terminal, "; training goes on without pictures\n");
    fflush(view->terminal);
    va_end(arguments);
}

/* The last line of what it has written that is not empty, for a person. */
static const char *last_line(live *view) {
    while (view->used > 0 && (unsigned char)view->answer[view->used - 1] <= ' ')
        view->used--;
    view->answer[view->used] = '\0';
    char *line = strrchr(view->answer, '\n');
    line = line != NULL ? line + 1 : view->answer;
    for (char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return line;
}

/* The child has closed its end: it has ended, or is about to. */
static void child_is_gone(live *view) {
    int status = end_child(view, seconds_now() + 0.1);
    const char *line = last_line(view);
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == CODE_NOT_FOUND)
        give_up(view, "gnuplot was not found");
    else
        give_up(view, "gnuplot has ended%s%.120s", line[0] != '\0' ? ": " : "", line);
}

/* ---- talking to it ---- */

/* Sends the commands and asks for an answer; false when it is gone. All fits into the socket, which
 * is empty: what came before has been answered. */
static bool ask(live *view, const char *commands, double now) {
    char text[COMMAND + sizeof "print '" DONE "'\n"];
    size_t length =
        (size_t)snprintf(text, sizeof text, "%sprint '%s'\n", commands, DONE);
    if (send(view->socket, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length) {
        child_is_gone(view);
        return false;
    }
    view->waiting = true;
    view->asked = now;
    view->used = 0;
    return true;
}

/* The line that says that all before it is there; NULL as long as it has not come. */
static char *find_done(live *view) {
    view->answer[view->used] = '\0';
    char *found = strstr(view->answer, DONE "\n");
    return found == view->answer || (found != NULL && found[-1] == '\n') ? found : NULL;
}

/* Takes what has come; true when the answer is whole, and then it is all before its last line. Of
 * more than there is room for, the later half is kept. */
static bool receive(live *view) {
    while (view->child > 0) {
        size_t room = sizeof view->answer - 1 - view->used;
        if (room == 0) {
            view->used /= 2;
            memmove(view->answer, view->answer + sizeof view->answer - 1 - view->used, view->used);
            return false; /* one that writes without end is not waited for */
        }
        ssize_t got = recv(view->socket, view->answer + view->used, room, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        if (got <= 0) {
            child_is_gone(view);
            return false;
        }
        view->used += (size_t)got;
        char *done = find_done(view);
        if (done != NULL) {
            *done = '\0';
            view->waiting = false;
            return true;
        }
    }
    return false;
}

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

/* The child has listed its terminals, between blanks: a window if there is one. */
static void choose(live *view) {
    static const char *const windows[] = {"qt", "wxt", "x11"};
    view->chosen = true;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0] && has_display(); i++) {
        char name[24];
        snprintf(name, sizeof name, " %s ", windows[i]);
        if (strstr(view->answer, name) != NULL) {
            snprintf(view->window, sizeof view->window, "%s", windows[i]);
            return;
        }
    }
    if (!is_terminal(view->terminal))
        give_up(view, "this gnuplot opens no windows, and there is no terminal to draw on");
}

/* Leaves a column and a line for the cursor, and a line for a progress bar. False where that is too
 * small for a drawing. */
static bool measure(const live *view, int *width, int *height) {
    struct winsize size = {0};
    bool known = ioctl(fileno(view->terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
                 size.ws_row > 0;
    *width = (known ? size.ws_col : 80) - 1;
    *height = (known ? size.ws_row : 24) - 2;
    *width = *width < MOST_WIDTH ? *width : MOST_WIDTH;
    *height = *height < MOST_HEIGHT ? *height : MOST_HEIGHT;
    return *width >= LEAST_WIDTH && *height >= LEAST_HEIGHT;
}

/* Puts the drawing, which follows a form feed, in place of the one before. What gnuplot warned of
 * stands before it, and is passed over; so are control characters. */
static void show(live *view) {
    const char *drawing = strrchr(view->answer, '\f');
    if (view->window[0] != '\0' || drawing == NULL)
        return;
    drawing += strcspn(drawing, "\n");
    if (view->height > 0)
        fprintf(view->terminal, "\r\033[%dA\033[J", view->height);
    else
        fputs("\r\033[J", view->terminal);
    view->height = 0;
    for (const char *c = *drawing != '\0' ? drawing + 1 : drawing; *c != '\0'; c++) {
        if (*c == '\n') {
            fputc('\n', view->terminal);
            view->height++;
        } else if ((unsigned char)*c >= ' ' && *c != 0x7f) {
            fputc(*c, view->terminal);
        }
    }
    fflush(view->terminal);
}

/* ---- drawing ---- */

static void draw(live *view, int64_t step, double now) {
    char commands[COMMAND], terminal[64];
    int width, height;
    if (view->window[0] != '\0')
        snprintf(terminal, sizeof terminal, "%s noraise", view->window);
    else if (measure(view, &width, &height))
        snprintf(terminal, sizeof terminal, "dumb size %d,%d noenhanced", width, height);
    else
        return;
    snprintf(commands, sizeof commands, "thin = %" PRId64 "\nset terminal %s\n%s",
             step / MOST_POINTS + 1, terminal, view->plot);
    view->drawn = step;
    view->drawn_time = now;
    ask(view, commands, now);
}

/* What has come is shown. False as long as the child has something to do, and when there is none. */
static bool is_idle(live *view, double now) {
    if (view->child > 0 && view->waiting && receive(view)) {
        if (view->chosen)
            show(view);
        else
            choose(view);
    }
    if (view->child > 0 && view->waiting && now - view->asked > view->patience)
        give_up(view, "gnuplot does not answer");
    return view->child > 0 && !view->waiting;
}

void live_update(live *view, int64_t step) {
    if (view->child <= 0)
        return;
    double now = seconds_now();
    if (now < view->next_look)
        return;
    view->next_look = now + LOOK_SECONDS;
    if (is_idle(view, now) && now - view->drawn_time >= DRAW_SECONDS && step > view->drawn)
        draw(view, step, now);
}

/* ---- the beginning and the end ---- */

/* Adds a text, and sets *used to the size where it has no room. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void add(char plot[LIVE_PLOT], size_t *used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(plot + *used, LIVE_PLOT - *used, format, arguments);
    va_end(arguments);
    *used = length < 0 || (size_t)length >= LIVE_PLOT - *used ? LIVE_PLOT : *used + (size_t)length;
}

/* In single quotes only the quote has a meaning, and is written twice; control characters would end
 * the command. */
static void add_quoted(char plot[LIVE_PLOT], size_t *used, const char *text) {
    add(plot, used, "'");
    for (; *text != '\0'; text++)
        if (*text == '\'')
            add(plot, used, "''");
        else
            add(plot, used, "%c", (unsigned char)*text < ' ' ? '?' : *text);
    add(plot, used, "'");
}

/* The command that draws; false where it is too long. */
static bool compose(live *view, const char *data, const live_options *options) {
    size_t used = 0;
    add(view->plot, &used, "plot ");
    for (int i = 0; i < options->reference_count; i++) {
        const tg_plot_reference *reference = &options->references[i];
        add(view->plot, &used, "%.9g title ", reference->y);
        add_quoted(view->plot, &used, reference->label != NULL ? reference->label : "");
        add(view->plot, &used, " with lines dashtype 2, ");
    }
    add_quoted(view->plot, &used, data);
    add(view->plot, &used, " using 1:2 every thin skip 1 title 'loss' with lines\n");
    return used < LIVE_PLOT;
}

/* Both ends above stdin, stdout and stderr, and closed in other programs. */
static bool open_sockets(int ends[2]) {
    int low[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, low) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(low[0]);
    close(low[1]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return false;
}

static bool start(live *view, const char *directory, const char *gnuplot) {
    int ends[2];
    if (!open_sockets(ends)) {
        give_up(view, "no connection to gnuplot: %s", strerror(errno));
        return false;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(ends[1], directory, gnuplot, parent);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        give_up(view, "gnuplot was not started: %s", strerror(errno));
        return false;
    }
    view->child = child;
    view->socket = ends[0];
    return true;
}

/* The directory of a path, and the name of the file in it. */
static const char *split_path(const char *path, char directory[PATH_SIZE]) {
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
    snprintf(directory, PATH_SIZE, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".");
    return slash != NULL ? slash + 1 : path;
}

void live_begin(live *view, const char *csv_path, const live_options *options, FILE *terminal) {
    static const live_options defaults = {0};
    char directory[PATH_SIZE];
    options = options != NULL ? options : &defaults;
    *view = (live){.terminal = terminal,
                   .socket = -1,
                   .patience = options->patience > 0 ? options->patience : PATIENCE};
    if (!has_display() && !is_terminal(terminal)) {
        give_up(view, "there is neither a display nor a terminal to draw on");
        return;
    }
    if (strlen(csv_path) >= PATH_SIZE ||
        !compose(view, split_path(csv_path, directory), options)) {
        give_up(view, "the path is too long");
        return;
    }
    if (start(view, directory, options->gnuplot != NULL ? options->gnuplot : "gnuplot"))
        ask(view,
            "set print '-'\nset datafile separator ','\nset logscale y\n"
            "set title 'Training the article''s model'\nset xlabel 'step'\n"
            "print 'terminals: ' . GPVAL_TERMINALS . ' '\n",
            seconds_now());
}

/* Lets the child answer until then. */
static void wait_for_answer(live *view, double deadline) {
    for (double now = seconds_now(); !is_idle(view, now) && view->child > 0 && now < deadline;
         now = seconds_now()) {
        struct pollfd socket = {.fd = view->socket, .events = POLLIN};
        poll(&socket, 1, 10);
    }
}

void live_end(live *view) {
    double deadline = seconds_now() + END_SECONDS;
    if (view->child > 0) {
        wait_for_answer(view, deadline);
        if (view->child > 0 && !view->waiting && view->chosen && view->last > view->drawn) {
            draw(view, view->last, seconds_now());
            wait_for_answer(view, deadline);
        }
    }
    if (view->child > 0)
        end_child(view, deadline);
}
