/* How the example programs behave where they are not alone: streams that are closed, terminals that
 * cannot draw, readers that leave, directories of others, files of other programs and of later
 * versions, and what was there before. */
#define _XOPEN_SOURCE 700 /* posix_openpt() */
#define _DEFAULT_SOURCE

#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <tapegrad.h>

#include "article/previous.h"
#include "comma_locale.h"
#include "common/options.h"

enum { PATH_SIZE = 512, LINE_SIZE = 1024 };

/* ---- running ---- */

static char directory[256];
static char *out, *err;
static int code; /* of the exit; a signal's number and 128 where one ended the program */

static const char *at(const char *name) {
    static char paths[4][PATH_SIZE];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_SIZE, "%s/%s", directory, name);
    return path;
}

static void setup(void) {
    test_directory_make(directory);
}

static void teardown(void) {
    free(out);
    free(err);
    test_directory_remove(directory);
}

/* The environment of what is run: the programs come first in the path. */
static void enter(void) {
    static char path[4 * PATH_SIZE];
    const char *before = getenv("PATH");
    snprintf(path, sizeof path, "%s:%s", TG_TEST_PROGRAMS,
             before != NULL ? before : "/usr/bin:/bin");
    setenv("PATH", path, 1);
    if (chdir(directory) != 0)
        _exit(126);
}

static void await(pid_t child) {
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs a line of shell in the directory; what it prints is in `out` and `err`. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...) {
    char line[LINE_SIZE];
    size_t size;
    va_list arguments;
    va_start(arguments, format);
    ck_assert_int_lt(vsnprintf(line, sizeof line, format, arguments), LINE_SIZE);
    va_end(arguments);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        enter();
        if (freopen("out", "w", stdout) == NULL || freopen("err", "w", stderr) == NULL)
            _exit(126);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    await(child);
    free(out);
    free(err);
    out = test_read_file(at("out"), &size);
    err = test_read_file(at("err"), &size);
    return code;
}

static void succeed(const char *line) {
    ck_assert_msg(shell("%s", line) == EXIT_DONE, "%s: exit %d: %s", line, code, err);
}

static void assert_one_line(const char *program, const char *words) {
    const char *end = strchr(err, '\n');
    ck_assert_msg(end != NULL && end[1] == '\0', "not one line: %s", err);
    ck_assert_msg(strncmp(err, program, strlen(program)) == 0 && err[strlen(program)] == ':',
                  "not by %s: %s", program, err);
    ck_assert_msg(strstr(err, words) != NULL, "no \"%s\" in: %s", words, err);
}

static void assert_same_file(const char *a, const char *b) {
    size_t size_a, size_b;
    char *bytes_a = test_read_file(at(a), &size_a), *bytes_b = test_read_file(at(b), &size_b);
    ck_assert_msg(size_a == size_b && memcmp(bytes_a, bytes_b, size_a) == 0, "%s and %s differ", a,
                  b);
    free(bytes_a);
    free(bytes_b);
}

/* ---- numbers ---- */

static const struct {
    const char *program, *arguments, *option, *value;
} wrong[] = {
    {"train_example", "--steps nan", "--steps", "nan"},
    {"train_example", "--steps 9223372036854775808", "--steps", "9223372036854775808"},
    {"train_example", "--seed 0x10", "--seed", "0x10"},
    {"train_example", "--lr 0.1x", "--lr", "0.1x"},
    {"train_example", "--lr inf", "--lr", "inf"},
    {"train_example", "--lr 1e9", "--lr", "1e9"},
    {"predict", "none.npz the --top 10x", "--top", "10x"},
    {"predict", "none.npz the --top nan", "--top", "nan"},
    {"predict", "none.npz the --top 99999999999999999999", "--top", "99999999999999999999"},
    {"seed_study", "--seeds 10x", "--seeds", "10x"},
    {"seed_study", "--seeds 0", "--seeds", "0"},
    {"seed_study", "--seeds 99999999999", "--seeds", "99999999999"},
    {"seed_study", "--first -1", "--first", "-1"},
    {"seed_study", "--first 9223372036854775807", "--first", "9223372036854775807"},
    {"seed_study", "--threads nan", "--threads", "nan"},
    {"seed_study", "--threads 0", "--threads", "0"},
    {"seed_study", "--threads 100000", "--threads", "100000"},
    {"article_tables", "--plot=", "--plot", "empty"},
    {"article_tables", "--plot", "--plot", "needs"},
};

