"""Observations and records at the start of a pass. See `loop`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from services.provisioner.core.instances.instance import Instance, InstanceState
from services.provisioner.core.instances.launches import Sighting
from services.provisioner.core.instances.refusals import LaunchBackoff
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.store import PoolRecord
from shared.errors import MusterError
from shared.ids import PoolName, WorkerId
from shared.messages.workers import WorkerView


@dataclass(frozen=True, slots=True)
class PoolView:
    """A recorded pool. `problem` is the problem with its definition or the catalogue."""

    row: PoolRecord
    spec: PoolSpec
    problem: str | None
    live: list[Instance]


@dataclass(frozen=True, slots=True)
class Observation:
    """State at the start of a pass.

    Attributes:
        unreachable: Providers that did not list their machines, with their errors.
        unusable: Pools that can rent nothing and have no machines, with the reason.
    """

    pools: list[PoolView]
    unusable: list[tuple[PoolRecord, str]]
    sightings: Mapping[str, Mapping[WorkerId, Sighting]]
    unreachable: Mapping[str, MusterError]
    holds: list[LaunchBackoff]
    spent: Mapping[PoolName, float]

    @property
    def seen(self) -> dict[WorkerId, Sighting]:
        return {worker: one for found in self.sightings.values() for worker, one in found.items()}

    @property
    def live(self) -> list[Instance]:
        return [one for pool in self.pools for one in pool.live]


def visibility_problem(
    pool: PoolView, unreachable: Mapping[str, MusterError], drivers: Collection[str]
) -> str | None:
    """Return why no decision is possible for a pool; None if all of its providers are configured and listed their machines."""
    where = sorted({one.driver for one in pool.live})
    problems = [
        f"{name} did not list its machines, so the pool rents and releases none: {unreachable[name].message} ({unreachable[name].code});"
        f" check that {name} is reachable and the provisioner's credentials for it"
        for name in where
        if name in unreachable
    ]
    problems += [
        f"{name} is no longer configured but still has machines: add it to the providers file again"
        for name in where
        if name not in drivers
    ]
    return "; ".join(problems) or None


def could_spare(pool: PoolView) -> bool:
    """Whether a worker could be drained or migrated, so that sampling the load is worthwhile."""
    serving = sum(one.state is InstanceState.READY and one.silent_since is None for one in pool.live)
    return serving > pool.spec.minimum or (serving > 0 and pool.spec.migrates_runs)


def load_of(worker: WorkerView) -> WorkerLoad:
    return WorkerLoad(worker.used_slots, worker.run_slots, worker.gangs, worker.tenant)
