"""What users send by mistake or ill will: each gets its place and what to do, on REST and gRPC alike, and nothing stays."""

import asyncio
import gzip
import hashlib
import io
import tarfile
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from google.rpc import error_details_pb2, status_pb2

from services.gateway.transports.grpc.server import FULL_NAME
from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_experiments import CONFIG, create
from tests.support.waiting import TIMEOUT_S

BOMB = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n"
CONFIGS = {
    "broken yaml": ("searcher: {name: [", "line"),
    "unknown key": (CONFIG + "sercher: 1\n", "sercher"),
    "aliases": (BOMB + CONFIG, "line 1"),
    "wrong type": (CONFIG + "max_restarts: many\n", "max_restarts"),
    "empty space": (CONFIG.replace("minval: -4, maxval: -1", "minval: 3, maxval: -1"), "hyperparameters.lr"),
    "no searcher": ("name: x\nentrypoint: y\n", "searcher"),
    "not a mapping": ("- 1\n", "line 1"),
    "empty": ("", "config"),
}


@pytest.mark.parametrize("name", CONFIGS)
async def test_a_bad_config_is_refused_with_its_place(
    api: httpx.AsyncClient, gateway: Gateway, name: str
) -> None:
    text, place = CONFIGS[name]
    before = (await create(api))["number"]
    answer = await api.post("/v1/experiments", json={"config_yaml": text})
    problem = answer.json()
    assert answer.status_code in (400, 413, 422), problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] and problem["detail"] and problem["instance"].startswith("urn:muster:request:")
    if name != "empty":
        assert place in problem["place"], problem
    status, info, violations = await rpc_error(gateway, muster_pb2.CreateExperimentRequest(config_yaml=text))
    assert status in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert info.reason == problem["code"] and info.domain == "muster"
    assert violations == ([problem["place"]] if "place" in problem else [])
    assert (await create(api))["number"] == before + 1


async def rpc_error(gateway: Gateway, request: Any) -> tuple[grpc.StatusCode, Any, list[str]]:
    """The status, its ErrorInfo and the places of its BadRequest."""
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.CreateExperiment(request, metadata=metadata, timeout=TIMEOUT_S)
    trailing: Any = caught.value.trailing_metadata() or ()
    status = status_pb2.Status.FromString(bytes(dict(trailing)["grpc-status-details-bin"]))
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(bad)
    return caught.value.code(), info, [violation.field for violation in bad.field_violations]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"{", "line 1, column 2"),
        (b"no json", "line 1"),
        (b"[1]", "body"),
        (b'"text"', "body"),
        (b'{"config_yaml": "x", "colour": "red"}', "colour"),
        (b'{"config_yaml": 5}', "config_yaml"),
        (b'{"config_yaml": "x", "labels": "one"}', "labels"),
        (b'{"config_yaml": "x", "labels": ["a", 5]}', "labels[1]"),
        (b'{"config_yaml": "x", "code_sha256": "zz"}', "code_sha256"),
        (b'{"config": ' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}", "body"),
        (b'{"config": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", ""),
        (b"{}", "config"),
        (b'{"config_yaml": "x", "config": {}}', "config_yaml"),
        (b"\xff\xfe", "line 1"),
    ],
)
async def test_a_bad_body_is_refused_with_its_place(api: httpx.AsyncClient, body: bytes, place: str) -> None:
    answer = await api.post("/v1/experiments", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert place in answer.json()["place"], answer.json()


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1/experiments?limit=0", "limit"),
        ("/v1/experiments?limit=201", "limit"),
        ("/v1/experiments?limit=many", "limit"),
        ("/v1/experiments?limit=1&limit=2", "limit"),
        ("/v1/experiments?colour=red", "colour"),
        ("/v1/experiments?state=sleeping", "state"),
        ("/v1/experiments?cursor=AAAA", "cursor"),
        ("/v1/experiments?cursor=%F0%9F%92%A9", "cursor"),
        ("/v1/events?after=-5", "after"),
        ("/v1/events?after=999999999", "after"),
    ],
)
async def test_a_bad_query_is_refused_with_its_place(api: httpx.AsyncClient, path: str, place: str) -> None:
    answer = await api.get(path)
    assert answer.status_code == 400, answer.text
    assert answer.json()["place"] == place