START_TEST(a_wrong_number_is_told_with_its_option) {
    const char *program = wrong[_i].program;
    ck_assert_msg(shell("%s %s", program, wrong[_i].arguments) == EXIT_USAGE, "exit %d", code);
    assert_one_line(program, wrong[_i].option);
    const char *value = wrong[_i].value;
    if (strcmp(value, "1e9") != 0) /* told as the number that it is */
        assert_one_line(program, value);
    ck_assert_str_eq(out, "");
    shell("ls -A | grep -v -x -e out -e err");
    ck_assert_str_eq(out, "");
}
END_TEST

/* ---- streams ---- */

static const struct {
    const char *streams;
    bool readable; /* whether stdout is there */
} closings[] = {{"<&-", true}, {">&-", false}, {"2>&-", true}, {"<&- >&- 2>&-", false}};

/* What is opened instead of a closed stream must not get what was meant for the stream. */
START_TEST(closed_streams_get_into_no_file) {
    int wanted = closings[_i].readable ? EXIT_DONE : EXIT_FAILED;
    const char *streams = closings[_i].streams;
    succeed("train_example --steps 30 --out a --no-plot --quiet");
    ck_assert_int_eq(shell("train_example --steps 30 --save-every 7 --out b --no-plot %s", streams),
                     wanted);
    assert_same_file("a/loss.csv", "b/loss.csv");
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    succeed("seed_study --recipe plain --seeds 2 --out a --no-plot --quiet");
    ck_assert_int_eq(shell("seed_study --recipe plain --seeds 2 --out b --no-plot %s", streams),
                     wanted);
    assert_same_file("a/seeds.csv", "b/seeds.csv");
    assert_same_file("a/curves.csv", "b/curves.csv");
    ck_assert_int_eq(shell("article_tables --quiet --plot a >&2"), EXIT_DONE);
    ck_assert_int_eq(shell("article_tables --quiet --plot b %s", streams), wanted);
    assert_same_file("a/attention.gp", "b/attention.gp");
    ck_assert_int_eq(shell("predict a/checkpoint.npz the %s", streams), wanted);
    ck_assert_int_eq(shell("predict_embedded a/checkpoint.npz the %s", streams), wanted);
}
END_TEST

static const char *const printing[] = {
    "train_example --steps 60 --out a --no-plot",
    "train_example --steps 60 --out a --no-plot --print-recipe",
    "article_tables",
    "predict a/checkpoint.npz 'the rise of the machine was' --all",
    "seed_study --recipe plain --seeds 3 --out a --no-plot",
    "seed_study --recipe plain --seeds 3 --search",
    "xor",
};

static void assert_plain(const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        ck_assert_msg((*c >= ' ' && *c < 0x7f) || *c == '\n', "byte 0x%02x in:\n%s", *c, text);
}

START_TEST(what_goes_into_files_is_plain_text) {
    succeed("train_example --steps 20 --out a --no-plot --quiet");
    shell("TERM=xterm COLUMNS=20 %s", printing[_i]);
    ck_assert_int_gt((int)strlen(out) + (int)strlen(err), 0);
    assert_plain(out);
    assert_plain(err);
}
END_TEST

/* The rest of a page is not read. What the program says then is nothing, or one line; and what it
 * was to write is written. */
START_TEST(a_reader_that_leaves) {
    succeed("train_example --steps 20 --out kept --no-plot --quiet");
    succeed("cp -r kept a");
    shell("{ %s 2>err2; echo $? >code; } | head -n 1", printing[_i]);
    size_t size;
    char *text = test_read_file(at("code"), &size);
    long end = strtol(text, NULL, 10);
    ck_assert_msg(end == EXIT_DONE || end == EXIT_FAILED || end == 128 + SIGPIPE, "exit %ld", end);
    free(text);
    ck_assert_str_eq(err, "");
    if (_i == 0) {
        succeed("train_example --steps 60 --out b --no-plot --quiet");
        assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
        assert_same_file("a/loss.csv", "b/loss.csv");
    } else {
        assert_same_file("a/checkpoint.npz", "kept/checkpoint.npz");
    }
}
END_TEST

