"""Images between a rank and its worker: plain pixels, which the worker makes a PNG file of, so that the training does not wait for it."""

import struct
import zlib
from dataclasses import replace

from muster.wire.spool import MediaHead

PIXELS = "image/x-pixels"
"""Rows of 8 bits a channel, from above; the head's `about` says width, height and channels."""
PIXEL_BYTES = 8 * 1024 * 1024
"""An image of more is made a file at once: what waits to be sent is bounded."""
CHANNELS = {1: 0, 2: 4, 3: 2, 4: 6}
"""PNG's colour type by the number of channels: grey, with alpha, RGB, with alpha."""
PNG = b"\x89PNG\r\n\x1a\n"
_SPEED = 1
"""Of zlib: it is the training's processor."""


def png_of(pixels: bytes, width: int, height: int, channels: int) -> bytes:
    """PNG (ISO/IEC 15948) of 8 bits a channel, each row unfiltered."""
    row = width * channels
    lines = b"".join(b"\x00" + pixels[at : at + row] for at in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, CHANNELS[channels], 0, 0, 0)
    chunks = (b"IHDR", head), (b"IDAT", zlib.compress(lines, _SPEED)), (b"IEND", b"")
    return PNG + b"".join(_chunk(name, body) for name, body in chunks)


def encoded(head: MediaHead, pixels: bytes) -> tuple[MediaHead, bytes]:
    """Return a record of pixels as one of a PNG file.

    Raises:
        ValueError: Its head says of them what cannot be.
    """
    sizes = [head.about.get(name) for name in ("height", "width", "channels")]
    height, width, channels = (size if type(size) is int else 0 for size in sizes)
    if min(height, width) < 1 or channels not in CHANNELS or height * width * channels != len(pixels):
        raise ValueError(f"{len(pixels)} bytes are no image of {sizes}")
    body = png_of(pixels, width, height, channels)
    about = {name: said for name, said in head.about.items() if name != "channels"}
    return replace(head, content_type="image/png", size_bytes=len(body), about=about), body


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
