"""Events and commands: each handler keeps what came, and after the commit has the cycle take it up.

The cycle alone decides: what a handler stores is read again by the next leader, so nothing acknowledged is lost.
"""

from dataclasses import dataclass
from typing import Any

from services.scheduler.admin.experiment_policies import ExperimentPolicyCommands, emit_first_policies
from services.scheduler.admin.pool_policies import PolicyCommands
from services.scheduler.admin.reservations import ReservationCommands
from services.scheduler.core.reducers import draining, requests
from services.scheduler.core.reducers.workers import on_removed
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.cycle import Cycle
from services.scheduler.store import workers as worker_store
from services.scheduler.store.policies import add_pool, load_pools
from services.scheduler.store.requests import (
    StoredRequest,
    add_policies,
    load_known,
    save_requests,
    settle,
)
from services.scheduler.store.rows import request_of
from shared.bus import Delivery, Unit
from shared.bus.consumer import Handlers as Table
from shared.bus.envelope import without_old
from shared.ids import ExperimentId, RunId, WorkerId
from shared.messages.base import Command
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointEvent,
    CheckpointSaved,
)
from shared.messages.experiments import OperationRefused, TrialWanted
from shared.messages.instances import InstanceChanged, ProviderChanged
from shared.messages.limits import LimitsChanged
from shared.messages.pools import EditPool
from shared.messages.queue import EditExperiment
from shared.messages.reservations import CancelReservation, ReserveSlots
from shared.messages.workers import DisableSlot, DrainWorker

ENDED_STATES = frozenset({"gone", "lost", "failed"})


@dataclass(frozen=True, slots=True)
class Handlers:
    """One method a message type."""

    cycle: Cycle

    def events(self) -> Table:
        return {
            TrialWanted: self.on_trial_wanted,
            CheckpointSaved: self.on_checkpoints,
            CheckpointAbandoned: self.on_checkpoints,
            CheckpointCorrupt: self.on_checkpoints,
            InstanceChanged: self.on_instances,
            ProviderChanged: self.on_providers,
            LimitsChanged: PolicyCommands(self.cycle).on_limits,
        }

    def commands(self) -> Table:
        return {
            EditExperiment: ExperimentPolicyCommands(self.cycle).on_edit_experiment,
            EditPool: PolicyCommands(self.cycle).on_edit_pool,
            ReserveSlots: ReservationCommands(self.cycle).on_reserve,
            CancelReservation: ReservationCommands(self.cycle).on_cancel,
            DrainWorker: self.on_drain_worker,
            DisableSlot: self.on_disable_slot,
        }

    async def on_trial_wanted(self, unit: Unit, batch: list[Delivery[TrialWanted]]) -> None:
        stored = [_stored_wish(delivery) for delivery in batch]
        await save_requests(unit.connection, stored)
        parts = await self._parts_of(unit, stored)
        emit_first_policies(unit, parts)
        known = await self._known(unit, stored)

        async def take_up() -> None:
            self.cycle.push(lambda cycle: _take_up(cycle, stored, parts, known))

        unit.then(take_up)

    async def on_checkpoints(self, unit: Unit, batch: list[Delivery[CheckpointEvent]]) -> None:
        runs = [one.message.run_id for one in without_old(batch) if one.message.settles]
        await settle(unit.connection, runs)

        async def take_up() -> None:
            self.cycle.push(lambda cycle: _settle(cycle, runs))

        unit.then(take_up)

    async def on_instances(self, unit: Unit, batch: list[Delivery[InstanceChanged]]) -> None:
        gone = [delivery.message.worker for delivery in batch if delivery.message.state in ENDED_STATES]
        if not gone:
            return
        await worker_store.remove_workers(unit.connection, gone)

        async def take_up() -> None:
            self.cycle.push(lambda cycle: _remove(cycle, gone))

        unit.then(take_up)

    async def on_providers(self, unit: Unit, batch: list[Delivery[ProviderChanged]]) -> None:
        for delivery in batch:
            # People define pools of rented machines at the provisioner: this is the first word of them.
            await add_pool(unit.connection, PoolPolicy(delivery.message.pool))
            await worker_store.limit_pool(unit.connection, delivery.message)
        policies = await load_pools(unit.connection)

        async def take_up() -> None:
            def replace_policies(cycle: Cycle) -> None:
                for policy in policies:
                    known = cycle.cluster.pools.get(policy.name)
                    if known is None or known.policy != policy:
                        cycle.cluster.put_pool(policy)

            self.cycle.edit(replace_policies)

        unit.then(take_up)

    async def on_drain_worker(self, unit: Unit, batch: list[Delivery[DrainWorker]]) -> None:
        for delivery in batch:
            wish = delivery.message
            known = await worker_store.ask_drain(unit.connection, wish.worker, not wish.undo, wish.reclaim)
            if not known:
                unit.emit(
                    _refused(wish, "worker_unknown", f"worker {wish.worker} is not known"), cause=delivery
                )
                continue
            unit.then(self._drainer(wish))

    def _drainer(self, wish: DrainWorker) -> Any:
        async def take_up() -> None:
            def drain(cycle: Cycle) -> None:
                cycle.cluster.apply(
                    draining.on_drain(cycle.cluster, wish.worker, reclaim=wish.reclaim, undo=wish.undo)
                )

            self.cycle.push(drain)

        return take_up

    async def on_disable_slot(self, unit: Unit, batch: list[Delivery[DisableSlot]]) -> None:
        for delivery in batch:
            wish = delivery.message
            if await worker_store.disable_slot(unit.connection, wish.worker, wish.slot, wish.undo):
                unit.then(self._disabler(wish))
                continue
            message = f"worker {wish.worker} has no slot {wish.slot}"
            unit.emit(_refused(wish, "slot_unknown", message), cause=delivery)

    def _disabler(self, wish: DisableSlot) -> Any:
        async def take_up() -> None:
            self.cycle.push(
                lambda cycle: cycle.cluster.apply(
                    draining.on_slot(cycle.cluster, wish.worker, wish.slot, wish.undo)
                )
            )

        return take_up

    async def _parts_of(
        self, unit: Unit, stored: list[StoredRequest]
    ) -> dict[ExperimentId, tuple[ExperimentPolicy, int]]:
        """What each experiment that is not in memory has in the queue, and its version: its first request sets it."""
        cluster = self.cycle.cluster
        unknown: dict[ExperimentId, ExperimentPolicy] = {}
        for one in stored:
            wish, share = one.wish, one.spec.share
            pool = cluster.pools.get(wish.pool)
            if wish.experiment not in cluster.parts and pool is not None:
                priority = share.priority or pool.policy.default_priority
                unknown[wish.experiment] = ExperimentPolicy(priority, share.weight, share.max_slots)
        if not unknown or unit.tenant is None:
            return {}
        return await add_policies(unit.connection, unit.tenant, unknown)

    async def _known(self, unit: Unit, stored: list[StoredRequest]) -> list[Trial]:
        """Trials of earlier requests that have left memory."""
        trials = self.cycle.cluster.trials
        missing = [one.wish.trial for one in stored if one.wish.trial not in trials and one.wish.version > 1]
        if not missing:
            return []
        return list((await load_known(unit.connection, missing)).values())


