"""What NumPy writes, for the tests of data files: every kind of number, byte order, order of elements and
a shape of every sort, in `kinds.npz`, with what they hold in `kinds.json`; `deflated.npz`; and images of every
kind, made here, as NumPy has none.

    python3 make.py FOLDER            writes the files
    python3 make.py --check FOLDER    compares what Iverson wrote there with them
"""

import json
import math
import os
import struct
import sys
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["?", "i1", "u1"] + [o + k for k in "i2 i4 i8 u2 u4 u8 f2 f4 f8".split() for o in "<>"]
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3, 4)]
REALS = [0.0, -0.0, 1.0, -2.5, math.nan, math.inf, -math.inf, 6e-8, 1024.0]


def array(kind, shape, order):
    """Small numbers of both signs, and the greatest and the least."""
    count = math.prod(shape)
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        flat = [k % 3 == 0 for k in range(count)]
    elif dtype.kind == "f":
        flat = [REALS[k % len(REALS)] for k in range(1, count + 1)]
    else:
        info = np.iinfo(dtype)
        ends = [max(info.min, -(2**63)), min(info.max, 2**63 - 1)]
        flat = [(ends + [k, info.min and -k])[k % 4] for k in range(1, count + 1)]
    return np.asarray(np.array(flat, dtype=dtype).reshape(shape), order=order)


def cases():
    for kind in KINDS:
        for shape in SHAPES:
            for order in "CF":
                byte_order = {"<": "little", ">": "big"}.get(kind[0], "one")
                name = kind.strip("<>").replace("?", "b1") + "_" + byte_order
                name += "_" + order + "_" + ("x".join(map(str, shape)) or "0d")
                yield name, array(kind, shape, order)


def as_json(value):
    if isinstance(value, list):
        return [as_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def write(folder):
    arrays = dict(cases())
    np.savez(os.path.join(folder, "kinds.npz"), **arrays)
    with open(os.path.join(folder, "kinds.json"), "w") as out:
        lines = []
        for name, a in arrays.items():
            element = {"b": "bool", "f": "f64"}.get(a.dtype.kind, "i64")
            known = {"shape": list(a.shape), "element": element, "value": as_json(a.astype("f8").tolist() if element == "f64" else a.tolist())}
            lines.append(json.dumps(name) + ": " + json.dumps(known))
        out.write("{\n" + ",\n".join(lines) + "\n}\n")
    x = np.arange(6.0).reshape(2, 3)
    np.savez_compressed(os.path.join(folder, "deflated.npz"), x=x, n=np.int64(7), label=np.array(["a"]))
    images(folder)


def png(folder, name, color, depth, rows, more=b""):
    """An image of rows of bytes; `more` stands before them."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    bits = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color] * depth
    header = struct.pack(">IIBBBBB", len(rows[0]) * 8 // bits, len(rows), depth, color, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    palette = chunk(b"PLTE", more) if more else b""
    with open(os.path.join(folder, name + ".png"), "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + palette + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def images(folder):
    png(folder, "grey", 0, 8, [[0, 51, 255], [102, 153, 204]])
    png(folder, "grey16", 0, 16, [[0, 0, 255, 255], [128, 0, 0, 1]])
    png(folder, "bits", 0, 1, [[0b10110001], [0b01001110]])
    png(folder, "colour", 2, 8, [[255, 0, 0, 0, 255, 0], [0, 0, 255, 51, 102, 153]])
    png(folder, "palette", 3, 8, [[0, 1], [1, 0]], bytes([255, 0, 0, 0, 0, 255]))
    png(folder, "opaque", 6, 8, [[255, 0, 0, 255, 0, 255, 0, 255]])
    png(folder, "clear", 6, 8, [[255, 0, 0, 255, 0, 255, 0, 9]])


def pixels(path):
    """What stands in an image of 8 bits a channel."""
    data = open(path, "rb").read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    step = {0: 1, 2: 3}[color]
    assert depth == 8 and interlace == 0
    raw, rows, before = zlib.decompress(packed), [], [0] * (width * step)
    for r in range(height):
        line = raw[r * (width * step + 1) : (r + 1) * (width * step + 1)]
        row = []
        for k, byte in enumerate(line[1:]):
            left = row[k - step] if k >= step else 0
            up, corner = before[k], before[k - step] if k >= step else 0
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda v: abs(guess - v))
            row.append((byte + [0, left, up, (left + up) // 2, nearest][line[0]]) % 256)
        rows.append(row)
        before = row
    return rows


def check(folder):
    """`NAME.npy` of every case, and the tables and archives that the test writes."""
    for name, a in cases():
        there = np.load(os.path.join(folder, name + ".npy"))
        wanted = {"b": "|b1", "f": "<f8"}.get(a.dtype.kind, "<i8")
        assert there.dtype.str == wanted and there.shape == a.shape, (name, there.dtype, there.shape)
        assert np.array_equal(there, a.astype(wanted), equal_nan=a.dtype.kind == "f"), name
        assert there.flags.c_contiguous, name
        if a.dtype.kind == "f":
            assert np.array_equal(np.signbit(there), np.signbit(a)), name
    archive = np.load(os.path.join(folder, "all.npz"))
    assert sorted(archive) == ["flag", "n", "short", "x"], list(archive)
    assert archive["x"].tolist() == [[1.0, 2.0], [3.0, 4.0]] and archive["n"] == 7
    assert archive["short"].dtype == np.float32 and archive["flag"].dtype == np.bool_
    pair = np.load(os.path.join(folder, "pair.npz"))
    assert pair["arr_0"].tolist() == [1, 2] and pair["arr_1"].shape == (), list(pair)
    table = np.genfromtxt(os.path.join(folder, "table.csv"), delimiter=",", names=True)
    assert table.dtype.names == ("age", "weight") and table["weight"].tolist() == [80.5, 61.0], table
    matrix = np.loadtxt(os.path.join(folder, "matrix.csv"), delimiter=",")
    assert matrix.tolist() == [[1.0, 2.0], [3.0, 4.0]], matrix
    assert pixels(os.path.join(folder, "grey.png")) == [[0, 51, 255], [102, 153, 204]]
    assert pixels(os.path.join(folder, "colour.png")) == [[255, 0, 0, 0, 255, 0], [0, 0, 255, 51, 102, 153]]
    print("good")


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(sys.argv[2])
    else:
        write(sys.argv[1])
