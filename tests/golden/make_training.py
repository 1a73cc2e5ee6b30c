#!/usr/bin/python3
"""Writes training_values.h: what PyTorch 1.13 gives for the first values of the article's model, a
forward and a backward pass, a module of attention, the steps of optimisers, and whole training
runs. Needs PyTorch.

Weights are stored (in, out) and parameters come in the order of nn/transformer.h. Values that need
not be PyTorch's own come from `Mixer`, which the tests have as well; all of them are floats."""

import math
import os

import torch
import torch.nn.functional as F

SEEDS = [0, 1, 42, 1234, 4294967295]
STEPS, RATE = 200, 0.01
IGNORED = -100
WORDS = "the rise of machine was slow but fall fast".split()
SHOWN = [1, 7]  # the sentences, one padded, whose intermediate values are stored whole


class Mixer:
    """A linear congruential generator; see tests/model_support.h."""

    def __init__(self):
        self.state = 1

    def word(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return self.state >> 8

    def values(self, *shape):
        count = math.prod(shape)
        values = [self.word() * 2.0**-23 - 1 for _ in range(count)]
        return torch.tensor(values, dtype=torch.float64).reshape(shape)


def sentences():
    clauses = [("rise", "slow"), ("fall", "fast")]
    for first in (0, 1):
        for long_first in (0, 1):
            for long_second in (0, 1):
                halves = []
                for which, is_long in ((first, long_first), (1 - first, long_second)):
                    noun, adjective = clauses[which]
                    middle = " of the machine" if is_long else ""
                    halves.append(f"the {noun}{middle} was {adjective}")
                yield [WORDS.index(word) for word in " but ".join(halves).split()]


def batch():
    rows = list(sentences())
    length = max(map(len, rows)) - 1
    inputs = [row[:-1] + [0] * (length - len(row) + 1) for row in rows]
    targets = [row[1:] + [IGNORED] * (length - len(row) + 1) for row in rows]
    return torch.tensor(inputs), torch.tensor(targets)


def drawn_by_pytorch(seed):
    torch.manual_seed(seed)
    tables = [torch.nn.Embedding(9, 6), torch.nn.Embedding(14, 6)]
    attention = [torch.nn.Linear(6, 6, bias=False) for _ in range(4)]
    w1, w2 = torch.nn.Linear(6, 12), torch.nn.Linear(12, 6)
    unembedding = torch.nn.Linear(6, 9, bias=False)
    values = [layer.weight for layer in tables] + [layer.weight.T for layer in attention]
    values += [w1.weight.T, w1.bias, w2.weight.T, w2.bias, unembedding.weight.T]
    return [value.detach().contiguous() for value in values]


def with_next(values):
    """The values, and what the generator draws behind them, which shows where it stands."""
    return flat(values) + flat([torch.rand(1)])


def drawn_normal(seed):
    torch.manual_seed(seed)
    values = [torch.empty(9, 6).normal_(0, 1), torch.empty(14, 6).normal_(0, 0.1)]
    values += [torch.empty(6, 6).normal_(0, 0.3) for _ in range(4)]
    values += [torch.empty(6, 12).normal_(0, 0.3), torch.zeros(12)]
    values += [torch.empty(12, 6).normal_(0, 0.3), torch.zeros(6)]
    return values + [torch.empty(6, 9).normal_(0, 0.3)]


def drawn_small(seed):
    """A layer and a table of fewer than 16 elements, for which PyTorch draws in another way."""
    torch.manual_seed(seed)
    layer, table = torch.nn.Linear(5, 3), torch.nn.Embedding(3, 4)
    values = [layer.weight.T, layer.bias, table.weight]
    return [value.detach().contiguous() for value in values]


def attend(x, query, key, value, output, mask):
    """The formula of F.scaled_dot_product_attention, where a row masked throughout gives zeros."""
    q, k, v = x @ query, x @ key, x @ value
    scores = q @ k.transpose(-1, -2) / math.sqrt(k.shape[-1])
    highest = scores.masked_fill(mask, -math.inf).amax(-1, keepdim=True).detach()
    highest = highest.masked_fill(highest == -math.inf, 0)
    parts = torch.where(mask, 0.0, (scores - highest).masked_fill(mask, 0).exp())
    total = parts.sum(-1, keepdim=True)
    weights = parts / torch.where(total > 0, total, 1.0)
    mix = weights @ v
    return mix @ output, dict(query=q, key=k, value=v, scores=scores, weights=weights, mix=mix)


def transformer(params, ids):
    """The logits, and what is computed on the way."""
    token, position, *blocks, unembedding = params
    length = ids.shape[-1]
    mask = torch.ones(length, length, dtype=torch.bool).triu(1)
    x = token[ids] + position[:length]
    seen = {"input": x}
    for i in range(len(blocks) // 8):
        query, key, value, output, w1, b1, w2, b2 = blocks[8 * i:8 * i + 8]
        mixed, inner = attend(x, query, key, value, output, mask)
        hidden = x + mixed
        units = torch.relu(hidden @ w1 + b1)
        x = hidden + units @ w2 + b2
        seen.update({f"blocks.{i}.attention.{name}": inner[name] for name in inner})
        seen.update({f"blocks.{i}.hidden": hidden, f"blocks.{i}.feed_forward.hidden": units,
                     f"blocks.{i}.output": x})
    seen["logits"] = x @ unembedding
    return seen["logits"], seen


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORED)


def leaves(values, dtype):
    return [value.to(dtype).clone().requires_grad_() for value in values]


def train(values, dtype):
    inputs, targets = batch()
    params = leaves(values, dtype)
    optimizer = torch.optim.Adam(params, lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(transformer(params, inputs)[0], targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, flat(params)


def flat(tensors):
    return [number for tensor in tensors for number in tensor.detach().flatten().tolist()]


def digits(number, single):
    if number == 0:
        return "0"
    if single:
        mantissa, exponent = float(number).hex().split("p")
        return f"{mantissa.rstrip('0')}p{int(exponent)}f"
    return repr(float(number))


class Header:
    def __init__(self):
        self.text = ["/* Made by make_training.py, which says what this is. */",
                     "/* clang-format off */"]

    def line(self, text):
        self.text.append(text)

    def numbers(self, values, single):
        row = ""
        for value in values:
            item = digits(value, single) + ","
            if len(row) + len(item) > 100:
                self.line(row)
                row = ""
            row += item
        self.line(row)

    def array(self, name, values, single=False):
        self.line(f"static const {'float' if single else 'double'} {name}[{len(values)}] = {{")
        self.numbers(values, single)
        self.line("};")

    def table(self, name, rows, single=False):
        kind = "float" if single else "double"
        self.line(f"static const {kind} {name}[{len(rows)}][{len(rows[0])}] = {{")
        for row in rows:
            self.line("{")
            self.numbers(row, single)
            self.line("},")
        self.line("};")


def write_first_values(header):
    header.line(f"static const uint64_t golden_seeds[{len(SEEDS)}] = "
                f"{{{', '.join(f'{seed}u' for seed in SEEDS)}}};")
    for name, draw in (("golden_pytorch", drawn_by_pytorch), ("golden_normal", drawn_normal),
                       ("golden_small", drawn_small)):
        header.table(name, [with_next(draw(seed)) for seed in SEEDS], True)


def write_model(header):
    """The article's model on the batch of its sentences, from the first values of SEEDS[0]. Of each
    value on the way: the sentences SHOWN in full, and a product with fixed factors of each."""
    inputs, targets = batch()
    params = leaves(drawn_by_pytorch(SEEDS[0]), torch.float64)
    logits, seen = transformer(params, inputs)
    loss = loss_of(logits, targets)
    loss.backward()
    header.line("typedef struct golden_var {\nconst char *label;\nint count; /* in a sentence */\n"
                "int first; /* in golden_vars_shown, of golden_shown's sentences */\n"
                "double products[8]; /* with golden_factor(i), of each sentence */\n} golden_var;")
    header.line(f"static const int golden_shown[{len(SHOWN)}] = {{{', '.join(map(str, SHOWN))}}};")
    header.line(f"static const golden_var golden_vars[{len(seen)}] = {{")
    shown = []
    for label, value in seen.items():
        rows = value.detach().flatten(1)
        factors = torch.tensor([(i * 29 % 31 - 15) / 16 for i in range(rows.shape[1])]).double()
        products = ", ".join(digits(product, False) for product in rows @ factors)
        header.line(f'{{"{label}", {rows.shape[1]}, {len(shown)},\n{{{products}}}}},')
        shown += flat(rows[i] for i in SHOWN)
    header.line("};")
    header.array("golden_vars_shown", shown)
    header.line(f"static const double golden_loss = {digits(loss.item(), False)};")
    header.array("golden_grads", flat(param.grad for param in params))


def write_two_blocks(header):
    """A model of two blocks whose widths all differ."""
    mixer = Mixer()
    shapes = [(11, 8), (9, 8)]
    shapes += 2 * [(8, 5), (8, 5), (8, 5), (5, 8), (8, 7), (7,), (7, 8), (8,)] + [(8, 11)]
    params = leaves([mixer.values(*shape) / 2 for shape in shapes], torch.float64)
    ids = torch.tensor([mixer.word() % 11 for _ in range(21)]).reshape(3, 7)
    targets = torch.tensor([mixer.word() % 11 if i % 4 != 3 else IGNORED for i in range(21)])
    logits, seen = transformer(params, ids)
    loss = loss_of(logits, targets.reshape(3, 7))
    loss.backward()
    header.line(f"static const double two_blocks_loss = {digits(loss.item(), False)};")
    header.array("two_blocks_logits", flat([logits]))
    header.array("two_blocks_weights", flat([seen["blocks.1.attention.weights"]]))
    header.array("two_blocks_grads", flat(param.grad for param in params))


def write_attention(header):
    """A module of attention alone: x (2, 5, 7), keys of width 4, any mask (2, 5, 5)."""
    mixer = Mixer()
    params = leaves([mixer.values(*shape) for shape in 3 * [(7, 4)] + [(4, 7)]], torch.float64)
    x, = leaves([mixer.values(2, 5, 7)], torch.float64)
    mask = torch.tensor([mixer.word() % 3 == 0 for _ in range(50)]).reshape(2, 5, 5)
    mask[1, 2] = True
    output, inner = attend(x, *params, mask)
    output.backward(mixer.values(2, 5, 7))
    header.array("attention_weights", flat([inner["weights"]]))
    header.array("attention_output", flat([output]))
    header.array("attention_x_grad", flat([x.grad]))
    header.array("attention_grads", flat(param.grad for param in params))


OPTIMIZERS = [
    (torch.optim.Adam, dict(lr=0.1)),
    (torch.optim.Adam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.05)),
    (torch.optim.Adam, dict(lr=0.05, betas=(0.0, 0.5), eps=1e-3)),
    (torch.optim.SGD, dict(lr=0.1)),
    (torch.optim.SGD, dict(lr=0.05, momentum=0.9)),
]


def optimize(make, settings, dtype):
    """The parameters after the steps 1, 7 and 20, then the optimiser's arrays. Every fifth gradient
    of the second parameter is zero, every seventh element is small; the rate halves after step
    10."""
    mixer = Mixer()
    params = leaves([mixer.values(*shape) for shape in ((1,), (37,), (3, 5))], dtype)
    optimizer = make(params, **settings)
    stored = []
    for step in range(1, 21):
        for which, param in enumerate(params):
            grad = mixer.values(*param.shape)
            grad.flatten()[::7] *= 2.0**-20
            param.grad = (grad * 0 if which == 1 and step % 5 == 0 else grad).to(dtype)
        optimizer.step()
        if step in (1, 7, 20):
            stored += flat(params)
        if step == 10:
            optimizer.param_groups[0]["lr"] *= 0.5
    names = [name for name in ("exp_avg", "exp_avg_sq", "momentum_buffer")
             if optimizer.state[params[0]].get(name) is not None]
    return stored + flat(optimizer.state[param][name] for name in names for param in params)


def write_optimizers(header):
    for i, (make, settings) in enumerate(OPTIMIZERS):
        header.array(f"golden_steps_{i}", optimize(make, settings, torch.float64))
        header.array(f"golden_steps_{i}_f32", optimize(make, settings, torch.float32), True)


def write_training(header):
    singles = [train(drawn_by_pytorch(seed), torch.float32) for seed in SEEDS]
    doubles = [train(drawn_by_pytorch(seed), torch.float64) for seed in SEEDS]
    header.table("training_losses", [losses for losses, _ in doubles])
    header.table("training_losses_f32", [losses for losses, _ in singles], True)
    header.array("training_end", doubles[0][1])


def main():
    torch.set_num_threads(1)
    header = Header()
    for write in (write_first_values, write_model, write_two_blocks, write_attention,
                  write_optimizers, write_training):
        write(header)
    header.line("/* clang-format on */")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "training_values.h")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(header.text) + "\n")


main()
