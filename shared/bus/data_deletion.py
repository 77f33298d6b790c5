"""Deletion of everything that a service stores of an experiment, a workspace or a tenant. Crash-safe. See also `shared.messages.deletions`.

A command becomes a row (`deletion_request`). A loop starts it by recording the id as deleted, so that no late message recreates anything
(`shared.bus.inbox`). It then deletes in small transactions; the last one emits the confirmation and drops the row. All steps are
idempotent, so replicas may run them concurrently.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import structlog
from sqlalchemy import (
    ColumnElement,
    Delete,
    Select,
    Text,
    Update,
    Uuid,
    cast,
    column,
    delete,
    select,
    table,
    true,
    update,
    values,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.pg_catalog import pg_attribute, pg_class, pg_namespace
from sqlalchemy.sql.selectable import TableClause

from shared.bus import Delivery, Unit, Units
from shared.bus.consumer import Handlers
from shared.database.statements import among, ctid, listed, rows_given
from shared.database.tables import tables_of
from shared.errors import Conflict, Rejected
from shared.ids import TenantId
from shared.messages.deletions import BY_OWNER, DeleteEntity, EntityDeleted, Scope
from shared.messages.experiments import OperationRefused
from shared.runtime import faults
from shared.runtime.loops import repeat

AFTER_BEGIN = faults.register("deleting.after_begin")
AFTER_ROWS = faults.register("deleting.after_rows")
AT_ONCE = 2_000
"""Rows per transaction."""
EVERY = timedelta(seconds=15)
"""Interval of the loop. A new command wakes it at once; the interval covers rows left by a replica that died."""
_AGAIN = timedelta(seconds=2)
"""Interval while something cannot be deleted yet."""
_MAX_REQUESTS = 100
_CONCURRENCY = 2
DeleteStatement = Delete | Update
"""A statement to repeat until it affects no rows."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DeletionRequest:
    """A deletion request. `tenant`: the tenant in whose name it was sent; `ids.SITE` when a tenant itself is deleted. `target`: id of the experiment or tenant."""

    operation: UUID
    tenant: TenantId
    scope: Scope
    target: UUID
    workspace: str | None
    is_forced: bool
    by: str

    @property
    def affected_tenant(self) -> TenantId:
        """The tenant whose data is deleted."""
        return TenantId(self.target) if self.scope == "tenant" else self.tenant


class DeletionOwner(Protocol):
    """A service's own part of deletions."""

    async def begin(self, unit: Unit, request: DeletionRequest) -> bool:
        """Return whether the deletion can proceed now. Runs in a system transaction; idempotent.

        Messages that it emits must name the tenant. Raises Rejected or Conflict to reject the deletion for good.
        """
        ...

    async def empty(self, request: DeletionRequest) -> None:
        """Delete what lies outside the tables, or whose rows need more than a DELETE. Raises Transient to be called again."""
        ...

    def rows(self, request: DeletionRequest) -> "Sequence[DeleteStatement]":
        """Return the statements to run after that, in order."""
        ...


def rows_of(whose: TableClause, where: ColumnElement[bool]) -> DeleteStatement:
    """Delete the rows of a table that match `where`, in batches."""
    some = select(ctid).select_from(whose).where(where).limit(AT_ONCE)
    return delete(whose).where(listed(some))


def outbox_of(schema: str, kinds: Sequence[str], ids: Select[UUID]) -> Sequence[DeleteStatement]:
    """Delete kept events of these kinds of entities. `ids`: a query for the entities' ids.

    Unpublished events are still published: they are detached from their entity and expire by age.
    """
    outbox = tables_of(schema).outbox
    lines = values(column("line", Text), name="lines").data([(f"{kind}:",) for kind in kinds])
    named = ids.subquery("named")
    entities = select(lines.c.line + cast(named.c[0], Text)).select_from(lines.join(named, true()))
    of_them = outbox.c.entity.in_(entities)
    waiting = update(outbox).where(of_them, outbox.c.published_at.is_(None)).values(entity=None)
    return waiting, rows_of(outbox, of_them)


def tenants_rows(schema: str, tables: Sequence[str], tenant: UUID) -> Sequence[DeleteStatement]:
    """Delete a tenant's rows in each of the tables."""
    named = (table(name, column("tenant", Uuid), schema=schema) for name in tables)
    return [rows_of(one, one.c.tenant == tenant) for one in named]


