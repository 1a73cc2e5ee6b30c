/* What the sources promise as text: which layer may include which, what the library never calls, and
 * what a public header is. */
#include "support.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 2000, PATH_SIZE = 512 };

/* A source below TG_TEST_SOURCE: its path from there, and its text with spaces in the place of
 * comments, and then of strings and characters as well. */
typedef struct source {
    char path[PATH_SIZE];
    char *text;
    char *code;
    bool internal; /* a header whose first line says so */
} source;

static source files[MAX_FILES];
static int file_count;

/* --- reading --- */

/* Puts spaces over what lies in between, but keeps the ends of lines. */
static char *blank(char *from, const char *to) {
    for (; from < to; from++)
        if (*from != '\n')
            *from = ' ';
    return from;
}

/* The end of the string or character constant that begins here. */
static char *end_of_quoted(char *at) {
    char quote = *at++;
    for (; *at != '\0' && *at != quote; at++)
        if (*at == '\\' && at[1] != '\0')
            at++;
    return *at == '\0' ? at : at + 1;
}

static char *end_of_comment(char *at) {
    if (at[1] == '/')
        return at + strcspn(at, "\n");
    char *end = strstr(at + 2, "*/");
    return end == NULL ? at + strlen(at) : end + 2;
}

static void strip(char *text, bool quoted_too) {
    for (char *at = text; *at != '\0';) {
        if (*at == '"' || *at == '\'') {
            char *end = end_of_quoted(at);
            at = quoted_too && end - at > 2 ? blank(at + 1, end - 1) + 1 : end;
        } else if (*at == '/' && (at[1] == '*' || at[1] == '/')) {
            at = blank(at, end_of_comment(at));
        } else {
            at++;
        }
    }
}

static bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static void add_file(const char *path) {
    char whole[PATH_SIZE * 2];
    size_t size;
    ck_assert_int_lt(file_count, MAX_FILES);
    source *s = &files[file_count++];
    snprintf(s->path, sizeof s->path, "%s", path);
    snprintf(whole, sizeof whole, "%s/%s", TG_TEST_SOURCE, path);
    s->text = test_read_file(whole, &size);
    s->internal = ends_in(path, ".h") && starts_with(s->text, "/* Internal");
    strip(s->text, false);
    s->code = malloc(size + 1);
    ck_assert_ptr_nonnull(s->code);
    memcpy(s->code, s->text, size + 1);
    strip(s->code, true);
}

/* All .c and .h below a folder, however deep. */
static void add_folder(const char *path) {
    char below[PATH_SIZE + 300], whole[PATH_SIZE * 2];
    snprintf(whole, sizeof whole, "%s/%s", TG_TEST_SOURCE, path);
    DIR *folder = opendir(whole);
    ck_assert_msg(folder != NULL, "no folder %s", whole);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        snprintf(whole, sizeof whole, "%s/%s", TG_TEST_SOURCE, below);
        struct stat kind;
        ck_assert_int_eq(stat(whole, &kind), 0);
        if (S_ISDIR(kind.st_mode))
            add_folder(below);
        else if (ends_in(below, ".c") || ends_in(below, ".h"))
            add_file(below);
    }
    closedir(folder);
}

/* --- which layer may include which --- */

static const struct {
    const char *name;
    const char *includes[7];
} layers[] = {
    {"tensor", {"tensor"}},
    {"autograd", {"tensor", "autograd"}},
    {"nn", {"tensor", "autograd", "nn"}},
    {"optim", {"tensor", "autograd", "optim"}},
    {"train", {"tensor", "autograd", "nn", "optim", "train"}},
    {"examples", {"tensor", "autograd", "nn", "optim", "train", "article", "common"}},
};
enum { LAYERS = sizeof layers / sizeof layers[0], EXAMPLES = LAYERS - 1 };

/* The number of the layer that a path or an included name begins with; -1 if none. */
static int layer_of(const char *path) {
    for (int i = 0; i < LAYERS; i++)
        if (starts_with(path, layers[i].name) && path[strlen(layers[i].name)] == '/')
            return i;
    return -1;
}

static void read_tree(void) {
    for (int i = 0; i < LAYERS; i++)
        add_folder(layers[i].name);
    add_file("tapegrad.h");
}

/* Why a file of this path may not include this name; NULL if it may. */
static const char *objection(const char *path, const char *name, bool quoted) {
    int from = layer_of(path);
    if (strcmp(name, "tapegrad.h") == 0)
        return from == EXAMPLES ? NULL : "only programs include the whole";
    if (!quoted)
        return layer_of(name) >= 0 ? "headers of the project go in quotes" : NULL;
    if (strchr(name, '/') == NULL || name[0] == '/' || strstr(name, "..") != NULL)
        return "not written from the project's root";
    for (int i = 0; i < 7 && from >= 0 && layers[from].includes[i] != NULL; i++)
        if (starts_with(name, layers[from].includes[i]) &&
            name[strlen(layers[from].includes[i])] == '/')
            return NULL;
    return from < 0 && layer_of(name) >= 0 ? NULL : "runs against the order of the layers";
}

