#include "article/statistics.h"

#include <math.h>
#include <stdlib.h>

share_interval wilson_interval(int64_t hits, int64_t trials) {
    const double z = 1.959963984540054, n = (double)trials, share = (double)hits / n;
    const double middle = share + z * z / (2 * n), scale = 1 + z * z / n;
    const double half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    /* at the ends the formula gives 0 and 1, but for rounding */
    return (share_interval){hits == 0 ? 0 : (middle - half) / scale,
                            hits == trials ? 1 : (middle + half) / scale};
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void sort_losses(double *values, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            values[i] = INFINITY;
    qsort(values, (size_t)count, sizeof *values, compare);
}

double quantile_of(const double *sorted, int64_t count, double quantile) {
    double place = quantile * (double)(count - 1);
    int64_t below = (int64_t)place;
    double way = place - (double)below;
    if (way <= 0 || isinf(sorted[below + 1])) /* infinity less infinity is no number */
        return sorted[way > 0 ? below + 1 : below];
    return sorted[below] + way * (sorted[below + 1] - sorted[below]);
}
