"""The gateway really killed at each point of its delivery, and its servers restarted: effects are counted, one each."""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from shared.messages.experiments import SubmissionCommitted
from tests.integration.gateway.conftest import Gateway, Others, start_replica
from tests.integration.gateway.test_experiments import CONFIG, create
from tests.support.waiting import TIMEOUT_S, eventually

Settings = Callable[[str], dict[str, str]]


async def submit_and_die(gateway: Gateway, name: str, key: str) -> None:
    """A submission in whose midst the gateway is killed."""
    async with gateway.client() as api:
        with pytest.raises(httpx.TransportError):
            await api.post(
                "/v1/experiments",
                json={"config_yaml": CONFIG, "name": name},
                headers={"Idempotency-Key": key},
            )
    assert await asyncio.wait_for(gateway.process.wait(), TIMEOUT_S) == -9


async def announced(others: Others, name: str) -> list[SubmissionCommitted]:
    """All submissions of that name on the bus."""
    jetstream = others.buses["admin"].jetstream
    found: list[SubmissionCommitted] = []
    state = (await jetstream.stream_info("EVT")).state
    for sequence in range(state.first_seq, state.last_seq + 1):
        message = await jetstream.get_msg("EVT", sequence)
        if (message.subject or "").endswith("submission.committed"):
            submission = SubmissionCommitted.from_bytes(message.data or b"")
            found += [submission] if submission.name == name else []
    return found


@pytest.mark.parametrize(
    ("point", "stands"),
    [
        ("unit.before_commit", False),
        ("unit.after_commit", True),
        ("relay.before_publish", None),
        ("relay.before_mark", None),
    ],
)
async def test_a_submission_survives_a_kill_or_never_was(
    settings: Settings, gateway: Gateway, others: Others, tmp_path: Path, point: str, stands: bool | None
) -> None:
    """Killed at the point, repeated at another replica: one experiment, one number, one announcement."""
    name = hashlib.sha256(point.encode()).hexdigest()[:12]
    first = await start_replica(gateway, settings("gateway"), tmp_path, MUSTER_FAULTS=f"{point}:1:kill")
    if stands is None:  # the answer may be out before the point is reached
        async with first.client() as api:
            with contextlib.suppress(httpx.TransportError):
                await api.post(
                    "/v1/experiments",
                    json={"config_yaml": CONFIG, "name": name},
                    headers={"Idempotency-Key": name},
                )
        assert await asyncio.wait_for(first.process.wait(), TIMEOUT_S) == -9
    else:
        await submit_and_die(first, name, name)
    async with gateway.client() as api:
        listed = (await api.get("/v1/experiments", params={"name_contains": name})).json()["items"]
        if stands is not None:
            assert len(listed) == (1 if stands else 0)
        repeat = await api.post(
            "/v1/experiments", json={"config_yaml": CONFIG, "name": name}, headers={"Idempotency-Key": name}
        )
        assert repeat.status_code == 201
        if listed:
            assert repeat.json()["id"] == listed[0]["id"] and repeat.json()["number"] == listed[0]["number"]
        assert (await create(api))["number"] == repeat.json()["number"] + 1

        async def told_once() -> bool:
            return [str(one.experiment_id) for one in await announced(others, name)] == [repeat.json()["id"]]

        await eventually(told_once)
