#!/usr/bin/python3
"""Writes rng_values.h, the draws that check_rng.c expects. Needs PyTorch 1.13, on a processor with
AVX2, and NumPy.

A group of steps is one stream, or seeds anew at each step. What a step draws from PyTorch is stored
as a hash of all values and a sample of them, as bits. PyTorch's normal draws vary with the
processor, so that the hash of a normal step is that of the formula of tensor/rng.h, evaluated here
on NumPy's words with Python's logarithm and sines. Every value of it must be near PyTorch's, or
nothing is written."""

import math
import os
import random

import numpy as np
import torch

SEEDS = [0, 1, 42, 1234, 5489, 2**31 - 1, 2**32 - 1, 2**32 + 7, 0xDEADBEEF12345678, 2**64 - 1]
LENGTHS = list(range(1, 41)) + [100, 623, 624, 625, 1000, 1023]
RANGES = [(0, 1), (-1, 1), (-0.40824829, 0.40824829), (2, 2.5), (-1e-3, 5e3), (0.1, 0.7),
          (-1e-40, 1e-40), (0, 3.4e38), (7, 7), (16777216, 16777219)]
NORMALS = [(0, 1), (0, 0.02), (3, 0.5), (-100, 15), (0.1, 0.3), (1, 0), (1e4, 1e-3)]
BOUNDS = [1, 2, 10, 97, 65536, 2**31, 2**32 - 1]


def fnv(words):
    """FNV-1a over whole 32-bit words."""
    h = 0xCBF29CE484222325
    for word in words:
        h = ((h ^ int(word)) * 0x100000001B3) % 2**64
    return h


def bits(values):
    return np.asarray(values, np.float32).view(np.uint32)


