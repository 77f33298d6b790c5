"""Projections: what other services announce, as far as lists, names and the events' feed need it. Only newer versions are applied."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar
from uuid import UUID
from weakref import WeakSet

from services.gateway.core.webhooks import name_of
from services.gateway.deletions import Deletions
from services.gateway.feed import Feed
from services.gateway.store import events, models, projections, registry
from services.gateway.store.events import NewEvent
from services.gateway.telling import later, tell
from shared.bus import Delivery, Unit
from shared.bus.envelope import news
from shared.errors import Broken
from shared.ids import SITE, TenantId, derived_id
from shared.messages import experiments as experiment_messages, instances
from shared.messages.base import Command, Event
from shared.messages.budgets import BudgetReached, BudgetSpent, BudgetWarned
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointDeleted,
    CheckpointEvent,
    CheckpointSaved,
)
from shared.messages.deletions import EntityDeleted
from shared.messages.models import ModelChanged, VersionChanged
from shared.messages.queue import RequestRanked
from shared.messages.runs import RunEnded, RunGranted, RunResized, RunState

E = TypeVar("E", bound=Event)
Handler = Callable[[Unit, list[Delivery[Any]]], Awaitable[None]]


class _Versioned(Protocol):
    """An entity's state as its owner announces it."""

    @property
    def version(self) -> int: ...

    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Projections:
    """One method per kind of event; each batch is one tenant's."""

    feed: Feed
    wake_sender: Callable[[], None]
    deletions: Deletions
    _locking: WeakSet[Unit] = field(default_factory=WeakSet)
    """The units of work that hold their tenant's lock."""

    async def on_experiment_changed(
        self, unit: Unit, batch: list[Delivery[experiment_messages.ExperimentChanged]]
    ) -> None:
        """The state, progress and best of experiments."""
        tenant = await self._begin(unit)
        told = [
            _event("experiment", "changed", message.experiment_id, message.experiment_id, message, name)
            for message in _messages(batch)
            if (applied := await projections.apply_experiment(unit.connection, message))
            for name in [name_of("experiment", "changed", applied.before, message.state)]
        ]
        await self._tell(unit, tenant, told)
        if any(message.final for message in _messages(batch)):
            unit.then(later(self.deletions.wake))

    async def on_trial_changed(
        self, unit: Unit, batch: list[Delivery[experiment_messages.TrialChanged]]
    ) -> None:
        """The state and values of trials."""
        tenant = await self._begin(unit)
        told = [
            _event("trial", "changed", message.trial_id, message.experiment_id, message, name)
            for message in _messages(batch)
            if (applied := await projections.apply_trial(unit.connection, tenant, message))
            for name in [name_of("trial", "changed", applied.before, message.state)]
        ]
        await self._tell(unit, tenant, told)

    async def on_run(self, change: str, unit: Unit, batch: list[Delivery[RunState]]) -> None:
        """Runs as they are granted, resized and ended; one that was resized goes on as it was."""
        tenant = await self._begin(unit)
        state = "ended" if change == "ended" else "granted"
        told = [
            _event("run", change, message.run_id, message.experiment_id, message, f"run.{change}")
            for message in _messages(batch)
            if await projections.apply_run(unit.connection, tenant, message, state)
        ]
        await self._tell(unit, tenant, told)

    async def on_checkpoint(self, change: str, unit: Unit, batch: list[Delivery[CheckpointEvent]]) -> None:
        """Checkpoints go into the feed only; who lists them asks the registry."""
        tenant = await self._begin(unit)
        told = [
            _event(
                "checkpoint",
                change,
                message.checkpoint_id,
                message.experiment_id,
                message,
                f"checkpoint.{change}",
            )
            for message in _messages(news(batch))
        ]
        await self._tell(unit, tenant, told)

    async def on_model_changed(self, unit: Unit, batch: list[Delivery[ModelChanged]]) -> None:
        """Models by name."""
        tenant = await self._begin(unit)
        told = [
            _event("model", "changed", message.model_id, None, message, name)
            for message in _messages(batch)
            if (applied := await models.apply_model(unit.connection, tenant, message))
            for now in [models.standing_of(models.KEPT, is_deleted=message.deleted_at is not None)]
            for name in [name_of("model", "changed", applied.before, now)]
        ]
        await self._tell(unit, tenant, told)

    async def on_version_changed(self, unit: Unit, batch: list[Delivery[VersionChanged]]) -> None:
        """Model versions by number."""
        tenant = await self._begin(unit)
        told = [
            _event("version", "changed", message.version_id, message.lineage.experiment_id, message, name)
            for message in _messages(batch)
            if (applied := await models.apply_version(unit.connection, tenant, message))
            for now in [models.standing_of(message.stage, is_deleted=message.deleted_at is not None)]
            for name in [name_of("version", "changed", applied.before, now)]
        ]
        await self._tell(unit, tenant, told)

    async def on_ranked(self, unit: Unit, batch: list[Delivery[RequestRanked]]) -> None:
        """What experiments have in the queue, for lists and for whoever waits for a change."""
        tenant = await self._begin(unit)
        told = [
            _event("request", "ranked", message.experiment_id, message.experiment_id, message, None)
            for message in _messages(batch)
            if await projections.apply_rank(unit.connection, message)
        ]
        await self._tell(unit, tenant, told)
        ranked = {message.experiment_id for message in _messages(batch)}
        unit.then(partial(self.feed.changed, tenant, 0, ranked))

    async def on_refused(
        self, unit: Unit, batch: list[Delivery[experiment_messages.OperationRefused]]
    ) -> None:
        """Why a command was not carried out, for whoever waits for it."""
        tenant = _tenant(unit)
        for message in _messages(batch):
            await events.save_refusal(unit.connection, tenant, unit.now, message)
            await self.deletions.refuse(unit, message)
        refused = {message.operation_id for message in _messages(batch)}
        unit.then(partial(self.feed.changed, tenant, 0, refused))

    async def on_budget(self, change: str, unit: Unit, batch: list[Delivery[BudgetReached]]) -> None:
        """How far budgets are used up goes into the feed only; who lists them asks the scheduler."""
        tenant = await self._begin(unit)
        told = [
            _event("budget", change, message.budget_id, None, message, f"budget.{change}")
            for message in _messages(news(batch))
        ]
        await self._tell(unit, tenant, told)

    async def on_instance_changed(self, unit: Unit, batch: list[Delivery[instances.InstanceChanged]]) -> None:
        """Machines, which belong to no tenant: the site's feed tells of them."""
        await self._lock(unit, SITE)
        told = [
            _event("instance", "changed", message.instance_id, None, message, None)
            for message in _messages(batch)
            if await registry.apply_instance(unit.connection, message)
        ]
        await self._tell(unit, SITE, told)

    async def on_provider_changed(self, unit: Unit, batch: list[Delivery[instances.ProviderChanged]]) -> None:
        """What pools may rent goes into the site's feed only; who lists them asks the provisioner."""
        await self._lock(unit, SITE)
        told = [
            _event("provider", "changed", derived_id(SITE, "pool", message.pool), None, message, None)
            for message in _messages(news(batch))
        ]
        await self._tell(unit, SITE, told)

    async def _begin(self, unit: Unit) -> TenantId:
        """Takes the feed's lock before anything else of the tenant, in every handler alike."""
        tenant = _tenant(unit)
        if tenant == SITE:
            raise Broken("an event of a tenant's entity came without its tenant")
        await self._lock(unit, tenant)
        return tenant

    async def _lock(self, unit: Unit, tenant: TenantId) -> None:
        if unit not in self._locking:
            await events.lock_feed(unit.connection, tenant)
            self._locking.add(unit)

    async def _tell(self, unit: Unit, tenant: TenantId, told: list[NewEvent]) -> None:
        await tell(unit, tenant, told, self.feed, self.wake_sender)


