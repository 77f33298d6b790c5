"""Invariants of rented machines, checked after each pass of the provisioner."""

from collections.abc import Collection, Sequence

from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.scheduler.core.state.records.run import Run
from shared.ids import RunId, WorkerId
from simulator.observers.invariant import Invariant


class WithinMaximum(Invariant):
    """There are never more machines than the pool may have, in the records or in the cloud, and none without a
    record."""

    rule = "never above the maximum, and no machine leaked"

    def on_machines(self, spec: PoolSpec, live: Sequence[Instance], present: Collection[WorkerId]) -> None:
        for what, count in (("in the records", len(live)), ("in the cloud", len(present))):
            if count > spec.maximum:
                raise self.broken(f"{count} machines {what}, of at most {spec.maximum}")
        forgotten = set(present) - {one.worker for one in live}
        if forgotten:
            raise self.broken(f"machines without a record: {sorted(forgotten)}")


class EndedEmpty(Invariant):
    """A machine that is no longer needed is ended only once nothing runs there."""

    rule = "no machine ended under a run"

    def __init__(self) -> None:
        self._running: dict[WorkerId, set[RunId]] = {}

    def on_started(self, worker: WorkerId, run: Run, slot_ids: tuple[int, ...]) -> None:
        self._running.setdefault(worker, set()).add(run.id)

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        self._running.get(worker, set()).discard(run.id)

    def on_ended(self, instance: Instance) -> None:
        running = self._running.get(instance.worker)
        if instance.ending == "terminated" and running:
            raise self.broken(f"{instance.worker} was ended while {len(running)} runs were on it")
