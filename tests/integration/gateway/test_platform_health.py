"""Whether the platform works, asked by REST and gRPC: a sentence for everybody, each check for operators of the site."""

from datetime import UTC, datetime
from typing import Any

import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.messages.health import (
    BY_OWNER,
    CheckResult,
    HealthReport,
    RegistryHealth,
    SchedulerHealth,
)
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.sites import user
from tests.support.waiting import eventually

SINCE = datetime(2026, 11, 1, 12, tzinfo=UTC)
WORKS = HealthReport(checks=(CheckResult(name="bus", ok=True, since=SINCE),))


def failing(name: str, reason: str) -> HealthReport:
    return HealthReport(checks=(CheckResult(name=name, ok=False, reason=reason, since=SINCE),))


@pytest.fixture(autouse=True)
def all_work(others: Others) -> None:
    for question in BY_OWNER.values():
        others.say(question, WORKS)


async def settled(api: httpx.AsyncClient, state: str) -> dict[str, Any]:
    """The health once it is in a state: answers of services are remembered for two seconds."""
    found: list[dict[str, Any]] = []

    async def is_so() -> bool:
        found.append((await api.get("/v1/health/platform")).json())
        return bool(found[-1]["state"] == state)

    await eventually(is_so)
    return found[-1]


async def test_a_platform_that_works_says_so(api: httpx.AsyncClient) -> None:
    found = await settled(api, "ok")
    assert found["summary"] is None and found["since"] is None
    checks = {(one["service"], one["name"]) for one in found["checks"]}
    assert {("gateway", "bus"), ("gateway", "database"), ("gateway", "outbox")} <= checks
    assert {("searcher", "bus"), ("scheduler", "bus")} <= checks


async def test_operators_see_the_reason_and_users_a_sentence(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    await settled(api, "ok")
    others.say(SchedulerHealth, failing("leader", "there is no leader: the lease of host-7 expired"))
    found = await settled(api, "degraded")
    (check,) = (one for one in found["checks"] if not one["ok"])
    assert (check["service"], check["name"]) == ("scheduler", "leader") and "host-7" in check["reason"]
    assert found["since"].startswith("2026-11-01T12:00:00")
    async with gateway.client(await user(api, "reads-health", "viewer")) as viewer:
        told = (await viewer.get("/v1/health/platform")).json()
    assert told["state"] == "degraded" and told["checks"] == []
    assert "scheduler" in told["summary"] and "host-7" not in str(told)


async def test_a_service_that_does_not_answer_is_degraded_by_grpc_too(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    await settled(api, "ok")
    others.answers.pop(RegistryHealth)
    await settled(api, "degraded")
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        found = await stub.GetPlatformHealth(muster_pb2.Empty(), metadata=metadata)
    assert found.state == muster_pb2.HEALTH_STATE_DEGRADED
    (check,) = (one for one in found.checks if not one.ok)
    assert (check.service, check.name) == ("registry", "answers")


async def test_who_is_not_signed_in_is_told_nothing(gateway: Gateway) -> None:
    async with gateway.client("") as nobody:
        assert (await nobody.get("/v1/health/platform")).status_code == 401
