"""Frames from user code: whatever arrives is refused, never a crash of the daemon that reads it."""

import struct

import pytest

from muster import wire
from muster.errors import Rejected


@pytest.mark.parametrize(
    "body",
    [b'{"t":"process","name":' + b"[" * 100_000, b"7" * 10_000, b"null", b'{"t":["process"]}', b"\xff"],
)
def test_a_frame_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(Rejected, match="not a message of this protocol"):
        list(wire.Decoder(wire.PARENT_FRAMES).feed(struct.pack(">I", len(body)) + body))
