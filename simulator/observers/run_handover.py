"""Invariants between consecutive runs of a trial: stale writes, and when the next run may start."""

from typing import NamedTuple

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Ended, Granted
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import RunId, TrialId
from simulator.observers.invariant import Invariant


class NoStaleWrite(Invariant):
    """Once a run has restored a checkpoint, no earlier run changes it, and no run that the registry knows as
    lost or ended by force writes."""

    rule = "no write of a stale token accepted"

    def __init__(self) -> None:
        self._newest: dict[TrialId, int] = {}
        self._barred: set[tuple[TrialId, int]] = set()

    def on_restored(self, trial: TrialId, token: int) -> None:
        self._newest[trial] = max(token, self._newest.get(trial, 0))

    def on_barred(self, run: Run) -> None:
        self._barred.add((run.trial, run.token))

    def on_written(self, trial: TrialId, token: int) -> None:
        if token < self._newest.get(trial, 0):
            raise self.broken(f"token {token} of trial {trial} wrote after token {self._newest[trial]}")
        if (trial, token) in self._barred:
            raise self.broken(
                f"token {token} of trial {trial} wrote after its run was lost or ended by force"
            )


class _Announced(NamedTuple):
    """The checkpoints that a run had announced when it ended."""

    run: RunId
    checkpoints: int


class AfterUploads(Invariant):
    """A run is granted only once the checkpoints that its predecessor announced at its end are stored or
    abandoned. A lost run has announced nothing, and announcements of a run that was ended by force do not
    count."""

    rule = "no successor granted before its predecessor's checkpoints"

    def __init__(self) -> None:
        self._announced: dict[tuple[TrialId, int], _Announced] = {}
        self._arrived: dict[RunId, set[int]] = {}

    def on_settled(self, run: Run, checkpoint: int) -> None:
        self._arrived.setdefault(run.id, set()).add(checkpoint)

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for fact in changes.facts:
            if isinstance(fact, Ended):
                self._keep(fact)
            elif isinstance(fact, Granted):
                self._judge(fact.run)

    def _keep(self, fact: Ended) -> None:
        run, exited = fact.run, fact.exit
        if exited is None or exited.forced or fact.ending.outcome == "lost":
            return
        self._announced[run.trial, run.number] = _Announced(run.id, exited.checkpoints)

    def _judge(self, run: Run) -> None:
        before = self._announced.pop((run.trial, run.number - 1), None)
        if before is None:
            return
        missing = before.checkpoints - len(self._arrived.get(before.run, ()))
        if missing > 0:
            raise self.broken(
                f"run {run.id} was granted while {missing} of run {before.run} were still being uploaded"
            )
