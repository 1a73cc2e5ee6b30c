/* Principal components: the directions in which the rows of a matrix differ most. */
#ifndef ARTICLE_PRINCIPAL_H
#define ARTICLE_PRINCIPAL_H

#include "article/matrix.h"
#include "tensor/status.h"

enum { PRINCIPAL_WIDTH = 16 };

/* The axes of `width` coordinates, in the order of falling variance. */
typedef struct principal_axes {
    int64_t width;
    double mean[PRINCIPAL_WIDTH];                  /* of the rows */
    double axis[PRINCIPAL_WIDTH][PRINCIPAL_WIDTH]; /* axis[k]: unit vector, at right angles to the
                                                    * others; its coordinate that is largest in
                                                    * magnitude is positive */
    double variance[PRINCIPAL_WIDTH];              /* of the rows along axis k, over rows - 1 */
} principal_axes;

/* The principal axes of the rows: eigenvectors of their covariance, by Jacobi's rotations (Golub and
 * Van Loan, "Matrix Computations", section 8.5). TG_EINVAL for fewer than two rows, or more than
 * PRINCIPAL_WIDTH columns; TG_ENONFINITE for a value that is not finite. */
tg_status principal_axes_find(const article_matrix *points, principal_axes *axes, tg_error *error);

#endif
