/* The kernel table of one instruction set: compiled once for each, with TGI_KERNELS_NAME and the
 * compiler's flags set by the build. */
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/math.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/optimizer.h"
#include "tensor/kernels/rows.h"

#define JOIN(a, b)    a##b
#define TABLE(name)   JOIN(tgi_kernels_, name)
#define TEXT(name)    #name
#define NAME_OF(name) TEXT(name)

extern const tgi_kernels TABLE(TGI_KERNELS_NAME);

const tgi_kernels TABLE(TGI_KERNELS_NAME) = {
    .name = NAME_OF(TGI_KERNELS_NAME),
    .matmul = matmul,
    .add = add,
    .subtract = subtract,
    .multiply = multiply,
    .scale = scale,
    .multiply_add = multiply_add,
    .relu = relu,
    .relu_backward = relu_backward,
    .exp = exp_each,
    .log = log_each,
    .sum = sum,
    .add_to_sums = add_to_sums,
    .exp_sum = exp_sum,
    .softmax_backward = softmax_backward,
    .exp_scaled = exp_scaled,
    .adam = adam,
    .momentum = momentum,
};
