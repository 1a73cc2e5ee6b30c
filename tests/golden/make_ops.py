#!/usr/bin/python3
"""Writes ops_values.h: for each row of ../op_rows.h, what PyTorch makes of it in double.

Inputs and cotangents are multiples of 2^-12, so that single precision holds them exactly. Needs
PyTorch 1.13."""

import math
import os
import re

import numpy
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, '..', 'op_rows.h')


def softmax_masked(axis):
    """PyTorch's is NaN where a slice is masked throughout; ours is 0 there."""
    def function(x, mask):
        visible = (mask == 0).expand_as(x)
        shifted = x - x.detach().amax(axis, keepdim=True)
        terms = torch.where(visible, shifted, torch.full_like(x, -math.inf)).exp()
        total = terms.sum(axis, keepdim=True)
        return terms / torch.where(total == 0, torch.ones_like(total), total)
    return function


def masked_fill(value):
    return lambda x, mask: torch.where(mask != 0, torch.tensor(value, dtype=x.dtype), x)


def cross_entropy(reduction, ignored=-100):
    """PyTorch's mean is NaN where no target counts; ours is 0."""
    def function(logits, targets):
        classes = logits.shape[-1]
        loss = F.cross_entropy(logits.reshape(-1, classes), targets.reshape(-1),
                               ignore_index=ignored, reduction='sum')
        counted = int((targets != ignored).sum())
        return loss / max(counted, 1) if reduction == 'mean' else loss
    return function


def t(x):
    return x.transpose(-2, -1)


def dropout(probability, seed):
    """Zero where 24 bits of the next word of a Mersenne Twister are below the probability."""
    def of(x):
        words = numpy.random.RandomState(seed).randint(0, 2 ** 32, x.numel(), dtype=numpy.uint32)
        kept = (words >> 8) / 2 ** 24 >= probability
        return x * torch.from_numpy(kept.astype(float) / (1 - probability)).reshape(x.shape)
    return of


def two_of_one_value(x):
    y = x * x
    return y.reshape(1, 6) @ y.reshape(6, 1) + y


FUNCTIONS = {
    'add': torch.add,
    'add_to_itself': lambda x: x + x,
    'sub': torch.sub,
    'sub_from_itself': lambda x: x - x,
    'mul': torch.mul,
    'square': lambda x: x * x,
    'cube': lambda x: x * x * x,
    'scale_down': lambda x: -0.75 * x,
    'scale_by_third': lambda x: x / 3,
    'scale_away': lambda x: 0 * x,
    'matmul': torch.matmul,
    'matmul_nn': torch.matmul,
    'matmul_tn': lambda a, b: t(a) @ b,
    'matmul_nt': lambda a, b: a @ t(b),
    'matmul_tt': lambda a, b: t(a) @ t(b),
    'matmul_with_itself': lambda x: x @ x,
    'matmul_tn_with_itself': lambda x: t(x) @ x,
    'matmul_nt_with_itself': lambda x: x @ t(x),
    'matmul_tt_with_itself': lambda x: t(x) @ t(x),
    'linear': lambda x, w, b: F.linear(x, w.t(), b),
    'linear_of_itself': lambda x, b: F.linear(x, x.t(), b),
    'reshape_3_rest': lambda x: x.reshape(3, -1),
    'reshape_rest': lambda x: x.reshape(-1),
    'reshape_rest_2_1': lambda x: x.reshape(-1, 2, 1),
    'reshape_2_3': lambda x: x.reshape(2, 3),
    'reshape_scalar': lambda x: x.reshape(()),
    'reshape_0_7': lambda x: x.reshape(0, 7),
    'reshape_twice_of_square': two_of_one_value,
    'transpose_0_1': lambda x: x.transpose(0, 1),
    'transpose_0_2': lambda x: x.transpose(0, 2),
    'transpose_0_3': lambda x: x.transpose(0, 3),
    'transpose_1_2': lambda x: x.transpose(1, 2),
    'transpose_1_4': lambda x: x.transpose(1, 4),
    'transpose_3_1': lambda x: x.transpose(3, 1),
    'transpose_last_two': t,
    'transpose_last_0': lambda x: x.transpose(-1, 0),
    'transpose_1_1': lambda x: x.transpose(1, -2),
    'softmax_0': lambda x: x.softmax(0),
    'softmax_1': lambda x: x.softmax(1),
    'softmax_2': lambda x: x.softmax(2),
    'softmax_last': lambda x: x.softmax(-1),
    'softmax_masked_0': softmax_masked(0),
    'softmax_masked_1': softmax_masked(1),
    'softmax_masked_last': softmax_masked(-1),
    'masked_fill': masked_fill(-2.5),
    'softmax_of_masked_fill': lambda x, mask: masked_fill(-math.inf)(x, mask).softmax(-1),
    'dropout_0': lambda x: F.dropout(x, 0.0),
    'dropout_1': lambda x: F.dropout(x, 1.0),
    'dropout_03': dropout(0.3, 7),
    'relu': torch.relu,
    'embedding': lambda table, ids: F.embedding(ids, table),
    'sum': torch.sum,
    'mean': torch.mean,
    'sum_0': lambda x: x.sum(0),
    'sum_1': lambda x: x.sum(1),
    'sum_2': lambda x: x.sum(2),
    'sum_0_kept': lambda x: x.sum(0, keepdim=True),
    'sum_1_kept': lambda x: x.sum(1, keepdim=True),
    'sum_last_kept': lambda x: x.sum(-1, keepdim=True),
    'mean_0': lambda x: x.mean(0),
    'mean_1': lambda x: x.mean(1),
    'mean_2': lambda x: x.mean(2),
    'mean_0_kept': lambda x: x.mean(0, keepdim=True),
    'mean_1_kept': lambda x: x.mean(1, keepdim=True),
    'mean_last_kept': lambda x: x.mean(-1, keepdim=True),
    'cross_entropy_mean': cross_entropy('mean'),
    'cross_entropy_sum': cross_entropy('sum'),
    'cross_entropy_mean_but_0': cross_entropy('mean', ignored=0),
}


