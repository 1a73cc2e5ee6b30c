#include "train/plot_text_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/allocator_internal.h"
#include "tensor/format.h"

void tgi_plot_release(tgi_plot_text *text) {
    tgi_release(text->allocator, text->bytes, text->size);
    text->bytes = NULL;
    text->used = text->size = 0;
}

/* Room for `more` bytes and a NUL. */
static void reserve(tgi_plot_text *text, size_t more) {
    if (text->size - text->used > more)
        return;
    size_t size = 2 * text->size + more + 512;
    char *bytes = tgi_allocate(text->allocator, size);
    if (bytes == NULL) {
        text->failed = true;
        return;
    }
    size_t used = text->used;
    memcpy(bytes, used > 0 ? text->bytes : "", used + 1);
    tgi_plot_release(text);
    text->bytes = bytes;
    text->used = used;
    text->size = size;
}

void tgi_plot_add(tgi_plot_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text->failed = text->failed || length < 0;
    if (!text->failed)
        reserve(text, (size_t)length);
    if (text->failed)
        return;
    va_start(arguments, format);
    vsnprintf(text->bytes + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    text->used += (size_t)length;
}

/* In single quotes only the quote has a meaning, and is written twice. */
void tgi_plot_add_quoted(tgi_plot_text *text, const char *string, const char *suffix) {
    tgi_plot_add(text, "'");
    for (const char *c = string; *c != '\0'; c++)
        tgi_plot_add(text, "%.*s", *c == '\'' ? 2 : 1, *c == '\'' ? "''" : c);
    tgi_plot_add(text, "%s'", suffix);
}

void tgi_plot_add_number(tgi_plot_text *text, double value) {
    char number[TGI_FORMAT_DOUBLE_SIZE];
    tgi_format_double(number, sizeof number, value, 9);
    tgi_plot_add(text, "%s", number);
}