/* The next #include from *at on; its name into `name`. False at the end. */
static bool next_include(const char **at, char name[PATH_SIZE], bool *quoted) {
    for (; **at != '\0'; *at += strcspn(*at, "\n"), *at += **at == '\n') {
        const char *c = *at + strspn(*at, " \t");
        if (*c != '#')
            continue;
        c += 1 + strspn(c + 1, " \t");
        if (!starts_with(c, "include"))
            continue;
        c += 7 + strspn(c + 7, " \t");
        *quoted = *c == '"';
        size_t length = *c == '\0' ? 0 : strcspn(c + 1, "\">\n");
        ck_assert_msg((*c == '"' || *c == '<') && length < PATH_SIZE, "an #include of a macro");
        snprintf(name, PATH_SIZE, "%.*s", (int)length, c + 1);
        *at = c + 1 + length;
        return true;
    }
    return false;
}

START_TEST(includes_run_one_way) {
    read_tree();
    int includes = 0, wrong = 0;
    for (int i = 0; i < file_count; i++) {
        const char *at = files[i].text;
        char name[PATH_SIZE];
        for (bool quoted; next_include(&at, name, &quoted); includes++) {
            const char *why = objection(files[i].path, name, quoted);
            if (why != NULL) {
                printf("%s includes %s: %s\n", files[i].path, name, why);
                wrong++;
            }
        }
    }
    fflush(stdout);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(file_count, 80); /* they were read at all */
    ck_assert_int_gt(includes, 300);
}
END_TEST