def apply_requests(cycle: Cycle, stored: list[StoredRequest]) -> None:
    """Has the cycle's world learn wishes, in order; those it knows already change nothing."""
    for one in stored:
        before = cycle.term.carried.get(one.wish.trial)
        if before is None or before.wish.version < one.wish.version:
            cycle.term.carried[one.wish.trial] = one
        cycle.term.last_place += 1
        cycle.cluster.apply(
            requests.on_request(cycle.cluster, one.wish, cycle.term.last_place, cycle.clock.now())
        )


def _take_up(
    cycle: Cycle,
    stored: list[StoredRequest],
    parts: dict[ExperimentId, tuple[ExperimentPolicy, int]],
    known: list[Trial],
) -> None:
    for experiment, (part, _) in parts.items():
        if experiment not in cycle.cluster.parts:
            cycle.cluster.put_part(experiment, part)
    for trial in known:
        if trial.id not in cycle.cluster.trials and trial.is_closed:
            cycle.cluster.put_trial(trial, lazily=True)
    apply_requests(cycle, stored)


def _settle(cycle: Cycle, runs: list[RunId]) -> None:
    for run in runs:
        cycle.cluster.apply(requests.on_settled(cycle.cluster, run, cycle.clock.now()))


def _remove(cycle: Cycle, workers: list[WorkerId]) -> None:
    for worker in workers:
        cycle.cluster.apply(on_removed(cycle.cluster, worker, cycle.clock.now()))


def _stored_wish(delivery: Delivery[TrialWanted]) -> StoredRequest:
    message = delivery.message
    level = (message.version, message.request, message.wanted, message.decide_at)
    tenant = delivery.envelope.tenant
    wish = request_of(message.trial_id, tenant, message.experiment_id, level, message.spec)
    return StoredRequest(wish, message.spec, delivery.envelope.trace.get("traceparent"))


def _refused(command: Command, code: str, message: str) -> OperationRefused:
    return OperationRefused(operation_id=command.operation_id, code=code, message=message)
