#include "article/previous.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tapegrad.h>

#include "article/recipe.h"

enum { PATH_SIZE = 4096, DETAILS = 256 };

/* Appends a detail to those that are there: "(a, b". */
static void add(char details[DETAILS], const char *name, const char *value) {
    size_t used = strlen(details);
    snprintf(details + used, DETAILS - used, "%s%s %s", used == 0 ? " (" : ", ", name, value);
}

static void add_recipe(char details[DETAILS], const tg_archive *archive) {
    const char *text;
    article_recipe recipe;
    if (tg_archive_read_text(archive, "recipe", &text, NULL) != TG_OK ||
        recipe_parse("", text, &recipe, NULL) != TG_OK)
        return;
    for (char *c = recipe.name; *c != '\0'; c++) /* it may come from anywhere */
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = '?';
    add(details, "recipe", recipe.name);
}

static void add_integer(char details[DETAILS], const tg_archive *archive, const char *name) {
    int64_t value;
    char text[24];
    if (tg_archive_read_int64(archive, name, &value, NULL) != TG_OK)
        return;
    snprintf(text, sizeof text, "%" PRId64, value);
    add(details, name, text);
}

bool previous_describe(const char *directory, char *line, size_t size) {
    char path[PATH_SIZE], details[DETAILS] = "";
    struct stat about;
    int length = snprintf(path, sizeof path, "%s/checkpoint.npz", directory);
    if (length < 0 || (size_t)length >= sizeof path || stat(path, &about) != 0 ||
        !S_ISREG(about.st_mode))
        return false;
    tg_archive *archive = tg_archive_open(NULL, path, NULL);
    if (archive == NULL) {
        snprintf(line, size, "replaces %s, which cannot be read as a checkpoint", path);
        return true;
    }
    add_recipe(details, archive);
    add_integer(details, archive, "seed");
    add_integer(details, archive, "step");
    tg_archive_free(archive);
    snprintf(line, size, "replaces the run in %s%s%s", directory, details,
             details[0] != '\0' ? ")" : "");
    return true;
}
