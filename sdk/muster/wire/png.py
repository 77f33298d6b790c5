"""Images between a rank and its worker: raw pixels that the worker encodes as PNG, so that training does not wait."""

import struct
import zlib
from dataclasses import replace

from muster.wire.spool import MediaHead

PIXELS = "image/x-pixels"
"""Rows of 8 bits per channel, top to bottom; width, height and channels are in the head's `about`."""
PIXEL_BYTES = 8 * 1024 * 1024
"""Larger images are encoded immediately, to bound the size of pending media."""
CHANNELS = {1: 0, 2: 4, 3: 2, 4: 6}
"""PNG colour type by number of channels: grey, grey with alpha, RGB, RGB with alpha."""
PNG = b"\x89PNG\r\n\x1a\n"
_SPEED = 1
"""zlib level; low, because it competes with the training for the processor."""


def png_of(pixels: bytes, width: int, height: int, channels: int) -> bytes:
    """Encode a PNG (ISO/IEC 15948) with 8 bits per channel and unfiltered rows."""
    row = width * channels
    lines = b"".join(b"\x00" + pixels[at : at + row] for at in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, CHANNELS[channels], 0, 0, 0)
    chunks = (b"IHDR", head), (b"IDAT", zlib.compress(lines, _SPEED)), (b"IEND", b"")
    return PNG + b"".join(_chunk(name, body) for name, body in chunks)


def encoded(head: MediaHead, pixels: bytes) -> tuple[MediaHead, bytes]:
    """Convert a record of raw pixels to one of a PNG file.

    Raises:
        ValueError: The head does not match the pixels.
    """
    sizes = [head.about.get(name) for name in ("height", "width", "channels")]
    height, width, channels = (size if type(size) is int else 0 for size in sizes)
    if min(height, width) < 1 or channels not in CHANNELS or height * width * channels != len(pixels):
        raise ValueError(f"{len(pixels)} bytes are not an image of {sizes}")
    body = png_of(pixels, width, height, channels)
    about = {name: value for name, value in head.about.items() if name != "channels"}
    return replace(head, content_type="image/png", size_bytes=len(body), about=about), body


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
