"""Anchors of the audit log: written by one replica, repeated before they expire, sent through OTLP, and missed in the status."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers import S3Server
from deploy.embedded.servers.s3 import BUCKET
from muster.audit import Anchor
from services.gateway.platform.audit import store
from services.gateway.platform.audit.anchors import Anchoring, AnchorStore
from services.gateway.platform.audit.records import seal_all
from shared.clock import SystemClock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.errors import Transient
from shared.ids import TenantId
from shared.messages.health import HealthReport
from shared.settings import PostgresSettings
from tests.integration.gateway.audited import new_tenant, recorded
from tests.integration.gateway.conftest import Others, start_gateway, stop_gateway
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

TENANT, OTHER = (TenantId(UUID(int=number)) for number in (1, 2))
DAY = timedelta(days=1)


class Bucket:
    """A bucket in memory: keys with the date until which a version is kept, in order of writing."""

    def __init__(self) -> None:
        self.puts: list[tuple[str, datetime]] = []
        self.is_down = False

    async def put_retained(self, key: str, content: bytes, until: datetime) -> None:
        if self.is_down:
            raise Transient("the store is down")
        self.puts.append((key, until))

    async def list_versions(self, prefix: str, after: str = "") -> AsyncIterator[str]:
        for key in sorted(key for key, _ in self.puts if key.startswith(prefix) and key > after):
            yield key

    async def retains(self, key: str, until: datetime) -> bool:
        return True

    async def close(self) -> None:
        pass


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return SystemClock().now() + self.ahead

    def monotonic(self) -> float:
        return SystemClock().monotonic() + self.ahead.total_seconds()


@pytest.fixture
async def database(postgres: TestDatabase) -> AsyncIterator[Database]:
    urls = postgres.urls["gateway"]
    settings = PostgresSettings.model_validate({"tenant_url": urls.tenant, "system_url": urls.system})
    async with Database(settings, "gateway") as opened:
        yield opened


async def seal(database: Database, tenant: TenantId, count: int) -> Anchor:
    """Append records to a chain; return its head."""
    async with database.system() as connection:
        head = await store.load_head(connection, tenant)
        texts = [f'{{"at":"now","sequence":0,"tenant":"{tenant}"}}'] * count
        await store.insert_sealed(connection, tenant, SystemClock().now(), seal_all(head, texts))
        return await store.load_head(connection, tenant)


def replica(
    database: Database,
    bucket: Bucket,
    clock: Clock,
    name: str = "a",
    warn: Callable[[str | None], None] = lambda _: None,
) -> Anchoring:
    anchors = AnchorStore(bucket, "b", 8 * DAY, clock)
    lease = Lease(database, "gateway", "audit_anchors", name, SystemClock(), 1.0)
    return Anchoring(database, lease, anchors, clock, warn)


async def ready(anchoring: Anchoring) -> Anchoring:
    assert anchoring._store is not None and await anchoring._store.test()
    return anchoring


async def test_heads_that_changed_are_anchored_once_and_repeated_before_they_expire(
    database: Database,
) -> None:
    bucket, clock = Bucket(), Clock()
    anchoring = await ready(replica(database, bucket, clock))
    first, other = await seal(database, TENANT, 3), await seal(database, OTHER, 1)
    await anchoring.anchor()
    await anchoring.anchor()
    assert sorted(key for key, _ in bucket.puts) == [key_of(TENANT, first), key_of(OTHER, other)]
    second = await seal(database, TENANT, 2)
    clock.ahead = DAY
    await anchoring.anchor()
    assert [key for key, _ in bucket.puts[2:]] == [key_of(TENANT, second)]
    clock.ahead = 3 * DAY
    await anchoring.anchor()
    assert sorted(key for key, _ in bucket.puts[3:]) == [key_of(TENANT, second), key_of(OTHER, other)]
    assert bucket.puts[-1][1] > clock.now() + 7 * DAY


async def test_anchors_are_loaded_in_a_range_and_to_the_first_beyond_it(database: Database) -> None:
    bucket, clock = Bucket(), Clock()
    anchors = AnchorStore(bucket, "b", DAY, clock)
    with pytest.raises(Transient):
        await anchors.load(TENANT, 0, 10)
    assert await anchors.test()
    for sequence in (1, 5, 9, 20, 30):
        await anchors.write(TENANT, Anchor(sequence, bytes([sequence] * 32)))
    await anchors.write(TENANT, Anchor(9, b"z" * 32))
    await anchors.write(OTHER, Anchor(7, b"z" * 32))
    await bucket.put_retained(f"anchors/{TENANT}/nonsense", b"", clock.now())
    found = await anchors.load(TENANT, 1, 10)
    assert found is not None and {sequence: len(ones) for sequence, ones in found.items()} == {
        5: 1,
        9: 2,
        20: 1,
    }


async def test_the_status_warns_of_a_store_that_stays_away_and_of_a_truncated_log(
    database: Database, postgres: TestDatabase
) -> None:
    bucket, clock = Bucket(), Clock()
    told: list[str | None] = [None]
    anchoring = await ready(replica(database, bucket, clock, warn=told.append))
    bucket.is_down = True
    for ahead, is_late in ((0, False), (4, False), (6, True)):
        clock.ahead = timedelta(minutes=ahead)
        with pytest.raises(Transient):
            await anchoring.anchor()
        assert bool(told[-1]) is is_late
    bucket.is_down = False
    await anchoring.anchor()
    assert told[-1] is None
    anchoring._written[TENANT] = Anchor(10_000, bytes(32)), clock.now()
    await anchoring.anchor()
    assert "was truncated" in str(told[-1])


async def test_one_replica_anchors_and_another_takes_over(database: Database) -> None:
    bucket, clock, stops = Bucket(), Clock(), [asyncio.Event(), asyncio.Event()]
    await seal(database, TENANT, 1)
    replicas = [await ready(replica(database, bucket, clock, name)) for name in ("a", "b")]
    tasks = [asyncio.create_task(one.run(stop)) for one, stop in zip(replicas, stops, strict=True)]
    await eventually(lambda: len(bucket.puts) >= 2)
    await asyncio.sleep(2.0)
    writers = [number for number, one in enumerate(replicas) if one._written]
    assert len(writers) == 1 and len(bucket.puts) == 2, "one for each of the two tenants"
    stops[writers[0]].set()
    await tasks[writers[0]]
    await eventually(lambda: len(bucket.puts) == 4)
    assert len({key for key, _ in bucket.puts}) == 2, "a repeated anchor is the same object"
    stops[1 - writers[0]].set()
    await tasks[1 - writers[0]]


async def test_anchors_are_sent_through_otlp(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path: Path
) -> None:
    received: list[str] = []

    async def receive(request: web.Request) -> web.Response:
        spans = ExportTraceServiceRequest.FromString(await request.read())
        for resource in spans.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    received.extend(one.value.string_value for one in span.attributes if one.key == "anchor")
        return web.Response()

    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_post("/v1/traces", receive)
    runner = web.AppRunner(application)
    await runner.setup()
    (port,) = free_ports(1)
    await web.TCPSite(runner, "127.0.0.1", port).start()
    environment = settings("gateway") | {"MUSTER_TELEMETRY__OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
    gateway = await start_gateway(environment, tmp_path)
    try:
        async with new_tenant(gateway, "sent") as admin:
            await admin.post("/v1/groups", json={"name": "g"})
            await recorded(admin, entity="group/g")
            head = (await admin.get("/v1/audit/head")).json()
            verified = (await admin.get("/v1/audit/verification")).json()
            assert verified["anchors"] is None and verified["broken_at"] is None
        await stop_gateway(gateway)
        gateway = await start_gateway(environment, tmp_path)
        wanted = f"{head['tenant']}/{head['sequence']}:{head['hash']}"
        await eventually(lambda: wanted in received)
        assert not await warnings(gateway.log)
    finally:
        await stop_gateway(gateway)
        await runner.cleanup()


async def test_the_status_says_that_nothing_is_anchored(
    settings: Callable[[str], dict[str, str]], others: Others, s3_server: S3Server, tmp_path: Path
) -> None:
    gateway = await start_gateway(settings("gateway"), tmp_path)
    assert "MUSTER_GATEWAY__AUDIT_STORE__URL" in " ".join(await warnings(gateway.log))
    await stop_gateway(gateway)
    plain = {"URL": s3_server.url, "ACCESS_KEY": s3_server.platform[0], "SECRET_KEY": s3_server.platform[1]}
    store = {
        f"MUSTER_GATEWAY__AUDIT_STORE__{name}": value for name, value in (plain | {"BUCKET": BUCKET}).items()
    }
    gateway = await start_gateway(settings("gateway") | store, tmp_path)

    async def says_so() -> bool:
        return f"the bucket {BUCKET} does not retain objects" in " ".join(await warnings(gateway.log))

    await eventually(says_so)
    await stop_gateway(gateway)


async def warnings(log: Path) -> tuple[str, ...]:
    """What the side port of the last process that wrote this log warns of."""
    started = [line for line in log.read_text().splitlines() if '"side_port"' in line][-1]
    port = int(started.partition('"side_port":')[2].lstrip().partition(",")[0].rstrip("}"))

    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/ready")
    return HealthReport.model_validate_json(answer.content).warnings


def key_of(tenant: TenantId, head: Anchor) -> str:
    return f"anchors/{tenant}/{head.sequence:020d}-{head.hash.hex()}"
