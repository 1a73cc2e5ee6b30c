#include "train/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensor/allocator_internal.h"

/* The exit codes that shells use for a program that was not started. */
#define CODE_NOT_STARTED 126
#define CODE_NOT_FOUND   127

#define POLL_MILLISECONDS 10

extern char **environ;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static tgi_run_result failed(const char *action, int cause) {
    tgi_run_result result = {.end = TGI_RUN_FAILED};
    char text[96];
    if (strerror_r(cause, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", cause);
    snprintf(result.message, sizeof result.message, "cannot %s: %s", action, text);
    return result;
}

/* ---- the program's side ---- */

static size_t count_of(const char *const *texts) {
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    return count;
}

/* Whether a variable of the environment has the name that a setting sets. */
static bool is_set(const char *variable, const char *const *settings) {
    for (; *settings != NULL; settings++)
        if (strncmp(variable, *settings, strcspn(*settings, "=") + 1) == 0)
            return true;
    return false;
}

/* The environment with the settings; *size is the block's, for the caller to release. It is made
 * before the fork: afterwards another thread's lock may be held for ever. */
static const char **make_environment(const tg_allocator *allocator, const char *const *settings,
                                     size_t *size) {
    const char *const *variables = (const char *const *)environ;
    size_t count = count_of(variables), more = count_of(settings), kept = 0;
    *size = (count + more + 1) * sizeof(char *);
    const char **made = tgi_allocate(allocator, *size);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_set(variables[i], settings))
            made[kept++] = variables[i];
    for (size_t i = 0; i < more; i++)
        made[kept++] = settings[i];
    made[kept] = NULL;
    return made;
}

/* Becomes the program. Only what is safe after a fork in a program with threads. */
static void become(int directory, const char *const *arguments, const char **environment,
                   int messages) {
    sigset_t none;
    sigemptyset(&none);
    int null = open("/dev/null", O_RDWR);
    if (setpgid(0, 0) != 0 || fchdir(directory) != 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0)
        _exit(CODE_NOT_STARTED);
    if (null > STDERR_FILENO)
        close(null);
    sigprocmask(SIG_SETMASK, &none, NULL);
    environ = (char **)environment;
    execvp(arguments[0], (char *const *)arguments);
    _exit(errno == ENOENT || errno == ENOTDIR ? CODE_NOT_FOUND : CODE_NOT_STARTED);
}

/* ---- our side ---- */

/* A pipe whose ends are not inherited and not among stdin, stdout and stderr, which may be closed
 * in this program and are about to be replaced in the other. 0, or an errno. */
static int open_pipe(int ends[2]) {
    int low[2];
    if (pipe(low) != 0)
        return errno;
    int cause = 0;
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

/* The last lines of what is read: text[0 .. used). */
struct tail {
    char text[1024];
    size_t used;
};

/* Takes what there is to read; false at the end of the pipe. */
static bool read_some(int messages, struct tail *tail) {
    size_t half = sizeof tail->text / 2;
    if (tail->used > half) {
        memmove(tail->text, tail->text + tail->used - half, half);
        tail->used = half;
    }
    ssize_t got = read(messages, tail->text + tail->used, sizeof tail->text - tail->used);
    if (got > 0)
        tail->used += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

static bool is_readable(int messages, int milliseconds) {
    struct pollfd waiting = {.fd = messages, .events = POLLIN};
    return poll(&waiting, 1, milliseconds) > 0;
}

/* Waits for the end of the child, reading along so that it never waits for us; false when the time
 * is up. `status` is 0 where somebody else has taken the child's status (SIGCHLD ignored). */
static bool wait_bounded(pid_t child, int messages, double deadline, struct tail *tail,
                         int *status) {
    bool more = true;
    *status = 0;
    for (;;) {
        pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            break;
        if (seconds_now() >= deadline)
            return false;
        if (is_readable(more ? messages : -1, POLL_MILLISECONDS))
            more = read_some(messages, tail);
    }
    while (more && is_readable(messages, 0))
        more = read_some(messages, tail);
    return true;
}

static void last_line(const struct tail *tail, char message[TGI_RUN_MESSAGE]) {
    size_t end = tail->used;
    while (end > 0 && (unsigned char)tail->text[end - 1] <= ' ')
        end--;
    size_t start = end;
    while (start > 0 && tail->text[start - 1] != '\n')
        start--;
    size_t length = 0;
    for (size_t i = start; i < end && length < TGI_RUN_MESSAGE - 1; i++)
        if ((unsigned char)tail->text[i] >= ' ' && tail->text[i] != 0x7f)
            message[length++] = tail->text[i];
    message[length] = '\0';
}

/* What an ended program's status says; the message is its own where it left one. */
static void judge(int status, tgi_run_result *result) {
    if (WIFSIGNALED(status)) {
        result->end = TGI_RUN_FAILED;
        snprintf(result->message, sizeof result->message, "ended by signal %d", WTERMSIG(status));
        return;
    }
    result->code = WEXITSTATUS(status);
    result->end = result->code == CODE_NOT_FOUND     ? TGI_RUN_NOT_FOUND
                  : result->code == CODE_NOT_STARTED ? TGI_RUN_FAILED
                                                     : TGI_RUN_EXITED;
    if (result->end == TGI_RUN_FAILED && result->message[0] == '\0')
        snprintf(result->message, sizeof result->message, "cannot be executed");
}

static tgi_run_result await(pid_t child, int messages, double deadline) {
    tgi_run_result result = {.end = TGI_RUN_TIMED_OUT};
    struct tail tail = {.used = 0};
    int status;
    bool ended = wait_bounded(child, messages, deadline, &tail, &status);
    last_line(&tail, result.message);
    if (ended) {
        judge(status, &result);
        return result;
    }
    kill(-child, SIGKILL);
    kill(child, SIGKILL); /* where it has not come to lead its group yet */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return result;
}

tgi_run_result tgi_run(const tg_allocator *allocator, int directory, const char *const *arguments,
                       const char *const *settings, double seconds) {
    double deadline = seconds_now() + seconds;
    size_t size;
    const char **environment = make_environment(allocator, settings, &size);
    if (environment == NULL)
        return failed("start", ENOMEM);
    int messages[2];
    int cause = open_pipe(messages);
    if (cause != 0) {
        tgi_release(allocator, environment, size);
        return failed("open a pipe", cause);
    }
    pid_t child = fork();
    cause = errno;
    if (child == 0)
        become(directory, arguments, environment, messages[1]);
    close(messages[1]);
    tgi_run_result result = child < 0 ? failed("fork", cause) : await(child, messages[0], deadline);
    close(messages[0]);
    tgi_release(allocator, environment, size);
    return result;
}
