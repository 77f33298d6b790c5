"""Background job that executes deletions: it commands each owner in order, then deletes the gateway's own rows.

Confirmations of owners wake it; a periodic pass picks up the deletions of crashed replicas. See `core` and `operations`.
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
from shared.bus.data_deletion import DeleteStatement, mark_deleted, rows_of, tables_of_tenants, tenants_rows
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
"""Replicas may cache deleted tokens for this long, and accept submissions with them."""
SCHEMA = "gateway"
RETAINED_TABLES = ("audit", "audit_unsealed", "deletion")
"""Tables whose rows outlive their tenant."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DeletionRunner:
    """The gateway's deletion loop. Replicas share the work through row locks."""

    units: Units
    publisher: Publisher
    clock: Clock
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Start a pass without waiting for the interval."""
        self.woken.set()

    async def run(self) -> None:
        """Run until cancelled."""
        await repeat(self.run_once, POLL_INTERVAL, self.woken)

    async def run_once(self) -> None:
        """Advance each open deletion by one step where possible."""
        async with self.units.system_connection() as connection:
            due = await store.load_due(connection)
        for deletion in due:
            await self._step(deletion)
            faults.point(AFTER_STEP)

    async def on_deleted(self, unit: Unit, batch: list[Delivery[EntityDeleted]]) -> None:
        """Record that an owner has deleted everything."""
        for delivery in batch:
            message = delivery.message
            await store.confirm(unit.connection, message.operation_id, message.owner)
        unit.after_commit(self._woken)

    async def refuse(self, unit: Unit, refusal: OperationRefused) -> None:
        """End a deletion that the registry refuses. The target stays, but killed experiments remain ended."""
        row = await store.lock_deletion(unit.connection, refusal.operation_id)
        if row is None:
            return
        reason = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        await self._move(unit, row, DeletionTrigger.REFUSED, ended_at=unit.now, **reason)
        if row.scope == "experiment":
            await store.mark_experiment(unit.connection, row.target, deleting=False)
        unit.after_commit(self._woken)

    async def _step(self, deletion: UUID) -> None:
        async with self.units.system() as unit:
            row = await store.lock_deletion(unit.connection, deletion)
            if row is None:
                return
            if row.stage == DeletionStage.ENDING and await self._is_ended(unit, row):
                await self._ask(unit, row, DeletionTrigger.ENDED)
            elif row.stage in OWNERS_BY_STAGE and not row.pending_owners:
                await self._ask(unit, row, DeletionTrigger.CONFIRMED)
        if row.stage == DeletionStage.GATEWAY:
            await self._empty(row)

    async def _ask(self, unit: Unit, row: Any, trigger: DeletionTrigger) -> None:
        """Enter the next stage and send commands to its owners."""
        stage = DELETION.next(DeletionStage(row.stage), trigger)
        owners = OWNERS_BY_STAGE.get(stage, ())
        await self._move(unit, row, trigger, pending_owners=list(owners))
        tenant = SITE if row.scope == "tenant" else TenantId(row.tenant)
        for owner in owners:
            command = BY_OWNER[owner](
                operation_id=row.id,
                scope=row.scope,
                target=row.target,
                workspace=row.name if row.scope == "workspace" else None,
                is_forced=row.is_forced,
                by=row.by,
            )
            unit.emit(command, tenant=tenant)
        unit.after_commit(self._woken)

    async def _move(self, unit: Unit, row: Any, trigger: DeletionTrigger, **more: object) -> None:
        stage = DELETION.next(DeletionStage(row.stage), trigger)
        await store.save_deletion(unit.connection, row.id, {"stage": stage, "changed_at": unit.now, **more})

    async def _is_ended(self, unit: Unit, row: Any) -> bool:
        if row.scope == "workspace":
            return await self._are_experiments_deleted(unit, row)
        where = {"id" if row.scope == "experiment" else "tenant": row.target}
        for experiment in await store.claim_to_kill(unit.connection, where):
            command = KillExperiment(operation_id=new_id(self.clock), experiment_id=ExperimentId(experiment))
            unit.emit(command, tenant=TenantId(row.target if row.scope == "tenant" else row.tenant))
        if row.scope == "tenant" and unit.now - row.created_at < TOKEN_CACHE_GRACE:
            return False
        return not await store.has_active(unit.connection, where)

    async def _are_experiments_deleted(self, unit: Unit, row: Any) -> bool:
        """Start a deletion for each experiment of a workspace. The first refusal refuses the whole workspace."""
        refused = await store.load_refused(unit.connection, row.id)
        if refused is not None:
            reason = {"code": refused.code, "message": refused.message, "hint": refused.hint}
            await self._move(unit, row, DeletionTrigger.REFUSED, ended_at=unit.now, **reason)
            refusal = OperationRefused(operation_id=row.id, **reason)
            await command_store.save_refusal(unit.connection, row.tenant, unit.now, refusal)
            return False
        for experiment in await store.load_in_workspace(unit.connection, row.tenant, row.name):
            given = {"by": row.by, "is_forced": row.is_forced, "parent": row.id}
            values = new_deletion_row(experiment, new_id(self.clock), unit.now, given)
            await store.insert_deletion(unit.connection, values)
            await store.mark_experiment(unit.connection, experiment.id, deleting=True)
            unit.after_commit(self._woken)
            unit.after_commit(partial(self.publisher.feed.changed, TenantId(row.tenant), 0))
        return not await store.has_remaining(unit.connection, row.tenant, row.name)

    async def _empty(self, row: Any) -> None:
        """Delete the gateway's own rows in batches, then finish the deletion."""
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
            unit.after_commit(self._woken)
            unit.after_commit(partial(self.publisher.feed.changed, tenant, 0))
        _log.info("a deletion is complete", scope=row.scope, target=str(row.target))

    async def _woken(self) -> None:
        self.wake()


async def _rows_of(unit: Unit, row: Any) -> list[DeleteStatement]:
    """Return the gateway's rows to delete. A tenant's tables come from the catalogue, so that new tables are included."""
    if row.scope == "experiment":
        return list(store.rows_of_scope(row.scope, row.tenant, row.target, row.name))
    is_tenant = row.scope == "tenant"
    owner = (row.target,) if is_tenant else (row.tenant, row.name)
    lines = await store.load_limit_entities(unit.connection, *owner)
    outbox = tables_of(SCHEMA).outbox
    announced = rows_of(outbox, among(outbox.c.entity, lines))
    if not is_tenant:
        return [announced, *store.rows_of_scope(row.scope, row.tenant, row.target, row.name)]
    tables = [table for table in await tables_of_tenants(unit, SCHEMA) if table not in RETAINED_TABLES]
    return [announced, *tenants_rows(SCHEMA, tables, row.target)]


def new_deletion_row(experiment: Any, deletion: UUID, now: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Build the row of a new experiment deletion. `given` sets `by`, `is_forced` and `parent`."""
    return {
        "tenant": experiment.tenant,
        "id": deletion,
        "scope": "experiment",
        "target": experiment.id,
        "name": str(experiment.number),
        "stage": DELETION.initial,
        "pending_owners": [],
        "created_at": now,
        "changed_at": now,
        **given,
    }


def deletion_event(experiment: Any, change: str) -> NewEvent:
    """Build the event that an experiment is `deleting` or `deleted`, for the feed and for webhooks."""
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
