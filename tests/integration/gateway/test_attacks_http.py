"""Requests that are made to harm: two lengths in one, heads and bodies without end, bombs. Each is refused or cut off, in bounded memory, while others are answered."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import AsyncIterator, Callable

import httpx
import orjson
import pytest

from tests.integration.gateway.attacking import withstood
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.support.raw_sockets import MIB, connect_send_and_read, connected, send_and_read, statuses

HOST = b"Host: 127.0.0.1\r\n"
SECOND = b"GET /v1/me HTTP/1.1\r\n" + HOST + b"\r\n"
"""A request within another: it must never be answered as one of its own."""
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """Headers may take three seconds."""
    found = await start_gateway(
        settings("gateway"), tmp_path_factory.mktemp("attacked"), MUSTER_GATEWAY__KEEP_ALIVE_S="3"
    )
    yield found
    await stop_gateway(found)


def address(gateway: Gateway) -> str:
    return gateway.url.removeprefix("http://")


def post(*headers: bytes, body: bytes = b"", path: bytes = b"/v1/sessions") -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"".join(headers) + b"\r\n" + body


SMUGGLED = {
    "a length and chunks": post(b"Content-Length: 6\r\n", CHUNKED, body=b"0\r\n\r\n" + SECOND),
    "chunks and a length": post(CHUNKED, b"Content-Length: 6\r\n", body=b"0\r\n\r\n" + SECOND),
    "two lengths": post(b"Content-Length: 2\r\n", b"Content-Length: 40\r\n", body=b"{}" + SECOND),
    "two lengths in one line": post(b"Content-Length: 2, 40\r\n", body=b"{}" + SECOND),
    "a signed length": post(b"Content-Length: +2\r\n", body=b"{}" + SECOND),
    "a negative length": post(b"Content-Length: -1\r\n", body=SECOND),
    "a length in hexadecimal": post(b"Content-Length: 0x2\r\n", body=b"{}" + SECOND),
    "a length with a gap": post(b"Content-Length: 2 0\r\n", body=b"{}" + SECOND),
    "a length of another script": post("Content-Length: ٢\r\n".encode(), body=b"{}" + SECOND),
    "an unknown transfer": post(b"Transfer-Encoding: xchunked\r\n", body=b"0\r\n\r\n" + SECOND),
    "chunks that are not the last transfer": post(
        b"Transfer-Encoding: chunked, identity\r\n", body=b"0\r\n\r\n" + SECOND
    ),
    "chunks twice": post(CHUNKED, CHUNKED, body=b"0\r\n\r\n" + SECOND),
    "a transfer with a tab": post(b"Transfer-Encoding:\tchunked\x0b\r\n", body=b"0\r\n\r\n" + SECOND),
    "a space before the colon": post(b"Transfer-Encoding : chunked\r\n", body=b"0\r\n\r\n" + SECOND),
    "a folded line": post(b"Transfer-Encoding:\r\n chunked\r\n", body=b"0\r\n\r\n" + SECOND),
    "a bare line feed": b"POST /v1/sessions HTTP/1.1\n" + HOST + b"Content-Length: 2\n\n{}" + SECOND,
    "a bare carriage return": post(b"X: y\rContent-Length: 2\r\n", body=b"{}" + SECOND),
    "a NUL in a header": post(b"X: a\0b\r\n", body=SECOND),
    "a chunk of no number": post(CHUNKED, body=b"zz\r\n{}\r\n0\r\n\r\n" + SECOND),
    "a chunk that is too large a number": post(
        CHUNKED, body=b"FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n" + SECOND
    ),
    "a negative chunk": post(CHUNKED, body=b"-2\r\n{}\r\n0\r\n\r\n" + SECOND),
    "a chunk that is longer than it says": post(CHUNKED, body=b"1\r\n{}\r\n0\r\n\r\n" + SECOND),
    "a body of a GET": b"GET /v1/health HTTP/1.1\r\n" + HOST + b"Content-Length: 60\r\n\r\n" + SECOND,
    "two hosts": b"GET /v1/health HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n",
    "another host in the target": b"GET http://evil.example/v1/health HTTP/1.1\r\n"
    + HOST
    + b"Connection: close\r\n\r\n",
    "no host": b"GET /v1/health HTTP/1.1\r\n\r\n",
    "another protocol": b"GET /v1/health HTTP/3.0\r\n" + HOST + b"\r\n",
    "no protocol": b"GET /v1/health\r\n\r\n",
    "no words": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
}


@pytest.mark.parametrize("name", SMUGGLED)
async def test_where_a_request_ends_is_never_in_doubt(gateway: Gateway, name: str) -> None:
    """One answer, a refusal, and the connection is closed: what follows is not taken for another request."""
    answer = await connect_send_and_read(address(gateway), SMUGGLED[name])
    found = statuses(answer)
    assert len(found) <= 1 and all(400 <= status < 500 for status in found), answer
    assert b"unauthenticated" not in answer, "the request within was answered"


ENDLESS = {
    "one header": (b"GET /v1/health HTTP/1.1\r\nX: ", b"x" * 64_000),
    "many headers": (b"GET /v1/health HTTP/1.1\r\n", b"X-Y: z\r\n" * 8_000),
    "many cookies": (b"GET /v1/health HTTP/1.1\r\n" + HOST, b"Cookie: muster-80=x; a=b\r\n" * 8_000),
    "a target": (b"GET /v1/health?", b"x" * 64_000),
    "a method": (b"G" * 64_000, b""),
    "extensions of a chunk": (post(CHUNKED, b"Content-Type: application/json\r\n") + b"1;", b"x" * 64_000),
    "trailers": (post(CHUNKED, b"Content-Type: application/json\r\n") + b"0\r\n", b"X: y\r\n" * 8_000),
    "empty lines": (b"\r\n" * 1000, b"\r\n" * 32_000),
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_head_without_end_is_cut_off(gateway: Gateway, name: str) -> None:
    head, piece = ENDLESS[name]
    async with withstood(gateway):
        answer = await connect_send_and_read(address(gateway), head, *(piece for _ in range(300)))
        assert all(400 <= status < 500 for status in statuses(answer)), answer[:500]


async def test_requests_that_wait_in_line_take_no_memory(gateway: Gateway) -> None:
    """Thousands on one connection, sent before an answer is read: the gateway stops reading, and answers them in turn."""
    one = b"GET /v1/health HTTP/1.1\r\n" + HOST + b"\r\n"
    last = b"GET /v1/health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    async with withstood(gateway):
        found = statuses(await connect_send_and_read(address(gateway), one * 2_000 + last))
    assert found == [200] * 2_001


BODIES = {
    "lists in lists": b'{"config": ' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "many lists": b'{"config": {"a": [' + b"[]," * 300_000 + b"1]}}",
    "many keys": b'{"config": {' + b",".join(b'"%d":0' % number for number in range(90_000)) + b"}}",
    "one key again and again": b'{"config": {' + b'"a":0,' * 150_000 + b'"b":0}}',
    "a long number": b'{"config": {"a": ' + b"1" * 900_000 + b"}}",
    "a long fraction": b'{"config": {"a": 1e' + b"9" * 900_000 + b"}}",
    "backslashes": b'{"config_yaml": "' + b"\\u0000" * 150_000 + b'"}',
    "too long": b'{"config_yaml": "' + b"a" * (2 * MIB) + b'"}',
}
LAUGHS = "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(12))
YAML = {
    "a billion laughs": "a0: &a0 [x]\n" + LAUGHS,
    "aliases that merge": "a: &a {b: 1}\n" + "c: {<<: *a}\n" * 5_000,
    "an alias of itself": "a: &a [*a]\n",
    "brackets": "a: " + "[" * 120_000,
    "braces": "{" * 120_000,
    "keys that are questions": "? " * 120_000,
    "dashes": "- " * 120_000,
    "many values": "a: [" + "1," * 120_000 + "1]",
    "one long word": "a: " + "x" * 250_000,
    "a long number": "a: " + "9" * 250_000,
    "sixties": "a: " + "1:" * 120_000 + "1",
    "tags": "a: !!python/object/apply:os.system ['true']\n" * 4_000,
    "comments": "#" * 250_000,
    "anchors": "".join(f"a{n}: &x{n} 1\n" for n in range(15_000)),
    "folds": "a: >\n" + "\n x\n" * 60_000,
    "quotes": 'a: "' + "\\x41" * 60_000,
    "documents": "---\n" * 60_000,
    "directives": "%YAML 1.2\n" * 20_000,
}


@pytest.mark.parametrize("name", [*BODIES, *(f"yaml: {name}" for name in YAML)])
async def test_no_document_unfolds(gateway: Gateway, name: str) -> None:
    yaml = YAML.get(name.removeprefix("yaml: "), "")
    body = orjson.dumps({"config_yaml": yaml}) if name.startswith("yaml: ") else BODIES[name]
    async with withstood(gateway), gateway.client() as client:
        for _ in range(2):
            answer = await client.post(
                "/v1/experiments", content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (400, 413, 422), answer.text[:500]
            assert len(answer.content) < 4_000, "what was sent is not said back at length"


def tar_of(*blocks: bytes) -> bytes:
    return b"".join(blocks) + b"\0" * 1024


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def zeros(mebibytes: int) -> bytes:
    """Packed zeros in many members of gzip, which are one stream to whoever reads it."""
    return gzip.compress(b"\0" * MIB, 9) * mebibytes


def paths() -> bytes:
    """Files that each name thirty folders of their own, with names as long as they may be."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number in range(15_000):
            tar.addfile(tarfile.TarInfo("/".join((f"{number:05}", *("d" * 32 for _ in range(29)), "f"))))
    return gzip.compress(made.getvalue(), 1)


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"\0" * (64 * MIB))
    return made.getvalue()


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: gzip.compress(header("a", 8 * 1024 * MIB)) + zeros(2048),
    "attributes without end": lambda: gzip.compress(header("a", 500 * MIB, tarfile.XHDTYPE)) + zeros(500),
    "a name without end": lambda: gzip.compress(header("a", 500 * MIB, tarfile.GNUTYPE_LONGNAME)) + zeros(500),
    "attributes of attributes": lambda: gzip.compress(
        tar_of(*(header("a", 512, tarfile.XHDTYPE) + b"6 a=b\n".ljust(512, b"\0") for _ in range(5_000)))
    ),
    "folders that paths name": paths,
    "many entries": lambda: gzip.compress(tar_of(*(header(f"{n}", 0) for n in range(30_000)))),
    "zip": zipped,
    "gzip in gzip": lambda: gzip.compress(gzip.compress(zeros(256))),
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHIVES)
async def test_no_archive_unfolds(gateway: Gateway, others: Others, name: str) -> None:
    packed = ARCHIVES[name]()
    sha256 = hashlib.sha256(packed).hexdigest()
    others.asked.clear()
    async with withstood(gateway), gateway.client() as client:
        answer = await client.put(f"/v1/code/{sha256}", content=packed)
        assert answer.status_code in (413, 422), answer.text
        assert len(answer.content) < 4_000 and others.asked == []


