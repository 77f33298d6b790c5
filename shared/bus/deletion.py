"""Deleting all that a service has of an experiment, a workspace or a tenant, whatever dies meanwhile. Neighbour: `shared.messages.deletions`.

A command becomes a row (`doomed`); a loop begins it, which makes the id known as gone, so that no late message makes any of it anew
(`shared.bus.inbox`); then it deletes in small transactions, and in the last of them says that nothing is left and drops the row. Each
step may be repeated, so replicas may do it side by side.
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
"""Rows in one transaction."""
EVERY = timedelta(seconds=15)
"""Who hears the command looks at once; this finds what a replica that died has left."""
_AGAIN = timedelta(seconds=2)
"""While something cannot go yet."""
_DOOMED_AT_ONCE = 100
_SIDE_BY_SIDE = 2
DeleteStatement = Delete | Update
"""A statement that is run until it affects no more rows."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DeletionRequest:
    """What is to go. `tenant`: whose command it is, `ids.SITE` where a tenant goes itself; `target`: the experiment's or the tenant's id."""

    operation: UUID
    tenant: TenantId
    scope: Scope
    target: UUID
    workspace: str | None
    is_forced: bool
    by: str

    @property
    def whose(self) -> TenantId:
        """The tenant that loses it."""
        return TenantId(self.target) if self.scope == "tenant" else self.tenant


class DeletionOwner(Protocol):
    """What a service knows of its own things."""

    async def begin(self, unit: Unit, doomed: DeletionRequest) -> bool:
        """Whether it can go now; of a system transaction, and repeatable. What `emit`s names the tenant. Raises Rejected or Conflict to refuse for good."""
        ...

    async def empty(self, doomed: DeletionRequest) -> None:
        """Deletes what lies outside the tables, or whose rows need more than a DELETE. Raises Transient to be asked again."""
        ...

    def rows(self, doomed: DeletionRequest) -> "Sequence[DeleteStatement]":
        """What goes after that, in this order."""
        ...


def rows_of(whose: TableClause, where: ColumnElement[bool]) -> DeleteStatement:
    """The rows of a table for which `where` holds, some at a time."""
    some = select(ctid).select_from(whose).where(where).limit(AT_ONCE)
    return delete(whose).where(listed(some))


def outbox_of(schema: str, kinds: Sequence[str], ids: Select[UUID]) -> Sequence[DeleteStatement]:
    """Events of these lines of entities, whose newest are kept for ever otherwise. `ids`: a query for the entities' ids.

    What waits to be published still is: then it tells of no entity any more, and goes with its age.
    """
    outbox = tables_of(schema).outbox
    lines = values(column("line", Text), name="lines").data([(f"{kind}:",) for kind in kinds])
    named = ids.subquery("named")
    entities = select(lines.c.line + cast(named.c[0], Text)).select_from(lines.join(named, true()))
    of_them = outbox.c.entity.in_(entities)
    waiting = update(outbox).where(of_them, outbox.c.published_at.is_(None)).values(entity=None)
    return waiting, rows_of(outbox, of_them)


def tenants_rows(schema: str, tables: Sequence[str], tenant: UUID) -> Sequence[DeleteStatement]:
    """A tenant's rows in each of the tables."""
    named = (table(name, column("tenant", Uuid), schema=schema) for name in tables)
    return [rows_of(one, one.c.tenant == tenant) for one in named]


