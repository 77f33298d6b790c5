"""Workers, pools, the queue, joining, rate limits, and the gateway's own life."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc.aio
import httpx
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, SITE
from shared.messages import instances
from shared.messages.machine_pools import IdentifyMachine
from shared.messages.pools import ClusterView, GetCluster, PoolView
from shared.messages.queue import GetQueue, QueueEntry, QueuePage
from shared.messages.workers import Credentials, IssuedJoin, IssueJoin, Join, WorkerView
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, start_replica, stop_gateway
from tests.integration.gateway.seeding import trial_changed
from tests.integration.gateway.test_experiments import create
from tests.integration.servers import Servers
from tests.support.waiting import TIMEOUT_S, eventually

NOW = datetime.now(UTC)


def view(*workers: str) -> ClusterView:
    return ClusterView(
        pools=(
            PoolView(
                pool="default",
                slot_kind="cpu",
                workers=len(workers),
                slots=len(workers),
                used_slots=0,
                waiting_slots=0,
                preemption=False,
                exclusive=True,
            ),
        ),
        workers=tuple(
            WorkerView.model_validate(
                {
                    "worker": worker,
                    "pool": "default",
                    "address": "127.0.0.1",
                    "state": "ready",
                    "slots": 1,
                    "used_slots": 0,
                    "slot_kind": "cpu",
                    "last_heartbeat_at": NOW,
                }
            )
            for worker in workers
        ),
    )


async def test_workers_pools_and_instances_are_listed(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, view("w3", "w1", "w2"))
    page = (await api.get("/v1/workers", params={"limit": 2})).json()
    assert [worker["id"] for worker in page["items"]] == ["w1", "w2"]
    rest = (await api.get("/v1/workers", params={"limit": 2, "cursor": page["next_cursor"]})).json()
    assert [worker["id"] for worker in rest["items"]] == ["w3"] and rest["next_cursor"] is None
    sorted_ = await api.get("/v1/workers", params={"sort": "-id", "filter": "not id = w2"})
    assert [worker["id"] for worker in sorted_.json()["items"]] == ["w3", "w1"]
    assert (await api.get("/v1/workers/w1")).json()["slot_kind"] == "cpu"
    assert (await api.get("/v1/workers/w9")).status_code == 404
    assert (await api.get("/v1/pools")).json()["items"][0]["slots"] == 3
    changed = instances.InstanceChanged.model_validate(
        {
            "instance_id": uuid4(),
            "version": 1,
            "pool": "default",
            "worker": "w1",
            "driver": "local",
            "state": "ready",
            "slots": 1,
            "machine_kind": "g5.xlarge",
            "zone": "us-east-1a",
            "purchase": "spot",
            "price_per_hour": 0.5,
            "launched_at": NOW - timedelta(hours=3),
            "ended_at": NOW - timedelta(hours=1),
        }
    )
    await others.announce("provisioner", SITE, changed)

    async def listed() -> list[Any]:
        found = await api.get("/v1/instances", params={"filter": "zone = us-east-1a and purchase = spot"})
        return list(found.json()["items"])

    await eventually(listed)
    (one,) = await listed()
    assert (one["kind"], one["purchase"], one["cost"]) == ("g5.xlarge", "spot", 1.0), "two hours at 0.5"


async def test_the_queue_and_its_reasons_are_told(api: httpx.AsyncClient, others: Others) -> None:
    entry = {
        "trial_id": uuid4(),
        "experiment_id": uuid4(),
        "experiment_number": 1,
        "trial_number": 2,
        "pool": "default",
        "priority": 42,
        "slots": 2,
        "state": "waiting",
        "position": 1,
        "code": "no_free_slots",
        "reason": "2 slots are needed, 1 is free",
        "since": NOW,
    }
    others.say(GetQueue, QueuePage(entries=(QueueEntry.model_validate(entry),), next="x"))
    page = (await api.get("/v1/queue", params={"limit": 1})).json()
    assert page["items"][0]["code"] == "no_free_slots" and page["next_cursor"]
    await api.get("/v1/queue", params={"limit": 1, "cursor": page["next_cursor"]})
    assert others.asked[-1][1].after == "x"


async def test_a_machine_joins_with_a_join_token_only(gateway: Gateway, others: Others) -> None:
    issued = IssuedJoin(token="join-me", expires_at=NOW + timedelta(hours=1))
    others.say(IssueJoin, issued)

    def join(ask: Any, query: Join) -> Credentials:
        if query.token != "join-me":
            raise Rejected("bad_join_token", "the join token is invalid, already used or expired", "token")
        return Credentials(worker=query.worker, jwt="j.w.t", nats_url="nats://x", expires_at=NOW)

    others.say(Join, join)
    body = {"worker": "w1", "user_key": "U" + "A" * 55, "pool": "default", "address": "10.0.0.1"}
    async with gateway.client() as api:
        token = (await api.post("/v1/join-tokens", json={"pool": "default"})).json()["token"]
        refused = await api.post("/v1/workers/join", json=body)
        assert refused.status_code == 401
    async with gateway.client("") as api:
        assert (await api.post("/v1/workers/join", json=body)).status_code == 401
    async with gateway.client(token) as api:
        joined = await api.post("/v1/workers/join", json=body)
        assert joined.status_code == 200 and joined.json()["jwt"] == "j.w.t"
        assert (await api.get("/v1/me")).status_code == 401
        bad = await api.post("/v1/workers/join", json=body | {"worker": "a.b"})
        assert bad.status_code == 400 and bad.json()["place"] == "worker"


async def test_a_rented_machine_joins_by_what_its_provider_has_signed(
    gateway: Gateway, others: Others
) -> None:
    def identify(ask: Any, query: IdentifyMachine) -> IssuedJoin:
        if (query.worker, query.document, query.signature) != ("w1", "i-1 is mine", "AWS"):
            raise Rejected("bad_identity", "this machine is not known by what its provider says of it")
        return IssuedJoin(token="for-w1", expires_at=NOW)

    def join(ask: Any, query: Join) -> Credentials:
        assert (query.token, query.version) == ("for-w1", "0.2.0")
        return Credentials(worker=query.worker, jwt="j.w.t", nats_url="nats://x", expires_at=NOW)

    others.say(IdentifyMachine, identify)
    others.say(Join, join)
    signed = {"identity_document": "i-1 is mine", "identity_signature": "AWS", "version": "0.2.0"}
    body = {"worker": "w1", "user_key": "U" + "A" * 55, "pool": "default", "address": "10.0.0.1", **signed}
    async with gateway.client("") as api:
        joined = await api.post("/v1/workers/join", json=body)
        assert (joined.status_code, joined.json()["jwt"]) == (200, "j.w.t")
        for other in ({"worker": "w2"}, {"identity_signature": "mine"}, {"identity_signature": None}):
            assert (await api.post("/v1/workers/join", json=body | other)).status_code == 401


async def test_grpc_shows_health_and_reflection(gateway: Gateway) -> None:
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        found = await health.Check(
            health_pb2.HealthCheckRequest(service="muster.v1.Muster"), timeout=TIMEOUT_S
        )
        assert found.status == health_pb2.HealthCheckResponse.SERVING
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        async for answer in stub.ServerReflectionInfo(asked, timeout=TIMEOUT_S):
            names = {service.name for service in answer.list_services_response.service}
            assert "muster.v1.Muster" in names
            break


async def test_the_document_is_served(gateway: Gateway) -> None:
    async with gateway.client("") as api:
        first, second = await asyncio.gather(*(api.get("/openapi.json") for _ in range(2)))
        again = await api.get("/openapi.json")
    assert first.content == second.content == again.content
    document = again.json()
    assert document["openapi"] == "3.1.0" and "/v1/experiments/{experiment}" in document["paths"]


async def test_a_tenant_that_is_too_fast_is_told_when_to_come_back(
    settings: Callable[[str], dict[str, str]], servers: Servers, others: Others, tmp_path: Path
) -> None:
    """With Redis, and with the cautious limits of our own while it is away; results stay the same."""
    gateway = await start_gateway(settings("gateway"), tmp_path, MUSTER_GATEWAY__READS_PER_S="1")
    try:
        async with gateway.client() as api:
            answers = await asyncio.gather(*(api.get("/v1/me") for _ in range(100)))
            refused = [answer for answer in answers if answer.status_code == 429]
            assert refused and refused[0].json()["code"] == "rate_limited"
            assert int(refused[0].headers["retry-after"]) >= 1
            assert len(refused) <= len(answers) - 2
            servers.redis.stop()
            await asyncio.sleep(1.5)
            answers = await asyncio.gather(*(api.get("/v1/me") for _ in range(100)))
            assert {answer.status_code for answer in answers} == {200, 429}
            made = await create(api)
            assert made["state"] == "submitted"
    finally:
        servers.restart(servers.redis)
        await stop_gateway(gateway)


async def test_two_replicas_show_the_same_and_either_may_go(
    settings: Callable[[str], dict[str, str]], gateway: Gateway, tmp_path: Path
) -> None:
    """A second replica on the same database and secrets: numbers go on without a gap when the first is killed."""
    other = await start_replica(gateway, settings("gateway"), tmp_path)
    async with gateway.client() as one, other.client() as two:
        made = await create(one)
        assert (await two.get(f"/v1/experiments/{made['number']}")).json()["id"] == made["id"]
        numbers = [(await create(api))["number"] for api in (one, two, one, two)]
        other.process.kill()
        await other.process.wait()
        after = (await create(one))["number"]
    assert [*numbers, after] == list(range(made["number"] + 1, made["number"] + 6))


async def test_a_parked_trial_is_not_said_to_have_ended(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, trial_changed(made, 1, state="parked"))
    path = f"/v1/trials/{made['number']}.1/explanation"

    async def is_shown() -> bool:
        return (await api.get(path)).status_code == 200

    await eventually(is_shown)
    explained = (await api.get(path)).json()
    assert explained["code"] == "parked" and "resumed" in explained["message"]
