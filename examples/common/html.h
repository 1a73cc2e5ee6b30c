/* Text for a page of HTML, in UTF-8. What fails in writing is left to ferror. */
#ifndef COMMON_HTML_H
#define COMMON_HTML_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the text as it stands, fit for an element or a quoted attribute. Bytes that are no UTF-8,
 * and characters that HTML does not allow, are written as U+FFFD. */
void html_text(FILE *page, const char *text);

/* A formula in ASCII as a person writes it: "q_i . k_j" with the letters behind "_" as an index,
 * the point as one of a product, and "-inf", "<=" and "sqrt(" as their signs. */
void html_formula(FILE *page, const char *formula);

/* Writes all that is left of a file in base64. False where reading it fails (errno says why). */
bool html_base64(FILE *page, FILE *file);

#endif
