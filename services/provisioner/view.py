"""What a pass of the loop begins with. Neighbour: `reconcile`."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.provisioner.core.instance import Instance, State
from services.provisioner.core.intents import Sighting
from services.provisioner.core.loads import Load
from services.provisioner.core.refusals import Hold
from services.provisioner.core.spec import PoolSpec
from services.provisioner.store import Provider
from shared.ids import PoolName, WorkerId
from shared.messages.workers import WorkerView


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool on record. `wrong`: what is the matter with its definition."""

    row: Provider
    spec: PoolSpec
    wrong: str | None
    live: list[Instance]


@dataclass(frozen=True, slots=True)
class View:
    """What a pass begins with. `blind`: providers that did not answer; of theirs nothing is decided. `unusable`: pools that can rent nothing and have
    nothing, and why."""

    pools: list[Pool]
    unusable: list[tuple[Provider, str]]
    sightings: Mapping[str, Mapping[WorkerId, Sighting]]
    blind: frozenset[str]
    holds: list[Hold]
    spent: Mapping[PoolName, float]

    @property
    def seen(self) -> dict[WorkerId, Sighting]:
        return {worker: one for found in self.sightings.values() for worker, one in found.items()}

    @property
    def live(self) -> list[Instance]:
        return [one for pool in self.pools for one in pool.live]


def could_spare(pool: Pool) -> bool:
    """Whether somebody might go, or be moved: it is worth asking who has what to do."""
    serving = sum(one.state is State.READY and one.silent_since is None for one in pool.live)
    return serving > pool.spec.minimum or (serving > 0 and pool.spec.moves_runs)


def load_of(worker: WorkerView) -> Load:
    return Load(worker.used_slots, worker.run_slots, worker.gangs, worker.tenant)