@pytest.mark.parametrize(("verb", "path"), [("POST", "/v1/experiments"), ("PUT", f"/v1/code/{'0' * 64}")])
async def test_a_body_is_taken_as_it_is_and_not_unpacked(gateway: Gateway, verb: str, path: str) -> None:
    bomb = zeros(1024)
    async with withstood(gateway), gateway.client() as client:
        for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "identity"):
            headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
            answer = await client.request(verb, path, content=bomb, headers=headers)
            assert answer.status_code == 415 and answer.json()["place"] == "Content-Encoding", encoding


async def test_forms_are_no_bodies(gateway: Gateway, api: httpx.AsyncClient) -> None:
    """In many parts, without an end, and larger than anything: nothing here reads a form."""
    part = b'--x\r\nContent-Disposition: form-data; name="config_yaml"\r\n\r\n'
    head = [b"Content-Type: multipart/form-data; boundary=x\r\n", CHUNKED]
    head.append(f"Authorization: Bearer {gateway.admin_token}\r\n".encode())
    async with withstood(gateway), connected(address(gateway)) as (reader, writer):
        pieces = (b"%x\r\n%s\r\n" % (len(part) * 900, part * 900) for _ in range(500))
        answer = await send_and_read(reader, writer, post(*head, path=b"/v1/experiments"), *pieces)
        assert statuses(answer) == [415], answer[:500]
    for kind in (
        "multipart/mixed; boundary=x",
        "application/x-www-form-urlencoded",
        "text/plain",
        "text/xml",
    ):
        refused = await api.post("/v1/experiments", content=part, headers={"Content-Type": kind})
        assert refused.status_code == 415, refused.text
