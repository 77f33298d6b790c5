"""The OpenAPI document holds: schemathesis makes requests of it, right and wrong ones, and no answer is another than the document says."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from services.gateway.operations.table import OPERATIONS
from shared.ids import DEFAULT_TENANT
from shared.messages.checkpoints import ListCheckpoints
from shared.messages.pools import GetCluster
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.seeding import checkpoints_of, seed
from tests.integration.gateway.test_machines import view

SECONDS = 60
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)
CONFIG = """[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""
"""No other service answers here: 503 is what the document says of that."""
STREAMS = [row.name for row in OPERATIONS if row.stream == "server"]


@pytest.fixture(scope="module")
async def quick(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """A gateway that waits for no owner: there is none."""
    found = await start_gateway(
        settings("gateway"), tmp_path_factory.mktemp("gateway"), MUSTER_GATEWAY__COMMAND_WAIT_S="0.01"
    )
    yield found
    await stop_gateway(found)


async def test_no_answer_is_another_than_the_document_says(quick: Gateway, others: Others) -> None:
    async with quick.client() as api:
        seeded = await seed(api, others)
    others.answers[ListCheckpoints] = checkpoints_of({DEFAULT_TENANT: (seeded,)})
    others.say(GetCluster, view("w1"))
    left_out = [part for name in STREAMS for part in ("--exclude-operation-id", name)]
    (quick.directory / "schemathesis.toml").write_text(CONFIG)
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-m",
            "schemathesis.cli",
            "--config-file",
            "schemathesis.toml",
            "run",
            f"{quick.url}/openapi.json",
        ),
        *("--header", f"Authorization: Bearer {quick.admin_token}"),
        *("--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--max-examples", "4"),
        *("--max-time", str(SECONDS), "--seed", "7", "--no-color", "--workers", "1", *left_out),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=quick.directory,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-20_000:]
