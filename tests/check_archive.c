#include "support.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensor/archive.h"

/* ---- what the cases share ---- */

static void assert_ok(tg_status status, const tg_error *error) {
    ck_assert_msg(status == TG_OK, "%s: %s", tg_status_name(status), error->message);
}

static void assert_failed(const tg_error *error, tg_status status, const char *words) {
    ck_assert_msg(error->status == status, "%s, not %s: %s", tg_status_name(error->status),
                  tg_status_name(status), error->message);
    ck_assert_msg(strstr(error->message, words) != NULL, "no \"%s\" in \"%s\"", words,
                  error->message);
}

static tg_archive *open_file(const char *path) {
    tg_error error = {0};
    tg_archive *archive = tg_archive_open(NULL, path, &error);
    ck_assert_msg(archive != NULL, "%s", error.message);
    return archive;
}

static tg_archive *open_golden(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TG_TEST_GOLDEN, name);
    return open_file(path);
}

static size_t bytes_of(const tg_array *array) {
    return (size_t)array->count * array->element_size;
}

static bool arrays_equal(const tg_array *a, const tg_array *b) {
    return strcmp(a->name, b->name) == 0 && a->element == b->element &&
           a->element_size == b->element_size && tg_shape_equal(a->shape, b->shape) &&
           a->count == b->count && memcmp(a->data, b->data, bytes_of(a)) == 0;
}

static bool archives_equal(const tg_archive *a, const tg_archive *b) {
    if (tg_archive_count(a) != tg_archive_count(b))
        return false;
    for (int64_t i = 0; i < tg_archive_count(a); i++)
        if (!arrays_equal(tg_archive_at(a, i), tg_archive_at(b, i)))
            return false;
    return true;
}

static void assert_array(const tg_archive *archive, const char *name, tg_element element,
                         size_t element_size, tg_shape shape, const void *data) {
    const tg_array *array = tg_archive_find(archive, name);
    ck_assert_msg(array != NULL, "no %s", name);
    ck_assert_str_eq(array->name, name);
    ck_assert_int_eq(array->element, element);
    ck_assert_uint_eq(array->element_size, element_size);
    ck_assert_msg(tg_shape_equal(array->shape, shape), "shape of %s", name);
    ck_assert_uint_eq((uintptr_t)array->data % 8, 0);
    ck_assert_msg(memcmp(array->data, data, bytes_of(array)) == 0, "data of %s", name);
}

static void add(tg_archive_writer *writer, const char *name, tg_element element,
                size_t element_size, tg_shape shape, const void *data) {
    tg_error error = {0};
    const tg_array array = {.name = name,
                            .element = element,
                            .element_size = element_size,
                            .shape = shape,
                            .data = data};
    assert_ok(tg_archive_writer_add(writer, &array, &error), &error);
}

static tg_archive_writer *new_writer(void) {
    tg_error error = {0};
    tg_archive_writer *writer = tg_archive_writer_create(NULL, &error);
    ck_assert_msg(writer != NULL, "%s", error.message);
    return writer;
}

static const char words[3][9] = {"the", "a", {'a', 't', 't', 'e', 'n', 't', 'i', 'o', 'n'}};

/* Every type, rank 0 to 6, nothing, and the edges. archive_oracle.py says the same in NumPy. */
static tg_archive_writer *write_sample(void) {
    tg_archive_writer *writer = new_writer();
    tg_error error = {0};
    float query[12];
    for (int i = 0; i < 12; i++)
        query[i] = (float)(i - 5) / 8;
    add(writer, "param/blocks.0.attention.query", TG_ELEMENT_FLOAT32, 0, tg_shape_2d(3, 4), query);
    const uint64_t special[] = {
        0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x8000000000000000, 1,
        0x7fe1ccf385ebc8a0};
    add(writer, "special", TG_ELEMENT_FLOAT64, 0, tg_shape_1d(6), special);
    const int32_t ids[] = {INT32_MIN, -1, 0, INT32_MAX};
    const tg_view view = {.shape = tg_shape_1d(4), .type = TG_INT32, .count = 4, .integer = ids};
    assert_ok(tg_archive_writer_add_view(writer, "ids", view, &error), &error);
    const int64_t large[] = {INT64_MIN, INT64_MAX};
    add(writer, "large", TG_ELEMENT_INT64, 0, tg_shape_2d(2, 1), large);
    uint8_t all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    add(writer, "bytes", TG_ELEMENT_UINT8, 0, tg_shape_1d(256), all);
    add(writer, "words", TG_ELEMENT_BYTES, sizeof words[0], tg_shape_1d(3), words);
    add(writer, "empty", TG_ELEMENT_FLOAT32, 0, tg_shape_2d(0, 3), NULL);
    double numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i;
    add(writer, "rank6", TG_ELEMENT_FLOAT64, 0,
        tg_shape_make(6, (const int64_t[]){2, 2, 2, 2, 2, 2}), numbers);
    assert_ok(tg_archive_writer_add_int64(writer, "step", 3000, &error), &error);
    assert_ok(tg_archive_writer_add_float64(writer, "rate", 0.1, &error), &error);
    assert_ok(tg_archive_writer_add_text(writer, "text", "größe\n", &error), &error);
    assert_ok(tg_archive_writer_add_text(writer, "no text", "", &error), &error);
    assert_ok(tg_archive_writer_add_int64(writer, "größe", 7, &error), &error);
    return writer;
}

/* The file image, owned by the caller. */
static unsigned char *image_of(tg_archive_writer *writer, size_t *size) {
    tg_error error = {0};
    const void *bytes;
    assert_ok(tg_archive_writer_bytes(writer, &bytes, size, &error), &error);
    unsigned char *copy = malloc(*size);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, *size);
    return copy;
}

