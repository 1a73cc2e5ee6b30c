/* Checking a gradient against difference quotients, in double (link tapegrad_f64).
 *
 * For a random cotangent c and a random direction v of each input, the slope of c . f(x + s v) at
 * s = 0, by a quotient of fourth order, is compared with v . gradient. Random numbers on both sides
 * let no error cancel out, as it does under a plain sum. */
#ifndef TG_GRADCHECK_H
#define TG_GRADCHECK_H

#include <stdint.h>

#include "autograd/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is checked: it records f on the tape and returns its output. `inputs` are vars of the views
 * given to tg_gradcheck, in their order. Called many times; it must give the same each time. */
typedef tg_var (*tg_gradcheck_function)(tg_tape *tape, const tg_var *inputs, void *user);

typedef struct tg_gradcheck_options {
    double tolerance; /* 0: 1e-6; of the relative error */
    double step;      /* 0: 1e-4; the inputs move by up to twice the step times a normal draw */
    int trials;       /* 0: 3; fresh cotangents and directions for each */
    uint64_t seed;
} tg_gradcheck_options;

typedef struct tg_gradcheck_report {
    double worst_error; /* |analytic - numeric| / max(|analytic|, |numeric|, 1e-4) */
    int worst_input;
    double analytic, numeric;
} tg_gradcheck_report;

/* For tg_gradcheck: `real_size` tells the number type that the caller was compiled for. */
tg_status tg_gradcheck_for(size_t real_size, const tg_context *context,
                           tg_gradcheck_function function, void *user, int input_count,
                           const tg_view *inputs, const tg_gradcheck_options *options,
                           tg_gradcheck_report *report, tg_error *error);

/* TG_OK when the gradients of all real inputs pass. TG_EMISMATCH, with the input and both slopes in
 * the message, when one does not or is not finite; the error of the tape when f cannot be recorded;
 * TG_EINVAL in the float library, and for a caller that was compiled for float. Keep kinks (relu at 0) farther away than the inputs move.
 *
 * Each gradient is asked for with and without others wanted at the same time, into fresh memory and
 * on top of another contribution; and what an operation does not declare to read in backward is
 * overwritten with NaN before. Parameters that the function uses get gradients of no meaning. `options` and `report` may be NULL. */
static inline tg_status tg_gradcheck(const tg_context *context, tg_gradcheck_function function,
                                     void *user, int input_count, const tg_view *inputs,
                                     const tg_gradcheck_options *options,
                                     tg_gradcheck_report *report, tg_error *error) {
    return tg_gradcheck_for(sizeof(tg_real), context, function, user, input_count, inputs, options,
                            report, error);
}

#ifdef __cplusplus
}
#endif

#endif
