"""Brings deletions to their ends: asks each owner in its turn, and deletes what is the gateway's own at last.

Woken by what owners say; a slow look finds what a replica that died was at. Neighbours: `core`, `operations`.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import orjson
import structlog

from services.gateway.deletions import store
from services.gateway.deletions.core import DELETION, OWNERS_BY_STAGE, DeletionStage, DeletionTrigger
from services.gateway.experiments import store as experiments
from services.gateway.platform.commands import store as command_store
from services.gateway.platform.events import store as events
from services.gateway.platform.events.publishing import Publisher
from services.gateway.platform.events.store import NewEvent
from shared.bus import Delivery, Unit, Units
from shared.bus.deletion import DeleteStatement, mark_deleted, rows_of, tables_of_tenants, tenants_rows
from shared.clock import Clock
from shared.database.statements import among
from shared.database.tables import tables_of
from shared.ids import SITE, ExperimentId, TenantId, new_id
from shared.messages.deletions import BY_OWNER, EntityDeleted
from shared.messages.experiments import KillExperiment, OperationRefused
from shared.runtime import faults
from shared.runtime.loops import repeat

AFTER_STEP = faults.register("gateway.after_deletion_step")
AFTER_OWN_ROWS = faults.register("gateway.after_own_rows")
POLL_INTERVAL = timedelta(seconds=5)
TOKEN_CACHE_GRACE = timedelta(seconds=5)
"""For so long replicas may remember who came by a token that is gone, and take what they submit."""
SCHEMA = "gateway"
RETAINED_TABLES = ("audit", "audit_waiting", "deletion")
"""What happened stays on record, that of a deleted tenant too."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DeletionRunner:
    """The gateway's loop; replicas share it by locks on rows."""

    units: Units
    publisher: Publisher
    clock: Clock
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """There is something to do."""
        self.woken.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        await repeat(self.carry_on, POLL_INTERVAL, self.woken)

    async def carry_on(self) -> None:
        """One step of each deletion that can take one."""
        async with self.units.reading() as connection:
            due = await store.load_due(connection)
        for deletion in due:
            await self._step(deletion)
            faults.point(AFTER_STEP)

    async def on_deleted(self, unit: Unit, batch: list[Delivery[EntityDeleted]]) -> None:
        """An owner has nothing left of it."""
        for delivery in batch:
            message = delivery.message
            await store.confirm(unit.connection, message.operation_id, message.owner)
        unit.then(self._woken)

    async def refuse(self, unit: Unit, refusal: OperationRefused) -> None:
        """The registry will not let it go: what was to be deleted is as before, but that it is ended."""
        row = await store.lock_deletion(unit.connection, refusal.operation_id)
        if row is None:
            return
        reason = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        await self._move(unit, row, DeletionTrigger.REFUSED, ended_at=unit.now, **reason)
        if row.scope == "experiment":
            await store.mark_experiment(unit.connection, row.target, deleting=False)
        unit.then(self._woken)

    async def _step(self, deletion: UUID) -> None:
        async with self.units.system() as unit:
            row = await store.lock_deletion(unit.connection, deletion)
            if row is None:
                return
            if row.stage == DeletionStage.ENDING and await self._is_ended(unit, row):
                await self._ask(unit, row, DeletionTrigger.ENDED)
            elif row.stage in OWNERS_BY_STAGE and not row.waiting:
                await self._ask(unit, row, DeletionTrigger.CONFIRMED)
        if row.stage == DeletionStage.GATEWAY:
            await self._empty(row)

    async def _ask(self, unit: Unit, row: Any, trigger: DeletionTrigger) -> None:
        """Enters the next stage, and asks whom it waits for."""
        stage = DELETION.next(DeletionStage(row.stage), trigger)
        owners = OWNERS_BY_STAGE.get(stage, ())
        await self._move(unit, row, trigger, waiting=list(owners))
        whose = SITE if row.scope == "tenant" else TenantId(row.tenant)
        for owner in owners:
            command = BY_OWNER[owner](
                operation_id=row.id,
                scope=row.scope,
                target=row.target,
                workspace=row.name if row.scope == "workspace" else None,
                is_forced=row.is_forced,
                by=row.by,
            )
            unit.emit(command, tenant=whose)
        unit.then(self._woken)

    async def _move(self, unit: Unit, row: Any, trigger: DeletionTrigger, **more: object) -> None:
        stage = DELETION.next(DeletionStage(row.stage), trigger)
        await store.save_deletion(unit.connection, row.id, {"stage": stage, "changed_at": unit.now, **more})

    async def _is_ended(self, unit: Unit, row: Any) -> bool:
        if row.scope == "workspace":
            return await self._are_parts_gone(unit, row)
        where = {"id" if row.scope == "experiment" else "tenant": row.target}
        for experiment in await store.claim_to_kill(unit.connection, where):
            command = KillExperiment(operation_id=new_id(self.clock), experiment_id=ExperimentId(experiment))
            unit.emit(command, tenant=TenantId(row.target if row.scope == "tenant" else row.tenant))
        if row.scope == "tenant" and unit.now - row.created_at < TOKEN_CACHE_GRACE:
            return False
        return not await store.has_active(unit.connection, where)

    async def _are_parts_gone(self, unit: Unit, row: Any) -> bool:
        """Has each experiment of a workspace deleted by a deletion of its own; the first that is refused refuses all."""
        refused = await store.load_refused(unit.connection, row.id)
        if refused is not None:
            told = {"code": refused.code, "message": refused.message, "hint": refused.hint}
            await self._move(unit, row, DeletionTrigger.REFUSED, ended_at=unit.now, **told)
            refusal = OperationRefused(operation_id=row.id, **told)
            await command_store.save_refusal(unit.connection, row.tenant, unit.now, refusal)
            return False
        for experiment in await store.load_in_workspace(unit.connection, row.tenant, row.name):
            given = {"by": row.by, "is_forced": row.is_forced, "parent": row.id}
            values = new_deletion_row(experiment, new_id(self.clock), unit.now, given)
            await store.insert_deletion(unit.connection, values)
            await store.mark_experiment(unit.connection, experiment.id, deleting=True)
            unit.then(self._woken)
            unit.then(partial(self.publisher.feed.changed, TenantId(row.tenant), 0))
        return not await store.has_remaining(unit.connection, row.tenant, row.name)

    async def _empty(self, row: Any) -> None:
        """Deletes the gateway's own, some at a time, and says that it is over."""
        async with self.units.system() as unit:
            if row.scope != "workspace":
                await mark_deleted(unit, SCHEMA, [row.target])
            rows = await _rows_of(unit, row)
        for one in rows:
            await self._delete(one)
        faults.point(AFTER_OWN_ROWS)
        await self._finish(row)

    async def _delete(self, rows: DeleteStatement) -> None:
        affected = 1
        while affected:
            async with self.units.system() as unit:
                affected = (await unit.connection.execute(rows)).rowcount

    async def _finish(self, row: Any) -> None:
        tenant = TenantId(row.tenant)
        opened = self.units.system() if row.scope == "tenant" else self.units.tenant(tenant)
        async with opened as unit:
            if row.scope == "experiment":
                await events.lock_feed(unit.connection, tenant)
            now = await store.lock_deletion(unit.connection, row.id)
            if now is None:
                return
            await self._move(unit, now, DeletionTrigger.EMPTIED, ended_at=unit.now)
            if row.scope == "tenant":
                await store.delete_tenant(unit.connection, row.target)
            elif row.scope == "experiment":
                experiment = await experiments.load_experiment(unit.connection, row.target)
                if experiment is not None:
                    await self.publisher.publish(unit, tenant, [deletion_event(experiment, "deleted")])
                await store.delete_experiment(unit.connection, row.target)
            unit.then(self._woken)
            unit.then(partial(self.publisher.feed.changed, tenant, 0))
        _log.info("a deletion is complete", scope=row.scope, target=str(row.target))

    async def _woken(self) -> None:
        self.wake()


