#include "tensor/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "archives hold little-endian numbers, which this processor would have to turn round"
#endif

enum { ALIGNMENT = 64, PREFIX_SIZE = TGI_NPY_MAGIC_SIZE + 2 };

static const unsigned char magic_v1[TGI_NPY_MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};

static const struct {
    const char *name;
    const char *descr;
    size_t size;
} elements[] = {
    [TG_ELEMENT_FLOAT32] = {"float32", "<f4", 4}, [TG_ELEMENT_FLOAT64] = {"float64", "<f8", 8},
    [TG_ELEMENT_INT32] = {"int32", "<i4", 4},     [TG_ELEMENT_INT64] = {"int64", "<i8", 8},
    [TG_ELEMENT_UINT8] = {"uint8", "|u1", 1},     [TG_ELEMENT_BYTES] = {"bytes", "|S", 0},
};

const char *tgi_element_name(tg_element element) {
    return elements[element].name;
}

size_t tgi_element_size(tg_element element) {
    return elements[element].size;
}

/* ---- writing ---- */

size_t tgi_npy_write(const tg_array *array, char header[TGI_NPY_HEADER_MOST]) {
    char shape[TG_SHAPE_TEXT], width[24] = "";
    if (array->element == TG_ELEMENT_BYTES)
        snprintf(width, sizeof width, "%zu", array->element_size);
    memcpy(header, magic_v1, sizeof magic_v1);
    int text = snprintf(header + PREFIX_SIZE, TGI_NPY_HEADER_MOST - PREFIX_SIZE,
                        "{'descr': '%s%s', 'fortran_order': False, 'shape': %s, }",
                        elements[array->element].descr, width, tg_shape_text(array->shape, shape));
    size_t used = PREFIX_SIZE + (size_t)text;
    size_t size = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(header + used, ' ', size - used - 1);
    header[size - 1] = '\n';
    size_t length = size - PREFIX_SIZE;
    header[TGI_NPY_MAGIC_SIZE] = (char)(length & 0xff);
    header[TGI_NPY_MAGIC_SIZE + 1] = (char)(length >> 8);
    return size;
}

/* ---- reading ---- */

int tgi_npy_length_size(const unsigned char magic[TGI_NPY_MAGIC_SIZE]) {
    int major = magic[6], minor = magic[7];
    if (memcmp(magic, magic_v1, 6) != 0 || major < 1 || major > 3 || minor != 0)
        return 0;
    return major == 1 ? 2 : 4;
}

size_t tgi_npy_text_length(const unsigned char *length, int length_size) {
    size_t value = 0;
    for (int i = length_size - 1; i >= 0; i--)
        value = value << 8 | length[i];
    return value;
}

/* The text from where it has not been read yet. */
typedef struct cursor {
    const char *at;
    const char *end;
} cursor;

static void skip_spaces(cursor *text) {
    while (text->at < text->end && *text->at == ' ')
        text->at++;
}

/* Whether this comes next, behind spaces; if so, it is passed over. */
static bool take(cursor *text, const char *expected) {
    size_t length = strlen(expected);
    skip_spaces(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, expected, length) != 0)
        return false;
    text->at += length;
    return true;
}

static bool comes_next(const cursor *text, const char *expected) {
    cursor ahead = *text;
    return take(&ahead, expected);
}