def handlers_of(
    feed: Feed, wake_sender: Callable[[], None], deletions: Deletions
) -> Mapping[type[Event] | type[Command], Handler]:
    """Which method takes which event."""
    on = Projections(feed, wake_sender, deletions)
    return {
        experiment_messages.ExperimentChanged: on.on_experiment_changed,
        experiment_messages.TrialChanged: on.on_trial_changed,
        experiment_messages.OperationRefused: on.on_refused,
        EntityDeleted: deletions.on_deleted,
        RequestRanked: on.on_ranked,
        RunGranted: partial(on.on_run, "granted"),
        RunResized: partial(on.on_run, "resized"),
        RunEnded: partial(on.on_run, "ended"),
        CheckpointSaved: partial(on.on_checkpoint, "saved"),
        CheckpointAbandoned: partial(on.on_checkpoint, "abandoned"),
        CheckpointCorrupt: partial(on.on_checkpoint, "corrupt"),
        CheckpointDeleted: partial(on.on_checkpoint, "deleted"),
        BudgetWarned: partial(on.on_budget, "warned"),
        BudgetSpent: partial(on.on_budget, "spent"),
        ModelChanged: on.on_model_changed,
        VersionChanged: on.on_version_changed,
        instances.InstanceChanged: on.on_instance_changed,
        instances.ProviderChanged: on.on_provider_changed,
    }


def _messages(batch: list[Delivery[E]]) -> list[E]:
    return [delivery.message for delivery in batch]


def _tenant(unit: Unit) -> TenantId:
    if unit.tenant is None:
        raise Broken("a projection was given a unit of no tenant")
    return unit.tenant


def _event(
    kind: str, change: str, entity: UUID, experiment: UUID | None, message: _Versioned, name: str | None
) -> NewEvent:
    resource = message.to_bytes().decode()
    return NewEvent(kind, change, entity, experiment, message.version, resource, name)
