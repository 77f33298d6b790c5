"""Projects the events of other services into the gateway's tables, for lists, names and the event feed. Only newer versions are applied."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from services.gateway.deletions.runner import DeletionRunner
from services.gateway.platform.commands import store as command_store
from services.gateway.platform.events.publishing import Publisher, as_callback
from services.gateway.platform.events.store import NewEvent
from services.gateway.projections import (
    experiments as experiment_projections,
    instances as instance_projections,
    models as model_projections,
)
from services.gateway.projections.versions import Versioned
from services.gateway.webhooks.core import event_name
from shared.bus import Delivery, Unit
from shared.bus.envelope import without_old
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
from shared.messages.runs import RunEnded, RunEvent, RunGranted, RunResized

E = TypeVar("E", bound=Event)
Handler = Callable[[Unit, list[Delivery[Any]]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Projections:
    """Event handlers, one method per kind of event. Each batch belongs to one tenant and runs in a unit that holds the lock of its feed (`events.feed_lock`)."""

    publisher: Publisher
    deletions: DeletionRunner
    _pending: WeakKeyDictionary[Unit, list[NewEvent]] = field(default_factory=WeakKeyDictionary)
    """Events to append to the feed at the end of each unit of work."""

    async def on_experiment_changed(
        self, unit: Unit, batch: list[Delivery[experiment_messages.ExperimentChanged]]
    ) -> None:
        """Project the state, progress and best of experiments."""
        _, events = self._begin(unit)
        for applied in await experiment_projections.apply_experiments(unit.connection, _messages(batch)):
            message = applied.message
            name = event_name("experiment", "changed", applied.before, message.state)
            events.append(
                _event("experiment", "changed", message.experiment_id, message.experiment_id, message, name)
            )
        if any(message.final for message in _messages(batch)):
            unit.after_commit(as_callback(self.deletions.wake))

    async def on_trial_changed(
        self, unit: Unit, batch: list[Delivery[experiment_messages.TrialChanged]]
    ) -> None:
        """Project the state and metrics of trials."""
        tenant, events = self._begin(unit)
        for applied in await experiment_projections.apply_trials(unit.connection, tenant, _messages(batch)):
            message = applied.message
            name = event_name("trial", "changed", applied.before, message.state)
            events.append(_event("trial", "changed", message.trial_id, message.experiment_id, message, name))

    async def on_run(self, change: str, unit: Unit, batch: list[Delivery[RunEvent]]) -> None:
        """Project granted, resized and ended runs. A resized run stays in its state."""
        tenant, events = self._begin(unit)
        state = "ended" if change == "ended" else "granted"
        for applied in await experiment_projections.apply_runs(
            unit.connection, tenant, _messages(batch), state
        ):
            message = applied.message
            events.append(
                _event("run", change, message.run_id, message.experiment_id, message, f"run.{change}")
            )

    async def on_checkpoint(self, change: str, unit: Unit, batch: list[Delivery[CheckpointEvent]]) -> None:
        """Append checkpoints to the feed. Lists of checkpoints come from the registry."""
        _, events = self._begin(unit)
        for message in _messages(without_old(batch)):
            entity, name = message.checkpoint_id, f"checkpoint.{change}"
            events.append(_event("checkpoint", change, entity, message.experiment_id, message, name))

    async def on_model_changed(self, unit: Unit, batch: list[Delivery[ModelChanged]]) -> None:
        """Project models."""
        tenant, events = self._begin(unit)
        for message in _messages(batch):
            if (applied := await model_projections.apply_model(unit.connection, tenant, message)) is None:
                continue
            now = model_projections.stage_or_deleted(
                model_projections.KEPT, is_deleted=message.deleted_at is not None
            )
            name = event_name("model", "changed", applied.before, now)
            events.append(_event("model", "changed", message.model_id, None, message, name))

    async def on_version_changed(self, unit: Unit, batch: list[Delivery[VersionChanged]]) -> None:
        """Project model versions."""
        tenant, events = self._begin(unit)
        for message in _messages(batch):
            if (applied := await model_projections.apply_version(unit.connection, tenant, message)) is None:
                continue
            now = model_projections.stage_or_deleted(message.stage, is_deleted=message.deleted_at is not None)
            name, of = event_name("version", "changed", applied.before, now), message.lineage.experiment_id
            events.append(_event("version", "changed", message.version_id, of, message, name))

    async def on_ranked(self, unit: Unit, batch: list[Delivery[RequestRanked]]) -> None:
        """Project the queue policy of experiments, and pass answers to waiting requests."""
        tenant, events = self._begin(unit)
        answers = {one.operation_id: one for one in _messages(batch) if one.operation_id is not None}
        if answers:
            unit.after_commit(partial(self.publisher.feed.answered, tenant, answers))
        for applied in await experiment_projections.apply_queue_policies(unit.connection, _messages(batch)):
            message = applied.message
            events.append(
                _event("request", "ranked", message.experiment_id, message.experiment_id, message, None)
            )

    async def on_refused(
        self, unit: Unit, batch: list[Delivery[experiment_messages.OperationRefused]]
    ) -> None:
        """Store refusals of commands for the requests that wait for them."""
        tenant = _tenant(unit)
        for message in _messages(batch):
            await command_store.save_refusal(unit.connection, tenant, unit.now, message)
            await self.deletions.refuse(unit, message)
        refused = {message.operation_id for message in _messages(batch)}
        unit.after_commit(partial(self.publisher.feed.changed, tenant, 0, refused))

    async def on_budget(self, change: str, unit: Unit, batch: list[Delivery[BudgetReached]]) -> None:
        """Append budget events to the feed. Lists of budgets come from the scheduler."""
        _, events = self._begin(unit)
        for message in _messages(without_old(batch)):
            events.append(_event("budget", change, message.budget_id, None, message, f"budget.{change}"))

    async def on_instance_changed(self, unit: Unit, batch: list[Delivery[instances.InstanceChanged]]) -> None:
        """Project machines, which belong to no tenant, and append them to the site's feed."""
        events = self._gather(unit)
        for message in _messages(batch):
            if await instance_projections.apply_instance(unit.connection, message):
                events.append(_event("instance", "changed", message.instance_id, None, message, None))

    async def on_provider_changed(self, unit: Unit, batch: list[Delivery[instances.ProviderChanged]]) -> None:
        """Append changes of machine providers to the site's feed. Lists of providers come from the provisioner."""
        events = self._gather(unit)
        for message in _messages(without_old(batch)):
            pool = derived_id(SITE, "pool", message.pool)
            events.append(_event("provider", "changed", pool, None, message, None))

    def _begin(self, unit: Unit) -> tuple[TenantId, list[NewEvent]]:
        """Return the unit's tenant and its list of pending events."""
        tenant = _tenant(unit)
        if tenant == SITE:
            raise Broken("an event of a tenant's entity has no tenant")
        return tenant, self._gather(unit)

    def _gather(self, unit: Unit) -> list[NewEvent]:
        """Return the unit's list of pending events, which are published at its end."""
        if unit not in self._pending:
            self._pending[unit] = []
            unit.before_commit(self._publish)
        return self._pending[unit]

    async def _publish(self, unit: Unit) -> None:
        await self.publisher.publish(unit, _tenant(unit), self._pending[unit])


def handlers_of(
    publisher: Publisher, deletions: DeletionRunner
) -> Mapping[type[Event] | type[Command], Handler]:
    """Return the handlers by kind of event."""
    on = Projections(publisher, deletions)
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
        raise Broken("a projection got a unit of work without a tenant")
    return unit.tenant


def _event(
    kind: str, change: str, entity: UUID, experiment: UUID | None, message: Versioned, name: str | None
) -> NewEvent:
    resource = message.to_bytes().decode()
    return NewEvent(kind, change, entity, experiment, message.version, resource, name)
