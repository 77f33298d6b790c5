"""What a pass of the loop begins with. Neighbour: `loop`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from services.provisioner.core.instances.instance import Instance, State
from services.provisioner.core.instances.intents import Sighting
from services.provisioner.core.instances.refusals import Hold
from services.provisioner.core.planning.loads import Load
from services.provisioner.core.renting.spec import PoolSpec
from services.provisioner.store import Provider
from shared.errors import MusterError
from shared.ids import PoolName, WorkerId
from shared.messages.workers import WorkerView


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool on record. `wrong`: what is the matter with its definition, or the catalogue."""

    row: Provider
    spec: PoolSpec
    wrong: str | None
    live: list[Instance]


@dataclass(frozen=True, slots=True)
class View:
    """What a pass begins with. `blind`: providers that did not show their machines, and what they said instead. `unusable`: pools that can rent nothing and
    have nothing, and why."""

    pools: list[Pool]
    unusable: list[tuple[Provider, str]]
    sightings: Mapping[str, Mapping[WorkerId, Sighting]]
    blind: Mapping[str, MusterError]
    holds: list[Hold]
    spent: Mapping[PoolName, float]

    @property
    def seen(self) -> dict[WorkerId, Sighting]:
        return {worker: one for found in self.sightings.values() for worker, one in found.items()}

    @property
    def live(self) -> list[Instance]:
        return [one for pool in self.pools for one in pool.live]


def unseen(pool: Pool, blind: Mapping[str, MusterError], drivers: Collection[str]) -> str | None:
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


def could_spare(pool: Pool) -> bool:
    """Whether somebody might go, or be moved: it is worth asking who has what to do."""
    serving = sum(one.state is State.READY and one.silent_since is None for one in pool.live)
    return serving > pool.spec.minimum or (serving > 0 and pool.spec.moves_runs)


def load_of(worker: WorkerView) -> Load:
    return Load(worker.used_slots, worker.run_slots, worker.gangs, worker.tenant)
