#include "common/html.h"

#include <errno.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The bytes of the character at `text`, 0 where there is none: not UTF-8 (the table of well-formed
 * bytes in chapter 3.9 of the Unicode Standard), or a character that a page must not have. */
static size_t character_at(const unsigned char *text) {
    unsigned char first = text[0];
    if (first < 0x80)
        return (first >= ' ' && first != 0x7f) || first == '\n' || first == '\t';
    size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                    : first >= 0xe0 && first <= 0xef ? 3
                    : first >= 0xf0 && first <= 0xf4 ? 4
                                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    bool surrogate = first == 0xed && text[1] > 0x9f;
    bool beyond = first == 0xf4 && text[1] > 0x8f;
    bool control = first == 0xc2 && text[1] < 0xa0;
    bool noncharacter = (first == 0xef && text[1] == 0xbf && text[2] >= 0xbe) ||
                        (first == 0xef && text[1] == 0xb7 && text[2] >= 0x90 && text[2] <= 0xaf);
    return overlong || surrogate || beyond || control || noncharacter ? 0 : length;
}

static const char *entity_of(char character) {
    return character == '&'    ? "&amp;"
           : character == '<'  ? "&lt;"
           : character == '>'  ? "&gt;"
           : character == '"'  ? "&quot;"
           : character == '\'' ? "&#39;"
                               : NULL;
}

/* Writes the character at `text`, and returns its bytes. */
static size_t write_character(FILE *page, const char *text) {
    const char *entity = entity_of(*text);
    size_t length = character_at((const unsigned char *)text);
    if (entity != NULL)
        fputs(entity, page);
    else if (length == 0)
        fputs(REPLACEMENT, page);
    else
        fwrite(text, 1, length, page);
    return length == 0 ? 1 : length;
}

void html_text(FILE *page, const char *text) {
    while (*text != '\0')
        text += write_character(page, text);
}

/* The signs that a formula has other letters for. */
static const char *const signs[][2] = {
    {" . ", " · "}, {"-inf", "−∞"}, {"<=", "≤"}, {"sqrt(", "√("}};

enum { SIGNS = sizeof signs / sizeof signs[0] };

/* Writes the sign that opens the text, and returns the bytes it took; 0 where none does. */
static size_t write_sign(FILE *page, const char *text) {
    for (int i = 0; i < SIGNS; i++) {
        size_t length = strlen(signs[i][0]);
        if (strncmp(text, signs[i][0], length) == 0) {
            fputs(signs[i][1], page);
            return length;
        }
    }
    return 0;
}

void html_formula(FILE *page, const char *formula) {
    while (*formula != '\0') {
        size_t letters = strspn(formula + 1, "abcdefghijklmnopqrstuvwxyz");
        size_t sign = write_sign(page, formula);
        if (sign > 0) {
            formula += sign;
        } else if (*formula == '_' && letters > 0) {
            fprintf(page, "<sub>%.*s</sub>", (int)letters, formula + 1);
            formula += 1 + letters;
        } else {
            formula += write_character(page, formula);
        }
    }
}

bool html_base64(FILE *page, FILE *file) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[3];
    size_t count;
    errno = 0;
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0) {
        unsigned group = (unsigned)bytes[0] << 16;
        group |= count > 1 ? (unsigned)bytes[1] << 8 : 0;
        group |= count > 2 ? bytes[2] : 0;
        for (size_t i = 0; i < 4; i++)
            fputc(i <= count ? digits[group >> (18 - 6 * i) & 63] : '=', page);
    }
    return !ferror(file);
}
