#!/usr/bin/env python3
"""Writes the stored archives of check_archive.c: python3 tests/golden/make_archive.py

archive_stored.npz and archive_deflated.npz are NumPy's own, the same arrays twice;
archive_foreign.npz has what other writers do differently and is still right. archive_bad.txt has one
malformed archive to a line: what is wrong, words that the message must have, the file in hex.

Needs NumPy 1.24 or newer.
"""

import io
import pathlib
import struct
import warnings
import zipfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).parent


def arrays():
    return {
        "real/matrix": (np.arange(6, dtype="f4").reshape(2, 3) - 2) / 8,
        "real/special": np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028234e38], dtype="f4"),
        "double/pi": np.array(np.pi),
        "double/rank6": np.arange(64, dtype="f8").reshape(2, 2, 2, 2, 2, 2) / 3,
        "int/small": np.array([-(2**31), -1, 0, 2**31 - 1], dtype="i4"),
        "int/large": np.array(-(2**63), dtype="i8"),
        "byte/all": np.arange(256, dtype="u1"),
        "bool": np.array([True, False, True]),
        "words": np.array([b"the", b"a", b"attention"], dtype="S9"),
        "empty": np.zeros((0, 3), dtype="f4"),
        "fortran/vector": np.asfortranarray(np.array([1, 2, 3], dtype="i8")),
        "größe": np.array(1.5, dtype="f4"),
    }


# ---- ZIP files by hand, so that everything in them can be wrong ----


