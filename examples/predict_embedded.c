/* Inference from a checkpoint that lies in memory: sent over a network, say, or linked into the
 * program. Here it is a file that the program itself reads.
 *
 *     predict_embedded runs/article/checkpoint.npz "the rise of the machine was" */
#include <stdio.h>

#include "common/model.h"

static unsigned char bytes[1 << 20]; /* a checkpoint of the article's model has 21,000 */

/* The word that most likely follows the sentence. */
static tg_status print_next(model *m, const char *sentence, tg_error *error) {
    prediction made;
    tg_status status = model_predict(m, sentence, &made, error);
    if (status != TG_OK)
        return status;
    int32_t words = tg_vocabulary_count(m->vocabulary), best = 0;
    const tg_real *next = made.next + (made.length - 1) * words;
    for (int32_t i = 1; i < words; i++)
        if (next[i] > next[best])
            best = i;
    printf("%s %.4f\n", tg_vocabulary_word(m->vocabulary, best), (double)next[best]);
    return fflush(stdout) == 0 ? TG_OK : tg_fail(error, TG_EIO, "cannot write the output");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: predict_embedded CHECKPOINT SENTENCE\n");
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    if (size == 0 || size == sizeof bytes || fclose(file) != 0) {
        fprintf(stderr, "predict_embedded: cannot read %s\n", argv[1]);
        return 1;
    }

    model m = {0};
    tg_error error = {TG_OK, ""};
    tg_archive *archive = tg_archive_open_memory(NULL, bytes, size, &error);
    tg_status status = archive == NULL ? error.status : model_load(&m, archive, &error);
    tg_archive_free(archive);
    if (status == TG_OK)
        status = print_next(&m, argv[2], &error);
    if (status != TG_OK)
        fprintf(stderr, "predict_embedded: %s\n", error.message);
    model_free(&m);
    return status == TG_OK ? 0 : 1;
}
