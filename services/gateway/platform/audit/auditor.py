"""Writes the audit log: each call's record with its change, refusals gathered for a second, and the sealing of both into chains.

Neighbours: `records` (what a record says), `store` (where it stands), `muster.audit` (the chain).
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import orjson

from services.gateway.platform.audit import store
from services.gateway.platform.audit.records import (
    AuditOutcome,
    CallFacts,
    CallOrigin,
    name_entity,
    render_record,
    seal_all,
)
from services.gateway.platform.limits.buckets import Bucket, Rate, take
from services.gateway.platform.schema import Resource
from shared.bus import Unit
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import MusterError
from shared.ids import TenantId, new_id
from shared.runtime.loops import repeat

SEAL_EVERY = timedelta(seconds=1)
_LOOK_EVERY = timedelta(seconds=30)
"""How soon what a replica left behind that ended is sealed by another."""
_BATCH = 2000
_DENIALS = Rate(1.0, 60.0)
"""Of one tenant: kinds of denials that a replica records in a second, and at once. What is more is counted in one record."""
_MOST_KINDS = 1000


@dataclass(slots=True)
class AuditWriter:
    """Writes the record of one call, once, with the first transaction of it that changes something."""

    facts: CallFacts
    tenants: tuple[TenantId, ...]
    """In whose logs it stands."""
    path: str
    trace_id: str | None
    asked: dict[str, Any]
    auditor: "Auditor"
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    entity: str | None = None
    code: str | None = None
    is_written: bool = False
    has_changed: bool = False
    """A change of the call is committed, or may be: what it asks for may still take effect whatever the call is answered with."""

    async def write(self, unit: Unit) -> None:
        """Append the record in the transaction. A second transaction of the call adds nothing."""
        if not self.is_written:
            await store.append(unit.connection, self.tenants, self._records())

    def written(self) -> None:
        """The transaction is committed."""
        if not self.is_written:
            self.is_written = True
            self.auditor.wake()

    def _records(self) -> list[str]:
        if self.after and "config" in self.after:
            self.asked.pop("config", None)
        entity = self.entity or name_entity(self.path, self.facts.path, self.after)
        clock, facts = self.auditor.clock, replace(self.facts, entity=entity)
        return [
            render_record(
                tenant,
                facts,
                clock.now(),
                new_id(clock),
                AuditOutcome.ALLOWED,
                self.trace_id,
                asked=self.asked,
                before=self.before,
                after=self.after,
                code=self.code,
            )
            for tenant in self.tenants
        ]

    @property
    def asked_path(self) -> str:
        """The path of the call as it was asked for."""
        return self.path.format_map(self.facts.path)


def to_record_fields(resource: Resource | Mapping[str, Any]) -> dict[str, Any]:
    """A resource as its users see it."""
    if not isinstance(resource, Resource):
        return dict(resource)
    found: dict[str, Any] = orjson.loads(resource.__pydantic_serializer__.to_json(resource))
    found.pop("config_yaml", None)  # The same as its `config`, in which secrets are found.
    return found


@dataclass(slots=True)
class _Denials:
    """What a tenant was refused since the last look: how often each kind, and how many more."""

    counts: dict[tuple[CallFacts, str], int] = field(default_factory=dict)
    more: int = 0

    def add(self, kind: tuple[CallFacts, str], count: int) -> None:
        """Kinds beyond what is kept apart are only counted."""
        if kind in self.counts or len(self.counts) < _MOST_KINDS:
            self.counts[kind] = self.counts.get(kind, 0) + count
        else:
            self.more += count


class Auditor:
    """Gathers refusals, and seals what was written. A replica that ends by force may lose the refusals of its last second, and no change."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self.clock = clock
        self._woken = asyncio.Event()
        self._denials: dict[TenantId, _Denials] = {}
        self._buckets: dict[TenantId, Bucket] = {}

    def wake(self) -> None:
        """Something waits to be sealed."""
        self._woken.set()

    def deny(self, tenant: TenantId, facts: CallFacts, code: str) -> None:
        """Keeps in mind that somebody was refused; it stands in the log within a second or two, with how often."""
        self._denials.setdefault(tenant, _Denials()).add((facts, code), 1)
        self.wake()

    async def run(self) -> None:
        """Writes and seals, a second after there was something to seal."""
        await repeat(self._step, _LOOK_EVERY, self._woken)

    async def flush(self) -> None:
        """Writes the refusals that are still in mind, for the last time."""
        with suppress(MusterError):
            await self._write_denials()

    async def _step(self) -> None:
        await asyncio.sleep(SEAL_EVERY.total_seconds())
        self._woken.clear()
        await self._write_denials()
        await self.seal()

    async def _write_denials(self) -> None:
        gathered, self._denials = self._denials, {}
        tenants, records = [], []
        for tenant, denied in gathered.items():
            for text in self._texts(tenant, denied):
                tenants.append(tenant)
                records.append(text)
        if not records:
            return
        try:
            async with self._database.system() as connection:
                await store.append(connection, tenants, records)
        except (MusterError, asyncio.CancelledError):
            for tenant, denied in gathered.items():
                kept = self._denials.setdefault(tenant, _Denials())
                kept.more += denied.more
                for kind, count in denied.counts.items():
                    kept.add(kind, count)
            raise

    def _texts(self, tenant: TenantId, denied: _Denials) -> list[str]:
        now, texts, more = self.clock.now(), [], denied.more
        for (facts, code), count in denied.counts.items():
            before = [(self._buckets.get(tenant), _DENIALS)]
            (self._buckets[tenant],), taken = take(before, self.clock.monotonic())
            if not taken:
                more += count
                continue
            texts.append(
                render_record(
                    tenant, facts, now, new_id(self.clock), AuditOutcome.DENIED, code=code, count=count
                )
            )
        if more:
            many = CallFacts("", "", CallOrigin())
            texts.append(
                render_record(
                    tenant, many, now, new_id(self.clock), AuditOutcome.DENIED, code="many_more", count=more
                )
            )
        return texts

    async def seal(self) -> None:
        """Seals what waits, each tenant's into its own chain; what another replica is sealing is left to it."""
        async with self._database.system() as connection:
            tenants = await store.load_waiting_tenants(connection)
        for tenant in tenants:
            while await self._seal_some(tenant) == _BATCH:
                pass

    async def _seal_some(self, tenant: TenantId) -> int:
        async with self._database.system() as connection:
            if not await store.try_lock_chain(connection, tenant):
                return 0
            taken = await store.take_waiting(connection, tenant, _BATCH)
            if taken:
                head = await store.load_head(connection, tenant)
                sealed = seal_all(head, taken)
                await store.insert_sealed(connection, tenant, self.clock.now(), sealed)
        return len(taken)
