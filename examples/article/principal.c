#include "article/principal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Convergence is quadratic: a handful of sweeps is enough for any matrix of this size. */
enum { SWEEPS = 50, N = PRINCIPAL_WIDTH };

static tg_status check(const article_matrix *points, tg_error *error) {
    if (points->rows < 2 || points->columns < 1 || points->columns > N)
        return tg_fail(error, TG_EINVAL,
                       "principal_axes_find: %s is %" PRId64 " x %" PRId64
                       ", not of 2 rows or more and 1 to %d columns",
                       points->symbol, points->rows, points->columns, N);
    for (int64_t i = 0; i < points->rows * points->columns; i++)
        if (!isfinite(points->values[i]))
            return tg_fail(error, TG_ENONFINITE,
                           "principal_axes_find: %s has %g in row %" PRId64 ", column %" PRId64,
                           points->symbol, (double)points->values[i], i / points->columns,
                           i % points->columns);
    return TG_OK;
}

/* covariance[n,n] of the rows of points[rows,n] */
static void find_covariance(const article_matrix *points, double mean[N], double covariance[N][N]) {
    int64_t n = points->columns, rows = points->rows;
    for (int64_t j = 0; j < n; j++) {
        mean[j] = 0;
        for (int64_t i = 0; i < rows; i++)
            mean[j] += (double)points->values[i * n + j] / (double)rows;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) {
            double sum = 0;
            for (int64_t i = 0; i < rows; i++)
                sum += ((double)points->values[i * n + j] - mean[j]) *
                       ((double)points->values[i * n + k] - mean[k]);
            covariance[j][k] = sum / (double)(rows - 1);
        }
}

/* Turns the plane of coordinates p and q so that a[p][q] becomes 0: a <- J^T a J, and the rows of
 * vectors <- J^T vectors. */
static void rotate(int64_t n, double a[N][N], double vectors[N][N], int64_t p, int64_t q) {
    double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1)); /* tangent of the angle */
    double c = 1 / hypot(t, 1), s = t * c;
    for (int64_t k = 0; k < n; k++) {
        double kp = a[k][p], kq = a[k][q];
        a[k][p] = c * kp - s * kq;
        a[k][q] = s * kp + c * kq;
    }
    for (int64_t k = 0; k < n; k++) {
        double pk = a[p][k], qk = a[q][k];
        a[p][k] = c * pk - s * qk;
        a[q][k] = s * pk + c * qk;
        double vector_p = vectors[p][k], vector_q = vectors[q][k];
        vectors[p][k] = c * vector_p - s * vector_q;
        vectors[q][k] = s * vector_p + c * vector_q;
    }
    a[p][q] = a[q][p] = 0;
}

/* Makes the symmetric a[n,n] diagonal; the rows of `vectors` become its eigenvectors. An element
 * that is lost beside the largest one counts as 0. */
static void diagonalise(int64_t n, double a[N][N], double vectors[N][N]) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            vectors[i][j] = i == j;
            largest = fmax(largest, fabs(a[i][j]));
        }
    bool turned = true;
    for (int sweep = 0; turned && sweep < SWEEPS; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                if (fabs(a[p][q]) > DBL_EPSILON * DBL_EPSILON * largest) {
                    rotate(n, a, vectors, p, q);
                    turned = true;
                }
    }
}

/* The k-th axis from row `from` of the eigenvectors, with its sign. */
static void take_axis(const double vectors[N][N], int64_t from, int64_t k, principal_axes *axes) {
    const double *vector = vectors[from];
    double largest = 0;
    for (int64_t j = 0; j < axes->width; j++)
        if (fabs(vector[j]) > fabs(largest))
            largest = vector[j];
    for (int64_t j = 0; j < axes->width; j++)
        axes->axis[k][j] = largest < 0 ? -vector[j] : vector[j];
}

tg_status principal_axes_find(const article_matrix *points, principal_axes *axes, tg_error *error) {
    tg_status status = check(points, error);
    if (status != TG_OK)
        return status;
    double covariance[N][N], vectors[N][N];
    bool taken[N] = {false};
    *axes = (principal_axes){.width = points->columns};
    find_covariance(points, axes->mean, covariance);
    diagonalise(axes->width, covariance, vectors);
    for (int64_t k = 0; k < axes->width; k++) {
        int64_t best = -1;
        for (int64_t j = 0; j < axes->width; j++)
            if (!taken[j] && (best < 0 || covariance[j][j] > covariance[best][best]))
                best = j;
        taken[best] = true;
        take_axis((const double(*)[N])vectors, best, k, axes);
        axes->variance[k] = fmax(covariance[best][best], 0); /* rounding may leave it below */
    }
    return TG_OK;
}
