#include "tensor/status.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    const char *text;
} table[] = {
#define ROW(name, text) {#name, text},
    TG_STATUS_TABLE(ROW)
#undef ROW
};

static int known(tg_status status) {
    return (unsigned)status < sizeof table / sizeof table[0];
}

const char *tg_status_name(tg_status status) {
    return known(status) ? table[status].name : "TG_?";
}

const char *tg_status_text(tg_status status) {
    return known(status) ? table[status].text : "unknown status";
}

tg_status tg_fail(tg_error *error, tg_status status, const char *format, ...) {
    if (error == NULL)
        return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
    return status;
}
