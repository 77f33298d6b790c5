"""Writes the audit log: commits each call's record with its change, collects denials for a second, and seals both into chains.

`records` renders records, `store` stores them, `muster.audit` defines the chain.
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
"""How soon another replica seals the records of a stopped replica."""
_BATCH = 2000
_DENIALS = Rate(1.0, 60.0)
"""Rate and burst of different denials of one tenant that a replica records separately. All others are counted in one record."""
_MOST_KINDS = 1000


@dataclass(slots=True)
class AuditWriter:
    """Writes the audit record of one call, once, in the call's first transaction that changes something."""

    facts: CallFacts
    tenants: tuple[TenantId, ...]
    """Tenants whose logs get the record."""
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
    """True once a change of the call is committed, or may be. The request may then take effect even if the call fails."""

    async def write(self, unit: Unit) -> None:
        """Append the record in the transaction. Later transactions of the call append nothing."""
        if not self.is_written:
            await store.append(unit.connection, self.tenants, self._records())

    def written(self) -> None:
        """Note that the transaction is committed."""
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
        """The request's path."""
        return self.path.format_map(self.facts.path)


def to_record_fields(resource: Resource | Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource as a JSON document for the record."""
    if not isinstance(resource, Resource):
        return dict(resource)
    found: dict[str, Any] = orjson.loads(resource.__pydantic_serializer__.to_json(resource))
    found.pop("config_yaml", None)  # Same content as `config`, in which secrets are hidden.
    return found


@dataclass(slots=True)
class _Denials:
    """Denials of a tenant since the last write: a count per kind, and the count of all others."""

    counts: dict[tuple[CallFacts, str], int] = field(default_factory=dict)
    more: int = 0

    def add(self, kind: tuple[CallFacts, str], count: int) -> None:
        """Count a denial. Kinds beyond the maximum are only counted together."""
        if kind in self.counts or len(self.counts) < _MOST_KINDS:
            self.counts[kind] = self.counts.get(kind, 0) + count
        else:
            self.more += count


class Auditor:
    """Collects denials and seals records. A replica that is killed may lose the denials of its last second, but no change."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self.clock = clock
        self._woken = asyncio.Event()
        self._denials: dict[TenantId, _Denials] = {}
        self._buckets: dict[TenantId, Bucket] = {}

    def wake(self) -> None:
        """Seal waiting records soon."""
        self._woken.set()

    def deny(self, tenant: TenantId, facts: CallFacts, code: str) -> None:
        """Count a denial. It is recorded within about two seconds, with its count."""
        self._denials.setdefault(tenant, _Denials()).add((facts, code), 1)
        self.wake()

    async def run(self) -> None:
        """Write denials and seal records, one second after each wake."""
        await repeat(self._step, _LOOK_EVERY, self._woken)

    async def flush(self) -> None:
        """Write the remaining denials at shutdown."""
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
                pending = self._denials.setdefault(tenant, _Denials())
                pending.more += denied.more
                for kind, count in denied.counts.items():
                    pending.add(kind, count)
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
        """Seal waiting records, each tenant's into its own chain. Chains that another replica is sealing are skipped."""
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
