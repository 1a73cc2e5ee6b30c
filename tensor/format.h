/* Internal: numbers as text that is the same in every locale.
 *
 * The library never calls setlocale, but the program around it may have, and printf then writes
 * 3,5 for 3.5: a comma that breaks a CSV file and that strtod and gnuplot read as 3. */
#ifndef TGI_FORMAT_H
#define TGI_FORMAT_H

#include <stddef.h>

/* Room for any number at up to 17 digits. */
#define TGI_FORMAT_DOUBLE_SIZE 32

/* Writes `value` as printf's %g does in the C locale, with `significant_digits` (held to 1..17)
 * and always '.': "0.1", "1e-05", "-0"; what is not finite as "nan", "inf" or "-inf". Returns the
 * length without the NUL, or -1 with "" in `buffer` where `size` bytes are too few. */
int tgi_format_double(char *buffer, size_t size, double value, int significant_digits);

#endif
