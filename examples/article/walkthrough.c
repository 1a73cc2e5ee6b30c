#include "article/walkthrough.h"

#include <inttypes.h>
#include <string.h>

#include "article/steps.h"

static void print_title(const tg_transformer_config *config, const char *const *words,
                        const int32_t *ids, int64_t length, FILE *out) {
    for (int64_t i = 0; i < length; i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", words[ids[i]]);
    fprintf(out,
            "\n%" PRId64 " positions, %" PRId64 " words in the vocabulary, d_model = %" PRId64
            ", d_k = %" PRId64 ", %" PRId64 " hidden units\n\n",
            length, config->vocabulary, config->width, config->key_width, config->hidden);
}

static void print_step(const article_step *step, FILE *out) {
    fprintf(out, "%s\n", step->title);
    for (size_t i = 0; i < strlen(step->title); i++)
        fputc('-', out);
    fprintf(out, "\n%s\n\n", step->formula);
    for (int k = 0; k < step->count; k++) {
        const step_matrix *shown = &step->matrices[k];
        article_print_matrix(out, &shown->matrix, shown->rows, shown->columns);
    }
}

tg_status article_walkthrough(const tg_transformer *model, const char *const *words,
                              const int32_t *ids, int64_t length, FILE *out, tg_error *error) {
    tg_tape *tape = tg_tape_create(NULL);
    article_step steps[ARTICLE_STEPS];
    tg_status status = article_steps_compute(model, words, ids, length, tape, steps, error);
    if (status == TG_OK) {
        print_title(&model->config, words, ids, length, out);
        for (int i = 0; i < ARTICLE_STEPS; i++)
            print_step(&steps[i], out);
        if (fflush(out) != 0 || ferror(out))
            status = tg_fail(error, TG_EIO, "article_walkthrough: writing failed");
    }
    tg_tape_free(tape);
    return status;
}