static unsigned char *sample_image(size_t *size) {
    tg_archive_writer *writer = write_sample();
    unsigned char *image = image_of(writer, size);
    tg_archive_writer_free(writer);
    return image;
}

static unsigned char *golden_image(const char *name, size_t *size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TG_TEST_GOLDEN, name);
    return (unsigned char *)test_read_file(path, size);
}

static tg_archive *open_bytes(const void *bytes, size_t size) {
    tg_error error = {0};
    tg_archive *archive = tg_archive_open_memory(NULL, bytes, size, &error);
    ck_assert_msg(archive != NULL, "%s", error.message);
    return archive;
}

static bool exists(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0;
}

/* ---- what NumPy wrote ---- */

static void assert_numpy_arrays(const tg_archive *archive) {
    ck_assert_int_eq(tg_archive_count(archive), 12);
    const float matrix[] = {-0.25f, -0.125f, 0, 0.125f, 0.25f, 0.375f};
    assert_array(archive, "real/matrix", TG_ELEMENT_FLOAT32, 4, tg_shape_2d(2, 3), matrix);
    const uint32_t special[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x7f7fffff};
    assert_array(archive, "real/special", TG_ELEMENT_FLOAT32, 4, tg_shape_1d(6), special);
    const double pi = 3.141592653589793;
    assert_array(archive, "double/pi", TG_ELEMENT_FLOAT64, 8, tg_shape_scalar(), &pi);
    double thirds[64];
    for (int i = 0; i < 64; i++)
        thirds[i] = i / 3.0;
    assert_array(archive, "double/rank6", TG_ELEMENT_FLOAT64, 8,
                 tg_shape_make(6, (const int64_t[]){2, 2, 2, 2, 2, 2}), thirds);
    const int32_t small[] = {INT32_MIN, -1, 0, INT32_MAX};
    assert_array(archive, "int/small", TG_ELEMENT_INT32, 4, tg_shape_1d(4), small);
    const int64_t large = INT64_MIN, vector[] = {1, 2, 3};
    assert_array(archive, "int/large", TG_ELEMENT_INT64, 8, tg_shape_scalar(), &large);
    assert_array(archive, "fortran/vector", TG_ELEMENT_INT64, 8, tg_shape_1d(3), vector);
    uint8_t all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    assert_array(archive, "byte/all", TG_ELEMENT_UINT8, 1, tg_shape_1d(256), all);
    assert_array(archive, "bool", TG_ELEMENT_UINT8, 1, tg_shape_1d(3), "\1\0\1");
    assert_array(archive, "words", TG_ELEMENT_BYTES, 9, tg_shape_1d(3), words);
    assert_array(archive, "empty", TG_ELEMENT_FLOAT32, 4, tg_shape_2d(0, 3), "");
    const float size = 1.5f;
    assert_array(archive, "größe", TG_ELEMENT_FLOAT32, 4, tg_shape_scalar(), &size);
}

START_TEST(numpy_savez_is_read) {
    const char *names[] = {"archive_stored.npz", "archive_deflated.npz"};
    tg_archive *archive = open_golden(names[_i]);
    assert_numpy_arrays(archive);
    ck_assert_str_eq(tg_archive_at(archive, 0)->name, "real/matrix");
    ck_assert_str_eq(tg_archive_at(archive, 11)->name, "größe");
    ck_assert_ptr_null(tg_archive_at(archive, 12));
    ck_assert_ptr_null(tg_archive_at(archive, -1));
    tg_archive_free(archive);
}
END_TEST

START_TEST(what_other_writers_do_is_read) {
    const char *names[] = {"version2", "version3", "tight",  "loose",
                           "long",     "time",     "stored", "hard"};
    const float data[] = {0, 1, 2};
    tg_archive *archive = open_golden("archive_foreign.npz");
    ck_assert_int_eq(tg_archive_count(archive), 8);
    for (int i = 0; i < 8; i++)
        assert_array(archive, names[i], TG_ELEMENT_FLOAT32, 4, tg_shape_1d(3), data);
    tg_archive_free(archive);
}
END_TEST

/* ---- malformed archives ---- */

