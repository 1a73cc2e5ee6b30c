/* Internal: the records of a ZIP file, as reader and writer share them. */
#ifndef TGI_ZIP_FORMAT_H
#define TGI_ZIP_FORMAT_H

#include <stdint.h>

#include "tensor/zip.h"

#define TGI_ZIP_LOCAL_SIGNATURE   0x04034b50u
#define TGI_ZIP_CENTRAL_SIGNATURE 0x02014b50u
#define TGI_ZIP_END_SIGNATURE     0x06054b50u

/* Bytes of the records without name, extra field and comment. */
enum { TGI_ZIP_LOCAL_SIZE = 30, TGI_ZIP_CENTRAL_SIZE = 46, TGI_ZIP_END_SIZE = 22 };

enum { TGI_ZIP_STORED = 0, TGI_ZIP_DEFLATED = 8 };

/* The name is UTF-8, rather than the code page of the first PC. */
#define TGI_ZIP_FLAG_UTF8 0x0800u

/* Raw deflate: ZIP has its own headers, so zlib's are left away. */
#define TGI_ZIP_WINDOW_BITS (-15)

/* The 26 bytes that follow the signature of a local header, and the "made by" of a directory
 * entry, without the time, which nobody here reads. */
typedef struct tgi_zip_fields {
    uint32_t version;
    uint32_t flags;
    uint32_t method;
    uint32_t crc;
    uint32_t compressed_size;
    uint32_t size;
    uint32_t name_length;
    uint32_t extra_length;
} tgi_zip_fields;

enum { TGI_ZIP_FIELDS_SIZE = 26 };

/* How much of a name the messages show, for "%.*s": at most 120 bytes, and no control characters,
 * since it may come from a damaged file. */
int tgi_zip_shown(const char *name, size_t length);

/* Whether there is a byte beyond ASCII. */
bool tgi_zip_beyond_ascii(const char *name, size_t length);

/* The hooks by which zlib allocates from stream->allocator; `allocator` must outlive the stream. */
void tgi_zip_use_allocator(z_stream *stream, tg_allocator *allocator);

#endif
