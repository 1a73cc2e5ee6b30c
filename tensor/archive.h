/* Archives: named arrays in one file, an .npz as NumPy writes it (a ZIP file of .npy entries).
 *
 *     tg_archive_writer *writer = tg_archive_writer_create(NULL, &error);
 *     tg_archive_writer_add_view(writer, "param/output.weight", tg_tensor_view(&weight), &error);
 *     tg_archive_writer_add_int64(writer, "step", 3000, &error);
 *     tg_archive_writer_save(writer, "model.npz", &error);
 *     tg_archive_writer_free(writer);
 *
 *     tg_archive *archive = tg_archive_open(NULL, "model.npz", &error);
 *     tg_archive_read_reals(archive, "param/output.weight", weight.shape, weight.real, &error);
 *     tg_archive_free(archive);
 *
 * `numpy.load("model.npz")["param/output.weight"]` reads the same array, and what numpy.savez and
 * numpy.savez_compressed write can be opened here: C-ordered, little-endian arrays of the types
 * below. The order of the arrays is kept. Equal contents, added in the same order, are equal bytes
 * (with one version of zlib), since nothing of the moment, the machine or the user goes in.
 *
 * Opening is strict: every byte that matters is accounted for and every checksum compared before
 * tg_archive_open returns, so a damaged file is an error and never other numbers. A file cannot
 * make it allocate more than about 1032 times its own size, which is as far as deflate compresses.
 *
 * A name is 1 to 255 bytes of UTF-8, in parts separated by "/" none of which is empty, "." or "..";
 * no backslash, no control character. An archive and each array in it are smaller than 4 GB. */
#ifndef TG_ARCHIVE_H
#define TG_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/context.h"
#include "tensor/real.h"
#include "tensor/shape.h"
#include "tensor/status.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the elements are, in memory and in the file, and NumPy's name for it. */
typedef enum tg_element {
    TG_ELEMENT_FLOAT32, /* '<f4' */
    TG_ELEMENT_FLOAT64, /* '<f8' */
    TG_ELEMENT_INT32,   /* '<i4' */
    TG_ELEMENT_INT64,   /* '<i8' */
    TG_ELEMENT_UINT8,   /* '|u1'; NumPy's bool, '|b1', is read as this */
    TG_ELEMENT_BYTES    /* '|S<n>': n bytes each, filled up with zeros */
} tg_element;

#ifdef TG_F64
#define TG_ELEMENT_REAL TG_ELEMENT_FLOAT64
#else
#define TG_ELEMENT_REAL TG_ELEMENT_FLOAT32
#endif

/* A named array, borrowed: from the caller where it is written, from the archive where it is read. */
typedef struct tg_array {
    const char *name;
    tg_element element;
    size_t element_size; /* bytes of one element */
    tg_shape shape;
    int64_t count;    /* the product of the extents */
    const void *data; /* row-major; may be NULL where count is 0 */
} tg_array;

/* ---- writing ---- */

/* An archive in the making, in memory. */
typedef struct tg_archive_writer tg_archive_writer;

/* An empty one, owned by the caller. NULL, with TG_ENOMEM in `error`, when memory is out. */
tg_archive_writer *tg_archive_writer_create(const tg_context *context, tg_error *error);

/* NULL is legal. */
void tg_archive_writer_free(tg_archive_writer *writer);

/* Compresses a copy of the array into the archive. Its `count`, and its `element_size` except for
 * TG_ELEMENT_BYTES, follow from the rest and are not read. TG_EINVAL for a name that is malformed or
 * there already, NULL data, elements of 0 bytes, and beyond 4 GB; TG_ESHAPE for an illegal shape;
 * TG_ENOMEM. On failure the archive is as it was. */
tg_status tg_archive_writer_add(tg_archive_writer *writer, const tg_array *array, tg_error *error);

/* The same for a view, one number (shape ()), and a text: one element of TG_ELEMENT_BYTES without
 * the final NUL. */
tg_status tg_archive_writer_add_view(tg_archive_writer *writer, const char *name, tg_view view,
                                     tg_error *error);
tg_status tg_archive_writer_add_int64(tg_archive_writer *writer, const char *name, int64_t value,
                                      tg_error *error);
tg_status tg_archive_writer_add_float64(tg_archive_writer *writer, const char *name, double value,
                                        tg_error *error);
tg_status tg_archive_writer_add_text(tg_archive_writer *writer, const char *name, const char *text,
                                     tg_error *error);

/* The file as it would be saved now, valid until the next call with the writer. TG_ENOMEM. */
tg_status tg_archive_writer_bytes(tg_archive_writer *writer, const void **bytes, size_t *size,
                                  tg_error *error);

/* Makes the file at `path` hold the archive, so that a crash at any moment leaves the old file or
 * the new one, whole: written to "<path>.tmp", synced, renamed, and the directory synced. On failure
 * (TG_EIO with the system's reason and the path; TG_ENOMEM) the temporary is removed and the old
 * file is as it was; only where the directory cannot be synced is the new file in place already. A
 * "<path>.tmp" that a killed program left is taken over; one that another writer is at work on is an
 * error. `path` may name a regular file or none: a directory or a device is refused, and a symbolic
 * link to a file is replaced. */
tg_status tg_archive_writer_save(tg_archive_writer *writer, const char *path, tg_error *error);

/* ---- reading ---- */

/* An archive that was read, uncompressed in memory; it never changes. */
typedef struct tg_archive tg_archive;

/* The archive in the file at `path`, or in `size` bytes of memory that are not needed afterwards;
 * owned by the caller. NULL, with the reason in `error`: TG_EIO with the system's reason where the
 * file cannot be read, TG_EFORMAT with the entry's name where it is damaged or holds what this
 * library does not read, TG_ENOMEM. */
tg_archive *tg_archive_open(const tg_context *context, const char *path, tg_error *error);
tg_archive *tg_archive_open_memory(const tg_context *context, const void *bytes, size_t size,
                                   tg_error *error);

/* NULL is legal. What tg_archive_at, tg_archive_find and tg_archive_read_text gave ends here. */
void tg_archive_free(tg_archive *archive);

/* How many arrays there are, and array number i in the order of the file; NULL outside
 * [0, count). The data is aligned for its type. */
int64_t tg_archive_count(const tg_archive *archive);
const tg_array *tg_archive_at(const tg_archive *archive, int64_t i);

/* The array of this name, or NULL. */
const tg_array *tg_archive_find(const tg_archive *archive, const char *name);

/* Copies an array of either float type and exactly this shape, converted where need be, into
 * `out`. TG_ENOTFOUND; TG_EMISMATCH, with what is there and what was expected in the message, for
 * another type or shape, and for a finite double that a tg_real cannot hold. On failure `out` is
 * untouched. */
tg_status tg_archive_read_reals(const tg_archive *archive, const char *name, tg_shape expected,
                                tg_real *out, tg_error *error);

/* The same for TG_ELEMENT_INT32. */
tg_status tg_archive_read_int32s(const tg_archive *archive, const char *name, tg_shape expected,
                                 int32_t *out, tg_error *error);

/* One number of shape (): an integer of either size; a float of either size. Failures as above. */
tg_status tg_archive_read_int64(const tg_archive *archive, const char *name, int64_t *out,
                                tg_error *error);
tg_status tg_archive_read_float64(const tg_archive *archive, const char *name, double *out,
                                  tg_error *error);

/* A text (TG_ELEMENT_BYTES of shape ()) into *text, which belongs to the archive. TG_EMISMATCH also
 * where a NUL lies inside the text. */
tg_status tg_archive_read_text(const tg_archive *archive, const char *name, const char **text,
                               tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