def npy(text="{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", data=None, version=1):
    """An .npy with this header text, padded as NumPy does unless it ends in a line feed."""
    data = np.arange(3, dtype="<f4").tobytes() if data is None else data
    length = 2 if version == 1 else 4
    text = text.encode("latin1")
    if not text.endswith(b"\n"):
        text += b" " * (-(8 + length + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(length, "little") + text + data


def deflate(content):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


class Entry:
    """One entry; every keyword argument is a lie or an oddity."""

    def __init__(self, content=None, name="a.npy", **odd):
        content = npy() if content is None else content
        self.name = name if isinstance(name, bytes) else name.encode()
        self.data = odd.pop("data", deflate(content))
        self.fields = {
            "version": 20,
            "flags": 0,
            "method": 8,
            "crc": zlib.crc32(content),
            "compressed": len(self.data),
            "size": len(content),
        }
        self.offset = odd.pop("offset", None)
        self.before = odd.pop("before", b"")
        self.local = {"extra": b""}
        self.central = {"extra": b"", "comment": b"", "disk": 0}
        for key, value in odd.items():
            side, _, field = key.partition("_")
            if side == "both":
                self.fields[field] = value
            else:
                getattr(self, side)[field] = value

    def record(self, side):
        got = {"name": self.name, **self.fields, **side}
        return got, struct.pack(
            "<HHHHHIIIHH",
            got["version"], got["flags"], got["method"], 0, 0x21, got["crc"], got["compressed"],
            got["size"], len(got["name"]), len(got["extra"]),
        )  # fmt: skip


def build(*entries, count=None, before_directory=b"", before_end=b"", end=None, behind=b"", swap=False):
    body, directory = b"", []
    for entry in entries:
        body += entry.before
        offset = len(body) if entry.offset is None else entry.offset
        got, fields = entry.record(entry.local)
        if entry.offset is None:
            body += b"PK\3\4" + fields + got["name"] + got["extra"] + entry.data
        got, fields = entry.record(entry.central)
        directory.append(
            b"PK\1\2" + b"\x14\0" + fields
            + struct.pack("<HHHII", len(got["comment"]), got["disk"], 0, 0, offset)
            + got["name"] + got["extra"] + got["comment"]
        )  # fmt: skip
    if swap:
        directory.reverse()
    directory = b"".join(directory)
    body += before_directory
    count = len(entries) if count is None else count
    record = {"disk": 0, "start": 0, "here": count, "all": count, "size": len(directory),
              "offset": len(body), "comment": b"", **(end or {})}  # fmt: skip
    tail = b"PK\5\6" + struct.pack(
        "<HHHHIIH", record["disk"], record["start"], record["here"], record["all"], record["size"],
        record["offset"], len(record["comment"]),
    )  # fmt: skip
    return body + directory + before_end + tail + record["comment"] + behind


def zip64(size, compressed):
    return struct.pack("<HHQQ", 1, 16, size, compressed)


def with_zipfile(compression, stream=None):
    stream = stream or io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as made:
        made.writestr(zipfile.ZipInfo("a.npy"), npy(), compression)
    return stream.getvalue()


class Pipe(io.BytesIO):
    """A stream that cannot seek makes zipfile write data descriptors."""

    def seekable(self):
        return False

    def seek(self, *_):
        raise OSError

    def tell(self):
        raise OSError


def with_savez(**given):
    stream = io.BytesIO()
    np.savez(stream, **given)
    return stream.getvalue()


def bad_containers():
    good, n, c = npy(), len(npy()), len(deflate(npy()))
    plain = build(Entry())
    yield "nothing", "too few", b""
    yield "text", "no end record", b"epoch,loss\n" * 9
    yield "a lone .npy", "no end record", good
    yield "only signatures", "too few", b"PK\3\4PK\1\2PK\5\6"
    yield "leading junk", "not where the end record says", b"#!/bin/sh\n" + plain
    yield "trailing junk", "no end record", plain + b"\0"
    yield "two files joined", "not where the end record says", plain + plain
    yield "archive comment", "no end record", build(Entry(), end={"comment": b"hello"})
    yield "comment claimed, but not there", "no end record", plain[:-2] + b"\1\0"
    yield "comment that ends as an end record does", "not where", build(Entry(), end={"comment": plain})
    yield "gap before the first entry", "does not begin where", build(Entry(before=b"x"))
    yield "gap between entries", "does not begin where", build(Entry(), Entry(name="b.npy", before=b"x"))
    yield "gap before the directory", "between entries and directory", build(Entry(), before_directory=b"xy")
    yield "gap behind the directory", "not where", build(Entry(), before_end=b"x")
    yield "gap counted to the directory", "behind the last directory entry", build(
        Entry(), before_end=b"x", end={"size": 46 + 5 + 1})
    yield "hidden entry", "behind the last directory entry", build(Entry(), Entry(name="b.npy"), count=1)
    yield "entry missing", "no directory entry", build(Entry(name="x" * 60 + ".npy"), count=2)
    yield "second entry cut to its signature", "no directory entry", build(
        Entry(name="x" * 60 + ".npy"), count=2, before_end=b"PK\1\2", end={"size": 46 + 64 + 4})
    yield "more entries than fit", "3 entries in a directory", build(Entry(), Entry(name="b.npy"), count=3)
    yield "no entries counted", "behind the last directory entry", build(Entry(), count=0)
    yield "two entries share their data", "does not begin where", build(Entry(), Entry(offset=0))
    yield "directory in another order", "does not begin where", build(Entry(), Entry(name="b.npy"), swap=True)
    yield "no local header", "no local header", b"QK" + plain[2:]
    yield "no room for a local header", "no local header", build(Entry(), Entry(name="b.npy", offset=30 + 5 + c))
    short = build(Entry(), end={"size": 46 + 4})
    yield "directory entry cut", "inside an entry", short[:-23] + short[-22:]
    yield "several disks", "several disks", build(Entry(), end={"disk": 1})
    yield "directory on another disk", "several disks", build(Entry(), end={"start": 1})
    yield "entries on another disk", "several disks", build(Entry(), end={"here": 0})
    yield "entry on another disk", "several disks", build(Entry(central_disk=1))
    yield "zip64 count", "zip64", build(Entry(), count=0xFFFF)
    yield "zip64 directory", "zip64", build(Entry(), end={"offset": 0xFFFFFFFF})
    yield "zip64 directory size", "zip64", build(Entry(), end={"size": 0xFFFFFFFF})
    yield "zip64 compressed size", "zip64", build(Entry(both_compressed=0xFFFFFFFF))
    yield "zip64 locator", "zip64", build(Entry(), before_end=b"PK\6\7" + bytes(16))
    yield "zip64 entry", "zip64", build(
        Entry(both_size=0xFFFFFFFF, both_compressed=0xFFFFFFFF, local_extra=zip64(n, c),
              central_extra=zip64(n, c)))
    for what, size, compressed in (("size", n + 1, c), ("compressed size", n, c + 1)):
        yield f"local zip64 with another {what}", "disagree", build(
            Entry(local_size=0xFFFFFFFF, local_compressed=0xFFFFFFFF, local_extra=zip64(size, compressed)))
    yield "local zip64 sizes without the field", "disagree", build(
        Entry(local_size=0xFFFFFFFF, local_compressed=0xFFFFFFFF))
    yield "local zip64 field of another length", "disagree", build(
        Entry(local_size=0xFFFFFFFF, local_compressed=0xFFFFFFFF, local_extra=struct.pack("<HHQ", 1, 8, n)))
    yield "local zip64 field cut", "disagree", build(
        Entry(local_size=0xFFFFFFFF, local_compressed=0xFFFFFFFF, local_extra=zip64(n, c)[:-1]))
    yield "encrypted", "encrypted", build(Entry(both_flags=1))
    yield "data descriptor", "data descriptors", with_zipfile(zipfile.ZIP_DEFLATED, Pipe())
    yield "patched data", "newer", build(Entry(both_flags=0x20))
    yield "version 6.3", "newer", build(Entry(both_version=63))
    yield "bzip2", "another way than deflate", with_zipfile(zipfile.ZIP_BZIP2)
    yield "lzma", "another way than deflate", with_zipfile(zipfile.ZIP_LZMA)
    yield "entry comment", "comments", build(Entry(central_comment=b"x"))
    yield "local flags", "disagree", build(Entry(local_flags=2))
    yield "local method", "disagree", build(Entry(local_method=0))
    yield "local crc", "disagree", build(Entry(local_crc=1))
    yield "local size", "disagree", build(Entry(local_size=n + 1))
    yield "local compressed size", "disagree", build(Entry(local_compressed=c - 1))
    yield "local name", "disagree", build(Entry(local_name=b"b.npy"))
    yield "local name longer", "disagree", build(Entry(local_name=b"aa.npy"))
    yield "data into the directory", "reaches into", build(Entry(both_compressed=c + 1))
    yield "wrong checksum", "checksum", build(Entry(both_crc=zlib.crc32(good) ^ 1))
    yield "stored with two sizes", "two sizes", build(Entry(data=good, both_method=0, both_size=n - 1))
    yield "stored with a wrong checksum", "checksum", build(Entry(data=good, both_method=0, both_crc=0))
    yield "more than deflate can hold", "claims more", build(Entry(both_size=1032 * (c + 1)))
    yield "deflated to more than claimed", "for 3 elements", build(Entry(npy(data=bytes(16)), both_size=n + 3))
    yield "header that claims more than the entry", "for 100 elements", build(
        Entry(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }")))
    yield "one byte more than claimed", "holds more", build(Entry(data=deflate(good + b"x")))
    yield "a million zeros more than claimed", "holds more", build(Entry(data=deflate(good + bytes(10**6))))
    yield "one byte fewer than claimed", "ends too early", build(Entry(data=deflate(good[:-1])))
    yield "bytes behind the deflated data", "behind its deflated", build(Entry(data=deflate(good) + b"x"))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    yield "no last block", "no end", build(Entry(data=packer.compress(good) + packer.flush(zlib.Z_SYNC_FLUSH)))
    yield "half of the deflated data", "ends too early", build(Entry(data=deflate(good)[: c // 2]))
    yield "zlib's header", "corrupt", build(Entry(data=zlib.compress(good)))
    yield "illegal block type", "corrupt", build(Entry(data=b"\7" + deflate(good)[1:]))
    yield "no content", "ends too early", build(Entry(b""))
    yield "no data at all", "ends too early", build(Entry(b"", data=b""))


def bad_names():
    yield "same name twice", 'two arrays are called "a"', build(Entry(), Entry())
    for name, words in (
        ("../a.npy", 'part "." or ".."'),
        ("a/../b.npy", 'part "." or ".."'),
        ("./a.npy", 'part "." or ".."'),
        ("a/...npy", 'part "." or ".."'),
        ("/a.npy", "empty part"),
        ("a//b.npy", "empty part"),
        ("a/.npy", "empty part"),
        (".npy", "is empty"),
        ("", "not an .npy"),
        ("a", "not an .npy"),
        ("a.npy.txt", "not an .npy"),
        ("directory/", "not an .npy"),
        ("a\\b.npy", "backslash"),
        ("a\nb.npy", "control character"),
        (b"a\0b.npy", "control character"),
        ("\x7f.npy", "control character"),
        ("x" * 256 + ".npy", "255 bytes"),
        ("é.npy", "not ASCII"),
    ):
        yield f"name {name[:20]!r}", words, build(Entry(name=name))
    for name, words in (
        (b"\xe9.npy", "not UTF-8"),
        (b"\xc3.npy", "not UTF-8"),
        (b"\xc0\xaf.npy", "not UTF-8"),
        (b"\xe0\x80\xaf.npy", "not UTF-8"),
        (b"\xed\xa0\x80.npy", "not UTF-8"),
        (b"\xf4\x90\x80\x80.npy", "not UTF-8"),
        (b"\xf8\x88\x80\x80\x80.npy", "not UTF-8"),
        (b"\x80.npy", "not UTF-8"),
        ("\x9b.npy".encode(), "control character"),
    ):
        yield f"marked as UTF-8: {name!r}", words, build(Entry(name=name, both_flags=0x800))


def bad_arrays():
    def text(descr="'<f4'", order="False", shape="(3,)"):
        return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"

    yield "big-endian", "big-endian", with_savez(a=np.arange(3, dtype=">f4"))
    yield "objects", "Python objects", with_savez(a=np.array([None, {}], dtype=object))
    yield "structured", "structured", with_savez(a=np.zeros(3, dtype=[("x", "f4"), ("y", "i4")]))
    yield "Fortran order", "Fortran order", with_savez(a=np.asfortranarray(np.ones((2, 3))))
    yield "rank 7", "TG_MAX_RANK", with_savez(a=np.zeros((1,) * 7))
    for descr in ("f2", "c8", "i1", "i2", "u2", "u4", "u8", "U3", "M8[s]", "V3"):
        yield f"type {descr}", "a type other than", with_savez(a=np.zeros(3, dtype=descr))
    for shape in ("3", "(3)", "[3]", "(,)", "(3,,)", "(3 3)", "(-3,)", "(+3,)", "(3.0,)", "(03,)", "(3L,)",
                  "(3,", "(0x3,)", "((3,),)", "(9223372036854775808,)", "None", ""):  # fmt: skip
        yield f"shape {shape}", "shape is malformed", build(Entry(npy(text(shape=shape))))
    yield "shape of too many elements", "INT64_MAX", build(Entry(npy(text(shape="(4294967296, 4294967296)"))))
    yield "bytes that wrap", "for 4611686018427387904 elements", build(
        Entry(npy(text(shape="(4611686018427387904,)"), data=b"")))
    yield "bytes that wrap to what is there", "elements of 4", build(
        Entry(npy(text(shape="(4611686018427387907,)"))))
    for descr in ("'<f4", "<f4", "\"<f4\"", "'f4'", "'=f4'", "'<f4 '", "'<f44'", "__import__('os')", "", "None"):
        yield f"descr {descr}", "a type other than", build(Entry(npy(text(descr=descr))))
    for descr in ("'|S0'", "'|S'", "'|S-1'", "'|S4294967296'", "'|S99999999999999999999'", "'|S03'", "'|S3"):
        yield f"descr {descr}", "no legal width", build(Entry(npy(text(descr=descr))))
    for order in ("true", "1", "None", "'True'", ""):
        yield f"fortran_order {order}", "neither True nor False", build(Entry(npy(text(order=order))))
    whole = text()
    for header, words in (
        ("", "malformed"),
        ("{}", "lacks a key"),
        ("{'descr': '<f4', 'shape': (3,)}", "lacks a key"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'descr': '<f4'}", "key twice"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "unknown key"),
        ("{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}", "malformed"),
        ("{'descr' '<f4', 'fortran_order': False, 'shape': (3,)}", "malformed"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "malformed"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,),, }", "unknown key"),
        (whole + ".clear()", "line feed"),
        (whole + "\n" + whole + "\n", "line feed"),
        (whole + "\n\n", "line feed"),
        (whole + "\t", "line feed"),
    ):
        yield f"header {header!r}", words, build(Entry(npy(header)))
    good = npy()
    yield "no line feed", "line feed", build(Entry(good[:127] + b" " + good[128:]))
    yield "magic", "no .npy", build(Entry(b"\x94" + good[1:]))
    yield "version 0", "no .npy", build(Entry(good[:6] + b"\0" + good[7:]))
    yield "version 4", "no .npy", build(Entry(good[:6] + b"\4" + good[7:]))
    yield "version 1.1", "no .npy", build(Entry(good[:7] + b"\1" + good[8:]))
    yield "magic alone", "ends too early", build(Entry(good[:8]))
    yield "length cut", "ends too early", build(Entry(good[:9]))
    yield "header cut", "ends too early", build(Entry(good[:100]))
    yield "header of 4097 bytes", "4097 bytes", build(Entry(npy(whole.ljust(4096) + "\n")))
    yield "header of 4 GB", "4294967295 bytes", build(Entry(npy(version=2)[:8] + b"\xff" * 4 + npy(version=2)[12:]))
    yield "one element too few", "for 3 elements of 4", build(Entry(npy(data=bytes(8))))
    yield "one element too many", "for 3 elements of 4", build(Entry(npy(data=bytes(16))))
    yield "one byte too many", "for 3 elements of 4", build(Entry(npy(data=bytes(13))))
    yield "elements where there are none", "for 0 elements", build(Entry(npy(text(shape="(0, 3)"))))


def foreign():
    """Right, if unusual: versions, key orders, spacing, extra fields, a stored entry with a zip64
    field, the version 4.5 of newer Pythons, the flags of a compressor that tried hard."""
    data = np.arange(3, dtype="<f4").tobytes()
    tight = "{'shape':(3,),'descr':'<f4','fortran_order':False}"
    loose = "{ 'fortran_order' : True , 'descr' : '<f4' , 'shape' : ( 3 , ) , }"
    time = struct.pack("<HHBI", 0x5455, 5, 1, 1234567890)
    content = npy()
    n = len(content)
    return build(
        Entry(npy(version=2), "version2.npy"),
        Entry(npy(version=3), "version3.npy"),
        Entry(npy(tight + "\n", data), "tight.npy"),
        Entry(npy(loose, data), "loose.npy"),
        Entry(npy(tight + " " * 3000), "long.npy"),
        Entry(content, "time.npy", local_extra=time + bytes([1, 0, 0, 0]), central_extra=time),
        Entry(content, "stored.npy", data=content, both_method=0, both_version=45,
              local_size=0xFFFFFFFF, local_compressed=0xFFFFFFFF, local_extra=time + zip64(n, n)),
        Entry(content, "hard.npy", both_flags=6, both_version=10),
    )  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    np.savez(HERE / "archive_stored.npz", **arrays())
    np.savez_compressed(HERE / "archive_deflated.npz", **arrays())
    (HERE / "archive_foreign.npz").write_bytes(foreign())
    assert all((np.load(HERE / "archive_foreign.npz")[name] == np.arange(3)).all()
               for name in np.load(HERE / "archive_foreign.npz").files)  # fmt: skip
    with open(HERE / "archive_bad.txt", "w", encoding="ascii") as out:
        for source in (bad_containers, bad_names, bad_arrays):
            for what, words, image in source():
                what = what.encode("ascii", "backslashreplace").decode().replace("\n", "\\n")
                out.write(f"{what}\t{words}\t{image.hex()}\n")


if __name__ == "__main__":
    main()
