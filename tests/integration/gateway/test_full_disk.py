"""A gateway whose disk is full says so, on REST and gRPC alike, and keeps nothing of what it was sent."""

import hashlib
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway

ROOM_BYTES = 64 * 1024
SIZES = {"what a write fails on": 4 * ROOM_BYTES, "what only the last flush fails on": ROOM_BYTES + 4096}


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """One whose archives are spooled on a disk of a few blocks."""
    directory = tmp_path_factory.mktemp("gateway")
    spool = directory / "small"
    spool.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "tmpfs", str(spool)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk takes the right to mount one")
    found = await start_gateway(settings("gateway"), directory, MUSTER_GATEWAY__SPOOL_DIRECTORY=str(spool))
    yield found
    await stop_gateway(found)
    subprocess.run(["umount", str(spool)], check=True)


@pytest.mark.parametrize("name", SIZES)
async def test_rest_says_what_to_do(api: httpx.AsyncClient, gateway: Gateway, name: str) -> None:
    content = os.urandom(SIZES[name])
    sha256 = hashlib.sha256(content).hexdigest()
    answer = await api.put(f"/v1/code/{sha256}", content=content)
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full"), answer.text
    assert "the gateway's disk is full" in answer.json()["detail"] and int(answer.headers["retry-after"]) >= 1
    assert (await api.get(f"/v1/code/{sha256}")).status_code == 404
    assert is_empty(gateway.directory / "small")


@pytest.mark.parametrize("name", SIZES)
async def test_grpc_says_the_same(gateway: Gateway, name: str) -> None:
    content = os.urandom(SIZES[name])
    parts = [muster_pb2.PutCodeRequest(sha256=hashlib.sha256(content).hexdigest())]
    parts += [muster_pb2.PutCodeRequest(data=content[at : at + 9000]) for at in range(0, len(content), 9000)]
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.PutCode(iter(parts), metadata=metadata, timeout=10)
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "the gateway's disk is full" in (refused.value.details() or "")
    assert is_empty(gateway.directory / "small")


def is_empty(disk: Path) -> bool:
    found = os.statvfs(disk)
    return found.f_bfree == found.f_blocks