static size_t bytes_of_hex(const char *hex, unsigned char *out, size_t room) {
    size_t count = strlen(hex) / 2;
    ck_assert_uint_le(count, room);
    for (size_t i = 0; i < count; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        out[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return count;
}

/* The text up to `end`, which is overwritten; *rest moves behind it, and is NULL at the end. */
static char *next_field(char **rest, char end) {
    char *field = *rest, *stop = strchr(field, end);
    if (stop != NULL)
        *stop++ = '\0';
    *rest = stop;
    return field;
}

/* Each line of archive_bad.txt: what is wrong, words of the message, the file. The bytes are in a
 * block of just their size, so that a sanitizer sees a read beyond it. */
START_TEST(malformed_archives_are_refused) {
    size_t size;
    char *text = (char *)golden_image("archive_bad.txt", &size), *rest = text;
    int cases = 0;
    for (; *rest != '\0'; cases++) {
        char *line = next_field(&rest, '\n');
        const char *what = next_field(&line, '\t');
        const char *expected = next_field(&line, '\t');
        unsigned char buffer[4096];
        size_t count = bytes_of_hex(line, buffer, sizeof buffer);
        unsigned char *bytes = malloc(count > 0 ? count : 1);
        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, buffer, count);
        test_memory memory = {0};
        tg_allocator allocator = test_allocator(&memory);
        tg_context *context =
            tg_context_create(&(tg_context_options){.allocator = &allocator}, NULL);
        tg_error error = {0};
        tg_archive *archive = tg_archive_open_memory(context, bytes, count, &error);
        tg_context_free(context);
        ck_assert_msg(archive == NULL, "%s: was read", what);
        ck_assert_msg(error.status == TG_EFORMAT && strstr(error.message, expected) != NULL,
                      "%s: no \"%s\" in %s \"%s\"", what, expected, tg_status_name(error.status),
                      error.message);
        ck_assert_msg(memory.live_bytes == 0, "%s: leaks %zu bytes", what, memory.live_bytes);
        free(bytes);
    }
    ck_assert_int_ge(cases, 170);
    free(text);
}
END_TEST

static const char *const images[] = {"archive_stored.npz", "archive_deflated.npz",
                                     "archive_foreign.npz", NULL};

/* One of the stored archives, or what this library writes. */
static unsigned char *image_number(int i, size_t *size) {
    return images[i] != NULL ? golden_image(images[i], size) : sample_image(size);
}

START_TEST(cut_at_every_length_is_refused) {
    size_t size;
    unsigned char *image = image_number(_i, &size);
    for (size_t k = 0; k < size; k++) {
        unsigned char *cut = malloc(k > 0 ? k : 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, image, k);
        tg_error error = {0};
        ck_assert_msg(tg_archive_open_memory(NULL, cut, k, &error) == NULL, "%zu of %zu bytes", k,
                      size);
        ck_assert_int_eq(error.status, TG_EFORMAT);
        free(cut);
    }
    free(image);
}
END_TEST

/* An error, or, in the fields that nobody reads, the same values. */
START_TEST(flipped_bytes_never_give_other_values) {
    size_t size, refused = 0, same = 0;
    unsigned char *image = image_number(_i, &size);
    tg_archive *whole = open_bytes(image, size);
    for (size_t k = 0; k < size; k++)
        for (int bit = 0; bit <= 8; bit++) {
            unsigned char flip = (unsigned char)(bit < 8 ? 1u << bit : 0xff);
            image[k] ^= flip;
            tg_error error = {0};
            tg_archive *archive = tg_archive_open_memory(NULL, image, size, &error);
            ck_assert_msg(archive == NULL || archives_equal(archive, whole),
                          "byte %zu ^ %#x gives other values", k, flip);
            ck_assert(archive != NULL || error.status == TG_EFORMAT);
            refused += archive == NULL;
            same += archive != NULL;
            tg_archive_free(archive);
            image[k] ^= flip;
        }
    /* Times, versions and attributes make up less than a quarter of these small files. */
    ck_assert_uint_lt(same, refused / 3);
    tg_archive_free(whole);
    free(image);
}
END_TEST

/* ---- what is written ---- */

START_TEST(round_trip) {
    size_t size;
    unsigned char *image = sample_image(&size);
    tg_archive *archive = open_bytes(image, size);
    memset(image, 0, size); /* the archive keeps nothing of it */
    free(image);
    tg_error error = {0};
    ck_assert_int_eq(tg_archive_count(archive), 13);
    ck_assert_str_eq(tg_archive_at(archive, 0)->name, "param/blocks.0.attention.query");
    float query[12];
    for (int i = 0; i < 12; i++)
        query[i] = (float)(i - 5) / 8;
    assert_array(archive, "param/blocks.0.attention.query", TG_ELEMENT_FLOAT32, 4,
                 tg_shape_2d(3, 4), query);
    const int64_t large[] = {INT64_MIN, INT64_MAX};
    assert_array(archive, "large", TG_ELEMENT_INT64, 8, tg_shape_2d(2, 1), large);
    assert_array(archive, "words", TG_ELEMENT_BYTES, 9, tg_shape_1d(3), words);
    int32_t ids[4];
    assert_ok(tg_archive_read_int32s(archive, "ids", tg_shape_1d(4), ids, &error), &error);
    ck_assert(ids[0] == INT32_MIN && ids[1] == -1 && ids[2] == 0 && ids[3] == INT32_MAX);
    int64_t step;
    assert_ok(tg_archive_read_int64(archive, "step", &step, &error), &error);
    ck_assert_int_eq(step, 3000);
    double rate;
    assert_ok(tg_archive_read_float64(archive, "rate", &rate, &error), &error);
    ck_assert(rate == 0.1);
    const char *text;
    assert_ok(tg_archive_read_text(archive, "text", &text, &error), &error);
    ck_assert_str_eq(text, "größe\n");
    assert_ok(tg_archive_read_text(archive, "no text", &text, &error), &error);
    ck_assert_str_eq(text, "");
    tg_archive_free(archive);
}
END_TEST

START_TEST(an_archive_without_arrays) {
    tg_archive_writer *writer = new_writer();
    size_t size;
    unsigned char *image = image_of(writer, &size);
    tg_archive *archive = open_bytes(image, size);
    ck_assert_int_eq(tg_archive_count(archive), 0);
    ck_assert_ptr_null(tg_archive_find(archive, "a"));
    tg_archive_free(archive);
    free(image);
    tg_archive_writer_free(writer);
    tg_archive_writer_free(NULL);
    tg_archive_free(NULL);
}
END_TEST

START_TEST(equal_contents_are_equal_bytes) {
    size_t size, again;
    unsigned char *a = sample_image(&size);
    tg_archive_writer *writer = write_sample();
    unsigned char *b = image_of(writer, &again);
    ck_assert_uint_eq(size, again);
    ck_assert_int_eq(memcmp(a, b, size), 0);
    free(b);
    /* An image taken in between changes nothing of what is added later. */
    tg_error error = {0};
    assert_ok(tg_archive_writer_add_int64(writer, "more", 1, &error), &error);
    b = image_of(writer, &again);
    tg_archive *archive = open_bytes(b, again);
    ck_assert_int_eq(tg_archive_count(archive), 14);
    ck_assert_str_eq(tg_archive_at(archive, 13)->name, "more");
    tg_archive_free(archive);
    tg_archive_writer_free(writer);
    free(a);
    free(b);
}
END_TEST

/* More arrays than the table has at first, in an order that is not that of their names. */
START_TEST(many_names) {
    tg_archive_writer *writer = new_writer();
    tg_error error = {0};
    char name[32];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "n/%d", i * 37 % 500);
        assert_ok(tg_archive_writer_add_int64(writer, name, i, &error), &error);
    }
    size_t size;
    unsigned char *image = image_of(writer, &size);
    tg_archive *archive = open_bytes(image, size);
    for (int i = 0; i < 500; i++) {
        int64_t value;
        snprintf(name, sizeof name, "n/%d", i * 37 % 500);
        ck_assert_str_eq(tg_archive_at(archive, i)->name, name);
        assert_ok(tg_archive_read_int64(archive, name, &value, &error), &error);
        ck_assert_int_eq(value, i);
    }
    ck_assert_ptr_null(tg_archive_find(archive, "n/500"));
    ck_assert_ptr_null(tg_archive_find(archive, "n"));
    tg_archive_free(archive);
    free(image);
    tg_archive_writer_free(writer);
}
END_TEST

