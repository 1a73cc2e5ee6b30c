/* A first program: a network of two layers learns exclusive or. */
#include <stdio.h>
#include <tapegrad.h>

int main(void) {
    const tg_real inputs[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    const tg_real targets[4] = {0, 1, 1, 0};
    const tg_linear_config first = {.in = 2, .out = 8}, second = {.in = 8, .out = 1};
    const tg_adam_config adam = tg_adam_defaults(0.05);
    tg_error error = {TG_OK, ""};
    tg_rng rng;
    tg_linear_layer a, b;
    tg_tape *tape = tg_tape_create(NULL);
    tg_params *params = tg_params_create(NULL);
    tg_rng_seed(&rng, 1);
    tg_linear_init(&a, params, "first", &first, &rng, &error);
    tg_linear_init(&b, params, "second", &second, &rng, &error);
    tg_optimizer *optimizer =
        tg_adam_create(NULL, tg_params_list(params), tg_params_count(params), &adam, &error);
    for (int step = 0; step <= 200 && error.status == TG_OK; step++) {
        tg_var x = tg_constant(tape, tg_shape_2d(4, 2), inputs[0]);
        tg_var y = tg_linear_forward(&b, tg_relu(tg_linear_forward(&a, x)));
        tg_var difference = tg_sub(y, tg_constant(tape, tg_shape_2d(4, 1), targets));
        tg_var loss = tg_mean(tg_mul(difference, difference));
        tg_params_zero_grad(params);
        if (tg_backward(loss) != TG_OK)
            error = *tg_tape_error(tape);
        else
            tg_optimizer_step(optimizer);
        if (step % 50 == 0)
            printf("step %3d  loss %.6f\n", step, (double)tg_item(loss));
        tg_tape_reset(tape);
    }
    if (error.status != TG_OK)
        fprintf(stderr, "%s\n", error.message);
    tg_optimizer_free(optimizer);
    tg_params_free(params);
    tg_tape_free(tape);
    return error.status != TG_OK || fflush(stdout) != 0;
}
