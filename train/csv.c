#include "train/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tensor/allocator_internal.h"
#include "tensor/context_internal.h"
#include "tensor/file.h"
#include "tensor/format.h"

/* A step of 19 digits, a newline, a NUL. */
#define STEP_SIZE 21

struct tg_csv {
    tg_allocator allocator;
    char *path;
    char *header; /* with its newline */
    char *row;    /* row[row_size]: where a row is composed */
    size_t row_size;
    int columns;
    int file;          /* -1 before it is open */
    int64_t last_step; /* -1 before the first row */
    uintmax_t size;    /* bytes of whole lines in the file */
    uintmax_t limit;   /* the process's own limit of a file's size */
    tg_error failure;  /* the first one to write; sticks */
};

static tg_status fail_file(const tg_csv *csv, const char *action, int cause, tg_error *error) {
    char text[96];
    if (strerror_r(cause, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", cause);
    return tg_fail(error, TG_EIO, "csv: cannot %s: %s: %s", action, text, csv->path);
}

/* ---- making and freeing ---- */

static tg_status check_columns(const char *path, const char *const *columns, int count,
                               tg_error *error) {
    if (path == NULL || columns == NULL)
        return tg_fail(error, TG_EINVAL, "csv: no path or no columns are given (NULL)");
    if (count < 1 || count > TG_CSV_MAX_COLUMNS)
        return tg_fail(error, TG_EINVAL, "csv: %d columns, not 1 to %d: %s", count,
                       TG_CSV_MAX_COLUMNS, path);
    for (int i = 0; i < count; i++) {
        if (columns[i] == NULL || columns[i][0] == '\0')
            return tg_fail(error, TG_EINVAL, "csv: column %d has no name: %s", i, path);
        for (const char *c = columns[i]; *c != '\0'; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f || *c == ',' || *c == '"')
                return tg_fail(error, TG_EINVAL, "csv: the name of column %d has byte 0x%02x: %s",
                               i, (unsigned)(unsigned char)*c, path);
    }
    return TG_OK;
}

static size_t size_of_text(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static void free_csv(tg_csv *csv) {
    if (csv->file >= 0)
        close(csv->file);
    tg_allocator allocator = csv->allocator;
    tgi_release(&allocator, csv->path, size_of_text(csv->path));
    tgi_release(&allocator, csv->header, size_of_text(csv->header));
    tgi_release(&allocator, csv->row, csv->row_size);
    tgi_release(&allocator, csv, sizeof *csv);
}

/* "step,a,b\n", for the caller to release; NULL when memory is out. */
static char *make_header(const tg_allocator *allocator, const char *const *columns, int count) {
    size_t size = sizeof "step" + 1;
    for (int i = 0; i < count; i++)
        size += 1 + strlen(columns[i]);
    char *header = tgi_allocate(allocator, size);
    if (header == NULL)
        return NULL;
    size_t used = (size_t)snprintf(header, size, "step");
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(header + used, size - used, ",%s", columns[i]);
    snprintf(header + used, size - used, "\n");
    return header;
}

static char *copy_text(const tg_allocator *allocator, const char *text) {
    char *copy = tgi_allocate(allocator, strlen(text) + 1);
    return copy == NULL ? NULL : strcpy(copy, text);
}

static uintmax_t file_size_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINTMAX_MAX;
    return limit.rlim_cur;
}

/* All but the file. NULL when it fails. */
static tg_csv *make_csv(const tg_context *context, const char *path, const char *const *columns,
                        int count, tg_error *error) {
    if (check_columns(path, columns, count, error) != TG_OK)
        return NULL;
    tg_allocator allocator = tgi_context_of(context).allocator;
    tg_csv *csv = tgi_allocate_zeroed(&allocator, sizeof *csv);
    if (csv == NULL) {
        tg_fail(error, TG_ENOMEM, "csv: out of memory: %s", path);
        return NULL;
    }
    csv->allocator = allocator;
    csv->columns = count;
    csv->file = -1;
    csv->last_step = -1;
    csv->limit = file_size_limit();
    csv->path = copy_text(&allocator, path);
    csv->header = make_header(&allocator, columns, count);
    csv->row_size = STEP_SIZE + (size_t)count * (1 + TGI_FORMAT_DOUBLE_SIZE);
    csv->row = tgi_allocate(&allocator, csv->row_size);
    if (csv->path == NULL || csv->header == NULL || csv->row == NULL) {
        tg_fail(error, TG_ENOMEM, "csv: out of memory: %s", path);
        free_csv(csv);
        return NULL;
    }
    return csv;
}

/* ---- writing ---- */

static tg_status open_file(tg_csv *csv, int flags, tg_error *error) {
    do
        csv->file = open(csv->path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | flags, 0666);
    while (csv->file < 0 && errno == EINTR);
    /* A program that was started with its stderr closed would send its messages into our file. */
    if (csv->file >= 0 && csv->file <= STDERR_FILENO) {
        int low = csv->file;
        csv->file = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(low);
    }
    return csv->file < 0 ? fail_file(csv, "open", errno, error) : TG_OK;
}

/* 0, or the errno of what failed. To write past the process's own limit would raise SIGXFSZ, which
 * ends a program that does not expect it. */
static int write_bytes(const tg_csv *csv, const char *bytes, size_t size) {
    if (csv->size + size > csv->limit)
        return EFBIG;
    for (size_t done = 0; done < size;) {
        ssize_t put = write(csv->file, bytes + done, size - done);
        if (put > 0)
            done += (size_t)put;
        else if (put == 0)
            return EIO;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static tg_status append(tg_csv *csv, const char *line, size_t size, tg_error *error) {
    int cause = write_bytes(csv, line, size);
    if (cause == 0) {
        csv->size += size;
        return TG_OK;
    }
    bool taken_back = ftruncate(csv->file, (off_t)csv->size) == 0;
    fail_file(csv, taken_back ? "write" : "write a whole line", cause, &csv->failure);
    return tg_fail(error, csv->failure.status, "%s", csv->failure.message);
}

tg_csv *tg_csv_create(const tg_context *context, const char *path, const char *const *columns,
                      int count, tg_error *error) {
    tg_csv *csv = make_csv(context, path, columns, count, error);
    if (csv == NULL)
        return NULL;
    if (open_file(csv, O_CREAT | O_TRUNC, error) != TG_OK ||
        append(csv, csv->header, strlen(csv->header), error) != TG_OK) {
        free_csv(csv);
        return NULL;
    }
    return csv;
}

tg_status tg_csv_row(tg_csv *csv, int64_t step, const double *values, tg_error *error) {
    if (csv == NULL || values == NULL)
        return tg_fail(error, TG_EINVAL, "csv: no log or no values are given (NULL)");
    if (csv->failure.status != TG_OK)
        return tg_fail(error, csv->failure.status, "%s", csv->failure.message);
    if (step <= csv->last_step)
        return tg_fail(error, TG_EINVAL, "csv: step %lld is not greater than %lld: %s",
                       (long long)step, (long long)csv->last_step, csv->path);
    size_t used = (size_t)snprintf(csv->row, csv->row_size, "%lld", (long long)step);
    for (int i = 0; i < csv->columns; i++) {
        csv->row[used++] = ',';
        used += (size_t)tgi_format_double(csv->row + used, csv->row_size - used, values[i],
                                          TG_CSV_DIGITS);
    }
    csv->row[used++] = '\n';
    tg_status status = append(csv, csv->row, used, error);
    if (status == TG_OK)
        csv->last_step = step;
    return status;
}

/* Some file systems tell of a full disk only here. Pipes and devices have nothing to sync. */
static void sync_and_close(tg_csv *csv) {
    int synced = fsync(csv->file) == 0 ? 0 : errno;
    if (synced != 0 && synced != EINVAL && synced != EINTR && synced != ENOTSUP)
        fail_file(csv, "write", synced, &csv->failure);
    int file = csv->file;
    csv->file = -1;
    if (close(file) != 0 && errno != EINTR && csv->failure.status == TG_OK)
        fail_file(csv, "close", errno, &csv->failure);
}

tg_status tg_csv_close(tg_csv *csv, tg_error *error) {
    if (csv == NULL)
        return TG_OK;
    if (csv->failure.status == TG_OK)
        sync_and_close(csv);
    tg_error failure = csv->failure;
    free_csv(csv);
    if (failure.status == TG_OK)
        return TG_OK;
    return tg_fail(error, failure.status, "%s", failure.message);
}

/* ---- resuming ---- */

/* Past the digits at `text`, or NULL where there are none. */
static const char *skip_digits(const char *text) {
    const char *end = text;
    while (*end >= '0' && *end <= '9')
        end++;
    return end > text ? end : NULL;
}

/* The step that opens a row into *step, and what follows it; NULL where there is none that fits. */
static const char *parse_step(const char *text, int64_t *step) {
    const char *end = skip_digits(text);
    if (end == NULL)
        return NULL;
    *step = 0;
    for (; text < end; text++) {
        int digit = *text - '0';
        if (*step > (INT64_MAX - digit) / 10)
            return NULL;
        *step = 10 * *step + digit;
    }
    return end;
}

/* Past a number as tgi_format_double writes it, or NULL. */
static const char *skip_number(const char *text) {
    if (strncmp(text, "nan", 3) == 0)
        return text + 3;
    if (*text == '-')
        text++;
    if (strncmp(text, "inf", 3) == 0)
        return text + 3;
    text = skip_digits(text);
    if (text != NULL && *text == '.')
        text = skip_digits(text + 1);
    if (text != NULL && *text == 'e')
        text = skip_digits(text + (text[1] == '-' || text[1] == '+' ? 2 : 1));
    return text;
}

/* What is wrong with a row ("step,number,...\n"), or NULL, with its step in *step. */
static const char *fault_of_row(const char *row, int columns, int64_t *step) {
    const char *text = parse_step(row, step);
    if (text == NULL)
        return "it does not begin with a step";
    for (int i = 0; i < columns; i++) {
        if (*text != ',')
            return "it has too few columns";
        text = skip_number(text + 1);
        if (text == NULL || (*text != ',' && *text != '\n'))
            return "it has a column that is no number";
    }
    return *text == '\n' ? NULL : "it has too many columns";
}

static tg_status fail_header(const tg_csv *csv, tg_error *error) {
    int length = (int)strcspn(csv->header, "\n");
    return tg_fail(error, TG_EMISMATCH, "csv: the file does not begin with \"%.*s\": %s",
                   length < 100 ? length : 100, csv->header, csv->path);
}

/* Moves the lines that are kept to the front of text[size], in place; *size becomes their length.
 * The last line has an end, and so parsing has one. */
static tg_status keep_rows(tg_csv *csv, char *text, size_t *size, int64_t last_step,
                           tg_error *error) {
    size_t header = strlen(csv->header);
    size_t kept = 0;
    int64_t line = 1;
    for (size_t next = 0; next < *size; line++) {
        const char *row = text + next;
        size_t length = (size_t)((const char *)memchr(row, '\n', *size - next) - row) + 1;
        next += length;
        bool is_header = length == header && memcmp(row, csv->header, header) == 0;
        if (line == 1 && !is_header)
            return fail_header(csv, error);
        int64_t step = -1;
        const char *fault = is_header ? NULL : fault_of_row(row, csv->columns, &step);
        if (fault != NULL)
            return tg_fail(error, TG_EFORMAT, "csv: line %lld is no row: %s: %s", (long long)line,
                           fault, csv->path);
        if (line > 1 && (step <= csv->last_step || step > last_step))
            continue;
        csv->last_step = step;
        memmove(text + kept, row, length);
        kept += length;
    }
    *size = kept;
    return TG_OK;
}

/* The bytes up to the end of the last whole line. */
static size_t whole_lines(const unsigned char *bytes, size_t size) {
    while (size > 0 && bytes[size - 1] != '\n')
        size--;
    return size;
}

/* Cuts the file down to what is kept of it; csv->size is then its length. */
static tg_status rewrite(tg_csv *csv, int64_t last_step, tg_error *error) {
    unsigned char *bytes = NULL;
    size_t block = 0;
    tg_status status =
        tgi_file_read(&csv->allocator, csv->path, PTRDIFF_MAX, &bytes, &block, error);
    if (status != TG_OK)
        return status;
    size_t size = whole_lines(bytes, block);
    const char *text = (const char *)bytes;
    if (size > 0) {
        status = keep_rows(csv, (char *)bytes, &size, last_step, error);
    } else if (block < strlen(csv->header) && memcmp(text, csv->header, block) == 0) {
        text = csv->header;
        size = strlen(csv->header);
    } else {
        status = fail_header(csv, error);
    }
    if (status == TG_OK)
        status = tgi_file_replace(&csv->allocator, csv->path, text, size, error);
    csv->size = size;
    tgi_release(&csv->allocator, bytes, block);
    return status;
}

tg_csv *tg_csv_resume(const tg_context *context, const char *path, const char *const *columns,
                      int count, int64_t last_step, tg_error *error) {
    tg_csv *csv = make_csv(context, path, columns, count, error);
    if (csv == NULL)
        return NULL;
    tg_status status = TG_OK;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        status = tg_fail(error, TG_ENOTFOUND, "csv: there is no log: %s", path);
    if (status == TG_OK)
        status = rewrite(csv, last_step, error);
    if (status == TG_OK)
        status = open_file(csv, 0, error);
    if (status != TG_OK) {
        free_csv(csv);
        return NULL;
    }
    return csv;
}