async def test_unknown_paths_and_verbs_are_problems_too(api: httpx.AsyncClient) -> None:
    for verb, path, status in (
        ("GET", "/nothing", 404),
        ("GET", "/v2/experiments", 404),
        ("GET", "/v1/experiments/1/../../x", 404),
        ("PUT", "/v1/experiments/1", 405),
        ("PATCH", "/v1/experiments", 405),
        ("TRACE", "/v1/experiments", 405),
    ):
        answer = await api.request(verb, path)
        assert answer.status_code == status, (verb, path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_foreign_host_name_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/health", headers={"Host": "evil.example"})
    assert answer.status_code == 400 and answer.json()["code"] == "host_not_allowed"


async def test_a_body_that_is_too_large_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/models", json={"name": "x", "description": "y" * 2_000_000})
    assert answer.status_code == 413 and answer.json()["code"] == "too_large"
    wrong = await api.post("/v1/models", content=b"<xml/>", headers={"Content-Type": "text/xml"})
    assert wrong.status_code == 415


async def test_a_slow_body_is_not_waited_for(gateway: Gateway) -> None:
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {gateway.admin_token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
    )
    head = await asyncio.wait_for(reader.readline(), TIMEOUT_S)
    assert b" 408 " in head
    await asyncio.wait_for(reader.read(), TIMEOUT_S)
    writer.close()


def packed(**entries: bytes | tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, entry in entries.items():
            info = entry if isinstance(entry, tarfile.TarInfo) else tarfile.TarInfo(name)
            content = entry if isinstance(entry, bytes) else b""
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


ARCHIVES = {
    "symbolic link": packed(a=link("a", "/etc/passwd")),
    "hard link": packed(a=link("a", "b", tarfile.LNKTYPE)),
    "device": packed(a=link("a", "", tarfile.CHRTYPE)),
    "dots": packed(a=tarfile.TarInfo("../a")),
    "absolute": packed(a=tarfile.TarInfo("/a")),
    "no archive": b"hello",
    "bomb": packed(a=b"\0" * 20_000_000),
}


@pytest.mark.parametrize("name", ARCHIVES)
async def test_a_bad_archive_is_refused_and_not_stored(
    api: httpx.AsyncClient, others: Others, name: str
) -> None:
    content = ARCHIVES[name]
    sha256 = hashlib.sha256(content).hexdigest()
    others.asked.clear()
    answer = await api.put(f"/v1/code/{sha256}", content=content)
    assert answer.status_code in (413, 422), answer.text
    assert others.asked == []
    assert (await api.get(f"/v1/code/{sha256}")).status_code == 404


async def test_code_that_is_not_what_its_hash_says_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.put(f"/v1/code/{'0' * 64}", content=packed(a=b"x"))
    assert answer.status_code == 422 and answer.json()["code"] == "hash_mismatch"
    malformed = await api.put("/v1/code/zz", content=b"")
    assert malformed.status_code == 400 and malformed.json()["place"] == "sha256"


async def test_code_over_the_limit_is_refused_before_it_is_read(gateway: Gateway) -> None:
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"PUT /v1/code/{'0' * 64} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {gateway.admin_token}\r\n"
        f"Content-Length: {97 * 1024 * 1024}\r\n\r\n".encode()
    )
    assert b" 413 " in await asyncio.wait_for(reader.readline(), TIMEOUT_S)
    writer.close()


async def test_an_experiment_needs_code_that_is_stored(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/experiments", json={"config_yaml": CONFIG, "code_sha256": "0" * 64})
    assert answer.status_code == 422
    assert answer.json()["code"] == "code_unknown" and answer.json()["place"] == "code_sha256"


async def test_unknown_fields_and_enum_values_of_grpc_are_refused(gateway: Gateway) -> None:
    # Field 200 (varint 1), which no version has.
    request = muster_pb2.CreateExperimentRequest.FromString(b"\xc0\x0c\x01")
    status, info, _ = await rpc_error(gateway, request)
    assert status is grpc.StatusCode.INVALID_ARGUMENT and info.reason == "unknown_field"
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        call = channel.unary_unary(f"/{FULL_NAME}/Nothing", None, None)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"", timeout=TIMEOUT_S)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