/* Training goes on where nobody reads how far it is. */
START_TEST(a_reader_of_the_progress_that_leaves) {
    succeed(
        "{ train_example --steps 3000 --out a --no-plot 2>&1 >page; echo $? >code; } | head -n 1");
    succeed("grep -x 0 code && train_example --steps 3000 --out b --no-plot --quiet");
    assert_same_file("a/checkpoint.npz", "b/checkpoint.npz");
    assert_same_file("a/loss.csv", "b/loss.csv");
}
END_TEST

START_TEST(an_output_on_a_full_disk) {
    succeed("train_example --steps 5 --out a --no-plot --quiet");
    ck_assert_int_eq(shell("%s >/dev/full", printing[_i]), EXIT_FAILED);
}
END_TEST

/* ---- a terminal ---- */

static char shown[1 << 20];

static int open_terminal(unsigned short columns, char slave[PATH_SIZE]) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    snprintf(slave, PATH_SIZE, "%s", ptsname(master));
    int file = open(slave, O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    struct termios mode;
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ioctl(file, TIOCSWINSZ, &size), 0);
    ck_assert_int_eq(tcgetattr(file, &mode), 0);
    mode.c_oflag &= ~(tcflag_t)OPOST; /* or '\n' would come out as "\r\n" */
    ck_assert_int_eq(tcsetattr(file, TCSANOW, &mode), 0);
    fcntl(file, F_SETFD, FD_CLOEXEC);
    return master;
}

/* Runs a line of shell whose stdout and stderr are a terminal; all that it shows is in `shown`. */
static void show(unsigned short columns, const char *line) {
    char slave[PATH_SIZE];
    int master = open_terminal(columns, slave);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        enter();
        int file = open(slave, O_RDWR | O_NOCTTY);
        if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0)
            _exit(126);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    size_t size = 0;
    int ended = 0;
    fcntl(master, F_SETFL, O_NONBLOCK);
    while (size < sizeof shown - 1) {
        ssize_t got = read(master, shown + size, sizeof shown - 1 - size);
        size += got > 0 ? (size_t)got : 0;
        if (got > 0)
            continue;
        if (ended > 0)
            break;
        int status;
        ended = waitpid(child, &status, WNOHANG) == child;
        code = ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        usleep(1000);
    }
    shown[size] = '\0';
    close(master);
}

static const struct {
    const char *settings;
    unsigned short columns;
    bool bar;
} terminals[] = {
    {"TERM=xterm", 80, true},
    {"TERM=xterm", 20, true},
    {"TERM=xterm NO_COLOR=1", 80, true},
    {"TERM=dumb", 80, false},
    {"TERM=dumb NO_COLOR=1", 20, false},
    {"TERM=", 80, false},
    {"-u TERM", 80, false},
};

/* The bar needs '\r' alone, in lines that the terminal does not break; no program has colours. */
START_TEST(on_a_terminal) {
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "env %s train_example --steps 400 --out a --no-plot",
             terminals[_i].settings);
    show(terminals[_i].columns, line);
    ck_assert_int_eq(code, EXIT_DONE);
    ck_assert_ptr_null(strchr(shown, '\x1b'));
    ck_assert_msg((strchr(shown, '\r') != NULL) == terminals[_i].bar, "%s", shown);
    ck_assert_ptr_nonnull(strstr(shown, "100%"));
    for (const char *c = shown; terminals[_i].bar && strncmp(c, "recipe", 6) != 0;) {
        ck_assert_msg(strcspn(c, "\r\n") < terminals[_i].columns, "too wide: %.200s", c);
        c += strcspn(c, "\r\n") + 1;
    }
    snprintf(line, sizeof line,
             "export %s; predict a/checkpoint.npz the --all; article_tables; "
             "seed_study --recipe plain --seeds 2 --out a --no-plot --quiet; xor",
             terminals[_i].settings[0] == '-' ? "TERM=" : terminals[_i].settings);
    show(terminals[_i].columns, line);
    ck_assert_int_eq(code, EXIT_DONE);
    assert_plain(shown);
}
END_TEST

/* ---- a decimal comma ---- */

START_TEST(a_decimal_comma_changes_nothing) {
    succeed("train_example --steps 20 --out a --no-plot --quiet");
    static const char lines[] = "predict a/checkpoint.npz 'the rise' --all; article_tables; xor; "
                                "predict_embedded a/checkpoint.npz the; "
                                "seed_study --recipe plain --seeds 2 --out s --no-plot && cat s/*";
    succeed(lines);
    char *point = out;
    out = NULL;
    ck_assert_ptr_nonnull(strstr(point, "1302 of 1302"));
    comma_locale_enter(directory); /* from here on in the environment of what is run, too */
    succeed(lines);
    ck_assert_str_eq(out, point);
    free(point);
}
END_TEST

