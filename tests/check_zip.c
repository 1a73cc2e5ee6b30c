/* The container below the archive, where the archive's own interface does not reach. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/archive.h"
#include "tensor/zip.h"

static void assert_ok(tg_status status, const tg_error *error) {
    ck_assert_msg(status == TG_OK, "%s: %s", tg_status_name(status), error->message);
}

static void assert_failed(const tg_error *error, tg_status status, const char *words) {
    ck_assert_msg(error->status == status && strstr(error->message, words) != NULL,
                  "no \"%s\" in %s \"%s\"", words, tg_status_name(error->status), error->message);
}

static tgi_zip_writer new_writer(void) {
    tgi_zip_writer writer;
    tg_allocator heap = tg_allocator_default();
    tgi_zip_writer_init(&writer, &heap);
    return writer;
}

static void add(tgi_zip_writer *writer, const char *name, const void *bytes, size_t size) {
    tg_error error = {0};
    const tgi_zip_part part = {bytes, size};
    assert_ok(tgi_zip_add(writer, name, &part, 1, &error), &error);
}

/* The first entry of an image. */
static tgi_zip_entry first_entry(tgi_zip_writer *writer) {
    tg_error error = {0};
    const unsigned char *bytes;
    size_t size;
    tgi_zip_reader reader;
    tgi_zip_entry entry;
    assert_ok(tgi_zip_image(writer, &bytes, &size, &error), &error);
    assert_ok(tgi_zip_open(&reader, bytes, size, &error), &error);
    assert_ok(tgi_zip_next(&reader, &entry, &error), &error);
    return entry;
}

START_TEST(parts_are_one_content) {
    tgi_zip_writer writer = new_writer();
    tg_error error = {0};
    const tgi_zip_part parts[] = {{"ab", 2}, {NULL, 0}, {"cdefg", 5}};
    assert_ok(tgi_zip_add(&writer, "name", parts, 3, &error), &error);
    add(&writer, "nothing", NULL, 0);
    tgi_zip_entry entry = first_entry(&writer);
    ck_assert_uint_eq(entry.name_length, 4);
    ck_assert_int_eq(memcmp(entry.name, "name", 4), 0);
    ck_assert_uint_eq(entry.size, 7);
    ck_assert_uint_eq(entry.crc, 0x312a6aa6); /* Python: zlib.crc32(b"abcdefg") */
    tgi_zip_stream stream;
    tg_allocator heap = tg_allocator_default();
    assert_ok(tgi_zip_stream_open(&stream, &heap, &entry, &error), &error);
    char content[8] = {0};
    for (size_t i = 0; i < 7; i++) /* byte for byte */
        assert_ok(tgi_zip_stream_read(&stream, content + i, 1, &error), &error);
    ck_assert_str_eq(content, "abcdefg");
    assert_ok(tgi_zip_stream_finish(&stream, &error), &error);
    ck_assert_int_eq(tgi_zip_stream_read(&stream, content, 1, &error), TG_EFORMAT);
    assert_failed(&error, TG_EFORMAT, "ends too early");
    tgi_zip_stream_close(&stream);
    tgi_zip_writer_free(&writer);
}
END_TEST

START_TEST(finishing_early_is_refused) {
    tgi_zip_writer writer = new_writer();
    tg_error error = {0};
    add(&writer, "name", "abcdefg", 7);
    tgi_zip_entry entry = first_entry(&writer);
    tgi_zip_stream stream;
    tg_allocator heap = tg_allocator_default();
    char content[8];
    assert_ok(tgi_zip_stream_open(&stream, &heap, &entry, &error), &error);
    assert_ok(tgi_zip_stream_read(&stream, content, 6, &error), &error);
    ck_assert_int_eq(tgi_zip_stream_finish(&stream, &error), TG_EFORMAT);
    assert_failed(&error, TG_EFORMAT, "more bytes than its content needs");
    tgi_zip_stream_close(&stream);
    tgi_zip_writer_free(&writer);
}
END_TEST

/* 4 GB are not written for this: the limit is lowered to what three entries need, less one. */
START_TEST(an_archive_beyond_its_limit) {
    tgi_zip_writer writer = new_writer();
    tg_error error = {0};
    const unsigned char *bytes;
    size_t whole, before, after;
    ck_assert_uint_eq(writer.largest, 4294967294u);
    for (int i = 0; i < 3; i++)
        add(&writer, (const char *[]){"a", "b", "c"}[i], "abcdefg", 7);
    assert_ok(tgi_zip_image(&writer, &bytes, &whole, &error), &error);
    tgi_zip_writer_free(&writer);

    writer = new_writer();
    writer.largest = whole - 1;
    add(&writer, "a", "abcdefg", 7);
    add(&writer, "b", "abcdefg", 7);
    assert_ok(tgi_zip_image(&writer, &bytes, &before, &error), &error);
    const tgi_zip_part part = {"abcdefg", 7};
    ck_assert_int_eq(tgi_zip_add(&writer, "c", &part, 1, &error), TG_EINVAL);
    assert_failed(&error, TG_EINVAL, "with \"c\" the archive has more than");
    assert_ok(tgi_zip_image(&writer, &bytes, &after, &error), &error);
    ck_assert_uint_eq(before, after);
    writer.largest = whole;
    add(&writer, "c", "abcdefg", 7);
    assert_ok(tgi_zip_image(&writer, &bytes, &after, &error), &error);
    ck_assert_uint_eq(after, whole);
    tgi_zip_writer_free(&writer);
}
END_TEST

