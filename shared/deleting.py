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
from typing import Any, Protocol
from uuid import UUID

import structlog

from shared import faults
from shared.bus import Delivery, Unit, Units
from shared.bus.consumer import Handlers
from shared.driver import Driver
from shared.errors import Conflict, Rejected
from shared.ids import TenantId
from shared.loops import repeat
from shared.messages.deletions import BY_OWNER, DeleteEntity, EntityDeleted, Scope
from shared.messages.experiments import OperationRefused

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
_TABLES = """
SELECT t.relname::text AS name FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'tenant' AND NOT a.attisdropped
WHERE n.nspname = $1 AND t.relkind = 'r' AND NOT t.relispartition
ORDER BY t.relname IN ('inbox', 'outbox'), t.relname
"""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Doomed:
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


class Owner(Protocol):
    """What a service knows of its own things."""

    async def begin(self, unit: Unit, doomed: Doomed) -> bool:
        """Whether it can go now; of a system transaction, and repeatable. What `emit`s names the tenant. Raises Rejected or Conflict to refuse for good."""
        ...

    async def empty(self, doomed: Doomed) -> None:
        """Deletes what lies outside the tables, or whose rows need more than a DELETE. Raises Transient to be asked again."""
        ...

    def rows(self, doomed: Doomed) -> "Sequence[Rows]":
        """What goes after that, in this order."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """A statement that is run until it affects nothing more; it takes the tenant, then the target or the workspace, as far as it names them."""

    sql: str
    arguments: tuple[object, ...]


def rows_of(table: str, where: str, *arguments: object) -> Rows:
    """The rows of a table for which `where` holds, some at a time."""
    some = f"SELECT ctid FROM {table} WHERE {where} LIMIT {AT_ONCE}"
    return Rows(f"DELETE FROM {table} WHERE ctid = ANY(ARRAY({some}))", arguments)


def outbox_of(schema: str, kinds: Sequence[str], ids: str, *arguments: object) -> Sequence[Rows]:
    """Events of these lines of entities, whose newest are kept for ever otherwise. `ids`: a query for the entities' ids.

    What waits to be published still is: then it tells of no entity any more, and goes with its age.
    """
    lines = ", ".join(f"('{kind}:')" for kind in kinds)
    named = f"entity IN (SELECT line || id FROM (VALUES {lines}) AS lines (line) CROSS JOIN ({ids}) AS named (id))"
    waiting = f"UPDATE {schema}.outbox SET entity = NULL WHERE {named} AND published_at IS NULL"
    return Rows(waiting, arguments), rows_of(f"{schema}.outbox", named, *arguments)


class Deleting:
    """One service's part in deletions."""

    def __init__(self, units: Units, schema: str, owner: Owner) -> None:
        self._units = units
        self._schema = schema
        self._owner = owner
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
        driver = Driver.of(unit.connection)
        for delivery in batch:
            wish = delivery.message
            tenant = delivery.envelope.tenant
            about = wish.operation_id, tenant, wish.scope, wish.target, wish.workspace
            await driver.fetch(
                f"INSERT INTO {self._schema}.doomed VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
                *about,
                wish.is_forced,
                wish.by,
                unit.now,
            )

        async def wake() -> None:
            self._woken.set()

        unit.then(wake)

    async def carry_out(self) -> timedelta | None:
        """One round: everything that is doomed and can go. Returns when to come back for what cannot yet; None where there was nothing."""
        async with self._units.reading() as connection:
            found = await Driver.of(connection).fetch(
                "SELECT operation, tenant, scope, target, workspace, is_forced, by"
                f" FROM {self._schema}.doomed ORDER BY asked_at LIMIT {_DOOMED_AT_ONCE}"
            )
        turns = asyncio.Semaphore(_SIDE_BY_SIDE)
        doomed = [Doomed(**dict(row.items())) for row in found]
        ends = await asyncio.gather(*(self._end(one, turns) for one in doomed), return_exceptions=True)
        for failure in ends:  # it has held up no other
            if isinstance(failure, BaseException):
                raise failure
        return _AGAIN if doomed else None

    async def _end(self, doomed: Doomed, turns: asyncio.Semaphore) -> None:
        async with turns:
            if not await self._begin(doomed):
                return
            faults.point(AFTER_BEGIN)
            await self._owner.empty(doomed)
            for rows in (*self._owner.rows(doomed), *await self._tenants_rows(doomed)):
                await self._delete(rows)
            faults.point(AFTER_ROWS)
            await self._finish(doomed)

    async def _begin(self, doomed: Doomed) -> bool:
        try:
            async with self._units.system() as unit:
                if not await self._owner.begin(unit, doomed):
                    return False
                if doomed.scope != "workspace":  # its name may be used again
                    await mark_gone(unit, self._schema, [doomed.target])
        except (Rejected, Conflict) as error:
            await self._refuse(doomed, error)
            return False
        return True

    async def _tenants_rows(self, doomed: Doomed) -> Sequence[Rows]:
        """Of a tenant, its rows in every table that has any: one that a later version adds is not forgotten."""
        if doomed.scope != "tenant":
            return ()
        async with self._units.system() as unit:
            tables = await tables_of_tenants(unit, self._schema)
        return [rows_of(f'{self._schema}."{table}"', "tenant = $1", doomed.target) for table in tables]

    async def _refuse(self, doomed: Doomed, error: Rejected | Conflict) -> None:
        async with self._units.system() as unit:
            if await self._drop(unit, doomed):
                refusal = OperationRefused(
                    operation_id=doomed.operation, code=error.code, message=error.message, hint=error.hint
                )
                unit.emit(refusal, tenant=doomed.tenant)

    async def _delete(self, rows: Rows) -> None:
        affected = 1
        while affected:
            async with self._units.system() as unit:
                affected = await Driver.of(unit.connection).run(rows.sql, *rows.arguments)

    async def _finish(self, doomed: Doomed) -> None:
        async with self._units.system() as unit:
            if not await self._drop(unit, doomed):
                return
            said = EntityDeleted(
                operation_id=doomed.operation, owner=self._schema, scope=doomed.scope, target=doomed.target
            )
            unit.emit(said, tenant=doomed.tenant)
        _log.info("all of an entity was deleted", scope=doomed.scope, target=str(doomed.target))

    async def _drop(self, unit: Unit, doomed: Doomed) -> Any:
        """Truthy for whoever was first: it alone says what came of it."""
        drop = f"DELETE FROM {self._schema}.doomed WHERE operation = $1 RETURNING operation"
        return await Driver.of(unit.connection).fetch(drop, doomed.operation)


async def tables_of_tenants(unit: Unit, schema: str) -> Sequence[str]:
    """The tables that say whose their rows are, but for partitioned ones; inbox and outbox last."""
    rows = await Driver.of(unit.connection).fetch(_TABLES, schema)
    return [row["name"] for row in rows]


async def mark_gone(unit: Unit, schema: str, ids: Sequence[UUID]) -> None:
    """Makes it known that these are deleted here. Repeating it changes nothing."""
    insert = f"INSERT INTO {schema}.gone (id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING"
    await Driver.of(unit.connection).fetch(insert, list(ids))


async def is_gone(unit: Unit, schema: str, *ids: UUID) -> bool:
    """Whether one of these is deleted here."""
    query = f"SELECT FROM {schema}.gone WHERE id = ANY($1::uuid[]) LIMIT 1"
    return bool(await Driver.of(unit.connection).fetch(query, list(ids)))
