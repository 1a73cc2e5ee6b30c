/* What functions answer, and the text that goes with it.
 *
 * Functions that can fail return a tg_status and fill an optional tg_error. Nothing in the library
 * ends the program or prints by itself. */
#ifndef TG_STATUS_H
#define TG_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, text */
#define TG_STATUS_TABLE(X)                                                                         \
    X(TG_OK, "success")                                                                            \
    X(TG_ENOMEM, "out of memory")                                                                  \
    X(TG_EINVAL, "invalid argument")                                                               \
    X(TG_ESHAPE, "shapes do not fit")                                                              \
    X(TG_ERANGE, "index out of range")                                                             \
    X(TG_ESTATE, "not possible in this state")                                                     \
    X(TG_EIO, "input or output failed")                                                            \
    X(TG_EFORMAT, "malformed data")                                                                \
    X(TG_ENOTFOUND, "not found")                                                                   \
    X(TG_EMISMATCH, "does not match")                                                              \
    X(TG_ENONFINITE, "not a finite number")

typedef enum tg_status {
#define TG_STATUS_NAME(name, text) name,
    TG_STATUS_TABLE(TG_STATUS_NAME)
#undef TG_STATUS_NAME
} tg_status;

#define TG_MESSAGE_SIZE 512

/* A failure in words: `message` names the function and the values, is NUL-terminated, and is cut
 * at TG_MESSAGE_SIZE - 1 bytes. Start it as {0}: a function that succeeds leaves it alone. */
typedef struct tg_error {
    tg_status status;
    char message[TG_MESSAGE_SIZE];
} tg_error;

/* "TG_ENOMEM" for TG_ENOMEM; "TG_?" for a number that is no status. A static string. */
const char *tg_status_name(tg_status status);

/* "out of memory" for TG_ENOMEM; "unknown status" for a number that is none. A static string. */
const char *tg_status_text(tg_status status);

/* Fills `error` (unless NULL) with the status and the printf-formatted message, and returns the
 * status, so that a check can end in `return tg_fail(...)`. Numbers with a fraction follow the
 * locale, as in printf. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tg_status
tg_fail(tg_error *error, tg_status status, const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