/* ---- directories of others ---- */

static const struct {
    const char *line, *program, *words;
} forbidden[] = {
    {"train_example --steps 5 --no-plot --quiet --out theirs", "train_example", "theirs/"},
    {"train_example --steps 5 --no-plot --quiet --out theirs/new", "train_example", "theirs/new"},
    {"train_example --steps 40 --no-plot --quiet --resume theirs/checkpoint.npz --out theirs",
     "train_example", "theirs/"},
    {"train_example --no-plot --quiet --resume hidden.npz --out mine", "train_example",
     "hidden.npz"},
    {"predict hidden.npz the", "predict", "hidden.npz"},
    {"article_tables --quiet --plot theirs", "article_tables", "theirs/"},
    {"article_tables --quiet --plot theirs/new", "article_tables", "theirs/new"},
    {"seed_study --recipe plain --seeds 1 --quiet --out theirs", "seed_study", "theirs/"},
    {"train_example --recipe hidden.npz --out mine", "train_example", "hidden.npz"},
};

/* How to run what follows without root's rights; NULL where that cannot be. */
static const char *without_rights(void) {
    static const char setpriv[] = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    if (geteuid() != 0)
        return "";
    return shell("%s predict --version", setpriv) == EXIT_DONE ? setpriv : NULL;
}

START_TEST(a_directory_of_others) {
    const char *as = without_rights();
    if (as == NULL)
        return; /* root may do everything */
    succeed("train_example --steps 20 --out theirs --no-plot --quiet && cp -r theirs kept && "
            "cp theirs/checkpoint.npz hidden.npz && chmod 0 hidden.npz && "
            "chmod a-w,a+rX theirs theirs/* && chmod a+rx .");
    shell("%s %s", as, forbidden[_i].line);
    int exit_code = code;
    char *said = err;
    err = NULL;
    succeed("chmod u+w theirs theirs/*; diff -r theirs kept && test ! -e mine");
    free(err);
    err = said;
    ck_assert_int_eq(exit_code, EXIT_FAILED);
    assert_one_line(forbidden[_i].program, forbidden[_i].words);
    assert_one_line(forbidden[_i].program, "Permission denied");
}
END_TEST

/* Files that may not grow beyond one block. */
START_TEST(a_study_on_a_full_disk) {
    succeed("seed_study --recipe plain --seeds 2 --out a --no-plot --quiet && cp -r a kept");
    shell(
        "trap '' XFSZ; ulimit -f 1; seed_study --recipe plain --seeds 9 --out a --no-plot --quiet");
    ck_assert_int_eq(code, EXIT_FAILED);
    assert_one_line("seed_study", "File too large");
    succeed("diff a/curves.csv kept/curves.csv && test ! -e a/curves.csv.tmp");
}
END_TEST

/* ---- checkpoints of other programs and of later versions ---- */

static const int64_t ninety_nine = 99;
static const float three[3] = {1, 2, 3};

#define TEXT(name, text)                                                                           \
    { name, TG_ELEMENT_BYTES, sizeof text - 1, {{0}, 0}, 1, text }

/* An array of the checkpoint, replaced or new (data NULL: left out), and what is said then. */
static const struct {
    tg_array array;
    const char *words;
} later[] = {
    {{"param/gate", TG_ELEMENT_FLOAT32, 4, {{3}, 1}, 3, three}, "no parameter gate"},
    {{"config/hidden", TG_ELEMENT_INT64, 8, {{0}, 0}, 1, &ninety_nine}, "config/hidden is 99"},
    {TEXT("optimizer/name", "lion"), "lion, not adam"},
    {TEXT("recipe", "recipe later\nwarp 9\n"), "line 2: \"warp\""},
    {{.name = "recipe"}, "\"recipe\""},
    {{.name = "step"}, "step"},
    {{"step", TG_ELEMENT_FLOAT32, 4, {{3}, 1}, 3, three}, "step"},
    {{.name = "rng/words"}, "rng/words"},
    {{.name = "optimizer/first_moment/unembedding"}, "optimizer/first_moment/unembedding"},
    {{.name = "optimizer/beta2"}, "optimizer/beta2"},
    {{"config/heads", TG_ELEMENT_INT64, 8, {{0}, 0}, 1, &ninety_nine}, "config/heads"},
    {{"optimizer/warmth", TG_ELEMENT_INT64, 8, {{0}, 0}, 1, &ninety_nine}, "optimizer/warmth"},
    {TEXT("recipe", "recipe \x1b[31m\n"), "the control character 0x1b"},
};

