/* socketpair(), waitid(), MSG_NOSIGNAL */
#define _POSIX_C_SOURCE 200809L

#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* The exit codes that shells use for a program that was not started. */
#define CODE_NOT_STARTED 126
#define CODE_NOT_FOUND   127

double child_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- its beginning ---- */

/* Two ends above stdin, stdout and stderr, which other programs do not inherit. 0, or an errno. */
static int open_sockets(int ends[2]) {
    int low[2], cause = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, low) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        cause = ends[i] < 0 && cause == 0 ? errno : cause;
    }
    close(low[0]);
    close(low[1]);
    for (int i = 0; i < 2; i++)
        if (cause != 0 && ends[i] >= 0)
            close(ends[i]);
    return cause;
}

/* Becomes the program. */
static void become(int socket, pid_t parent, const char *directory, const char *const *arguments,
                   const char *const *settings) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent || chdir(directory) != 0 || dup2(socket, STDIN_FILENO) < 0 ||
        dup2(socket, STDOUT_FILENO) < 0 || dup2(socket, STDERR_FILENO) < 0)
        _exit(CODE_NOT_STARTED);
    for (int i = 0; settings[i] != NULL; i += 2)
        if (setenv(settings[i], settings[i + 1], 1) != 0)
            _exit(CODE_NOT_STARTED);
    execvp(arguments[0], (char *const *)arguments);
    _exit(errno == ENOENT || errno == ENOTDIR ? CODE_NOT_FOUND : CODE_NOT_STARTED);
}

int child_start(child *c, const char *directory, const char *const *arguments,
                const char *const *settings, const char *done) {
    int ends[2];
    *c = (child){.socket = -1, .done = done};
    int cause = open_sockets(ends);
    if (cause != 0)
        return cause;
    pid_t parent = getpid(), id = fork();
    cause = errno;
    if (id == 0)
        become(ends[1], parent, directory, arguments, settings);
    close(ends[1]);
    if (id < 0) {
        close(ends[0]);
        return cause;
    }
    c->id = id;
    c->socket = ends[0];
    return 0;
}

/* ---- talking to it ---- */

/* A stream has room for all of it, as it is empty: what came before has been answered. */
bool child_ask(child *c, const char *commands) {
    size_t length = strlen(commands);
    if (c->id <= 0 ||
        send(c->socket, commands, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
        return false;
    c->waiting = true;
    c->asked = child_clock();
    c->used = 0;
    return true;
}

/* Where the answer's last line begins; NULL as long as it has not come. */
static char *find_done(child *c) {
    size_t length = strlen(c->done);
    c->answer[c->used] = '\0';
    for (char *at = c->answer; (at = strstr(at, c->done)) != NULL; at++)
        if ((at == c->answer || at[-1] == '\n') && at[length] == '\n')
            return at;
    return NULL;
}

static void keep_the_end(child *c) {
    size_t kept = c->used / 2;
    memmove(c->answer, c->answer + c->used - kept, kept);
    c->used = kept;
}

/* Two readings at most: a program that writes without end is not waited for either. */
child_state child_receive(child *c) {
    for (int i = 0; i < 2; i++) {
        size_t room = sizeof c->answer - 1 - c->used;
        ssize_t got =
            c->id > 0 ? recv(c->socket, c->answer + c->used, room, MSG_DONTWAIT) : (ssize_t)0;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return CHILD_BUSY;
        if (got <= 0)
            return CHILD_GONE;
        c->used += (size_t)got;
        char *done = find_done(c);
        if (done != NULL) {
            *done = '\0';
            c->used = 0;
            c->waiting = false;
            return CHILD_ANSWERED;
        }
        if (c->used == sizeof c->answer - 1)
            keep_the_end(c);
    }
    return CHILD_BUSY;
}

const char *child_last_line(child *c) {
    size_t end = c->used;
    while (end > 0 && (unsigned char)c->answer[end - 1] <= ' ')
        end--;
    c->answer[end] = '\0';
    char *line = strrchr(c->answer, '\n');
    line = line != NULL ? line + 1 : c->answer;
    for (char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    return line;
}

/* ---- its end ---- */

/* Whether it has ended by then. It is left to be waited for, so that its number, which is its
 * group's too, stays its own. */
static bool has_ended(pid_t id, double deadline) {
    const struct timespec pause = {.tv_nsec = 2000000};
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        int waited = waitid(P_PID, (id_t)id, &info, WEXITED | WNOHANG | WNOWAIT);
        if ((waited == 0 && info.si_pid == id) || (waited != 0 && errno != EINTR))
            return true;
        if (child_clock() >= deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

child_end child_finish(child *c, double deadline) {
    int status = 0;
    shutdown(c->socket, SHUT_WR);
    bool ended = has_ended(c->id, deadline);
    kill(-c->id, SIGKILL);
    kill(c->id, SIGKILL); /* where it has not come to lead its group yet */
    while (waitpid(c->id, &status, 0) < 0 && errno == EINTR)
        continue;
    close(c->socket);
    c->id = 0;
    c->waiting = false;
    if (!ended)
        return CHILD_KILLED;
    return WIFEXITED(status) && WEXITSTATUS(status) == CODE_NOT_FOUND ? CHILD_NOT_FOUND
                                                                      : CHILD_ENDED;
}
