#include "tensor/broadcast.h"

#include <stddef.h>

#include "tensor/kernels/kernels.h"

/* Strides of an operand over the axes of the full shape: 0 where it is expanded. */
static void strides_of(tg_shape shape, tg_shape full, int64_t stride[TG_MAX_RANK]) {
    int64_t next = 1;
    for (int i = full.rank - 1; i >= 0; i--) {
        int own = i - (full.rank - shape.rank);
        int64_t extent = own >= 0 ? shape.extent[own] : 1;
        stride[i] = extent == 1 ? 0 : next;
        next *= extent;
    }
}

static bool has_elements(tg_shape shape) {
    for (int i = 0; i < shape.rank; i++)
        if (shape.extent[i] == 0)
            return false;
    return true;
}

void tgi_broadcast_start(tgi_broadcast *it, tg_shape full, tg_shape a, tg_shape b) {
    int64_t stride[TGI_OPERANDS][TG_MAX_RANK];
    *it = (tgi_broadcast){.run = 1, .done = !has_elements(full)};
    if (it->done)
        return;
    strides_of(a, full, stride[0]);
    strides_of(b, full, stride[1]);
    for (int i = full.rank - 1; i >= 0; i--) {
        int64_t extent = full.extent[i];
        if (extent == 1)
            continue;
        /* The axis joins the last one where it lies just behind it in both operands. */
        int last = it->axes - 1;
        int64_t inner_extent = last < 0 ? it->run : it->extent[last];
        bool joins = true;
        for (int k = 0; k < TGI_OPERANDS; k++) {
            int64_t inner = last < 0 ? it->step[k] : it->stride[last][k];
            joins = joins && stride[k][i] == inner * inner_extent;
        }
        if (last < 0 && it->run == 1) {
            it->run = extent;
            for (int k = 0; k < TGI_OPERANDS; k++)
                it->step[k] = stride[k][i];
        } else if (joins && last < 0) {
            it->run *= extent;
        } else if (joins) {
            it->extent[last] *= extent;
        } else {
            it->extent[it->axes] = extent;
            for (int k = 0; k < TGI_OPERANDS; k++)
                it->stride[it->axes][k] = stride[k][i];
            it->axes++;
        }
    }
}

void tgi_broadcast_next(tgi_broadcast *it) {
    it->out_offset += it->run;
    for (int i = 0; i < it->axes; i++) {
        for (int k = 0; k < TGI_OPERANDS; k++)
            it->offset[k] += it->stride[i][k];
        if (++it->index[i] < it->extent[i])
            return;
        it->index[i] = 0;
        for (int k = 0; k < TGI_OPERANDS; k++)
            it->offset[k] -= it->stride[i][k] * it->extent[i];
    }
    it->done = true;
}

/* The axes of a sum: those kept and those summed over, the innermost first. */
typedef struct axes {
    int count;
    int64_t extent[TG_MAX_RANK];
    int64_t stride[TG_MAX_RANK]; /* in x */
    int64_t index[TG_MAX_RANK];
} axes;

static void add_axis(axes *set, int64_t extent, int64_t stride) {
    if (extent == 1)
        return;
    int last = set->count - 1;
    if (last >= 0 && stride == set->stride[last] * set->extent[last]) {
        set->extent[last] *= extent;
        return;
    }
    set->extent[set->count] = extent;
    set->stride[set->count] = stride;
    set->count++;
}

/* The first axis, which becomes a run of its own; an extent of 1 where there is none. */
static int64_t take_first(axes *set) {
    if (set->count == 0)
        return 1;
    int64_t extent = set->extent[0];
    set->count--;
    for (int i = 0; i < set->count; i++) {
        set->extent[i] = set->extent[i + 1];
        set->stride[i] = set->stride[i + 1];
    }
    return extent;
}

/* Steps *offset to the next place; false, and back at the start, after the last. */
static bool next_place(axes *set, int64_t *offset) {
    for (int i = 0; i < set->count; i++) {
        *offset += set->stride[i];
        if (++set->index[i] < set->extent[i])
            return true;
        set->index[i] = 0;
        *offset -= set->stride[i] * set->extent[i];
    }
    return false;
}

static void put(int64_t n, const double *sums, double factor, tg_real *out, bool accumulate) {
    for (int64_t i = 0; i < n; i++) {
        tg_real sum = (tg_real)(factor * sums[i]);
        out[i] = accumulate ? out[i] + sum : sum;
    }
}

/* The innermost axis is kept: `columns` neighbours are summed side by side, a tile at a time. */
static void sum_columns(const tgi_kernels *kernels, axes *summed, const tg_real *x, int64_t columns,
                        double factor, tg_real *small, bool accumulate) {
    enum { TILE = 64 };
    for (int64_t j = 0; j < columns; j += TILE) {
        int64_t n = columns - j < TILE ? columns - j : TILE;
        double sums[TILE] = {0};
        int64_t offset = 0;
        do
            kernels->add_to_sums(n, x + offset + j, sums);
        while (next_place(summed, &offset));
        put(n, sums, factor, small + j, accumulate);
    }
}

/* The innermost axis is summed over: runs of `n` give one element. */
static void sum_runs(const tgi_kernels *kernels, axes *summed, const tg_real *x, int64_t n,
                     double factor, tg_real *small, bool accumulate) {
    double sum = 0;
    int64_t offset = 0;
    do
        sum += kernels->sum(n, x + offset);
    while (next_place(summed, &offset));
    put(1, &sum, factor, small, accumulate);
}

/* Nothing to sum: empty sums, as many as the small shape has. */
static void put_empty_sums(tg_shape small_shape, double factor, tg_real *small, bool accumulate) {
    const double empty = 0;
    int64_t outputs;
    tg_shape_count(small_shape, &outputs, NULL);
    for (int64_t i = 0; i < outputs; i++)
        put(1, &empty, factor, small + i, accumulate);
}

void tgi_sum_to_shape(const tgi_kernels *kernels, tg_shape full, const tg_real *x,
                      tg_shape small_shape, double factor, tg_real *small, bool accumulate) {
    if (!has_elements(full)) {
        put_empty_sums(small_shape, factor, small, accumulate);
        return;
    }
    axes kept = {0}, summed = {0};
    int64_t next = 1;
    bool inner_kept = true, first = true;
    for (int i = full.rank - 1; i >= 0; i--) {
        int own = i - (full.rank - small_shape.rank);
        bool keeps = own >= 0 && small_shape.extent[own] == full.extent[i];
        if (full.extent[i] != 1 && first) {
            inner_kept = keeps;
            first = false;
        }
        add_axis(keeps ? &kept : &summed, full.extent[i], next);
        next *= full.extent[i];
    }
    int64_t run = take_first(inner_kept ? &kept : &summed);
    int64_t offset = 0;
    do {
        if (inner_kept)
            sum_columns(kernels, &summed, x + offset, run, factor, small, accumulate);
        else
            sum_runs(kernels, &summed, x + offset, run, factor, small, accumulate);
        small += inner_kept ? run : 1;
    } while (next_place(&kept, &offset));
}