/* 3 MB that compress badly, and 8 MB that compress as far as deflate goes. */
START_TEST(large_arrays) {
    const int64_t n = 1 << 20;
    float *noise = malloc((size_t)n * sizeof *noise);
    double *zeros = calloc((size_t)n, sizeof *zeros);
    ck_assert(noise != NULL && zeros != NULL);
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        noise[i] = (float)(state >> 8);
    }
    tg_archive_writer *writer = new_writer();
    add(writer, "noise", TG_ELEMENT_FLOAT32, 0, tg_shape_2d(n / 1024, 1024), noise);
    add(writer, "zeros", TG_ELEMENT_FLOAT64, 0, tg_shape_1d(n), zeros);
    size_t size;
    unsigned char *image = image_of(writer, &size);
    tg_archive *archive = open_bytes(image, size);
    assert_array(archive, "noise", TG_ELEMENT_FLOAT32, 4, tg_shape_2d(n / 1024, 1024), noise);
    assert_array(archive, "zeros", TG_ELEMENT_FLOAT64, 8, tg_shape_1d(n), zeros);
    tg_archive_free(archive);
    free(image);
    tg_archive_writer_free(writer);
    free(noise);
    free(zeros);
}
END_TEST

/* What the writer refuses leaves no trace. */
static void assert_refused(const tg_array *array, tg_status status, const char *expected) {
    tg_archive_writer *writer = new_writer();
    tg_error error = {0};
    assert_ok(tg_archive_writer_add_int64(writer, "there", 1, &error), &error);
    size_t before, after;
    unsigned char *a = image_of(writer, &before);
    ck_assert_int_eq(tg_archive_writer_add(writer, array, &error), status);
    assert_failed(&error, status, expected);
    unsigned char *b = image_of(writer, &after);
    ck_assert_uint_eq(before, after);
    ck_assert_int_eq(memcmp(a, b, before), 0);
    free(a);
    free(b);
    tg_archive_writer_free(writer);
}

static char longest[256], too_long[257];

static const struct {
    const char *name;
    const char *words;
} bad_names[] = {
    {"", "is empty"},
    {"there", "already"},
    {"/a", "empty part"},
    {"a//b", "empty part"},
    {"a/", "empty part"},
    {".", "\".\""},
    {"..", "\"..\""},
    {"../a", "\"..\""},
    {"a/../b", "\"..\""},
    {"a/..", "\"..\""},
    {"a\\b", "backslash"},
    {"a\nb", "control character"},
    {"\x1b[2J", "control character"},
    {"\x7f", "control character"},
    {"\xc2\x9b", "control character"},
    {"\xe9", "UTF-8"},
    {"\xc0\xaf", "UTF-8"},
    {"\xed\xa0\x80", "UTF-8"},
    {"\xc3(", "UTF-8"},
    {too_long, "255 bytes"},
    {NULL, "without a name"},
};

START_TEST(bad_names_are_refused) {
    memset(too_long, 'x', 256);
    int64_t value = 1;
    const tg_array array = {
        .name = bad_names[_i].name, .element = TG_ELEMENT_INT64, .data = &value};
    assert_refused(&array, TG_EINVAL, bad_names[_i].words);
}
END_TEST

START_TEST(unusual_names_are_legal) {
    memset(longest, 'x', 255);
    const char *names[] = {longest, "a", "...", "..a/.b", "a b", "C:", "größe/\xf0\x9f\x8e\x93"};
    tg_archive_writer *writer = new_writer();
    tg_error error = {0};
    for (int i = 0; i < 7; i++)
        assert_ok(tg_archive_writer_add_int64(writer, names[i], i, &error), &error);
    size_t size;
    unsigned char *image = image_of(writer, &size);
    tg_archive *archive = open_bytes(image, size);
    for (int i = 0; i < 7; i++)
        ck_assert_str_eq(tg_archive_at(archive, i)->name, names[i]);
    tg_archive_free(archive);
    free(image);
    tg_archive_writer_free(writer);
}
END_TEST