static void write_later(const tg_array *other, const char *path) {
    tg_archive *archive = tg_archive_open(NULL, at("a/checkpoint.npz"), NULL);
    tg_archive_writer *writer = tg_archive_writer_create(NULL, NULL);
    for (int64_t i = 0; i < tg_archive_count(archive); i++) {
        const tg_array *array = tg_archive_at(archive, i);
        if (strcmp(array->name, other->name) != 0)
            ck_assert_int_eq(tg_archive_writer_add(writer, array, NULL), TG_OK);
    }
    if (other->data != NULL)
        ck_assert_int_eq(tg_archive_writer_add(writer, other, NULL), TG_OK);
    ck_assert_int_eq(tg_archive_writer_save(writer, path, NULL), TG_OK);
    tg_archive_writer_free(writer);
    tg_archive_free(archive);
}

START_TEST(a_checkpoint_of_a_later_version) {
    succeed("train_example --steps 20 --out a --no-plot --quiet && cp -r a kept");
    write_later(&later[_i].array, at("later.npz"));
    shell("train_example --steps 30 --resume later.npz --out a --no-plot");
    ck_assert_msg(code == EXIT_FAILED, "exit %d: %s", code, err);
    assert_one_line("train_example", later[_i].words);
    assert_one_line("train_example", "later.npz");
    ck_assert_str_eq(out, "");
    succeed("diff -r a kept");
}
END_TEST

/* ---- what was there before ---- */

static void assert_previous(const char *expected) {
    char line[LINE_SIZE] = "";
    ck_assert(previous_describe(at("a"), line, sizeof line));
    char wanted[LINE_SIZE];
    snprintf(wanted, sizeof wanted, expected, at("a"));
    ck_assert_str_eq(line, wanted);
}

START_TEST(a_run_that_is_there) {
    succeed("train_example --recipe plain --seed 7 --steps 12 --out a --no-plot --quiet");
    assert_previous("replaces the run in %s (recipe plain, seed 7, step 12)");
    succeed("train_example --seed 9 --steps 0 --out a --no-plot --quiet");
    assert_previous("replaces the run in %s (recipe article, seed 9, step 0)");
    char line[13] = "";
    ck_assert(previous_describe(at("a"), line, sizeof line));
    ck_assert_str_eq(line, "replaces the");
}
END_TEST

/* A log never stands beside the checkpoint of another run, even where the new run saves none. */
START_TEST(a_run_that_saves_nothing) {
    succeed("train_example --seed 7 --steps 12 --out a --no-plot --quiet");
    ck_assert_int_eq(
        shell("train_example --seed 9 --optimizer sgd --lr 1 --steps 5000 --out a --no-plot"),
        EXIT_NOT_FINITE);
    char line[LINE_SIZE];
    snprintf(line, sizeof line,
             "train_example: replaces the run in a (recipe article, seed 7, step 12)\n");
    ck_assert_msg(strstr(err, line) != NULL, "%s", err);
    assert_previous("replaces the run in %s (recipe article, seed 9, step 0)");
}
END_TEST

/* Another checkpoint in the same directory is not the one that is replaced. */
START_TEST(a_run_beside_the_one_that_goes_on) {
    succeed("train_example --seed 7 --steps 12 --out a --no-plot --quiet && "
            "cp a/checkpoint.npz a/seven.npz && "
            "train_example --seed 8 --steps 9 --out a --no-plot --quiet");
    succeed("train_example --resume a/seven.npz --steps 20 --out a --no-plot");
    static const char line[] =
        "train_example: replaces the run in a (recipe article, seed 8, step 9)\n";
    ck_assert_msg(strncmp(err, line, strlen(line)) == 0, "%s", err);
    succeed("train_example --resume ./a/checkpoint.npz --steps 22 --out a --no-plot");
    ck_assert_ptr_null(strstr(err, "replaces"));
}
END_TEST

