"""Anchors the audit chains outside of the database every minute: as spans (OTLP), and as objects that the store retains.

An anchor is the head of a chain. Its content is its key, `anchors/TENANT/SEQUENCE-HASH`: an object can neither be changed nor, until its
retention ends, deleted, so that a chain that is shorter or differs at that record was truncated or rewritten.
"""

import asyncio
import re
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from muster.audit import Anchor
from services.gateway.platform.audit import store
from shared.clock import Clock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.errors import MusterError, Transient
from shared.ids import TenantId, new_id
from shared.objects.retained import RetainedObjects
from shared.runtime.loops import repeat
from shared.telemetry import record

EVERY = timedelta(minutes=1)
LEASE = "audit_anchors"
LEASE_S = 60.0
_PROBE_RETENTION = timedelta(minutes=1)
_LATE_S = 300.0
"""The status warns if anchors could not be stored for this time."""
_KEY = re.compile(r"(\d{20})-([0-9a-f]{64})")
_log = structlog.get_logger()


class AnchorStore:
    """Anchors as objects under retention, in a bucket of their own.

    Args:
        name: The bucket's name, for messages.
        retention: How long the store must keep an anchor.
    """

    def __init__(self, objects: RetainedObjects, name: str, retention: timedelta, clock: Clock) -> None:
        self._objects = objects
        self._name = name
        self.retention = retention
        self._clock = clock
        self._retains: bool | None = None

    async def test(self) -> bool:
        """Return whether the store demonstrates that it retains objects. Raises Transient while it is unavailable."""
        until = self._clock.now() + _PROBE_RETENTION
        self._retains = await self._objects.retains(f"probe/{new_id(self._clock)}", until)
        if not self._retains:
            _log.warning("the bucket does not retain objects; no audit anchors are stored", bucket=self._name)
        return self._retains

    @property
    def retains(self) -> bool:
        """The result of `test`. Raises Transient before it."""
        if self._retains is None:
            raise Transient(
                f"the bucket {self._name} for audit anchors has not yet been tested: it is not reachable"
            )
        return self._retains

    async def write(self, tenant: TenantId, head: Anchor) -> None:
        """Store an anchor. Repeated, it adds a version with a later retention."""
        key = f"{_prefix(tenant)}{head.sequence:020d}-{head.hash.hex()}"
        await self._objects.put_retained(key, b"", self._clock.now() + self.retention)

    async def load(self, tenant: TenantId, after: int, last: int) -> dict[int, list[Anchor]] | None:
        """Load the anchors after a sequence, by sequence: up to `last`, and the first beyond. None if the store does not retain objects.

        Raises:
            Transient: The store is unavailable.
        """
        if not self.retains:
            return None
        found: dict[int, list[Anchor]] = {}
        prefix = _prefix(tenant)
        async for key in self._objects.list_versions(prefix, f"{prefix}{after:020d}-~"):
            parts = _KEY.fullmatch(key.removeprefix(prefix))
            if parts is None:
                continue
            anchor = Anchor(int(parts[1]), bytes.fromhex(parts[2]))
            if anchor not in (here := found.setdefault(anchor.sequence, [])):
                here.append(anchor)
            if anchor.sequence > last:
                break
        return found

    def describe(self, tenant: TenantId, anchor: Anchor) -> str:
        """Return the anchor's object and content, for messages."""
        return f"s3://{self._name}/{_prefix(tenant)}{anchor.sequence:020d}-{anchor.hash.hex()}"


class Anchoring:
    """Writes the anchors while this process holds the lease: one process at a time, and what it repeats changes nothing.

    Args:
        warn: Gets why anchors are missing, or that a chain became shorter since this process anchored it; None if all is well.
    """

    def __init__(
        self,
        database: Database,
        lease: Lease,
        anchors: AnchorStore | None,
        clock: Clock,
        warn: Callable[[str | None], None],
    ) -> None:
        self._database = database
        self._lease = lease
        self._store = anchors
        self._clock = clock
        self._warn = warn
        self._written: dict[TenantId, tuple[Anchor, datetime]] = {}
        self._failed_at: float | None = None
        self._shortened: str | None = None

    async def run(self, stopping: asyncio.Event) -> None:
        """Anchor every minute until `stopping`."""
        await self._lease.lead(self._lead, stopping)

    async def anchor(self) -> None:
        """Anchor the chains that have changed. An old anchor is repeated, so that there is always one under retention."""
        try:
            await self._anchor()
        except MusterError as error:
            now_s = self._clock.monotonic()
            self._failed_at = now_s if self._failed_at is None else self._failed_at
            if now_s - self._failed_at >= _LATE_S:
                self._warn(f"audit anchors cannot be stored: {error}")
            raise
        self._failed_at = None
        self._warn(self._shortened)

    async def _lead(self, _epoch: int, ended: asyncio.Event) -> None:
        self._written.clear()
        anchoring = asyncio.create_task(repeat(self.anchor, EVERY))
        try:
            await ended.wait()
        finally:
            anchoring.cancel()
            await asyncio.gather(anchoring, return_exceptions=True)

    async def _anchor(self) -> None:
        is_retained = self._store is not None and self._store.retains
        async with self._database.system() as connection:
            heads = await store.load_heads(connection)
        self._compare(heads)
        now = self._clock.now()
        for tenant, head in heads.items():
            before, at = self._written.get(tenant, (None, now))
            if before == head and (self._store is None or now - at < self._store.retention / 4):
                continue
            if self._store is not None and is_retained:
                await self._store.write(tenant, head)
            record("anchor audit log", now, now, {}, tenant=tenant, anchor=f"{tenant}/{head}")
            self._written[tenant] = head, now

    def _compare(self, heads: dict[TenantId, Anchor]) -> None:
        for tenant, (before, _) in self._written.items():
            now = heads.get(tenant, Anchor())
            if now.sequence < before.sequence:
                self._shortened = (
                    f"the audit log of tenant {tenant} was truncated: it ends at record {now.sequence},"
                    f" but record {before.sequence} was anchored; `muster audit verify` shows the anchor"
                )
                _log.error(
                    "an audit log was truncated", tenant=str(tenant), anchor=str(before), head=str(now)
                )


def _prefix(tenant: TenantId) -> str:
    return f"anchors/{tenant}/"
