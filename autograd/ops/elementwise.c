#include "autograd/ops/elementwise.h"

#include "tensor/broadcast.h"
#include "tensor/kernels/kernels.h"

tg_status tgi_check_broadcast(const char *name, const tg_call *call, tg_plan *plan,
                              tg_error *error) {
    return tg_shape_broadcast(name, call->inputs[0]->shape, call->inputs[1]->shape, &plan->shape,
                              error);
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
