"""HTTP/2 frames by hand, right ones and wrong ones, as gRPC is attacked with them."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def opening() -> bytes:
    """What a client says first."""
    return PREFACE + frame(SETTINGS)


def call(stream: int, path: str, token: str, more: tuple[tuple[str, str], ...] = ()) -> bytes:
    """The headers of a call; its messages are still to come."""
    return frame(HEADERS, END_HEADERS, stream, headers_of(path, token, more))


def headers_of(path: str, token: str, more: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Uncompressed, by literals without an index (RFC 7541, 6.2.2)."""
    named = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "127.0.0.1"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("authorization", f"Bearer {token}"),
        *more,
    )
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in named)


def message(payload: bytes, declared_length: int | None = None, compressed: bool = False) -> bytes:
    """A gRPC message with its prefix, which may lie."""
    length = len(payload) if declared_length is None else declared_length
    return bytes((compressed,)) + struct.pack(">I", length) + payload


def _text(text: str) -> bytes:
    raw = text.encode()
    length, prefix = len(raw), bytearray()
    if length < 127:
        return bytes((length,)) + raw
    prefix.append(127)
    length -= 127
    while length > 127:
        prefix.append(length & 127 | 128)
        length >>= 7
    prefix.append(length)
    return bytes(prefix) + raw