def numbers(text):
    return [int(number) for number in re.findall(r'-?\d+', text)]


def read_table():
    """Rows of (op, what, builder, inputs, the integers' name), and the integers."""
    with open(TABLE) as file:
        text = file.read()
    integers = {name: numbers(body) for name, body in
                re.findall(r'static const int32_t (\w+)\[\] = \{([^}]*)\};', text)}
    rows = re.findall(r'\{"(\w+)", "([^"]+)", (\w+),\s+"([^"]+)"(?:,\s+(\w+))?\}', text)
    opened = re.search(r'op_rows\[\] = \{\n(.*?)\n\};', text, re.S).group(1).count('{')
    assert len(rows) == opened, 'a row that this script does not understand'
    assert len({row[:2] for row in rows}) == len(rows), 'two rows of one name'
    assert {row[2] for row in rows} == set(FUNCTIONS), 'a builder without a function, or the reverse'
    return rows, integers


def draw(generator, extents, kind=''):
    x = torch.randn(extents, generator=generator, dtype=torch.float64)
    if kind == 'away':
        x = x + 0.1 * x.sign()
    return (x * 4096).round() / 4096


def evaluate(row, integers, generator):
    """The output's shape and the values in the order that op_golden says."""
    _, _, builder, inputs, name = row
    given = []
    for kind, extents in re.findall(r'(\w*)\(([^)]*)\)', inputs):
        extents = numbers(extents)
        if kind == 'int':
            given.append(torch.tensor(integers[name][:math.prod(extents)]).reshape(extents).long())
        else:
            given.append(draw(generator, extents, kind).requires_grad_())
    reals = [x for x in given if x.requires_grad]
    output = FUNCTIONS[builder](*given)
    cotangent = draw(generator, output.shape)
    grads = torch.autograd.grad(output, reals, cotangent)
    values = torch.cat([x.detach().reshape(-1) for x in (*reals, output, cotangent, *grads)])
    assert values.isfinite().all(), row
    return list(output.shape), values.tolist()


def literal(value):
    return '%d' % value if value == int(value) else '%.17g' % value


def main():
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    rows, integers = read_table()
    arrays, goldens = [], []
    for i, row in enumerate(rows):
        shape, values = evaluate(row, integers, generator)
        texts = [literal(value) for value in values] + ['0']  # C has no empty arrays
        lines = [','.join(texts[k:k + 8]) for k in range(0, len(texts), 8)]
        arrays.append('static const double op_values_%d[] = {\n%s};\n' % (i, ',\n'.join(lines)))
        goldens.append('{"%s", "%s", "%s", %d, {%s}, op_values_%d},\n'
                       % (row[0], row[1], row[3], len(shape), ','.join(map(str, shape or [0])), i))
    with open(os.path.join(HERE, 'ops_values.h'), 'w', newline='\n') as out:
        out.write('/* Made by make_ops.py, which says what this is. */\n/* clang-format off */\n')
        out.write(''.join(arrays))
        out.write('static const op_golden op_goldens[] = {\n%s};\n' % ''.join(goldens))
        out.write('/* clang-format on */\n')


main()