START_TEST(bad_arrays_are_refused) {
    float x = 1;
    const int64_t gigabyte = 1 << 30;
    const struct {
        tg_array array;
        tg_status status;
        const char *words;
    } cases[] = {
        {{"a", TG_ELEMENT_FLOAT32, 4, tg_shape_1d(-1), 0, &x}, TG_ESHAPE, "negative"},
        {{"a", TG_ELEMENT_FLOAT32, 4, {.rank = 7}, 0, &x}, TG_ESHAPE, "rank 7"},
        {{"a", TG_ELEMENT_FLOAT32, 4, tg_shape_2d(INT64_MAX, 2), 0, &x}, TG_ESHAPE, "INT64_MAX"},
        {{"a", TG_ELEMENT_FLOAT32, 4, tg_shape_1d(3), 3, NULL}, TG_EINVAL, "no data"},
        {{"a", TG_ELEMENT_BYTES, 0, tg_shape_1d(3), 3, &x}, TG_EINVAL, "0 bytes"},
        {{"a", (tg_element)6, 4, tg_shape_scalar(), 1, &x}, TG_EINVAL, "number 6"},
        /* 4 GB and more; the data behind x is never touched. 2^61 + 1 doubles wrap to 8 bytes. */
        {{"a", TG_ELEMENT_FLOAT32, 4, tg_shape_1d(gigabyte), 0, &x}, TG_EINVAL, "4294967294"},
        {{"a", TG_ELEMENT_UINT8, 1, tg_shape_1d(4 * gigabyte - 2), 0, &x}, TG_EINVAL, "4294967294"},
        {{"a", TG_ELEMENT_FLOAT64, 8, tg_shape_1d(((int64_t)1 << 61) + 1), 0, &x},
         TG_EINVAL,
         "4294967294"},
        {{"a", TG_ELEMENT_BYTES, SIZE_MAX, tg_shape_1d(2), 0, &x}, TG_EINVAL, "4294967294"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(&cases[i].array, cases[i].status, cases[i].words);
}
END_TEST

START_TEST(null_arguments_are_refused) {
    tg_error error = {0};
    int64_t value = 0;
    const void *bytes;
    size_t size;
    const char *text;
    tg_archive_writer *writer = new_writer();
    ck_assert_int_eq(tg_archive_writer_add(NULL, &(tg_array){.name = "a"}, &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_writer_add(writer, NULL, &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_writer_add_int64(NULL, "a", 1, &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_writer_add_text(writer, "a", NULL, &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_writer_bytes(NULL, &bytes, &size, &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_writer_save(NULL, "a", &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_writer_save(writer, NULL, &error), TG_EINVAL);
    tg_archive_writer_free(writer);
    ck_assert_ptr_null(tg_archive_open(NULL, NULL, &error));
    ck_assert_int_eq(error.status, TG_EINVAL);
    ck_assert_ptr_null(tg_archive_open_memory(NULL, NULL, 0, NULL));
    ck_assert_int_eq(tg_archive_count(NULL), 0);
    ck_assert_ptr_null(tg_archive_at(NULL, 0));
    ck_assert_ptr_null(tg_archive_find(NULL, "a"));
    ck_assert_int_eq(tg_archive_read_int64(NULL, "a", &value, &error), TG_EINVAL);
    ck_assert_int_eq(tg_archive_read_text(NULL, "a", &text, &error), TG_EINVAL);
}
END_TEST

/* ---- reading into the caller's memory ---- */

START_TEST(reals_are_converted) {
    tg_archive *archive = open_golden("archive_deflated.npz");
    tg_error error = {0};
    tg_real matrix[6], thirds[64], special[6], pi;
    assert_ok(tg_archive_read_reals(archive, "real/matrix", tg_shape_2d(2, 3), matrix, &error),
              &error);
    for (int i = 0; i < 6; i++)
        ck_assert((double)matrix[i] == (i - 2) / 8.0);
    assert_ok(tg_archive_read_reals(archive, "double/rank6",
                                    tg_shape_make(6, (const int64_t[]){2, 2, 2, 2, 2, 2}), thirds,
                                    &error),
              &error);
    for (int i = 0; i < 64; i++)
        ck_assert(thirds[i] == (tg_real)(i / 3.0));
    assert_ok(tg_archive_read_reals(archive, "double/pi", tg_shape_scalar(), &pi, &error), &error);
    ck_assert(pi == (tg_real)3.141592653589793);
    assert_ok(tg_archive_read_reals(archive, "real/special", tg_shape_1d(6), special, &error),
              &error);
    ck_assert(isnan(special[0]) && isinf(special[1]) && special[1] > 0 && isinf(special[2]) &&
              special[2] < 0 && special[3] == 0 && signbit(special[3]));
    assert_ok(tg_archive_read_reals(archive, "empty", tg_shape_2d(0, 3), NULL, &error), &error);
    double single;
    assert_ok(tg_archive_read_float64(archive, "größe", &single, &error), &error);
    ck_assert(single == 1.5);
    tg_archive_free(archive);
}
END_TEST

/* NaN and infinity go through; a finite number that would become infinite does not, in float. */
START_TEST(doubles_beyond_float) {
    const double fine[] = {(double)NAN, -(double)INFINITY, 3.4028234e38, 1e-300};
    const double beyond[] = {1, -1e39};
    tg_archive_writer *writer = new_writer();
    add(writer, "fine", TG_ELEMENT_FLOAT64, 0, tg_shape_1d(4), fine);
    add(writer, "beyond", TG_ELEMENT_FLOAT64, 0, tg_shape_1d(2), beyond);
    size_t size;
    unsigned char *image = image_of(writer, &size);
    tg_archive *archive = open_bytes(image, size);
    tg_error error = {0};
    tg_real out[4], kept[2] = {7, 7};
    assert_ok(tg_archive_read_reals(archive, "fine", tg_shape_1d(4), out, &error), &error);
    ck_assert(isnan(out[0]) && isinf(out[1]) && out[2] == (tg_real)3.4028234e38);
    tg_status status = tg_archive_read_reals(archive, "beyond", tg_shape_1d(2), kept, &error);
#ifdef TG_F64
    assert_ok(status, &error);
    ck_assert(kept[0] == 1 && kept[1] == -1e39);
#else
    ck_assert_int_eq(status, TG_EMISMATCH);
    assert_failed(&error, TG_EMISMATCH, "element 1");
    ck_assert(kept[0] == 7 && kept[1] == 7);
#endif
    tg_archive_free(archive);
    free(image);
    tg_archive_writer_free(writer);
}
END_TEST

START_TEST(mismatches_say_both_sides) {
    tg_archive *archive = open_golden("archive_deflated.npz");
    tg_error error = {0};
    tg_real reals[6] = {7, 7, 7, 7, 7, 7};
    int32_t integers[4];
    int64_t integer;
    double real;
    const char *text;
    ck_assert_int_eq(tg_archive_read_reals(archive, "none", tg_shape_1d(6), reals, &error),
                     TG_ENOTFOUND);
    assert_failed(&error, TG_ENOTFOUND, "\"none\"");
    ck_assert_int_eq(
        tg_archive_read_reals(archive, "real/matrix", tg_shape_2d(3, 2), reals, &error),
        TG_EMISMATCH);
    assert_failed(&error, TG_EMISMATCH, "\"real/matrix\" is of shape (2, 3), expected is (3, 2)");
    tg_archive_read_reals(archive, "real/matrix", tg_shape_1d(6), reals, &error);
    assert_failed(&error, TG_EMISMATCH, "(2, 3), expected is (6,)");
    tg_archive_read_reals(archive, "int/small", tg_shape_1d(4), reals, &error);
    assert_failed(&error, TG_EMISMATCH, "\"int/small\" is int32, expected is float32 or float64");
    for (int i = 0; i < 6; i++)
        ck_assert(reals[i] == 7);
    tg_archive_read_int32s(archive, "fortran/vector", tg_shape_1d(3), integers, &error);
    assert_failed(&error, TG_EMISMATCH, "is int64, expected is int32");
    tg_archive_read_int32s(archive, "int/small", tg_shape_1d(3), integers, &error);
    assert_failed(&error, TG_EMISMATCH, "(4,), expected is (3,)");
    tg_archive_read_int64(archive, "double/pi", &integer, &error);
    assert_failed(&error, TG_EMISMATCH, "is float64, expected is int32 or int64");
    tg_archive_read_float64(archive, "int/large", &real, &error);
    assert_failed(&error, TG_EMISMATCH, "is int64, expected is float32 or float64");
    tg_archive_read_float64(archive, "real/matrix", &real, &error);
    assert_failed(&error, TG_EMISMATCH, "(2, 3), expected is ()");
    tg_archive_read_text(archive, "words", &text, &error);
    assert_failed(&error, TG_EMISMATCH, "(3,), expected is ()");
    tg_archive_read_text(archive, "double/pi", &text, &error);
    assert_failed(&error, TG_EMISMATCH, "is float64, expected is bytes");
    assert_ok(tg_archive_read_int64(archive, "int/large", &integer, &error), &error);
    ck_assert(integer == INT64_MIN);
    tg_archive_free(archive);
}
END_TEST

START_TEST(texts) {
    tg_archive_writer *writer = new_writer();
    add(writer, "padded", TG_ELEMENT_BYTES, 5, tg_shape_scalar(), "ab\0\0");
    add(writer, "broken", TG_ELEMENT_BYTES, 5, tg_shape_scalar(), "ab\0c");
    int32_t small = -5;
    add(writer, "small", TG_ELEMENT_INT32, 0, tg_shape_scalar(), &small);
    size_t size;
    unsigned char *image = image_of(writer, &size);
    tg_archive *archive = open_bytes(image, size);
    tg_error error = {0};
    const char *text;
    assert_ok(tg_archive_read_text(archive, "padded", &text, &error), &error);
    ck_assert_str_eq(text, "ab");
    ck_assert_int_eq(tg_archive_read_text(archive, "broken", &text, &error), TG_EMISMATCH);
    assert_failed(&error, TG_EMISMATCH, "NUL");
    int64_t value;
    assert_ok(tg_archive_read_int64(archive, "small", &value, &error), &error);
    ck_assert_int_eq(value, -5);
    tg_archive_free(archive);
    free(image);
    tg_archive_writer_free(writer);
}
END_TEST

/* ---- memory that runs out ---- */

static tg_context *counting_context(test_memory *memory, const tg_allocator *allocator) {
    *memory = (test_memory){0};
    tg_error error = {0};
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = allocator}, &error);
    ck_assert_msg(context != NULL, "%s", error.message);
    return context;
}

/* Makes request number `n` from now on, and all after it, fail; 0 lets all succeed. */
static void fail_after(test_memory *memory, size_t n) {
    memory->fail_at = n > 0 ? memory->requests + n : 0;
}

static tg_status add_numbers(tg_archive_writer *writer, const char *name, tg_error *error) {
    static const double values[300] = {1, 2, 3};
    const tg_array array = {
        .name = name, .element = TG_ELEMENT_FLOAT64, .shape = tg_shape_1d(300), .data = values};
    return tg_archive_writer_add(writer, &array, error);
}

/* Makes one add to an archive of `_i` arrays run out of memory at its n-th request, each n in turn:
 * the archive stays what it was, and takes the array afterwards. */
START_TEST(adding_without_memory) {
    test_memory memory;
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = counting_context(&memory, &allocator);
    tg_status status = TG_ENOMEM;
    size_t n = 0;
    while (status != TG_OK) {
        tg_error error = {0};
        tg_archive_writer *writer = tg_archive_writer_create(context, &error);
        char name[16];
        for (int i = 0; i < _i; i++) {
            snprintf(name, sizeof name, "%d", i);
            assert_ok(add_numbers(writer, name, &error), &error);
        }
        fail_after(&memory, ++n);
        status = add_numbers(writer, "last", &error);
        fail_after(&memory, 0);
        if (status != TG_OK) {
            assert_failed(&error, TG_ENOMEM, "out of memory");
            assert_ok(add_numbers(writer, "last", &error), &error);
        }
        size_t size;
        unsigned char *image = image_of(writer, &size);
        tg_archive *archive = open_bytes(image, size);
        ck_assert_int_eq(tg_archive_count(archive), _i + 1);
        ck_assert_str_eq(tg_archive_at(archive, _i)->name, "last");
        tg_archive_free(archive);
        free(image);
        tg_archive_writer_free(writer);
    }
    ck_assert_uint_ge(n, 6); /* a name, zlib's state, window, two tables and buffer, at least */
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

START_TEST(failed_adds_leave_the_archive_as_it_was) {
    test_memory memory;
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = counting_context(&memory, &allocator);
    tg_archive_writer *writer = tg_archive_writer_create(context, NULL);
    ck_assert_ptr_nonnull(writer);
    tg_error error = {0};
    assert_ok(tg_archive_writer_add_text(writer, "first", "text", &error), &error);
    size_t before, after;
    unsigned char *a = image_of(writer, &before);
    for (size_t n = 1;; n++) {
        fail_after(&memory, n);
        tg_status status = add_numbers(writer, "second", &error);
        fail_after(&memory, 0);
        if (status == TG_OK)
            break;
        unsigned char *b = image_of(writer, &after);
        ck_assert_uint_eq(before, after);
        ck_assert_int_eq(memcmp(a, b, before), 0);
        free(b);
    }
    free(a);
    tg_archive_writer_free(writer);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* Creating, and saving an empty archive, whose image and path both need memory. */
START_TEST(saving_without_memory) {
    test_memory memory;
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = counting_context(&memory, &allocator);
    char directory[256], path[300], temporary[310];
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/a.npz", directory);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    tg_status status = TG_ENOMEM;
    size_t n = 0;
    while (status != TG_OK) {
        tg_error error = {0};
        fail_after(&memory, ++n);
        tg_archive_writer *writer = tg_archive_writer_create(context, &error);
        status = writer != NULL ? tg_archive_writer_save(writer, path, &error) : error.status;
        fail_after(&memory, 0);
        if (status != TG_OK)
            assert_failed(&error, TG_ENOMEM, "out of memory");
        ck_assert(exists(path) == (status == TG_OK) && !exists(temporary));
        tg_archive_writer_free(writer);
    }
    ck_assert_uint_eq(n, 4);
    test_directory_remove(directory);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

START_TEST(reading_without_memory) {
    test_memory memory;
    tg_allocator allocator = test_allocator(&memory);
    tg_context *context = counting_context(&memory, &allocator);
    char path[512];
    snprintf(path, sizeof path, "%s/archive_deflated.npz", TG_TEST_GOLDEN);
    size_t at_start = memory.live_bytes;
    for (size_t n = 1;; n++) {
        tg_error error = {0};
        fail_after(&memory, n);
        tg_archive *archive = tg_archive_open(context, path, &error);
        fail_after(&memory, 0);
        if (archive != NULL) {
            assert_numpy_arrays(archive);
            tg_archive_free(archive);
            ck_assert_uint_ge(n, 40);
            break;
        }
        assert_failed(&error, TG_ENOMEM, "out of memory");
        ck_assert_uint_eq(memory.live_bytes, at_start);
    }
    tg_context_free(context);
    ck_assert_uint_eq(memory.live_blocks, 0);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* ---- files ---- */

START_TEST(paths_that_cannot_be_read) {
    char directory[256], path[300];
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/a.npz", directory);
    tg_error error = {0};
    ck_assert_ptr_null(tg_archive_open(NULL, path, &error));
    assert_failed(&error, TG_EIO, "No such file or directory");
    assert_failed(&error, TG_EIO, path);
    ck_assert_ptr_null(tg_archive_open(NULL, directory, &error));
    assert_failed(&error, TG_EIO, "Is a directory");
    assert_failed(&error, TG_EIO, directory);
    test_write_file(path, "", 0);
    ck_assert_ptr_null(tg_archive_open(NULL, path, &error));
    assert_failed(&error, TG_EFORMAT, "0 bytes are too few");
    assert_failed(&error, TG_EFORMAT, path);
    test_write_file(path, "epoch,loss\n1,2.5\n2,2.25\n", 24);
    ck_assert_ptr_null(tg_archive_open(NULL, path, &error));
    assert_failed(&error, TG_EFORMAT, "not a ZIP file");
    assert_failed(&error, TG_EFORMAT, path);
    test_directory_remove(directory);
}
END_TEST

START_TEST(saved_and_opened) {
    char directory[256], path[300], temporary[310];
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/a.npz", directory);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    tg_archive_writer *writer = write_sample();
    tg_error error = {0};
    size_t size, saved;
    unsigned char *image = image_of(writer, &size);
    for (int round = 0; round < 2; round++) { /* a new file, then over the old one */
        assert_ok(tg_archive_writer_save(writer, path, &error), &error);
        char *bytes = test_read_file(path, &saved);
        ck_assert_uint_eq(saved, size);
        ck_assert_int_eq(memcmp(bytes, image, size), 0);
        ck_assert(!exists(temporary));
        free(bytes);
    }
    tg_archive *archive = open_file(path), *same = open_bytes(image, size);
    ck_assert(archives_equal(archive, same));
    tg_archive_free(archive);
    tg_archive_free(same);
    free(image);
    tg_archive_writer_free(writer);
    test_directory_remove(directory);
}
END_TEST

/* 4 MB, so that a kill finds the writing under way. `seed` marks the whole array. */
static tg_archive_writer *write_large(int32_t seed) {
    const int64_t n = 1 << 20;
    int32_t *values = malloc((size_t)n * sizeof *values);
    ck_assert_ptr_nonnull(values);
    uint32_t state = (uint32_t)seed;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (int32_t)(state >> 1);
    }
    values[0] = seed;
    tg_archive_writer *writer = new_writer();
    add(writer, "values", TG_ELEMENT_INT32, 0, tg_shape_1d(n), values);
    free(values);
    return writer;
}

static void save_until_killed(tg_archive_writer *const writers[2], const char *path) {
    for (int i = 0; tg_archive_writer_save(writers[i % 2], path, NULL) == TG_OK; i++) {
    }
    _exit(1);
}

/* Killed at any moment while it saves over and over, a program leaves a whole file. */
START_TEST(killed_while_saving) {
    char directory[256], path[300], temporary[310];
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/a.npz", directory);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    tg_archive_writer *writers[2] = {write_large(1), write_large(2)};
    tg_error error = {0};
    assert_ok(tg_archive_writer_save(writers[0], path, &error), &error);
    int leftovers = 0;
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            save_until_killed(writers, path);
        const struct timespec pause = {.tv_nsec = 1000000 * (5 + round * 7 % 40)};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFSIGNALED(status), "the saving failed");
        leftovers += exists(temporary);
        tg_archive *archive = open_file(path);
        const int32_t *values = tg_archive_find(archive, "values")->data;
        ck_assert(values[0] == 1 || values[0] == 2);
        tg_archive_free(archive);
    }
    ck_assert_int_gt(leftovers, 0); /* or nothing was tested */
    assert_ok(tg_archive_writer_save(writers[0], path, &error), &error);
    ck_assert(!exists(temporary));
    tg_archive_writer_free(writers[0]);
    tg_archive_writer_free(writers[1]);
    test_directory_remove(directory);
}
END_TEST

/* ---- NumPy and zipfile as judges ---- */

static int run(const char *program, const char *const arguments[5]) {
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        execlp(program, program, arguments[0], arguments[1], arguments[2], arguments[3],
               arguments[4], (char *)NULL);
        _exit(127);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A Python that has NumPy, or NULL, with a line that says so. */
static const char *python(void) {
    static const char *const programs[] = {"/usr/bin/python3", "python3"};
    static const char probe[] = "try:\n import numpy\nexcept ImportError:\n raise SystemExit(1)";
    for (int i = 0; i < 2; i++)
        if (run(programs[i], (const char *const[5]){"-c", probe}) == 0)
            return programs[i];
    printf("check_archive: no Python with NumPy here: the archives were not shown to NumPy\n");
    return NULL;
}

#define ORACLE TG_TEST_SOURCE "/tests/archive_oracle.py"

START_TEST(numpy_reads_what_is_written) {
    const char *program = python();
    if (program == NULL)
        return;
    char directory[256], path[300], stored[300], deflated[300];
    test_directory_make(directory);
    snprintf(path, sizeof path, "%s/a.npz", directory);
    snprintf(stored, sizeof stored, "%s/stored.npz", directory);
    snprintf(deflated, sizeof deflated, "%s/deflated.npz", directory);
    tg_archive_writer *writer = write_sample();
    tg_error error = {0};
    assert_ok(tg_archive_writer_save(writer, path, &error), &error);
    tg_archive_writer_free(writer);
    ck_assert_int_eq(run(program, (const char *const[5]){ORACLE, "verify", path}), 0);
    ck_assert_int_eq(run(program, (const char *const[5]){ORACLE, "resave", path, stored, deflated}),
                     0);
    tg_archive *ours = open_file(path), *a = open_file(stored), *b = open_file(deflated);
    ck_assert(archives_equal(ours, a));
    ck_assert(archives_equal(ours, b));
    tg_archive_free(ours);
    tg_archive_free(a);
    tg_archive_free(b);
    test_directory_remove(directory);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("archive");
    TCase *numpy = tcase_create("numpy");
    tcase_add_loop_test(numpy, numpy_savez_is_read, 0, 2);
    tcase_add_test(numpy, what_other_writers_do_is_read);
    tcase_add_test(numpy, numpy_reads_what_is_written);
    tcase_set_timeout(numpy, 60);
    suite_add_tcase(suite, numpy);
    TCase *damaged = tcase_create("damaged");
    tcase_add_test(damaged, malformed_archives_are_refused);
    tcase_add_loop_test(damaged, cut_at_every_length_is_refused, 0, 4);
    tcase_add_loop_test(damaged, flipped_bytes_never_give_other_values, 0, 4);
    tcase_set_timeout(damaged, 120);
    suite_add_tcase(suite, damaged);
    TCase *writing = tcase_create("writing");
    tcase_add_test(writing, round_trip);
    tcase_add_test(writing, an_archive_without_arrays);
    tcase_add_test(writing, equal_contents_are_equal_bytes);
    tcase_add_test(writing, many_names);
    tcase_add_test(writing, large_arrays);
    tcase_add_loop_test(writing, bad_names_are_refused, 0,
                        (int)(sizeof bad_names / sizeof bad_names[0]));
    tcase_add_test(writing, unusual_names_are_legal);
    tcase_add_test(writing, bad_arrays_are_refused);
    tcase_add_test(writing, null_arguments_are_refused);
    suite_add_tcase(suite, writing);
    TCase *reading = tcase_create("reading");
    tcase_add_test(reading, reals_are_converted);
    tcase_add_test(reading, doubles_beyond_float);
    tcase_add_test(reading, mismatches_say_both_sides);
    tcase_add_test(reading, texts);
    suite_add_tcase(suite, reading);
    TCase *memory = tcase_create("memory");
    tcase_add_loop_test(memory, adding_without_memory, 0, 18);
    tcase_add_test(memory, saving_without_memory);
    tcase_add_test(memory, failed_adds_leave_the_archive_as_it_was);
    tcase_add_test(memory, reading_without_memory);
    suite_add_tcase(suite, memory);
    TCase *files = tcase_create("files");
    tcase_add_test(files, paths_that_cannot_be_read);
    tcase_add_test(files, saved_and_opened);
    tcase_add_test(files, killed_while_saving);
    tcase_set_timeout(files, 60);
    suite_add_tcase(suite, files);
    return suite;
}

int main(void) {
    return test_main(suite());
}
