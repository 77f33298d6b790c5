"""A digest of everything that happened: equal inputs give equal digests."""

import hashlib

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Closed, Ended, Granted, Resized
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import TrialId, WorkerId
from simulator.event_queue import EventQueue
from simulator.observers.observer import Observer


class Trace(Observer):
    """Hashes every saved fact and every start and stop of ranks, with its time."""

    def __init__(self) -> None:
        self.agenda = EventQueue()
        self._hash = hashlib.blake2b(digest_size=16)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for fact in changes.facts:
            match fact:
                case Granted(run, _):
                    self._fold("granted", run.id, run.token, run.shares)
                case Resized(run, _):
                    self._fold("resized", run.id, run.gang.generation, run.shares)
                case Ended(run, _, ending, _):
                    self._fold("ended", run.id, ending.outcome, ending.closes)
                case Closed(trial, outcome, _):
                    self._fold("closed", trial.id, trial.request.request, outcome)
                case _:
                    self._fold(type(fact).__name__, fact.worker.id)

    def on_started(self, worker: WorkerId, run: Run, slot_ids: tuple[int, ...]) -> None:
        self._fold("started", worker, run.id, slot_ids)

    def on_stopped(self, worker: WorkerId, run: Run, cause: str) -> None:
        self._fold("stopped", worker, run.id, cause)

    def on_written(self, trial: TrialId, token: int) -> None:
        self._fold("written", trial, token)

    def _fold(self, *fields: object) -> None:
        self._hash.update(f"{self.agenda.now_ms} {fields}\n".encode())
