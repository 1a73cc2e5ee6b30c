#include "autograd/ops/elementwise.h"

#include "tensor/broadcast.h"
#include "tensor/kernels/kernels.h"

tg_status tgi_check_broadcast(const char *name, const tg_call *call, tg_plan *plan,
                              tg_error *error) {
    return tg_shape_broadcast(name, call->inputs[0]->shape, call->inputs[1]->shape, &plan->shape,
                              error);
}

void tgi_forward_broadcast(const tg_call *call,
                           void (*kernel)(int64_t n, const tg_real *a, int64_t a_step,
                                          const tg_real *b, int64_t b_step, tg_real *out)) {
    const tg_view *a = call->inputs[0], *b = call->inputs[1];
    tgi_broadcast it;
    for (tgi_broadcast_start(&it, call->output->shape, a->shape, b->shape); !it.done;
         tgi_broadcast_next(&it))
        kernel(it.run, a->real + it.offset[0], it.step[0], b->real + it.offset[1], it.step[1],
               call->result + it.out_offset);
}

void tgi_add_to_grad(const tg_call *call, int i, double factor, const tg_real *x) {
    tg_real *grad = call->input_grads[i];
    if (grad == NULL)
        return;
    const tg_view *input = call->inputs[i];
    if (tg_shape_equal(input->shape, call->output->shape))
        call->kernels->scale(input->count, (tg_real)factor, x, grad, tgi_accumulates(call, i));
    else
        tgi_sum_to_shape(call->kernels, call->output->shape, x, input->shape, factor, grad,
                         tgi_accumulates(call, i));
}
