"""PNG encoder: pictures without an imaging library."""

from __future__ import annotations

import struct
import zlib

from regard.typing import Array


def encode_png(colours: Array) -> bytes:
    """Colours (rows, columns, 3) of uint8 as the bytes of a PNG file."""
    rows, columns, _ = colours.shape
    lines = b"".join(b"\0" + row.tobytes() for row in colours)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
