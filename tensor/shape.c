#include "tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>

tg_shape tg_shape_make(int rank, const int64_t *extents) {
    tg_shape shape = {.rank = rank};
    if (rank < 0 || rank > TG_MAX_RANK)
        return shape;
    for (int i = 0; i < rank; i++)
        shape.extent[i] = extents[i];
    return shape;
}

tg_shape tg_shape_scalar(void) {
    return (tg_shape){.rank = 0};
}

tg_shape tg_shape_1d(int64_t a) {
    return (tg_shape){.rank = 1, .extent = {a}};
}

tg_shape tg_shape_2d(int64_t a, int64_t b) {
    return (tg_shape){.rank = 2, .extent = {a, b}};
}

tg_shape tg_shape_3d(int64_t a, int64_t b, int64_t c) {
    return (tg_shape){.rank = 3, .extent = {a, b, c}};
}

tg_shape tg_shape_4d(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (tg_shape){.rank = 4, .extent = {a, b, c, d}};
}

tg_status tg_shape_count(tg_shape shape, int64_t *count, tg_error *error) {
    *count = 0;
    if (shape.rank < 0 || shape.rank > TG_MAX_RANK)
        return tg_fail(error, TG_ESHAPE, "shape: rank %d outside 0..%d", (int)shape.rank,
                       TG_MAX_RANK);
    char text[TG_SHAPE_TEXT];
    bool empty = false;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.extent[i] < 0)
            return tg_fail(error, TG_ESHAPE, "shape %s: negative extent",
                           tg_shape_text(shape, text));
        empty = empty || shape.extent[i] == 0;
    }
    if (empty)
        return TG_OK;
    int64_t product = 1;
    for (int i = 0; i < shape.rank; i++) {
        if (product > INT64_MAX / shape.extent[i])
            return tg_fail(error, TG_ESHAPE, "shape %s: more elements than INT64_MAX",
                           tg_shape_text(shape, text));
        product *= shape.extent[i];
    }
    *count = product;
    return TG_OK;
}

bool tg_shape_equal(tg_shape a, tg_shape b) {
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank && i < TG_MAX_RANK; i++)
        if (a.extent[i] != b.extent[i])
            return false;
    return true;
}

tg_status tg_shape_broadcast(const char *name, tg_shape a, tg_shape b, tg_shape *out,
                             tg_error *error) {
    tg_shape result = {.rank = a.rank > b.rank ? a.rank : b.rank};
    if (a.rank < 0 || b.rank < 0 || result.rank > TG_MAX_RANK)
        return tg_fail(error, TG_ESHAPE, "%s: ranks %d and %d, not in 0..%d", name, (int)a.rank,
                       (int)b.rank, TG_MAX_RANK);
    for (int i = 0; i < result.rank; i++) {
        int ia = i - (result.rank - a.rank);
        int ib = i - (result.rank - b.rank);
        int64_t ea = ia < 0 ? 1 : a.extent[ia];
        int64_t eb = ib < 0 ? 1 : b.extent[ib];
        if (ea != eb && ea != 1 && eb != 1) {
            char ta[TG_SHAPE_TEXT], tb[TG_SHAPE_TEXT];
            return tg_fail(
                error, TG_ESHAPE,
                "%s: %s and %s do not broadcast: extents %" PRId64 " and %" PRId64 " on axis %d",
                name, tg_shape_text(a, ta), tg_shape_text(b, tb), ea, eb, i - result.rank);
        }
        result.extent[i] = ea == 1 ? eb : ea;
    }
    *out = result;
    return TG_OK;
}

tg_status tg_shape_axis(const char *name, tg_shape shape, int axis, int *out, tg_error *error) {
    if (shape.rank < 0 || shape.rank > TG_MAX_RANK)
        return tg_fail(error, TG_ESHAPE, "%s: rank %d outside 0..%d", name, (int)shape.rank,
                       TG_MAX_RANK);
    if (axis < -shape.rank || axis >= shape.rank) {
        char text[TG_SHAPE_TEXT];
        return tg_fail(error, TG_ERANGE, "%s: axis %d outside [%d, %d) of shape %s", name, axis,
                       -(int)shape.rank, (int)shape.rank, tg_shape_text(shape, text));
    }
    *out = axis < 0 ? axis + shape.rank : axis;
    return TG_OK;
}

const char *tg_shape_text(tg_shape shape, char text[TG_SHAPE_TEXT]) {
    if (shape.rank < 0 || shape.rank > TG_MAX_RANK) {
        snprintf(text, TG_SHAPE_TEXT, "(rank %d)", (int)shape.rank);
        return text;
    }
    int used = snprintf(text, TG_SHAPE_TEXT, "(");
    for (int i = 0; i < shape.rank; i++)
        used += snprintf(text + used, (size_t)(TG_SHAPE_TEXT - used), "%s%" PRId64,
                         i > 0 ? ", " : "", shape.extent[i]);
    snprintf(text + used, (size_t)(TG_SHAPE_TEXT - used), "%s)", shape.rank == 1 ? "," : "");
    return text;
}
