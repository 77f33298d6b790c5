"""The OpenAPI document holds: schemathesis makes requests of it, right and wrong ones, and no answer is another than the document says."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.gateway.operation_table import OPERATIONS
from shared.ids import DEFAULT_TENANT
from shared.messages.checkpoints import ListCheckpoints
from shared.messages.pools import GetCluster
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import checkpoints_of, seed
from tests.integration.gateway.test_machines import view
from tests.support.drill_share import FULL, every

EXAMPLES = 1
"""Right and wrong ones each, drawn for each operation; the same ones in each run."""
COVERED = every(3, OPERATIONS)
"""Of these each rule of the schema is tried, and broken, by thousands of requests; `make drill NAME=fuzz` tries all, which takes three times as long."""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)
CONFIG = """\
[auth.openapi.token]
bearer = "{token}"
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
[generation]
with-security-parameters = false
[phases.coverage]
unexpected-methods = ["TRACE"]
"""
"""No other service answers here: 503 is what the document says of that."""
STREAMS = {row.name for row in OPERATIONS if row.stream is not None}
"""They do not end, which schemathesis waits for, or take bytes, which it does not make: `test_bad_input` asks them."""
ENDING = {"RevokeToken", "RevokeRole", "EditUser"}
"""By these it takes its own rights from itself, with names that it finds in answers: they are asked by themselves."""


@pytest.fixture(scope="module")
async def seeded(quick: Gateway, others: Others) -> Gateway:
    async with quick.client() as api:
        found = await seed(api, others)
        await api.get(
            "/openapi.json"
        )  # is rendered now: schemathesis waits ten seconds for it, and the machine may be busy
    others.answers[ListCheckpoints] = checkpoints_of({DEFAULT_TENANT: (found,)})
    others.say(GetCluster, view("w1"))
    return quick


async def run(gateway: Gateway, folder: Path, *options: str) -> None:
    """Fails with what schemathesis says where an answer is another."""
    (folder / "schemathesis.toml").write_text(CONFIG.format(token=gateway.admin_token))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml"),
        *("run", f"{gateway.url}/openapi.json"),
        *("--checks", ",".join(CHECKS), "--warnings", "off"),
        *("--max-examples", str(EXAMPLES), "--seed", "7", "--no-color", "--workers", "1"),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-20_000:]


def only(names: set[str]) -> Iterator[str]:
    for name in sorted(names):
        yield from ("--include-operation-id", name)


@pytest.mark.timeout(1500 if FULL else 300)
async def test_no_answer_is_another_than_the_document_says(seeded: Gateway, tmp_path: Path) -> None:
    usual = {row.name for row in OPERATIONS} - STREAMS - ENDING
    await run(seeded, tmp_path, "--phases", "fuzzing", *only(usual))
    await run(seeded, tmp_path, "--phases", "coverage", *only(usual & {row.name for row in COVERED}))
    async with seeded.client() as api:
        me = await api.get("/v1/me")
    assert me.status_code == 200, "which operation ended the caller's own rights? Name it in ENDING"


async def test_nor_is_that_of_who_ends_its_own_rights(seeded: Gateway, tmp_path: Path) -> None:
    await run(seeded, tmp_path, "--phases", "coverage,fuzzing", *only(ENDING))