class DeletionLoop:
    """One service's part in deletions."""

    def __init__(self, units: Units, schema: str, owner: DeletionOwner) -> None:
        self._units = units
        self._schema = schema
        self._owner = owner
        self._deleting = tables_of(schema).deleting
        self._woken = asyncio.Event()

    def handlers(self) -> Handlers:
        """The service's row for its commands."""
        return {BY_OWNER[self._schema]: self.on_delete}

    async def run(self) -> None:
        """Carries out what is asked for; runs until cancelled."""
        await repeat(self.carry_out, EVERY, self._woken)

    async def run_until(self, ended: asyncio.Event) -> None:
        """The same until `ended` is set."""
        running = asyncio.create_task(self.run())
        try:
            await ended.wait()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def on_delete(self, unit: Unit, batch: list[Delivery[DeleteEntity]]) -> None:
        """Write the wish down; the loop carries it out."""
        for delivery in batch:
            wish = delivery.message
            row = {
                "operation": wish.operation_id,
                "tenant": delivery.envelope.tenant,
                "scope": wish.scope,
                "target": wish.target,
                "workspace": wish.workspace,
                "is_forced": wish.is_forced,
                "by": wish.by,
                "asked_at": unit.now,
            }
            await unit.connection.execute(insert(self._deleting).values(row).on_conflict_do_nothing())

        async def wake() -> None:
            self._woken.set()

        unit.then(wake)

    async def carry_out(self) -> timedelta | None:
        """One round: everything that is doomed and can go. Returns when to come back for what cannot yet; None where there was nothing."""
        of = self._deleting.c
        asked = select(of.operation, of.tenant, of.scope, of.target, of.workspace, of.is_forced, of.by)
        async with self._units.reading() as connection:
            found = (await connection.execute(asked.order_by(of.asked_at).limit(_DOOMED_AT_ONCE))).all()
        turns = asyncio.Semaphore(_SIDE_BY_SIDE)
        doomed = [DeletionRequest(**row._mapping) for row in found]
        ends = await asyncio.gather(*(self._end(one, turns) for one in doomed), return_exceptions=True)
        for failure in ends:  # it has held up no other
            if isinstance(failure, BaseException):
                raise failure
        return _AGAIN if doomed else None

    async def _end(self, doomed: DeletionRequest, turns: asyncio.Semaphore) -> None:
        async with turns:
            if not await self._begin(doomed):
                return
            faults.point(AFTER_BEGIN)
            await self._owner.empty(doomed)
            for rows in (*self._owner.rows(doomed), *await self._tenants_rows(doomed)):
                await self._delete(rows)
            faults.point(AFTER_ROWS)
            await self._finish(doomed)

    async def _begin(self, doomed: DeletionRequest) -> bool:
        try:
            async with self._units.system() as unit:
                if not await self._owner.begin(unit, doomed):
                    return False
                if doomed.scope != "workspace":  # its name may be used again
                    await mark_deleted(unit, self._schema, [doomed.target])
        except (Rejected, Conflict) as error:
            await self._refuse(doomed, error)
            return False
        return True

    async def _tenants_rows(self, doomed: DeletionRequest) -> Sequence[DeleteStatement]:
        """Of a tenant, its rows in every table that has any: one that a later version adds is not forgotten."""
        if doomed.scope != "tenant":
            return ()
        async with self._units.system() as unit:
            tables = await tables_of_tenants(unit, self._schema)
        return tenants_rows(self._schema, tables, doomed.target)

    async def _refuse(self, doomed: DeletionRequest, error: Rejected | Conflict) -> None:
        async with self._units.system() as unit:
            if await self._drop(unit, doomed):
                refusal = OperationRefused(
                    operation_id=doomed.operation, code=error.code, message=error.message, hint=error.hint
                )
                unit.emit(refusal, tenant=doomed.tenant)

    async def _delete(self, rows: DeleteStatement) -> None:
        affected = 1
        while affected:
            async with self._units.system() as unit:
                affected = (await unit.connection.execute(rows)).rowcount

    async def _finish(self, doomed: DeletionRequest) -> None:
        async with self._units.system() as unit:
            if not await self._drop(unit, doomed):
                return
            said = EntityDeleted(
                operation_id=doomed.operation, owner=self._schema, scope=doomed.scope, target=doomed.target
            )
            unit.emit(said, tenant=doomed.tenant)
        _log.info("all of an entity was deleted", scope=doomed.scope, target=str(doomed.target))

    async def _drop(self, unit: Unit, doomed: DeletionRequest) -> bool:
        """True for whoever was first: it alone says what came of it."""
        drop = delete(self._deleting).where(self._deleting.c.operation == doomed.operation)
        return (await unit.connection.execute(drop)).rowcount > 0


async def tables_of_tenants(unit: Unit, schema: str) -> Sequence[str]:
    """The tables that say whose their rows are, but for partitioned ones; inbox and outbox last."""
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
    """Makes it known that these are deleted here. Repeating it changes nothing."""
    deleted = tables_of(schema).deleted
    given = select(rows_given([deleted.c.id], [(id_,) for id_ in ids]))
    await unit.connection.execute(insert(deleted).from_select(["id"], given).on_conflict_do_nothing())


async def has_been_deleted(unit: Unit, schema: str, *ids: UUID) -> bool:
    """Whether one of these is deleted here."""
    deleted = tables_of(schema).deleted
    query = select(deleted.c.id).where(among(deleted.c.id, ids)).limit(1)
    return (await unit.connection.execute(query)).first() is not None
