"""What a pass of the loop begins with. Neighbour: `loop`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from services.provisioner.core.instances.instance import Instance, InstanceState
from services.provisioner.core.instances.intents import Sighting
from services.provisioner.core.instances.refusals import LaunchBackoff
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.store import PoolRecord
from shared.errors import MusterError
from shared.ids import PoolName, WorkerId
from shared.messages.workers import WorkerView


@dataclass(frozen=True, slots=True)
class PoolView:
    """One pool on record. `wrong`: what is the matter with its definition, or the catalogue."""

    row: PoolRecord
    spec: PoolSpec
    wrong: str | None
    live: list[Instance]


@dataclass(frozen=True, slots=True)
class Observation:
    """What a pass begins with. `blind`: providers that did not show their machines, and what they said instead. `unusable`: pools that can rent nothing and
    have nothing, and why."""

    pools: list[PoolView]
    unusable: list[tuple[PoolRecord, str]]
    sightings: Mapping[str, Mapping[WorkerId, Sighting]]
    blind: Mapping[str, MusterError]
    holds: list[LaunchBackoff]
    spent: Mapping[PoolName, float]

    @property
    def seen(self) -> dict[WorkerId, Sighting]:
        return {worker: one for found in self.sightings.values() for worker, one in found.items()}

    @property
    def live(self) -> list[Instance]:
        return [one for pool in self.pools for one in pool.live]


def visibility_problem(
    pool: PoolView, blind: Mapping[str, MusterError], drivers: Collection[str]
) -> str | None:
    """Why nothing can be decided of a pool: a provider of its machines did not show them, or is not set up here. None: all can be seen."""
    where = sorted({one.driver for one in pool.live})
    told = [
        f"{name} does not show its machines, and until it does none is rented or given back: {blind[name].message} ({blind[name].code});"
        f" check that {name} can be reached, and the provisioner's credentials for it"
        for name in where
        if name in blind
    ]
    told += [
        f"{name} is not set up any more, and machines stand there: set it up again in the providers' file"
        for name in where
        if name not in drivers
    ]
    return "; ".join(told) or None


def could_spare(pool: PoolView) -> bool:
    """Whether somebody might go, or be moved: it is worth asking who has what to do."""
    serving = sum(one.state is InstanceState.READY and one.silent_since is None for one in pool.live)
    return serving > pool.spec.minimum or (serving > 0 and pool.spec.moves_runs)


def load_of(worker: WorkerView) -> WorkerLoad:
    return WorkerLoad(worker.used_slots, worker.run_slots, worker.gangs, worker.tenant)
