/* What can be said of many runs: shares and quantiles. */
#ifndef ARTICLE_STATISTICS_H
#define ARTICLE_STATISTICS_H

#include <stdint.h>

typedef struct share_interval {
    double low, high;
} share_interval;

/* Where the share lies in truth, with a confidence of 95 %, when `hits` of `trials` (at least 1)
 * were seen: Wilson's score interval with z = 1.959964 (E. B. Wilson, "Probable Inference, the Law of
 * Succession, and Statistical Inference", J. Am. Stat. Assoc. 22, 1927). */
share_interval wilson_interval(int64_t hits, int64_t trials);

/* Sorts in ascending order; what is not finite comes last, as INFINITY. */
void sort_losses(double *values, int64_t count);

/* The quantile (0 to 1) of sorted values[count], at least one: between two of them in a straight
 * line, so that 0.5 of two values is their mean. INFINITY where one of the two is. */
double quantile_of(const double *sorted, int64_t count, double quantile);

#endif
