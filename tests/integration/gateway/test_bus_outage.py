"""The bus loses its quorum: health checks fail with the reason, and what is stored says that it waits for the bus."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from nats.errors import Error as NatsError

from deploy.embedded.host.ports import free_ports
from deploy.embedded.services import load_report
from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.bus import Bus
from shared.ids import DEFAULT_TENANT
from shared.messages.health import CheckResult
from tests.integration.bus_cluster import BusCluster
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.sites import user
from tests.integration.gateway.test_experiments import changed, create
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually

ASYNC = {"Prefer": "respond-async"}
WAITS = "the request is stored; the message bus has accepted no messages since"


@pytest.fixture(scope="module")
async def cluster(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BusCluster]:
    found = BusCluster(tmp_path_factory.mktemp("cluster"), servers.keys)
    await found.start()
    yield found
    found.close()


@pytest.fixture(scope="module")
async def searcher(servers: Servers, cluster: BusCluster) -> AsyncIterator[Others]:
    bus = await Bus.connect(cluster.url, "searcher", servers.keys.credentials("searcher"))
    yield Others({"searcher": bus})
    await bus.close()


@pytest.fixture(scope="module")
def side_port() -> int:
    return free_ports(1)[0]


@pytest.fixture(scope="module")
async def gateway(
    servers: Servers, postgres: TestDatabase, cluster: BusCluster, side_port: int, tmp_path_factory: Any
) -> AsyncIterator[Gateway]:
    directory: Path = tmp_path_factory.mktemp("gateway")
    environment = servers.environment("gateway", postgres) | {"MUSTER_NATS__URL": cluster.url}
    found = await start_gateway(environment, directory, MUSTER_SIDE__PORT=str(side_port))
    yield found
    await stop_gateway(found)


@asynccontextmanager
async def without_quorum(cluster: BusCluster, side_port: int) -> AsyncIterator[None]:
    """Two of three servers are gone until the end."""
    lost = cluster.nodes[1:]
    for node in lost:
        node.kill()
    await eventually(lambda: ready(side_port) == 503)
    try:
        yield
    finally:
        for node in lost:
            cluster.start_again(node)
        await eventually(lambda: ready(side_port) == 200)


def ready(side_port: int, **query: str) -> int:
    return httpx.get(f"http://127.0.0.1:{side_port}/ready", params=query).status_code


def checks(side_port: int) -> dict[str, CheckResult]:
    report = load_report(side_port)
    return {check.name: check for check in report.checks} if report else {}


async def known(api: httpx.AsyncClient, others: Others) -> dict[str, Any]:
    """An experiment that the searcher has taken up."""
    made = await create(api)

    async def is_announced() -> bool:
        try:
            await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
        except NatsError:
            return False  # a server that has just joined knows of no stream yet
        return True

    await eventually(is_announced, every_s=0.5)

    async def is_known() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["version"] == 1)

    await eventually(is_known)
    return made


async def test_two_of_three_servers_are_enough(
    api: httpx.AsyncClient, cluster: BusCluster, side_port: int
) -> None:
    await eventually(lambda: ready(side_port) == 200)
    lost = cluster.nodes[0]
    lost.kill()
    try:
        await eventually(lambda: ready(side_port) == 200)
        made = await create(api)
        assert made["waiting"] is None
    finally:
        cluster.start_again(lost)


async def test_a_lost_quorum_is_told_everywhere(
    api: httpx.AsyncClient, gateway: Gateway, searcher: Others, cluster: BusCluster, side_port: int
) -> None:
    before = await known(api, searcher)
    viewer = await user(api, "looks", "viewer")
    async with without_quorum(cluster, side_port):
        found = checks(side_port)
        assert not found["bus"].ok and "EVT" in (found["bus"].reason or "")
        assert found["database"].ok and found["process"].ok
        assert ready(side_port, exclude="bus") in (200, 503)  # the outbox may hold something by now
        live = httpx.get(f"http://127.0.0.1:{side_port}/live")
        assert live.status_code == 200
        figures = httpx.get(f"http://127.0.0.1:{side_port}/metrics").text
        assert 'muster_health_check{check="bus",service="gateway"} 0.0' in figures

        health = (await api.get("/v1/health/platform")).json()
        assert health["state"] == "degraded" and "message bus" in health["summary"]
        of_bus = next(one for one in health["checks"] if (one["service"], one["name"]) == ("gateway", "bus"))
        assert not of_bus["ok"] and of_bus["reason"]
        async with gateway.client(viewer) as other:
            told = (await other.get("/v1/health/platform")).json()
        assert told["state"] == "degraded" and told["summary"] == health["summary"] and told["checks"] == []

        made = await create(api)
        assert made["state"] == "submitted" and made["waiting"].startswith(WAITS)
        shown = (await api.get(f"/v1/experiments/{made['id']}")).json()
        assert shown["waiting"].startswith(WAITS)

        path = f"/v1/experiments/{before['id']}/pause"
        plain = await api.post(path)
        assert plain.status_code == 202 and plain.headers["Muster-Waiting"].startswith(WAITS)
        operation = await api.post(path, headers=ASYNC)
        assert operation.status_code == 202 and operation.json()["waiting"].startswith(WAITS)
        looked = (await api.get(operation.headers["location"])).json()
        assert looked["state"] == "running" and looked["waiting"].startswith(WAITS)

        early = await api.post(f"/v1/experiments/{made['id']}/pause")
        assert early.status_code == 503 and "nothing was changed" in early.json()["detail"]

        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
            stub = muster_pb2_grpc.MusterStub(channel)
            asked = stub.PauseExperiment(
                muster_pb2.ExperimentRequest(experiment=before["id"]), metadata=metadata, timeout=20
            )
            await asked
            assert dict(await asked.trailing_metadata())["muster-waiting"].startswith(WAITS)

    async def is_sent() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["waiting"] is None)

    await eventually(is_sent)
    assert (await api.get(operation.headers["location"])).json()["waiting"] is None


async def test_an_outbox_that_waits_makes_the_service_unready(
    api: httpx.AsyncClient, cluster: BusCluster, side_port: int
) -> None:
    async with without_quorum(cluster, side_port):
        await create(api)
        await eventually(lambda: not checks(side_port)["outbox"].ok)
        assert "the oldest message has waited" in (checks(side_port)["outbox"].reason or "")
        assert ready(side_port, exclude="bus") == 503