START_TEST(limits_of_an_entry) {
    tgi_zip_writer writer = new_writer();
    tg_error error = {0};
    const tgi_zip_part large[] = {{"abcdefg", 7}, {"", 4294967288u}};
    ck_assert_int_eq(tgi_zip_add(&writer, "large", large, 2, &error), TG_EINVAL);
    assert_failed(&error, TG_EINVAL, "\"large\" has more than 4294967294 bytes");
    char *name = malloc(65537);
    ck_assert_ptr_nonnull(name);
    memset(name, 'x', 65536);
    name[65536] = '\0';
    const tgi_zip_part part = {"", 0};
    ck_assert_int_eq(tgi_zip_add(&writer, name, &part, 1, &error), TG_EINVAL);
    assert_failed(&error, TG_EINVAL, "a name of 65536 bytes");
    add(&writer, name + 1, "", 0);
    free(name);
    ck_assert_uint_eq(first_entry(&writer).name_length, 65535);
    writer.count = 65534;
    ck_assert_int_eq(tgi_zip_add(&writer, "one more", &part, 1, &error), TG_EINVAL);
    assert_failed(&error, TG_EINVAL, "more than 65534 entries");
    tgi_zip_writer_free(&writer);
}
END_TEST

/* ---- archives that claim what they do not hold ---- */

/* An allocator that knows how much was in use at once. */
typedef struct peak_memory {
    size_t live;
    size_t peak;
} peak_memory;

static void *peak_allocate(void *user, size_t bytes) {
    peak_memory *memory = user;
    memory->live += bytes;
    if (memory->peak < memory->live)
        memory->peak = memory->live;
    return malloc(bytes);
}

static void peak_release(void *user, void *block, size_t bytes) {
    peak_memory *memory = user;
    memory->live -= bytes;
    free(block);
}

static size_t peak_of_opening(const void *bytes, size_t size, const char *words) {
    peak_memory memory = {0};
    const tg_allocator allocator = {peak_allocate, peak_release, &memory};
    tg_error error = {0};
    tg_context *context = tg_context_create(&(tg_context_options){.allocator = &allocator}, &error);
    ck_assert_ptr_nonnull(context);
    ck_assert_ptr_null(tg_archive_open_memory(context, bytes, size, &error));
    assert_failed(&error, TG_EFORMAT, words);
    tg_context_free(context);
    ck_assert_uint_eq(memory.live, 0);
    return memory.peak;
}

static void put32(unsigned char *at, size_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i & 0xff);
}

enum { HEADER_SIZE = 128 };

/* The .npy header of 100 bytes. */
static void make_header(char header[HEADER_SIZE + 1]) {
    memcpy(header, "\x93NUMPY\1\0v\0", 10);
    snprintf(header + 10, HEADER_SIZE - 9, "%-117s\n",
             "{'descr': '|u1', 'fortran_order': False, 'shape': (100,), }");
}

/* The image of one array of 100 bytes that inflates to `size` zeros behind its header, and claims
 * `claimed` bytes. */
static size_t peak_of_bomb(size_t size, size_t claimed, const char *words) {
    char header[HEADER_SIZE + 1];
    make_header(header);
    char *zeros = calloc(size, 1);
    ck_assert_ptr_nonnull(zeros);
    tgi_zip_writer writer = new_writer();
    tg_error error = {0};
    const tgi_zip_part parts[] = {{header, HEADER_SIZE}, {zeros, size}};
    assert_ok(tgi_zip_add(&writer, "a.npy", parts, 2, &error), &error);
    const unsigned char *bytes;
    size_t image_size;
    assert_ok(tgi_zip_image(&writer, &bytes, &image_size, &error), &error);
    unsigned char *image = writer.entries.bytes; /* the same, to be written */
    ck_assert_ptr_eq(image, bytes);
    put32(image + 22, claimed);
    put32(image + writer.entries.size + 24, claimed);
    size_t peak = peak_of_opening(bytes, image_size, words);
    tgi_zip_writer_free(&writer);
    free(zeros);
    return peak;
}

/* 64 MB of zeros are 64 KB of deflate. Opening needs what the honest 100 bytes need: zlib's window
 * and state. */
START_TEST(a_bomb_stops_at_what_it_claims) {
    size_t peak = peak_of_bomb(64 << 20, HEADER_SIZE + 100, "holds more bytes than it claims");
    ck_assert_uint_lt(peak, 64 << 10);
}
END_TEST

/* It claims what it holds, but its header describes 100 bytes. */
START_TEST(a_bomb_that_its_header_denies) {
    size_t peak =
        peak_of_bomb(64 << 20, (64 << 20) + HEADER_SIZE, "67108864 bytes for 100 elements of 1");
    ck_assert_uint_lt(peak, 64 << 10);
}
END_TEST

/* 4 GB from a few bytes: refused before anything is inflated. */
START_TEST(a_claim_beyond_what_deflate_can_do) {
    size_t peak =
        peak_of_bomb(100, 0xfffffffe, "claims more bytes than its deflated data can hold");
    ck_assert_uint_lt(peak, 4 << 10);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("zip");
    TCase *entries = tcase_create("entries");
    tcase_add_test(entries, parts_are_one_content);
    tcase_add_test(entries, finishing_early_is_refused);
    tcase_add_test(entries, an_archive_beyond_its_limit);
    tcase_add_test(entries, limits_of_an_entry);
    suite_add_tcase(suite, entries);
    TCase *claims = tcase_create("claims");
    tcase_add_test(claims, a_bomb_stops_at_what_it_claims);
    tcase_add_test(claims, a_bomb_that_its_header_denies);
    tcase_add_test(claims, a_claim_beyond_what_deflate_can_do);
    tcase_set_timeout(claims, 60);
    suite_add_tcase(suite, claims);
    return suite;
}

int main(void) {
    return test_main(suite());
}
