"""The examples that speak gRPC from the proto file alone, as their readers run them: in Python and in JavaScript."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.test_experiments import create
from tests.support.missing_dependency import missing, need

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
INSTALL_S = 120


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The example in JavaScript with what it needs, in a folder of its own."""
    need(("node", "npm"), "apt-get install nodejs npm")
    folder = tmp_path_factory.mktemp("grpc-node")
    for name in ("client.js", "package.json"):
        shutil.copy(EXAMPLES / "grpc-node" / name, folder)
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(
            install, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        missing("a package of the example", f"npm did not answer within {INSTALL_S} s")
    if done.returncode:
        missing("a package of the example", f"npm could not install it: {done.stderr[-300:]}")
    return ["node", str(folder / "client.js")]


@pytest.fixture(params=["python", "node"])
def client(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "python":
        return [sys.executable, str(EXAMPLES / "grpc-python/client.py")]
    found: list[str] = request.getfixturevalue("node")
    return found


async def start(
    client: list[str], gateway: Gateway, *more: str, token: str = ""
) -> asyncio.subprocess.Process:
    environment = {
        **os.environ,
        "MUSTER_TOKEN": token or gateway.admin_token,
        "MUSTER_PROTO": str(EXAMPLES.parent / "proto"),
    }
    return await asyncio.create_subprocess_exec(
        *client,
        gateway.grpc_address,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_all_experiments_are_listed_over_several_pages(
    client: list[str], gateway: Gateway, api: httpx.AsyncClient
) -> None:
    made = [await create(api, name=f"listed {index}") for index in range(5)]
    process = await start(client, gateway)
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    lines = out.decode().splitlines()
    assert [line for line in lines if "listed" in line][:5] == [
        f"{one['number']} submitted {one['name']}" for one in reversed(made)
    ]


async def test_a_token_that_is_none_is_said_in_words(client: list[str], gateway: Gateway) -> None:
    process = await start(client, gateway, token="mst_none")
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert err.decode().startswith("UNAUTHENTICATED: ")
