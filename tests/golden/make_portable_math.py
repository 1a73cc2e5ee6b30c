#!/usr/bin/python3
"""Writes portable_math_values.h: what tensor/portable_math.c gives, to the bit.

The formulas are evaluated by Python, whose floats are IEEE 754 doubles and whose sums and products
no compiler fuses or reorders. The hashes are FNV-1a over 64-bit words of the results."""

import math
import os
import struct

COUNT = 20000


def polynomial(x, c):
    total = c[-1]
    for value in c[-2::-1]:
        total = total * x + value
    return total


def log(x):
    m, exponent = math.frexp(x)
    if m < float.fromhex('0x1.6a09e667f3bcdp-1'):
        m, exponent = m * 2, exponent - 1
    f = m - 1
    s = f / (2 + f)
    r = s * s * polynomial(s * s, [2 / k for k in range(3, 22, 2)])
    high, low = float.fromhex('0x1.62e42fefa3p-1'), float.fromhex('0x1.3de6af278ece6p-42')
    return exponent * high - ((s * (f - r) - exponent * low) - f)


def sine_near_zero(r):
    square = r * r
    series = [(-1) ** k / math.factorial(2 * k + 1) for k in range(1, 9)]
    return r + r * (square * polynomial(square, series))


def cosine_near_zero(r):
    square = r * r
    half = 0.5 * square
    head = 1 - half
    lost = (1 - head) - half
    series = [(-1) ** k / math.factorial(2 * k) for k in range(2, 9)]
    return head + (lost + square * square * polynomial(square, series))


def sine_cosine(x):
    q = int(x * float.fromhex('0x1.45f306dc9c883p-1') + 0.5)
    r = x
    for part in ('0x1.921fb54442dp+0', '0x1.8469898cc516p-48', '0x1.01b839a25204ap-96'):
        r = r - q * float.fromhex(part)
    s, c = sine_near_zero(r), cosine_near_zero(r)
    return [(s, c), (c, -s), (-s, -c), (-c, s)][q % 4]


def uniforms():
    """Multiples of 2^-53 in [0, 1) from a linear congruential generator."""
    state = 1
    for _ in range(COUNT):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 11) * 2.0**-53


def fnv(values):
    h = 0xCBF29CE484222325
    for value in values:
        h = ((h ^ struct.unpack('<Q', struct.pack('<d', value))[0]) * 0x100000001B3) % 2**64
    return h


def main():
    pairs = [sine_cosine(math.tau * u) for u in uniforms()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'portable_math_values.h')
    with open(path, 'w', newline='\n') as out:
        out.write('/* Made by make_portable_math.py, which says what this is. */\n'
                  '/* clang-format off */\n'
                  'enum { HASHED_VALUES = %d };\n' % COUNT)
        for name, values in [('log', [log(1 - u) for u in uniforms()]),
                             ('sine', [sine for sine, _ in pairs]),
                             ('cosine', [cosine for _, cosine in pairs])]:
            out.write('static const uint64_t %s_hash = 0x%016xu;\n' % (name, fnv(values)))
        out.write('/* clang-format on */\n')


main()