class DeletionLoop:
    """Runs the deletions of one service."""

    def __init__(self, units: Units, schema: str, owner: DeletionOwner) -> None:
        self._units = units
        self._schema = schema
        self._owner = owner
        self._deleting = tables_of(schema).deleting
        self._woken = asyncio.Event()

    def handlers(self) -> Handlers:
        """Return the handler of the service's delete command."""
        return {BY_OWNER[self._schema]: self.on_delete}

    async def run(self) -> None:
        """Carry out deletions until cancelled."""
        await repeat(self.carry_out, EVERY, self._woken)

    async def run_until(self, ended: asyncio.Event) -> None:
        """Carry out deletions until `ended` is set."""
        running = asyncio.create_task(self.run())
        try:
            await ended.wait()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def on_delete(self, unit: Unit, batch: list[Delivery[DeleteEntity]]) -> None:
        """Store the request; the loop carries it out."""
        for delivery in batch:
            request = delivery.message
            row = {
                "operation": request.operation_id,
                "tenant": delivery.envelope.tenant,
                "scope": request.scope,
                "target": request.target,
                "workspace": request.workspace,
                "is_forced": request.is_forced,
                "by": request.by,
                "asked_at": unit.now,
            }
            await unit.connection.execute(insert(self._deleting).values(row).on_conflict_do_nothing())

        async def wake() -> None:
            self._woken.set()

        unit.after_commit(wake)

    async def carry_out(self) -> timedelta | None:
        """Run one pass over all requests. Return when to run again if there were any; None otherwise."""
        of = self._deleting.c
        asked = select(of.operation, of.tenant, of.scope, of.target, of.workspace, of.is_forced, of.by)
        async with self._units.system_connection() as connection:
            found = (await connection.execute(asked.order_by(of.asked_at).limit(_MAX_REQUESTS))).all()
        slots = asyncio.Semaphore(_CONCURRENCY)
        requests = [DeletionRequest(**row._mapping) for row in found]
        results = await asyncio.gather(
            *(self._delete_one(one, slots) for one in requests), return_exceptions=True
        )
        for failure in results:  # raised only after all others were tried
            if isinstance(failure, BaseException):
                raise failure
        return _AGAIN if requests else None

    async def _delete_one(self, request: DeletionRequest, slots: asyncio.Semaphore) -> None:
        async with slots:
            if not await self._begin(request):
                return
            faults.point(AFTER_BEGIN)
            await self._owner.empty(request)
            for rows in (*self._owner.rows(request), *await self._tenants_rows(request)):
                await self._delete(rows)
            faults.point(AFTER_ROWS)
            await self._finish(request)

    async def _begin(self, request: DeletionRequest) -> bool:
        try:
            async with self._units.system() as unit:
                if not await self._owner.begin(unit, request):
                    return False
                if request.scope != "workspace":  # its name may be reused
                    await mark_deleted(unit, self._schema, [request.target])
        except (Rejected, Conflict) as error:
            await self._refuse(request, error)
            return False
        return True

    async def _tenants_rows(self, request: DeletionRequest) -> Sequence[DeleteStatement]:
        """For a tenant: delete its rows in every table with a tenant column, including tables added by later versions."""
        if request.scope != "tenant":
            return ()
        async with self._units.system() as unit:
            tables = await tables_of_tenants(unit, self._schema)
        return tenants_rows(self._schema, tables, request.target)

    async def _refuse(self, request: DeletionRequest, error: Rejected | Conflict) -> None:
        async with self._units.system() as unit:
            if await self._drop(unit, request):
                refusal = OperationRefused(
                    operation_id=request.operation, code=error.code, message=error.message, hint=error.hint
                )
                unit.emit(refusal, tenant=request.tenant)

    async def _delete(self, rows: DeleteStatement) -> None:
        affected = 1
        while affected:
            async with self._units.system() as unit:
                affected = (await unit.connection.execute(rows)).rowcount

    async def _finish(self, request: DeletionRequest) -> None:
        async with self._units.system() as unit:
            if not await self._drop(unit, request):
                return
            confirmation = EntityDeleted(
                operation_id=request.operation, owner=self._schema, scope=request.scope, target=request.target
            )
            unit.emit(confirmation, tenant=request.tenant)
        _log.info("an entity was deleted completely", scope=request.scope, target=str(request.target))

    async def _drop(self, unit: Unit, request: DeletionRequest) -> bool:
        """Drop the request's row. True for the replica that did; only that one emits the result."""
        drop = delete(self._deleting).where(self._deleting.c.operation == request.operation)
        return (await unit.connection.execute(drop)).rowcount > 0


async def tables_of_tenants(unit: Unit, schema: str) -> Sequence[str]:
    """Return the tables with a tenant column, except partitioned ones; inbox and outbox last."""
    name = cast(pg_class.c.relname, Text)
    query = (
        select(name)
        .join(pg_namespace, pg_namespace.c.oid == pg_class.c.relnamespace)
        .join(pg_attribute, pg_attribute.c.attrelid == pg_class.c.oid)
        .where(pg_namespace.c.nspname == schema, pg_class.c.relkind == "r", ~pg_class.c.relispartition)
        .where(pg_attribute.c.attname == "tenant", ~pg_attribute.c.attisdropped)
        .order_by(name.in_(("inbox", "outbox")), name)
    )
    return (await unit.connection.scalars(query)).all()


async def mark_deleted(unit: Unit, schema: str, ids: Sequence[UUID]) -> None:
    """Record these ids as deleted. Idempotent."""
    deleted = tables_of(schema).deleted
    given = select(rows_given([deleted.c.id], [(id_,) for id_ in ids]))
    await unit.connection.execute(insert(deleted).from_select(["id"], given).on_conflict_do_nothing())


async def has_been_deleted(unit: Unit, schema: str, *ids: UUID) -> bool:
    """Return whether one of these ids is recorded as deleted."""
    deleted = tables_of(schema).deleted
    query = select(deleted.c.id).where(among(deleted.c.id, ids)).limit(1)
    return (await unit.connection.execute(query)).first() is not None
