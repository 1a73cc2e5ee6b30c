/* Tapegrad: an autodiff training framework in miniature. This is the one header that a program
 * includes, layer by layer. */
#ifndef TAPEGRAD_H
#define TAPEGRAD_H

#include "tensor/allocator.h"
#include "tensor/archive.h"
#include "tensor/context.h"
#include "tensor/real.h"
#include "tensor/rng.h"
#include "tensor/shape.h"
#include "tensor/status.h"
#include "tensor/tensor.h"
#include "tensor/version.h"

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/param.h"
#include "autograd/tape.h"

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/transformer.h"

#include "optim/adam.h"
#include "optim/optimizer.h"
#include "optim/sgd.h"

#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/corpus.h"
#include "train/csv.h"
#include "train/plot.h"
#include "train/progress.h"
#include "train/vocabulary.h"

#endif
