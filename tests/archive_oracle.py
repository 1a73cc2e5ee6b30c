#!/usr/bin/env python3
"""NumPy and Python's zipfile, asked about the archives that check_archive.c writes.

    archive_oracle.py verify ARCHIVE               is it what check_archive.c means it to be?
    archive_oracle.py resave ARCHIVE STORED DEFLATED   what numpy.savez makes of what it holds
"""

import sys
import zipfile

import numpy as np


def expected():
    """The arrays of `write_sample` in check_archive.c."""
    steps = np.arange(12, dtype="f8")
    yield "param/blocks.0.attention.query", ((steps - 5) / 8).astype("f4").reshape(3, 4)
    yield "special", np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308])
    yield "ids", np.array([-(2**31), -1, 0, 2**31 - 1], dtype="i4")
    yield "large", np.array([-(2**63), 2**63 - 1], dtype="i8").reshape(2, 1)
    yield "bytes", np.arange(256, dtype="u1")
    yield "words", np.array([b"the", b"a", b"attention"], dtype="S9")
    yield "empty", np.zeros((0, 3), dtype="f4")
    yield "rank6", np.arange(64, dtype="f8").reshape(2, 2, 2, 2, 2, 2)
    yield "step", np.array(3000, dtype="i8")
    yield "rate", np.array(0.1)
    yield "text", np.array("größe\n".encode())
    yield "no text", np.array(b"")
    yield "größe", np.array(7, dtype="i8")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def verify(path):
    with np.load(path) as read:
        wanted = dict(expected())
        assert read.files == list(wanted), read.files
        for name, array in wanted.items():
            assert same(read[name], array), f"{name}: {read[name]!r} is not {array!r}"
    with zipfile.ZipFile(path) as container:
        assert container.testzip() is None
        assert container.comment == b""
        for entry in container.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert entry.compress_type == zipfile.ZIP_DEFLATED
            assert entry.flag_bits == (0 if entry.filename.isascii() else 0x800)
            assert (entry.create_system, entry.create_version, entry.extract_version) == (0, 20, 20)
            assert (entry.extra, entry.comment, entry.external_attr) == (b"", b"", 0)
            with container.open(entry) as content:
                start = content.read(10)
                assert start[:8] == b"\x93NUMPY\1\0"
                assert (10 + int.from_bytes(start[8:], "little")) % 64 == 0


def resave(path, stored, deflated):
    with np.load(path) as read:
        arrays = {name: read[name] for name in read.files}
    np.savez(stored, **arrays)
    np.savez_compressed(deflated, **arrays)


if __name__ == "__main__":
    {"verify": verify, "resave": resave}[sys.argv[1]](*sys.argv[2:])
