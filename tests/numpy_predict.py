#!/usr/bin/env python3
"""NumPy, asked about what predict prints: an independent forward pass in double precision.

    numpy_predict.py CHECKPOINT OUTPUT

OUTPUT is what `predict --all` has printed for sentences of a pipe. Every list of it is compared: the
words, their order and their numbers, and that nothing is left out that has at least 0.0005.
"""

import sys

import numpy as np

LEAST = 0.0005
BAR_DECIMALS, LIST_DECIMALS = 4, 3
FLOAT = 1e-5  # single precision, besides the rounding of what is printed
MOST = 10


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def forward(arrays, ids):
    """The attention weights (T, T) of each block, and the distributions (T, words)."""
    p = {name[6:]: array.astype("f8") for name, array in arrays.items() if name[:6] == "param/"}
    x = p["embedding.token"][ids] + p["embedding.position"][: len(ids)]
    attention = []
    for i in range(int(arrays["config/layers"])):
        block = {name.split(".", 2)[2]: array for name, array in p.items()
                 if name.startswith(f"blocks.{i}.")}
        key = x @ block["attention.key"]
        scores = x @ block["attention.query"] @ key.T / np.sqrt(key.shape[1])
        scores[np.triu_indices(len(ids), 1)] = -np.inf
        attention.append(softmax(scores))
        x = x + attention[-1] @ x @ block["attention.value"] @ block["attention.output"]
        inner = np.maximum(x @ block["feed_forward.w1"] + block["feed_forward.b1"], 0)
        x = x + inner @ block["feed_forward.w2"] + block["feed_forward.b2"]
    return attention, softmax(x @ p["unembedding"])


def check_numbers(row, printed, decimals, most):
    """`printed`: (place, number) as they stand. `most`: how many there was room for, at the most."""
    error = 0.5 * 10.0**-decimals + FLOAT
    for place, number in printed:
        assert abs(row[place] - number) <= error, (place, row[place], number)
    numbers = [row[place] for place, _ in printed]
    assert all(a >= b - FLOAT for a, b in zip(numbers, numbers[1:])), numbers
    missing = np.delete(row, [place for place, _ in printed])
    if len(printed) < most and len(missing) > 0:
        assert missing.max() < LEAST + FLOAT, missing
    elif len(missing) > 0:
        assert missing.max() <= numbers[-1] + FLOAT, missing
    assert all(number >= LEAST - FLOAT for number in numbers), numbers


def check_bars(lines, words, row):
    """"  slow        0.9998  ####" and at the end "  (8 others)  0.0002"."""
    printed, rest, left = [], 0, 0
    columns = lines[0].index("0." if "0." in lines[0] else "1.")
    full = 80 - columns - 6 - 2
    for line in lines:
        assert line[: columns - 2].rstrip() == line[:columns].rstrip(), line
        number, bar = line[columns:columns + 6], line[columns + 8:]
        assert bar == "#" * len(bar) and abs(len(bar) - float(number) * full) < 0.51, line
        if line.startswith("  ("):
            assert line is lines[-1]
            left, rest = int(line.split()[0][1:]), float(number)
        else:
            printed.append((words.index(line[2:columns].strip()), float(number)))
    check_numbers(row, printed, BAR_DECIMALS, MOST)
    assert left == len(words) - len(printed), (left, len(printed))
    total = rest + sum(number for _, number in printed)
    assert abs(total - 1) <= 0.5e-4 * len(lines) + FLOAT, total


def check_list(lines, sentence, rows, place_of, per_entry):
    """"   0 the       rise    0.500   fall    0.500": `per_entry` words and a number, repeated."""
    assert len(lines) == len(sentence)
    start = 2 + len(str(len(sentence) - 1)) + 1 + max(map(len, sentence))
    for i, line in enumerate(lines):
        fields = line.split()
        assert fields[:2] == [str(i), sentence[i]], line
        entries = [fields[k:k + per_entry + 1] for k in range(2, len(fields), per_entry + 1)]
        printed = [(place_of(entry[:-1]), float(entry[-1])) for entry in entries]
        width, odd = divmod(len(line) - start, len(entries))
        assert odd == 0, line
        check_numbers(rows[i], printed, LIST_DECIMALS, min(MOST, (80 - start) // width))


def check_sentence(arrays, text):
    words = [word.decode() for word in arrays["vocabulary"]]
    head, bars, title, follow, *rest = text.split("\n\n")
    sentence = head.split()
    assert sentence.pop() == "..." and title == "What may follow each word"
    attention, distributions = forward(arrays, [words.index(word) for word in sentence])
    check_bars(bars.split("\n"), words, distributions[-1])
    check_list(follow.split("\n"), sentence, distributions, lambda e: words.index(e[0]), 1)

    def place_of(entry):
        assert sentence[int(entry[0])] == entry[1], entry
        return int(entry[0])

    assert len(rest) == 2 * len(attention)
    for i, weights in enumerate(attention):
        block = f", block {i}" if len(attention) > 1 else ""
        assert rest[2 * i] == "What each word attends to" + block, rest
        check_list(rest[2 * i + 1].split("\n"), sentence, weights, place_of, 2)


def main(checkpoint, output):
    with np.load(checkpoint) as archive:
        arrays = {name: archive[name] for name in archive.files}
    with open(output, encoding="utf-8") as file:
        texts = file.read().rstrip("\n").split("\n\n\n")
    for text in texts:
        check_sentence(arrays, text)
    print(len(texts), "sentences")


if __name__ == "__main__":
    main(*sys.argv[1:])
