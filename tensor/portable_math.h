/* Internal: logarithm, sine and cosine in double that give the same bits everywhere.
 *
 * C libraries differ in the last place of these. Here they are sums, products and quotients of
 * doubles in a written order, which IEEE 754 fixes to the bit. Accurate to 2.3e-16 relative. */
#ifndef TGI_PORTABLE_MATH_H
#define TGI_PORTABLE_MATH_H

/* The natural logarithm of a positive, finite x. */
double tgi_log(double x);

/* Sine and cosine of an angle x in radians, 0 <= x <= 6.2832 (a little over 2 pi). */
void tgi_sine_cosine(double x, double *sine, double *cosine);

#endif
