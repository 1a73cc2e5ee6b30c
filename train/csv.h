/* The metrics of a training run as a CSV file: a header, then one row for each step that is logged.
 *
 *     step,loss,rate
 *     100,2.19722462,0.01
 *     200,nan,0.01
 *
 * Rows have an integer step, which grows from row to row, and real numbers with '.' in every locale,
 * at TG_CSV_DIGITS significant digits; what is not finite is nan, inf or -inf. Each row reaches the
 * system in one write, so that a program which is killed loses no row and leaves at most its last
 * one torn. */
#ifndef TG_CSV_H
#define TG_CSV_H

#include <stdint.h>

#include "tensor/context.h"
#include "tensor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enough to tell any two floats apart. */
#define TG_CSV_DIGITS 9

#define TG_CSV_MAX_COLUMNS 256

typedef struct tg_csv tg_csv;

/* A fresh log at `path` (what was there is replaced) with the header "step" and columns[count],
 * 1 to TG_CSV_MAX_COLUMNS names of at least one byte without commas, quotes and control characters.
 * Owned by the caller, who closes it. NULL, with the reason in `error`: TG_EINVAL, TG_ENOMEM, and
 * TG_EIO, with path and cause, where the file cannot be written. */
tg_csv *tg_csv_create(const tg_context *context, const char *path, const char *const *columns,
                      int count, tg_error *error);

/* A log that goes on behind the row of `last_step`: of the file at `path`, which must have the
 * header of tg_csv_create, it keeps one header and the rows up to that step, each step once (the
 * first), drops a last line without an end, and puts the result in place of the file so that a crash
 * leaves the old or the new one. An empty file or a torn header counts as a log without rows.
 * Otherwise as tg_csv_create; then the file is as it was. TG_ENOTFOUND where there is none,
 * TG_EMISMATCH for another header, TG_EFORMAT (with the line's number) for a line that is no row. */
tg_csv *tg_csv_resume(const tg_context *context, const char *path, const char *const *columns,
                      int count, int64_t last_step, tg_error *error);

/* Appends a row: `step`, then values[count]. TG_EINVAL, and nothing is written, where `step` is
 * negative or not greater than that of the row before. TG_EIO, with path and cause, where it cannot
 * be written: a part of a row is taken back where the file allows it, and from then on every call
 * fails in the same way. */
tg_status tg_csv_row(tg_csv *csv, int64_t step, const double *values, tg_error *error);

/* Closes the log and frees it, whatever it returns: TG_EIO where a row before, or what the system
 * had still to write, could not be written. NULL is legal. */
tg_status tg_csv_close(tg_csv *csv, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
