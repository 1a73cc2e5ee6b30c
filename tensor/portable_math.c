#include "tensor/portable_math.h"

#include <math.h>

/* c[0] + x (c[1] + x (c[2] + ...)) */
static double polynomial(double x, int count, const double *c) {
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* With x = m 2^e and f = m - 1, which is exact: s = f / (2 + f) turns log(1 + f) into
 * 2 artanh(s) = 2 s + s r, where r = 2 s^2 / 3 + 2 s^4 / 5 + ... With 2 s = f - s f that is
 * f - s (f - r), where only the small second term carries a rounding error. */
double tgi_log(double x) {
    const double sqrt_half = 0x1.6a09e667f3bcdp-1;
    const double ln2_high = 0x1.62e42fefa3p-1; /* 41 bits, so that e ln2_high is exact */
    const double ln2_low = 0x1.3de6af278ece6p-42;
    /* |s| <= 0.1716, so that the next term is below 1e-18 */
    static const double series[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                    2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
    int exponent;
    double m = frexp(x, &exponent); /* [1/2, 1) */
    if (m < sqrt_half) {
        m *= 2;
        exponent--;
    }
    double f = m - 1;
    double s = f / (2 + f);
    double square = s * s;
    double r = square * polynomial(square, 10, series);
    double e = exponent;
    return e * ln2_high - ((s * (f - r) - e * ln2_low) - f);
}

/* Taylor's series on |r| <= pi / 4, where the terms left out are below 1e-17. */
static double sine_near_zero(double r) {
    static const double series[] = {-1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800.0,
                                    -1.0 / 1307674368000.0,
                                    1.0 / 355687428096000.0};
    double square = r * r;
    return r + r * (square * polynomial(square, 8, series));
}

static double cosine_near_zero(double r) {
    static const double series[] = {
        1.0 / 24,        -1.0 / 720,           1.0 / 40320,           -1.0 / 3628800,
        1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
    double square = r * r;
    double half = 0.5 * square;
    double head = 1 - half;
    double lost = (1 - head) - half; /* what the rounding of head lost, exactly */
    return head + (lost + square * square * polynomial(square, 7, series));
}

/* r = x - q pi / 2 for the nearest whole q. pi / 2 is the sum of three parts, short enough that
 * what cancels near a multiple of it is exact. */
void tgi_sine_cosine(double x, double *sine, double *cosine) {
    const double two_over_pi = 0x1.45f306dc9c883p-1;
    const double half_pi_high = 0x1.921fb54442dp+0;
    const double half_pi_middle = 0x1.8469898cc516p-48;
    const double half_pi_low = 0x1.01b839a25204ap-96;
    int quadrant = (int)(x * two_over_pi + 0.5);
    double q = quadrant;
    double r = ((x - q * half_pi_high) - q * half_pi_middle) - q * half_pi_low;
    double s = sine_near_zero(r), c = cosine_near_zero(r);
    double across = quadrant % 2 == 0 ? s : c, along = quadrant % 2 == 0 ? c : s;
    *sine = quadrant % 4 >= 2 ? -across : across;
    *cosine = quadrant % 4 == 1 || quadrant % 4 == 2 ? -along : along;
}
