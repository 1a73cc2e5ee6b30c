/* Internal: the header of an .npy entry, which says what the bytes behind it are
 * (numpy/lib/format.py, versions 1.0 to 3.0). It is a Python dictionary in text; it is parsed here
 * as far as NumPy writes it, and nothing is ever evaluated. */
#ifndef TGI_NPY_H
#define TGI_NPY_H

#include "tensor/archive.h"

/* Before the text: magic and version, then the length of the text in 2 or 4 bytes. */
enum { TGI_NPY_MAGIC_SIZE = 8, TGI_NPY_LENGTH_MOST = 4 };

/* The longest text that is read (NumPy's own limit is 10000; a plain array needs 100 to 200), and
 * room for any header that is written. */
enum { TGI_NPY_TEXT_MOST = 4096, TGI_NPY_HEADER_MOST = 512 };

/* "float32"; bytes of an element of a type other than TG_ELEMENT_BYTES. */
const char *tgi_element_name(tg_element element);
size_t tgi_element_size(tg_element element);

/* A version 1.0 header for the array's element, element_size and shape, as long as a multiple of 64
 * bytes. Returns its size. */
size_t tgi_npy_write(const tg_array *array, char header[TGI_NPY_HEADER_MOST]);

/* In how many bytes the length of the text follows: 2 or 4, or 0 where this is no .npy header. */
int tgi_npy_length_size(const unsigned char magic[TGI_NPY_MAGIC_SIZE]);
size_t tgi_npy_text_length(const unsigned char *length, int length_size);

/* Element, element_size, shape and count from the text. TG_EFORMAT, with the array's name in the
 * message, for text that NumPy would not write and for arrays that this library does not read. */
tg_status tgi_npy_parse(const char *text, size_t length, tg_array *array, tg_error *error);

#endif