async def _rows_of(unit: Unit, row: Any) -> list[DeleteStatement]:
    """What of the gateway's own goes. A tenant's tables are found in the catalogue: one that a later version adds is not forgotten."""
    if row.scope == "experiment":
        return list(store.rows_of_scope(row.scope, row.tenant, row.target, row.name))
    is_tenant = row.scope == "tenant"
    whose = (row.target,) if is_tenant else (row.tenant, row.name)
    lines = await store.load_limit_entities(unit.connection, *whose)
    outbox = tables_of(SCHEMA).outbox
    announced = rows_of(outbox, among(outbox.c.entity, lines))
    if not is_tenant:
        return [announced, *store.rows_of_scope(row.scope, row.tenant, row.target, row.name)]
    tables = [table for table in await tables_of_tenants(unit, SCHEMA) if table not in RETAINED_TABLES]
    return [announced, *tenants_rows(SCHEMA, tables, row.target)]


def new_deletion_row(experiment: Any, deletion: UUID, now: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The row of an experiment's deletion that begins; `given`: by whom, whether forced, and what it is part of."""
    return {
        "tenant": experiment.tenant,
        "id": deletion,
        "scope": "experiment",
        "target": experiment.id,
        "name": str(experiment.number),
        "stage": DELETION.initial,
        "waiting": [],
        "created_at": now,
        "changed_at": now,
        **given,
    }


def deletion_event(experiment: Any, change: str) -> NewEvent:
    """That an experiment is `deleting` or `deleted`, for the feed and for webhooks."""
    resource = {"experiment_id": str(experiment.id), "number": experiment.number, "state": change}
    return NewEvent(
        "experiment",
        change,
        experiment.id,
        experiment.id,
        experiment.version,
        orjson.dumps(resource).decode(),
        f"experiment.{change}",
    )
