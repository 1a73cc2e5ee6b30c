/* Checkpoints: all that a training run is made of, in one file, so that what is resumed gives the
 * same bits as what never stopped.
 *
 * The file is an .npz (tensor/archive.h), which numpy.load opens:
 *
 *     param/<name>                       each parameter, float (double in tapegrad_f64)
 *     optimizer/name, optimizer/steps    "adam" or "sgd", and how many steps it has taken
 *     optimizer/rate, ...                each of its settings
 *     optimizer/<state>/<name>           its arrays: first_moment, second_moment, or velocity
 *     step, seed                         steps of training; what the generator was seeded with
 *     rng/words, rng/next, rng/has_cached, rng/cached     the generator
 *     data/position                      where in the data the next step begins
 *     vocabulary                         the words, strings
 *     recipe                             how it is trained, in the program's own words
 *     config/<extent>                    the transformer's: vocabulary, context, width, ...
 *
 * It says nothing of how its state was reached, no time, no path, no number of steps to go: equal
 * states are equal bytes. docs/checkpoint-format.md has the details. */
#ifndef TG_CHECKPOINT_H
#define TG_CHECKPOINT_H

#include <stdint.h>

#include "autograd/param.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"
#include "tensor/archive.h"
#include "tensor/rng.h"
#include "train/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is saved and loaded; all of it belongs to the caller. NULL leaves a part out, when saving
 * and when loading; params is always there. */
typedef struct tg_training_state {
    tg_params *params;
    tg_optimizer *optimizer;
    tg_rng *rng;
    const tg_transformer_config *config;
    const tg_vocabulary *vocabulary;
    int64_t step;
    int64_t seed;
    int64_t position;
    const char *recipe; /* a text of the program's; saved only: read it back from the archive */
} tg_training_state;

/* Saves the state to `path`, whole or not at all (tg_archive_writer_save). TG_EINVAL without params
 * or path, TG_ENOMEM, TG_EIO. */
tg_status tg_checkpoint_save(const tg_context *context, const char *path,
                             const tg_training_state *state, tg_error *error);

/* Loads what `state` names from an open archive. The parameters, and the optimiser's arrays, must be
 * there by name with their shapes; no other parameter may be, no config/ that is unknown, and, with
 * an optimiser, no optimizer/ that is. The optimiser must be of the same kind. Config and vocabulary
 * are compared, not changed, and must be equal. TG_EMISMATCH or TG_ENOTFOUND otherwise, with the
 * names and both values, and TG_EFORMAT for a generator's state that cannot be: then nothing has
 * changed. Step, seed, position and the optimiser's settings are set. */
tg_status tg_checkpoint_restore(const tg_context *context, const tg_archive *archive,
                                tg_training_state *state, tg_error *error);

/* tg_archive_open and tg_checkpoint_restore, with the path in front of the message. */
tg_status tg_checkpoint_load(const tg_context *context, const char *path, tg_training_state *state,
                             tg_error *error);

/* The extents of the transformer in an archive, for who has no model yet. The inits are left {0}. */
tg_status tg_checkpoint_config(const tg_archive *archive, tg_transformer_config *config,
                               tg_error *error);

/* The vocabulary in an archive, owned by the caller; NULL with the reason in `error`. */
tg_vocabulary *tg_checkpoint_vocabulary(const tg_context *context, const tg_archive *archive,
                                        tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