class Words:
    """NumPy's Mersenne Twister, and the normal draws of tensor/rng.h from it."""

    def seed(self, seed):
        self.twister = np.random.MT19937()
        self.twister._legacy_seeding(seed % 2**32)
        self.cached = None

    def take(self, n):
        return [int(word) for word in np.atleast_1d(self.twister.random_raw(n))] if n > 0 else []

    def double(self):
        high, low = self.take(2)
        return (high << 32 | low) % 2**53 * 2.0**-53

    def short(self):
        if self.cached is not None:
            cached, self.cached = self.cached, None
            return cached
        theta = 2 * math.pi * self.double()
        radius = math.sqrt(-2 * math.log1p(-self.double()))
        self.cached = radius * math.sin(theta)
        return radius * math.cos(theta)

    def block(self, mean, deviation):
        u = [np.float32(word % 2**24 * 2.0**-24) for word in self.take(16)]
        radius = [math.sqrt(-2 * math.log1p(-float(a))) for a in u[:8]]
        theta = [float(np.float32(2 * math.pi) * b) for b in u[8:]]
        mean, deviation = float(np.float32(mean)), float(np.float32(deviation))
        return [mean + deviation * r * turn(t) for turn in (math.cos, math.sin)
                for r, t in zip(radius, theta)]

    def normal(self, n, mean, deviation):
        if n < 16:
            return [mean + deviation * self.short() for _ in range(n)]
        values = sum((self.block(mean, deviation) for _ in range(n // 16)), [])
        if n % 16 > 0:
            self.take(n % 16)
            values[n - 16:] = self.block(mean, deviation)
        return values


pool, steps, groups = [], [], []
words = Words()


def sampled(kind, n):
    """Normals: at most 10, every (n / 8)-th and the last. Others: the last, since equal hashes will
    do."""
    stride = max(1, n // 8) if kind == 'RNG_NORMAL' else n
    return [i for i in range(n) if (i + 1) % stride == 0 or i == n - 1]


def store(kind, n, a, b, hashed, values):
    steps.append('{%s, %d, %s, %s, 0x%016xu, %d},'
                 % (kind, n, repr(a), repr(b), fnv(hashed), len(pool)))
    pool.extend(int(values[i]) for i in sampled(kind, n))


def seed(value):
    torch.manual_seed(value)
    words.seed(value)


def seed_again(value):
    seed(value)
    steps.append('{RNG_SEED, 0, 0, 0, 0, 0},')


def uniform(n, low, high):
    values = bits(torch.empty(n).uniform_(low, high).numpy())
    words.take(n)
    store('RNG_UNIFORM', n, low, high, values, values)


def normal(n, mean, deviation):
    values = torch.empty(n).normal_(mean, deviation).numpy()
    formula = np.array(words.normal(n, mean, deviation))
    rounding = np.spacing(np.abs(values)).astype(float)
    assert (np.abs(formula - values) <= 0.5e-6 * max(1, deviation) + rounding / 2).all()
    store('RNG_NORMAL', n, mean, deviation, bits(formula), bits(values))


def below(n, bound):
    values = torch.randint(0, bound, (n,)).numpy()
    words.take(n)
    store('RNG_BELOW', n, bound, 0, values, values)


def permutation(n):
    values = torch.randperm(n).numpy()
    words.take(n - 1)
    store('RNG_PERMUTATION', n, 0, 0, values, values)


def raw(n):
    """PyTorch shows no words: these are NumPy's. Only where PyTorch draws nothing afterwards."""
    values = words.take(n)
    store('RNG_BITS', n, 0, 0, values, values)


def stream(name, value, draws):
    """Draws in a row from one generator; seed_again starts it once more."""
    groups.append('{"%s", %du, false, %d, %d},' % (name, value, len(steps), len(draws)))
    seed(value)
    for draw, *arguments in draws:
        draw(*arguments)


def fresh(name, value, draws):
    """Each draw from a generator of its own."""
    groups.append('{"%s", %du, true, %d, %d},' % (name, value, len(steps), len(draws)))
    for draw, *arguments in draws:
        seed(value)
        draw(*arguments)


def every_length(k):
    """Every second seed with other ranges than the default."""
    for n in LENGTHS:
        yield (uniform, n, *RANGES[n % len(RANGES) if k % 2 else 0])
        yield (normal, n, *NORMALS[n % len(NORMALS) if k % 2 else 0])


WRITTEN = [
    (uniform, 3, -1, 1), (normal, 3, 0, 1), (normal, 20, 0, 1), (normal, 1, 10, 2),
    (normal, 1, 0, 1), (uniform, 700, 0, 1), (normal, 15, 0, 1), (normal, 16, 0, 1),
    (normal, 17, 0, 1), (normal, 2, 0, 0.5), (below, 5, 10), (normal, 1, -3, 0.1),
    (permutation, 12), (normal, 40, 0, 0.02), (normal, 7, 0, 1), (normal, 600, 0, 1),
    (normal, 5, 1, 2), (uniform, 1, 0, 1), (normal, 1, 0, 1), (normal, 1, 0, 1),
    (seed_again, 20),  # a value is cached here, and must be forgotten
    (normal, 1, 0, 1), (normal, 2, 0, 1)]


def mixed(choose):
    for _ in range(40):
        kind = choose.randrange(6)
        if kind == 0:
            yield (uniform, choose.choice([1, 2, 7, 100, 650]), *choose.choice(RANGES))
        elif kind == 1:
            yield (below, choose.choice([1, 9]), choose.choice(BOUNDS))
        elif kind == 2:
            yield (permutation, choose.choice([1, 2, 5, 30]))
        elif kind == 3:
            yield (normal, choose.randrange(16, 60), *choose.choice(NORMALS))
        else:
            yield (normal, choose.randrange(1, 16), *choose.choice(NORMALS))


def integers():
    for bound in BOUNDS:
        yield (below, 700, bound)
    for n in [0, 1, 2, 3, 4, 5, 10, 100, 623, 624, 625, 5000]:
        yield (permutation, n)
    yield (raw, 2000)


def write(path):
    rows = ['0x%08xu,' % word for word in pool]
    with open(path, 'w', newline='\n') as out:
        out.write('/* Made by make_rng.py, which says what this is. */\n/* clang-format off */\n')
        out.write('static const rng_group rng_groups[] = {\n%s\n};\n' % '\n'.join(groups))
        out.write('static const rng_step rng_steps[] = {\n%s\n};\n' % '\n'.join(steps))
        out.write('static const uint32_t rng_pool[] = {\n')
        for i in range(0, len(rows), 9):
            out.write(' '.join(rows[i:i + 9]) + '\n')
        out.write('};\n/* clang-format on */\n')


def main():
    for k, value in enumerate(SEEDS):
        fresh('every length', value, list(every_length(k)))
    stream('written', 20, WRITTEN)
    for number in range(6):
        choose = random.Random(number)
        stream('mixed', choose.randrange(2**64), list(mixed(choose)))
    for value in SEEDS[::3]:
        fresh('integers', value, list(integers()))
    write(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'rng_values.h'))


main()