/* A non-negative number without sign or leading zeros that an int64_t holds. */
static bool take_number(cursor *text, int64_t *value) {
    skip_spaces(text);
    const char *begin = text->at;
    int64_t number = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        int digit = *text->at - '0';
        if (number > (INT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *value = number;
    return text->at > begin && (*begin != '0' || text->at == begin + 1);
}

static tg_status fail(tg_error *error, const tg_array *array, const char *what) {
    return tg_fail(error, TG_EFORMAT, "npy: \"%.120s\": %s", array->name, what);
}

static bool take_bytes_descr(cursor *text, tg_array *array) {
    int64_t width;
    if (!take(text, "'|S") || !take_number(text, &width) || !take(text, "'"))
        return false;
    if (width == 0 || (uint64_t)width > UINT32_MAX)
        return false;
    array->element = TG_ELEMENT_BYTES;
    array->element_size = (size_t)width;
    return true;
}

static bool take_number_descr(cursor *text, tg_array *array) {
    static const struct {
        const char *text;
        tg_element element;
    } known[] = {
        {"'<f4'", TG_ELEMENT_FLOAT32}, {"'<f8'", TG_ELEMENT_FLOAT64}, {"'<i4'", TG_ELEMENT_INT32},
        {"'<i8'", TG_ELEMENT_INT64},   {"'|u1'", TG_ELEMENT_UINT8},   {"'|b1'", TG_ELEMENT_UINT8},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (take(text, known[i].text)) {
            array->element = known[i].element;
            array->element_size = tgi_element_size(array->element);
            return true;
        }
    return false;
}

static tg_status parse_descr(cursor *text, tg_array *array, tg_error *error) {
    if (take_number_descr(text, array))
        return TG_OK;
    if (comes_next(text, "'|S"))
        return take_bytes_descr(text, array) ? TG_OK
                                             : fail(error, array, "strings of no legal width");
    if (comes_next(text, "'>"))
        return fail(error, array, "big-endian numbers are not supported");
    if (comes_next(text, "'|O"))
        return fail(error, array, "Python objects are not supported");
    if (comes_next(text, "["))
        return fail(error, array, "structured types are not supported");
    return fail(error, array, "a type other than '<f4', '<f8', '<i4', '<i8', '|u1', '|b1', '|S'");
}

/* "()", "(3,)", "(2, 3)": a tuple of one needs its comma, as in Python. */
static tg_status parse_shape(cursor *text, tg_array *array, tg_error *error) {
    tg_shape shape = {0};
    bool comma = true;
    if (!take(text, "("))
        return fail(error, array, "the shape is malformed");
    while (!comes_next(text, ")")) {
        int64_t extent;
        if (!comma || !take_number(text, &extent))
            return fail(error, array, "the shape is malformed");
        if (shape.rank == TG_MAX_RANK)
            return fail(error, array, "more axes than TG_MAX_RANK");
        shape.extent[shape.rank++] = extent;
        comma = take(text, ",");
    }
    take(text, ")");
    if (shape.rank == 1 && !comma)
        return fail(error, array, "the shape is malformed");
    array->shape = shape;
    if (tg_shape_count(shape, &array->count, NULL) != TG_OK)
        return fail(error, array, "the shape has more elements than INT64_MAX");
    return TG_OK;
}

static tg_status parse_order(cursor *text, const tg_array *array, bool *fortran, tg_error *error) {
    *fortran = take(text, "True");
    if (!*fortran && !take(text, "False"))
        return fail(error, array, "'fortran_order' is neither True nor False");
    return TG_OK;
}

enum { SAW_DESCR = 1, SAW_ORDER = 2, SAW_SHAPE = 4, SAW_ALL = 7 };

/* One "key: value"; which of the three into *key. */
static tg_status parse_item(cursor *text, tg_array *array, bool *fortran, int *key,
                            tg_error *error) {
    if (take(text, "'descr'"))
        *key = SAW_DESCR;
    else if (take(text, "'fortran_order'"))
        *key = SAW_ORDER;
    else if (take(text, "'shape'"))
        *key = SAW_SHAPE;
    else
        return fail(error, array, "the header has an unknown key");
    if (!take(text, ":"))
        return fail(error, array, "the header is malformed");
    if (*key == SAW_DESCR)
        return parse_descr(text, array, error);
    if (*key == SAW_ORDER)
        return parse_order(text, array, fortran, error);
    return parse_shape(text, array, error);
}

static tg_status parse_dictionary(cursor *text, tg_array *array, bool *fortran, tg_error *error) {
    int seen = 0;
    bool comma = true;
    if (!take(text, "{"))
        return fail(error, array, "the header is malformed");
    while (!comes_next(text, "}")) {
        int key = 0;
        if (!comma)
            return fail(error, array, "the header is malformed");
        tg_status status = parse_item(text, array, fortran, &key, error);
        if (status != TG_OK)
            return status;
        if (seen & key)
            return fail(error, array, "the header has a key twice");
        seen |= key;
        comma = take(text, ",");
    }
    take(text, "}");
    if (seen != SAW_ALL)
        return fail(error, array, "the header lacks a key");
    return TG_OK;
}

tg_status tgi_npy_parse(const char *text, size_t length, tg_array *array, tg_error *error) {
    cursor rest = {text, text + length};
    bool fortran = false;
    tg_status status = parse_dictionary(&rest, array, &fortran, error);
    if (status != TG_OK)
        return status;
    if (!take(&rest, "\n") || rest.at != rest.end)
        return fail(error, array, "the header does not end in one line feed");
    if (fortran && array->shape.rank > 1)
        return fail(error, array, "Fortran order is not supported (numpy.ascontiguousarray)");
    return TG_OK;
}
