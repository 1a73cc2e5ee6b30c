/* What a run that begins in a directory takes the place of. */
#ifndef ARTICLE_PREVIOUS_H
#define ARTICLE_PREVIOUS_H

#include <stdbool.h>
#include <stddef.h>

/* Says in `line` (of `size` bytes, cut where it is longer, without a line's end) what the checkpoint
 * in the directory is of:
 *
 *     replaces the run in runs/article (recipe article, seed 9, step 3700)
 *
 * What the checkpoint does not tell is left out; of a file that is no checkpoint the path is named.
 * False, and `line` is untouched, where there is no file checkpoint.npz to be replaced. */
bool previous_describe(const char *directory, char *line, size_t size);

#endif
