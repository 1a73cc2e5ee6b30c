#!/usr/bin/env python3
"""NumPy, asked about a run of train_example: an independent forward pass in double precision.

    numpy_forward.py CHECKPOINT SUMMARY [STORED]

Checks the arrays of the checkpoint by name, type and shape, computes the loss over the eight
sentences, what the article claims, and the checksum, and compares them with the summary. Where
STORED is given, what numpy.savez makes of the arrays goes there, so that training can go on from a
file that NumPy wrote.
"""

import json
import sys
import zlib

import numpy as np

WORDS = "the rise of machine was slow but fall fast".split()
CLAUSES = [("rise", "slow"), ("fall", "fast")]

# rows, columns
PARAMETERS = {
    "embedding.token": (9, 6),
    "embedding.position": (14, 6),
    "blocks.0.attention.query": (6, 6),
    "blocks.0.attention.key": (6, 6),
    "blocks.0.attention.value": (6, 6),
    "blocks.0.attention.output": (6, 6),
    "blocks.0.feed_forward.w1": (6, 12),
    "blocks.0.feed_forward.b1": (12,),
    "blocks.0.feed_forward.w2": (12, 6),
    "blocks.0.feed_forward.b2": (6,),
    "unembedding": (6, 9),
}

SETTINGS = {
    "adam": ["rate", "beta1", "beta2", "epsilon", "weight_decay"],
    "sgd": ["rate", "momentum"],
}
STATES = {"adam": ["first_moment", "second_moment"], "sgd": ["velocity"]}
CONFIG = dict(vocabulary=9, context=14, width=6, key_width=6, hidden=12, layers=1)

LOSS_TOLERANCE = 1e-5
CLAIM_TOLERANCE = 1e-4

PLATEAU = 32 * np.log(2) / 88


def bounds_of(claim):
    """Within which the article's numbers count as reached."""
    if claim == "loss_at_plateau":
        return PLATEAU - 0.001, PLATEAU + 0.001
    if claim.startswith("attention_"):
        return 0.9, 1
    return (0.99, 1) if claim in ("p_slow_at_5", "p_fast_at_13") else (0.47, 0.53)


def expected_arrays(optimizer):
    """The names, types and shapes that the head of train/checkpoint.h lists."""
    for name, shape in PARAMETERS.items():
        yield f"param/{name}", "<f4", shape
        for state in STATES[optimizer]:
            yield f"optimizer/{state}/{name}", "<f4", shape
    for setting in SETTINGS[optimizer]:
        yield f"optimizer/{setting}", "<f8", ()
    yield "optimizer/name", f"|S{len(optimizer)}", ()
    yield "optimizer/steps", "<i8", ()
    for name in ["step", "seed", "rng/next", "rng/has_cached", "data/position"]:
        yield name, "<i8", ()
    yield "rng/words", "<i8", (624,)
    yield "rng/cached", "<f8", ()
    yield "vocabulary", f"|S{max(map(len, WORDS))}", (9,)
    for name in CONFIG:
        yield f"config/{name}", "<i8", ()


def check_arrays(arrays):
    optimizer = arrays["optimizer/name"].item().decode()
    expected = {name: (dtype, shape) for name, dtype, shape in expected_arrays(optimizer)}
    found = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    recipe = found.pop("recipe")
    assert recipe[0].startswith("|S") and recipe[1] == (), recipe
    assert found == expected, set(found.items()) ^ set(expected.items())
    assert [word.decode() for word in arrays["vocabulary"]] == WORDS, arrays["vocabulary"]
    for name, value in CONFIG.items():
        assert arrays[f"config/{name}"] == value, name
    assert 1 <= arrays["rng/next"] <= 624
    assert arrays["rng/words"].min() >= 0 and arrays["rng/words"].max() < 2**32
    print(f"{len(found)} arrays as expected, step {arrays['step']}, {optimizer}")


def sentences():
    """Both orders of the clauses, each with and without "of the machine"."""
    for first, second in [CLAUSES, CLAUSES[::-1]]:
        for long in [(a, b) for a in (False, True) for b in (False, True)]:
            words = []
            for (noun, adjective), is_long in zip((first, second), long):
                words += ["but"] if words else []
                words += ["the", noun] + (["of", "the", "machine"] if is_long else [])
                words += ["was", adjective]
            yield [WORDS.index(word) for word in words]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def forward(p, ids):
    """Attention weights (T, T) and predictions (T, 9) of the ids but the last."""
    ids = ids[:-1]
    x = p["embedding.token"][ids] + p["embedding.position"][: len(ids)]
    query, key, value, output = (p[f"blocks.0.attention.{name}"]
                                 for name in ("query", "key", "value", "output"))
    scores = (x @ query) @ (x @ key).T / np.sqrt(key.shape[1])
    scores[np.triu_indices(len(ids), 1)] = -np.inf
    weights = softmax(scores)
    hidden = x + weights @ (x @ value) @ output
    w1, b1, w2, b2 = (p[f"blocks.0.feed_forward.{name}"] for name in ("w1", "b1", "w2", "b2"))
    y = hidden + np.maximum(hidden @ w1 + b1, 0) @ w2 + b2
    return weights, softmax(y @ p["unembedding"])


def loss_of(p):
    losses = []
    for ids in sentences():
        predictions = forward(p, ids)[1]
        losses += [-np.log(predictions[i, ids[i + 1]]) for i in range(len(ids) - 1)]
    assert len(losses) == 88, len(losses)
    return np.mean(losses)


def claims_of(p):
    article = "the rise of the machine was slow but the fall of the machine was fast".split()
    attention, predictions = forward(p, [WORDS.index(word) for word in article])
    for word, place in [("slow", 5), ("fast", 13), ("rise", 0), ("fall", 0), ("of", 1),
                        ("was", 1), ("rise", 8), ("fall", 8), ("of", 9), ("was", 9)]:
        yield f"p_{word}_at_{place}", predictions[place, WORDS.index(word)]
    yield "attention_5_on_rise", attention[5, 1]
    yield "attention_13_on_fall", attention[13, 9]
    yield "loss_at_plateau", loss_of(p)


def compare(name, ours, theirs, tolerance):
    print(f"{name:22} {ours:.9f}  summary {theirs:.9f}")
    assert abs(ours - theirs) <= tolerance, name


def main(checkpoint, summary, stored=None):
    with np.load(checkpoint) as archive:
        arrays = {name: archive[name] for name in archive.files}
    with open(summary, encoding="ascii") as file:
        made = json.load(file)
    check_arrays(arrays)
    raw = b"".join(arrays[f"param/{name}"].tobytes() for name in PARAMETERS)
    checksum = f"{zlib.crc32(raw):08x}"
    assert made["parameters_crc32"] == checksum, checksum
    assert made["seed"] == arrays["seed"] and made["steps"] == arrays["step"]
    p = {name: arrays[f"param/{name}"].astype("f8") for name in PARAMETERS}
    compare("loss", loss_of(p), made["final_loss"], LOSS_TOLERANCE)
    claims = dict(claims_of(p))
    assert [check["name"] for check in made["checks"]] == list(claims)
    for check in made["checks"]:
        compare(check["name"], claims[check["name"]], check["value"], CLAIM_TOLERANCE)
        low, high = bounds_of(check["name"])
        assert check["holds"] == (low <= check["value"] <= high), check
    assert made["all_hold"] == all(check["holds"] for check in made["checks"])
    if stored is not None:
        np.savez(stored, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
