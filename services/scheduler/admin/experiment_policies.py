"""Edits of an experiment's policy: checked, stored, published, then applied by the cycle."""

from dataclasses import dataclass

from services.scheduler.core.planning.max_capacity import reach_of
from services.scheduler.core.reducers import requests
from services.scheduler.core.state.indexes.pool import open_pools
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.pool import FIRST_PRIORITY, LAST_PRIORITY
from services.scheduler.cycle import Cycle
from services.scheduler.store import experiment_policies
from services.scheduler.store.requests import edit_policy
from shared.bus import Delivery, Unit
from shared.errors import NotFound, Rejected
from shared.ids import ExperimentId, PoolName
from shared.messages.experiments import OperationRefused
from shared.messages.queue import EditExperiment, RequestRanked

MOST_WEIGHT = 1_000_000.0
MAX_INTEGER = 2**31 - 1
"""The largest value of the table's integer columns."""


@dataclass(frozen=True, slots=True)
class ExperimentPolicyCommands:
    """One method per command."""

    cycle: Cycle

    async def on_edit_experiment(self, unit: Unit, batch: list[Delivery[EditExperiment]]) -> None:
        for delivery in batch:
            command = delivery.message
            try:
                self._check(command)
                unit.emit(await self._edit(unit, command), cause=delivery)
            except Rejected as error:
                refused = OperationRefused(
                    operation_id=command.operation_id, code=error.code, message=error.message, hint=error.hint
                )
                unit.emit(refused, cause=delivery)

    def _check(self, command: EditExperiment) -> None:
        """Raises Rejected with the allowed values."""
        if command.priority is not None and not FIRST_PRIORITY <= command.priority <= LAST_PRIORITY:
            message = f"priority {command.priority} is not between {FIRST_PRIORITY} (first) and {LAST_PRIORITY} (last)"
            raise Rejected("bad_priority", message)
        if command.weight is not None and not 0 < command.weight <= MOST_WEIGHT:
            message = (
                f"weight {command.weight:g} is out of range: it must be above 0 and at most {MOST_WEIGHT:.0f}"
            )
            raise Rejected("bad_weight", message)
        for name, value in (("max_slots", command.max_slots), ("max_trials", command.max_trials)):
            if value is not None and value > MAX_INTEGER:
                raise Rejected(f"bad_{name}", f"{name} {value} is above {MAX_INTEGER}")
        if command.max_slots is not None and command.max_slots < 1:
            raise Rejected(
                "bad_max_slots",
                f"max_slots {command.max_slots} is below 1",
                hint="pause the experiment to release all its slots",
            )
        if command.max_trials is not None and command.max_trials < 1:
            raise Rejected(
                "bad_max_trials",
                f"max_trials {command.max_trials} is below 1",
                hint="pause the experiment to stop all its trials",
            )
        if command.pool is not None:
            self._check_pool(command.experiment_id, command.pool)

    def _check_pool(self, experiment: ExperimentId, name: PoolName) -> None:
        cluster = self.cycle.cluster
        refresh(cluster)
        pools = open_pools(cluster.pools)
        pool = pools.get(name)
        if pool is None:
            known = ", ".join(pools)
            raise Rejected("pool_unknown", f"pool {name} does not exist", hint=f"choose one of {known}")
        for trial in (cluster.trials[trial].request for trial in cluster.live.get(experiment, {})):
            reach = reach_of(pool.capacity, pool.policy, cluster.workers.values(), trial.tenant, trial.needs)
            if reach.is_final and trial.needs.min_slots > reach.slots:
                raise Rejected(
                    "slots_unsatisfiable",
                    f"trial {trial.experiment_number}.{trial.number} needs {trial.needs.min_slots} slots;"
                    f" pool {name} can have {reach.slots} {reach.where}",
                    hint="choose a larger pool, or fork the experiment with fewer slots_per_trial",
                )

    async def _edit(self, unit: Unit, command: EditExperiment) -> RequestRanked:
        if command.no_max_slots or command.no_max_trials:
            await experiment_policies.lift_caps(
                unit.connection,
                command.experiment_id,
                slots=command.no_max_slots,
                trials=command.no_max_trials,
            )
        changes = command.model_dump(include={"priority", "weight", "max_slots", "max_trials", "pool"})
        edited = await edit_policy(unit.connection, command.experiment_id, changes)
        if edited is None:
            raise NotFound(f"experiment {command.experiment_id}")
        policy, version = edited

        async def take_up() -> None:
            self.cycle.edit(
                lambda cycle: cycle.cluster.apply(
                    requests.on_experiment_policy(cycle.cluster, command.experiment_id, policy)
                )
            )

        unit.after_commit(take_up)
        return ranked(command.experiment_id, policy, version).model_copy(
            update={"operation_id": command.operation_id}
        )


def emit_first_policies(unit: Unit, first: dict[ExperimentId, tuple[ExperimentPolicy, int]]) -> None:
    """Publish the policies of new experiments, each with its version."""
    unit.emit(*(ranked(experiment, policy, version) for experiment, (policy, version) in first.items()))


def ranked(experiment: ExperimentId, policy: ExperimentPolicy, version: int) -> RequestRanked:
    return RequestRanked(
        experiment_id=experiment,
        version=version,
        priority=policy.priority,
        weight=policy.weight,
        max_slots=policy.max_slots,
        max_trials=policy.max_trials,
        pool=policy.pool,
    )