static const struct {
    tg_array array;
    const char *expected;
} partial[] = {
    {{.name = "recipe"}, "replaces the run in %s (seed 9, step 4)"},
    {TEXT("recipe", "warp 9\n"), "replaces the run in %s (seed 9, step 4)"},
    {{.name = "seed"}, "replaces the run in %s (recipe article, step 4)"},
    {{"step", TG_ELEMENT_FLOAT32, 4, {{3}, 1}, 3, three},
     "replaces the run in %s (recipe article, seed 9)"},
};

START_TEST(a_run_of_another_program) {
    succeed("train_example --seed 9 --steps 4 --out a --no-plot --quiet");
    write_later(&partial[_i].array, at("a/checkpoint.npz"));
    assert_previous(partial[_i].expected);
}
END_TEST

START_TEST(an_archive_of_nothing_known) {
    size_t size;
    ck_assert_int_eq(mkdir(at("a"), 0777), 0);
    char *bytes = test_read_file(TG_TEST_GOLDEN "/archive_foreign.npz", &size);
    test_write_file(at("a/checkpoint.npz"), bytes, size);
    assert_previous("replaces the run in %s");
    test_write_file(at("a/checkpoint.npz"), bytes, size - 1);
    assert_previous("replaces %s/checkpoint.npz, which cannot be read as a checkpoint");
    test_write_file(at("a/checkpoint.npz"), "", 0);
    assert_previous("replaces %s/checkpoint.npz, which cannot be read as a checkpoint");
    free(bytes);
}
END_TEST

START_TEST(nothing_that_would_be_replaced) {
    char line[LINE_SIZE] = "kept", deep[5000];
    ck_assert(!previous_describe(at("a"), line, sizeof line));
    ck_assert_int_eq(mkdir(at("a"), 0777), 0);
    ck_assert(!previous_describe(at("a"), line, sizeof line));
    test_write_file(at("a/loss.csv"), "step,loss\n", 10);
    ck_assert(!previous_describe(at("a"), line, sizeof line));
    ck_assert_int_eq(symlink("none", at("a/checkpoint.npz")), 0);
    ck_assert(!previous_describe(at("a"), line, sizeof line));
    ck_assert_int_eq(unlink(at("a/checkpoint.npz")), 0);
    ck_assert_int_eq(mkdir(at("a/checkpoint.npz"), 0777), 0);
    ck_assert(!previous_describe(at("a"), line, sizeof line));
    ck_assert(!previous_describe(at("a/loss.csv"), line, sizeof line));
    memset(deep, 'x', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    ck_assert(!previous_describe(deep, line, sizeof line));
    ck_assert_str_eq(line, "kept");
}
END_TEST

#define ADD_LOOP(tests, test, table)                                                               \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

static TCase *case_of(Suite *suite, const char *name) {
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return tests;
}

static Suite *suite(void) {
    Suite *made = suite_create("manners");
    TCase *tests = case_of(made, "streams");
    ADD_LOOP(tests, a_wrong_number_is_told_with_its_option, wrong);
    ADD_LOOP(tests, closed_streams_get_into_no_file, closings);
    ADD_LOOP(tests, what_goes_into_files_is_plain_text, printing);
    ADD_LOOP(tests, a_reader_that_leaves, printing);
    tcase_add_test(tests, a_reader_of_the_progress_that_leaves);
    ADD_LOOP(tests, an_output_on_a_full_disk, printing);
    ADD_LOOP(tests, on_a_terminal, terminals);
    tcase_add_test(tests, a_decimal_comma_changes_nothing);
    tests = case_of(made, "files");
    ADD_LOOP(tests, a_directory_of_others, forbidden);
    tcase_add_test(tests, a_study_on_a_full_disk);
    ADD_LOOP(tests, a_checkpoint_of_a_later_version, later);
    tests = case_of(made, "previous");
    tcase_add_test(tests, a_run_that_is_there);
    tcase_add_test(tests, a_run_that_saves_nothing);
    tcase_add_test(tests, a_run_beside_the_one_that_goes_on);
    ADD_LOOP(tests, a_run_of_another_program, partial);
    tcase_add_test(tests, an_archive_of_nothing_known);
    tcase_add_test(tests, nothing_that_would_be_replaced);
    return made;
}

int main(void) {
    return test_main(suite());
}
