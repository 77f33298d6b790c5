"""Handlers of events and commands. Each stores the message and, after the commit, pushes it to the cycle.

Only the cycle decides. A new leader reads what a handler has stored, so nothing acknowledged is lost.
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
from shared.ids import ExperimentId, PoolName, RunId, WorkerId
from shared.messages.base import Command
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointEvent,
    CheckpointSaved,
)
from shared.messages.experiments import OperationRefused, TrialRequested
from shared.messages.instances import InstanceChanged, ProviderChanged
from shared.messages.limits import LimitsChanged
from shared.messages.pools import EditPool
from shared.messages.queue import EditExperiment
from shared.messages.reservations import CancelReservation, ReserveSlots
from shared.messages.workers import DisableSlot, DrainWorker

ENDED_STATES = frozenset({"terminated", "lost", "failed"})


@dataclass(frozen=True, slots=True)
class Handlers:
    """One method per message type."""

    cycle: Cycle

    def events(self) -> Table:
        return {
            TrialRequested: self.on_trial_requested,
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

    async def on_trial_requested(self, unit: Unit, batch: list[Delivery[TrialRequested]]) -> None:
        stored = [_stored_request(delivery) for delivery in batch]
        await save_requests(unit.connection, stored)
        policies = await self._policies_of(unit, stored)
        emit_first_policies(unit, policies)
        known = await self._known(unit, stored)

        async def take_up() -> None:
            self.cycle.push(lambda cycle: _take_up(cycle, stored, policies, known))

        unit.after_commit(take_up)

    async def on_checkpoints(self, unit: Unit, batch: list[Delivery[CheckpointEvent]]) -> None:
        runs = [one.message.run_id for one in without_old(batch) if one.message.settles]
        await settle(unit.connection, runs)

        async def take_up() -> None:
            self.cycle.push(lambda cycle: _settle(cycle, runs))

        unit.after_commit(take_up)

    async def on_instances(self, unit: Unit, batch: list[Delivery[InstanceChanged]]) -> None:
        removed = [delivery.message.worker for delivery in batch if delivery.message.state in ENDED_STATES]
        if not removed:
            return
        await worker_store.remove_workers(unit.connection, removed)

        async def take_up() -> None:
            self.cycle.push(lambda cycle: _remove(cycle, removed))

        unit.after_commit(take_up)

    def _new_pool(self, name: PoolName) -> PoolPolicy:
        """Return the policy of a new pool: trusted if the pool `default` is, because its machines are like those."""
        default = self.cycle.cluster.pools.get(PoolName("default"))
        if default is None:
            return PoolPolicy(name)
        return PoolPolicy(name, trusted=default.policy.trusted, tenant=default.policy.tenant)

    async def on_providers(self, unit: Unit, batch: list[Delivery[ProviderChanged]]) -> None:
        for delivery in batch:
            # Pools of rented machines are defined at the provisioner; this message announces them here.
            await add_pool(unit.connection, self._new_pool(delivery.message.pool))
            await worker_store.limit_pool(unit.connection, delivery.message)
        policies = await load_pools(unit.connection)

        async def take_up() -> None:
            def replace_policies(cycle: Cycle) -> None:
                for policy in policies:
                    known = cycle.cluster.pools.get(policy.name)
                    if known is None or known.policy != policy:
                        cycle.cluster.put_pool(policy)

            self.cycle.edit(replace_policies)

        unit.after_commit(take_up)

    async def on_drain_worker(self, unit: Unit, batch: list[Delivery[DrainWorker]]) -> None:
        for delivery in batch:
            command = delivery.message
            known = await worker_store.request_drain(
                unit.connection, command.worker, not command.undo, command.reclaim
            )
            if not known:
                unit.emit(
                    _refused(command, "worker_unknown", f"worker {command.worker} is unknown"), cause=delivery
                )
                continue
            unit.after_commit(self._drainer(command))

    def _drainer(self, command: DrainWorker) -> Any:
        async def take_up() -> None:
            def drain(cycle: Cycle) -> None:
                cycle.cluster.apply(
                    draining.on_drain(
                        cycle.cluster, command.worker, reclaim=command.reclaim, undo=command.undo
                    )
                )

            self.cycle.push(drain)

        return take_up

    async def on_disable_slot(self, unit: Unit, batch: list[Delivery[DisableSlot]]) -> None:
        for delivery in batch:
            command = delivery.message
            if await worker_store.disable_slot(unit.connection, command.worker, command.slot, command.undo):
                unit.after_commit(self._disabler(command))
                continue
            message = f"worker {command.worker} has no slot {command.slot}"
            unit.emit(_refused(command, "slot_unknown", message), cause=delivery)

    def _disabler(self, command: DisableSlot) -> Any:
        async def take_up() -> None:
            self.cycle.push(
                lambda cycle: cycle.cluster.apply(
                    draining.on_slot(cycle.cluster, command.worker, command.slot, command.undo)
                )
            )

        return take_up

    async def _policies_of(
        self, unit: Unit, stored: list[StoredRequest]
    ) -> dict[ExperimentId, tuple[ExperimentPolicy, int]]:
        """Store the policy of each experiment that is not in memory, from its first request, and return it with
        its version."""
        cluster = self.cycle.cluster
        unknown: dict[ExperimentId, ExperimentPolicy] = {}
        for one in stored:
            request, share = one.request, one.spec.share
            pool = cluster.pools.get(request.pool)
            if request.experiment not in cluster.policies and pool is not None:
                priority = share.priority or pool.policy.default_priority
                unknown[request.experiment] = ExperimentPolicy(priority, share.weight, share.max_slots)
        if not unknown or unit.tenant is None:
            return {}
        return await add_policies(unit.connection, unit.tenant, unknown)

    async def _known(self, unit: Unit, stored: list[StoredRequest]) -> list[Trial]:
        """Return the trials of earlier requests that have left memory."""
        trials = self.cycle.cluster.trials
        missing = [
            one.request.trial for one in stored if one.request.trial not in trials and one.request.version > 1
        ]
        if not missing:
            return []
        return list((await load_known(unit.connection, missing)).values())


def apply_requests(cycle: Cycle, stored: list[StoredRequest]) -> None:
    """Apply requests to the cycle's state, in order; known ones change nothing."""
    for one in stored:
        before = cycle.term.stored_requests.get(one.request.trial)
        if before is None or before.request.version < one.request.version:
            cycle.term.stored_requests[one.request.trial] = one
        cycle.term.last_submission_order += 1
        cycle.cluster.apply(
            requests.on_request(
                cycle.cluster, one.request, cycle.term.last_submission_order, cycle.clock.now()
            )
        )


def _take_up(
    cycle: Cycle,
    stored: list[StoredRequest],
    policies: dict[ExperimentId, tuple[ExperimentPolicy, int]],
    known: list[Trial],
) -> None:
    for experiment, (policy, _) in policies.items():
        if experiment not in cycle.cluster.policies:
            cycle.cluster.put_experiment_policy(experiment, policy)
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


def _stored_request(delivery: Delivery[TrialRequested]) -> StoredRequest:
    message = delivery.message
    level = (message.version, message.request, message.desired_state, message.decide_at)
    tenant = delivery.envelope.tenant
    request = request_of(message.trial_id, tenant, message.experiment_id, level, message.spec)
    return StoredRequest(request, message.spec, delivery.envelope.trace.get("traceparent"))


def _refused(command: Command, code: str, message: str) -> OperationRefused:
    return OperationRefused(operation_id=command.operation_id, code=code, message=message)
