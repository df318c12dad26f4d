"""A sample table for an empty lake: fruit, with pictures and with vectors of how it tastes."""

from __future__ import annotations

import math
import struct
import zlib

# A name, a color, a shape, and how sweet, sour, bitter, juicy, crisp and fragrant it is.
_FRUIT = """
apple       c0392b round  .60 .35 .05 .55 .95 .40
banana      f4d03f long   .85 .05 .02 .10 .10 .55
blueberry   4a5fa5 berry  .60 .30 .08 .50 .35 .40
cherry      900c3f berry  .70 .30 .08 .60 .45 .45
grape       7d3c98 berry  .80 .25 .05 .80 .50 .35
grapefruit  e8836b round  .35 .65 .45 .85 .20 .55
kiwi        7fa650 round  .55 .60 .05 .65 .20 .45
lemon       f7dc4a long   .15 .98 .20 .75 .15 .70
lime        8fbc3a round  .12 .95 .30 .75 .18 .75
mango       f2a33a pear   .88 .20 .03 .65 .12 .80
orange      ee8a1d round  .65 .45 .08 .85 .18 .60
passion     5d3a66 round  .55 .70 .08 .70 .20 .95
peach       f5b48a round  .75 .25 .04 .75 .22 .75
pineapple   e6b422 long   .75 .50 .05 .80 .40 .85
plum        7b2f54 round  .65 .40 .10 .70 .30 .40
strawberry  e0313f pear   .65 .40 .04 .70 .22 .80
"""
_SHAPES = {"round": (1.0, 1.0, 15.0), "long": (1.35, 0.8, 13.0), "pear": (0.85, 1.15, 14.0), "berry": (1.0, 1.0, 9.0)}
_SIZE = 40  # pixels


def sample() -> bytes:
    """Return the rows as a stream of Arrow IPC."""
    import pyarrow as pa

    lines = [line.split() for line in _FRUIT.split("\n") if line]
    tastes = [[float(value) for value in line[3:]] for line in lines]
    table = pa.table(
        {
            "id": pa.array(range(1, len(lines) + 1), pa.int64()),
            "name": [line[0] for line in lines],
            "picture": pa.array([_picture(line[1], line[2]) for line in lines], pa.binary()),
            "taste": pa.array(tastes, pa.list_(pa.float32(), len(tastes[0]))),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _picture(color: str, shape: str) -> bytes:
    """Draw a fruit on a pale ground, as PNG with three colors."""
    wide, high, radius = _SHAPES[shape]
    middle = _SIZE / 2
    rows = bytearray()
    for y in range(_SIZE):
        rows.append(0)  # no filter
        for x in range(_SIZE):
            away = math.hypot((x - middle) / wide, (y - middle) / high)
            shine = math.hypot(x - middle + radius / 2.5, y - middle + radius / 2.5) < radius / 4
            rows.append(0 if away > radius else 2 if shine else 1)
    own = bytes.fromhex(color)
    palette = bytes((246, 243, 234)) + own + bytes(channel + (255 - channel) // 2 for channel in own)
    head = struct.pack(">IIBBBBB", _SIZE, _SIZE, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
