#include "tensor/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What %g writes, apart from the decimal point of the locale. */
static int is_plain(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
}

/* Whatever a locale takes for its decimal point, of one byte or several, becomes one '.'. */
static void restore_point(char *text) {
    char *point = text;
    while (is_plain(*point))
        point++;
    if (*point == '\0')
        return;
    char *rest = point;
    while (*rest != '\0' && !is_plain(*rest))
        rest++;
    *point = '.';
    memmove(point + 1, rest, strlen(rest) + 1);
}

int tgi_format_double(char *buffer, size_t size, double value, int significant_digits) {
    char text[2 * TGI_FORMAT_DOUBLE_SIZE];
    if (isnan(value)) {
        snprintf(text, sizeof text, "nan");
    } else if (isinf(value)) {
        snprintf(text, sizeof text, value > 0 ? "inf" : "-inf");
    } else {
        int digits = significant_digits;
        digits = digits < 1 ? 1 : digits > 17 ? 17 : digits;
        snprintf(text, sizeof text, "%.*g", digits, value);
        restore_point(text);
    }
    size_t length = strlen(text);
    if (length >= size) {
        if (size > 0)
            buffer[0] = '\0';
        return -1;
    }
    memcpy(buffer, text, length + 1);
    return (int)length;
}