START_TEST(what_would_be_objected_to) {
    static const struct {
        const char *path, *name;
        bool quoted, legal;
    } rows[] = {
        {"tensor/shape.c", "tensor/shape.h", true, true},
        {"tensor/shape.c", "autograd/op.h", true, false},
        {"tensor/kernels/table.c", "tensor/kernels/math.h", true, true},
        {"tensor/kernels/table.c", "math.h", true, false},
        {"tensor/shape.c", "shape.h", true, false},
        {"tensor/shape.c", "stdio.h", false, true},
        {"tensor/shape.c", "sys/stat.h", false, true},
        {"tensor/shape.c", "tensor/shape.h", false, false},
        {"autograd/ops/add.c", "tensor/broadcast.h", true, true},
        {"autograd/ops/add.c", "../tape.h", true, false},
        {"autograd/ops/add.c", "tensor/../nn/linear.h", true, false},
        {"autograd/ops/add.c", "nn/linear.h", true, false},
        {"nn/linear.c", "autograd/ops.h", true, true},
        {"nn/linear.c", "optim/adam.h", true, false},
        {"optim/adam.c", "nn/linear.h", true, false},
        {"optim/adam.c", "autograd/param.h", true, true},
        {"optim/adam.c", "train/csv.h", true, false},
        {"train/csv.c", "optim/optimizer.h", true, true},
        {"train/csv.c", "examples/article/matrix.h", true, false},
        {"train/csv.c", "tapegrad.h", false, false},
        {"train/csv.c", "zlib.h", true, false},
        {"examples/xor.c", "tapegrad.h", false, true},
        {"examples/xor.c", "article/matrix.h", true, true},
        {"examples/xor.c", "tensorflow/matrix.h", true, false},
        {"tapegrad.h", "train/csv.h", true, true},
        {"tapegrad.h", "stdio.h", true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg((objection(rows[i].path, rows[i].name, rows[i].quoted) == NULL) ==
                          rows[i].legal,
                      "%s with %s", rows[i].path, rows[i].name);
}
END_TEST

/* --- what the library never calls --- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The next place of this word, as a whole, from `at` on; NULL if none. Members of that name (a.exit,
 * a->exit) are another thing. */
static const char *find_word(const char *at, const char *start, const char *word) {
    for (; (at = strstr(at, word)) != NULL; at++) {
        char before = at > start ? at[-1] : ' ';
        bool member = before == '.' || (before == '>' && at - start > 1 && at[-2] == '-');
        if (!is_word(before) && !member && !is_word(at[strlen(word)]))
            return at;
    }
    return NULL;
}

static bool calls(const char *code, const char *word) {
    for (const char *at = code; (at = find_word(at, code, word)) != NULL; at++) {
        const char *behind = at + strlen(word);
        if (behind[strspn(behind, " \t\n")] == '(')
            return true;
    }
    return false;
}

static const char *const never_called[] = {
    "exit",      "quick_exit", "_Exit",     "abort",   "assert",  "raise",   "signal",
    "sigaction", "setlocale",  "uselocale", "srand",   "rand",    "srandom", "random",
    "drand48",   "printf",     "vprintf",   "puts",    "putchar", "perror",  "system",
    "atexit",    "longjmp",    "gets",      "getchar", "scanf",   "syslog",  "alarm",
};
static const char *const memory_functions[] = {
    "malloc",  "calloc",        "realloc",        "free",     "strdup",
    "strndup", "aligned_alloc", "posix_memalign", "asprintf", "getline"};
static const char *const never_named[] = {"stdout", "stderr", "stdin"};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static int report(const char *path, const char *what) {
    printf("%s: %s\n", path, what);
    fflush(stdout);
    return 1;
}

static bool is_library(const source *s) {
    int layer = layer_of(s->path);
    return layer >= 0 && layer != EXAMPLES;
}

START_TEST(what_the_library_never_calls) {
    read_tree();
    int wrong = 0;
    for (int i = 0; i < file_count; i++) {
        if (!is_library(&files[i]))
            continue;
        for (int k = 0; k < COUNT(never_called); k++)
            if (calls(files[i].code, never_called[k]))
                wrong += report(files[i].path, never_called[k]);
        for (int k = 0; k < COUNT(memory_functions); k++)
            if (calls(files[i].code, memory_functions[k]) &&
                strcmp(files[i].path, "tensor/allocator.c") != 0)
                wrong += report(files[i].path, memory_functions[k]);
        for (int k = 0; k < COUNT(never_named); k++)
            if (find_word(files[i].code, files[i].code, never_named[k]) != NULL)
                wrong += report(files[i].path, never_named[k]);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(what_counts_as_a_call) {
    static const struct {
        const char *code;
        bool called;
    } rows[] = {
        {"exit(1);", true},          {"if (x)\n    exit (1);", true},
        {"_exit(1);", false},        {"exit_now(1);", false},
        {"a.exit(1);", false},       {"a->exit(1);", false},
        {"a > exit(1);", true},      {"int exit;", false},
        {"/* exit(1) */", false},    {"// exit(1)\nint x;", false},
        {"\"exit(1)\";", false},     {"'\"'; exit(1); '\"'", true},
        {"\"\\\"\"; exit(1)", true}, {"\"a\\\"exit(1)\"", false},
        {"\"\" exit(1)", true},      {"/* \" */ exit(1) /* \" */", true},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        char code[64];
        snprintf(code, sizeof code, "%s", rows[i].code);
        strip(code, false);
        strip(code, true);
        ck_assert_msg(calls(code, "exit") == rows[i].called, "%s", rows[i].code);
    }
}
END_TEST

/* Whether the declaration behind this `static` is of something that can change. */
static bool is_mutable(const char *declaration) {
    char text[400];
    size_t length = strcspn(declaration, "(={;[");
    if (declaration[length] == '(') /* a function */
        return false;
    snprintf(text, sizeof text, "%.*s", (int)length, declaration);
    const char *star = strrchr(text, '*');
    return find_word(star != NULL ? star : text, text, "const") == NULL;
}

START_TEST(no_globals_that_change) {
    read_tree();
    int wrong = 0, seen = 0;
    for (int i = 0; i < file_count; i++) {
        const char *code = files[i].code;
        for (const char *at = code; (at = find_word(at, code, "static")) != NULL; at++, seen++)
            if (is_library(&files[i]) && is_mutable(at))
                wrong += report(files[i].path, "a static that is not const");
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(seen, 200);
}
END_TEST

START_TEST(what_counts_as_a_global) {
    static const struct {
        const char *code;
        bool is_mutable;
    } rows[] = {
        {"static int x;", true},
        {"static int x = 3;", true},
        {"static int x[3] = {0};", true},
        {"static const int x = 3;", false},
        {"static int const x[] = {1};", false},
        {"static const char *x = 0;", true},
        {"static const char *const x = 0;", false},
        {"static const struct {\n    int a;\n} x = {0};", false},
        {"static struct a x = {0};", true},
        {"static int f(void) {", false},
        {"static inline const int *f(int a) {", false},
    };
    for (int i = 0; i < COUNT(rows); i++)
        ck_assert_msg(is_mutable(rows[i].code) == rows[i].is_mutable, "%s", rows[i].code);
}
END_TEST

/* --- public headers --- */

static bool is_public_header(const source *s) {
    return ends_in(s->path, ".h") && !s->internal && layer_of(s->path) != EXAMPLES;
}

static const source *find_file(const char *path) {
    for (int i = 0; i < file_count; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

/* Whether a name tg_... is followed by a parenthesis: a function is declared. */
static bool declares_functions(const char *code) {
    for (const char *at = code; (at = strstr(at, "tg_")) != NULL; at++) {
        const char *end = at;
        while (is_word(*end))
            end++;
        if (*end == '(' && (at == code || !is_word(at[-1])))
            return true;
    }
    return false;
}

START_TEST(public_headers_are_for_cpp_too) {
    read_tree();
    int wrong = 0, headers = 0;
    for (int i = 0; i < file_count; i++) {
        if (!is_public_header(&files[i]) || !declares_functions(files[i].code))
            continue;
        headers++;
        const char *opens = strstr(files[i].text, "extern \"C\" {");
        const char *guard = strstr(files[i].text, "#ifdef __cplusplus");
        if (opens == NULL || guard == NULL || guard > opens)
            wrong += report(files[i].path, "no extern \"C\"");
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(headers, 15);
}
END_TEST

/* Whoever installs the public headers has all that they need. */
START_TEST(public_headers_include_no_internal_one) {
    read_tree();
    int wrong = 0;
    for (int i = 0; i < file_count; i++) {
        if (!is_public_header(&files[i]))
            continue;
        const char *at = files[i].text;
        char name[PATH_SIZE];
        for (bool quoted; next_include(&at, name, &quoted);) {
            const source *included = find_file(name);
            if (quoted && (included == NULL || included->internal))
                wrong += report(files[i].path, name);
        }
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* #include <tapegrad.h> is the one line that a program writes. */
START_TEST(the_whole_has_every_public_header) {
    read_tree();
    int wrong = 0;
    const source *whole = find_file("tapegrad.h");
    for (int i = 0; i < file_count; i++) {
        bool included = false, quoted;
        const char *at = whole->text;
        for (char name[PATH_SIZE]; !included && next_include(&at, name, &quoted);)
            included = strcmp(name, files[i].path) == 0;
        if (is_public_header(&files[i]) && &files[i] != whole && !included)
            wrong += report("tapegrad.h lacks", files[i].path);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* --- C++ --- */

/* Runs a command; its status, and what it says, cut, into `output`. */
static int run(const char *command, char *output, size_t size) {
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t length = fread(output, 1, size - 1, pipe);
    output[length] = '\0';
    char rest[256];
    while (fread(rest, 1, sizeof rest, pipe) > 0)
        continue;
    return pclose(pipe);
}

/* Whether a program that includes the header alone compiles; what the compiler says into output. */
static bool compiles_as_cpp(const char *directory, const char *header, const char *options,
                            char *output, size_t size) {
    char path[300], program[PATH_SIZE + 64], command[2 * PATH_SIZE];
    snprintf(path, sizeof path, "%s/program.cpp", directory);
    int length = snprintf(program, sizeof program, "#include <%s>\nint main() {}\n", header);
    test_write_file(path, program, (size_t)length);
    snprintf(command, sizeof command,
             "c++ -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only "
             "%s -I'%s' '%s' 2>&1",
             options, TG_TEST_SOURCE, path);
    return run(command, output, size) == 0;
}

START_TEST(headers_compile_as_cpp) {
    char output[4000], directory[256];
    if (run("c++ --version 2>&1", output, sizeof output) != 0) {
        printf("no C++ compiler: the headers were not compiled as C++\n");
        fflush(stdout);
        return;
    }
    read_tree();
    test_directory_make(directory);
    static const char *const options[2] = {"", "-DTG_F64=1"};
    for (int i = 0; i < 2; i++)
        if (!compiles_as_cpp(directory, "tapegrad.h", options[i], output, sizeof output))
            ck_abort_msg("tapegrad.h %s: %s", options[i], output);
    for (int i = 0; i < file_count; i++) /* and each of them by itself */
        if (is_public_header(&files[i]) &&
            !compiles_as_cpp(directory, files[i].path, "", output, sizeof output))
            ck_abort_msg("%s: %s", files[i].path, output);
    ck_assert(!compiles_as_cpp(directory, "tapegrad.h", "-Dtg_shape=int", output, sizeof output));
    ck_assert(!compiles_as_cpp(directory, "tensor/none.h", "", output, sizeof output));
    test_directory_remove(directory);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("layers");
    TCase *tests = tcase_create("layers");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, includes_run_one_way);
    tcase_add_test(tests, what_would_be_objected_to);
    tcase_add_test(tests, what_the_library_never_calls);
    tcase_add_test(tests, what_counts_as_a_call);
    tcase_add_test(tests, no_globals_that_change);
    tcase_add_test(tests, what_counts_as_a_global);
    tcase_add_test(tests, public_headers_are_for_cpp_too);
    tcase_add_test(tests, public_headers_include_no_internal_one);
    tcase_add_test(tests, the_whole_has_every_public_header);
    tcase_add_test(tests, headers_compile_as_cpp);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
