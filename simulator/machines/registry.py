"""The registry's side of a run: the checkpoint from which it resumes, and which checkpoints count. The
registry's own core checks tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from services.registry.runs.core.fencing import Fence, RunEnding
from services.scheduler.core.state.published_events import Ended, Fact, Granted
from services.scheduler.core.state.records.run import Run
from shared.ids import RunId, TrialId, WorkerId
from simulator.event_queue import Act, EventQueue
from simulator.observers.observer import Observer
from simulator.searching.messages import Saved, Stored

UPLOAD_TIMEOUT_MS = 300_000
"""How long the next run waits for the uploads of the previous one; the object store always responds in the
simulation."""
REMOVED_AFTER_MS = 1_800_000
"""A machine that is off this long after its run's end is lost for good, with everything it had not sent."""
Refused = None
"""Returned instead of a progress: the run may not start."""


class Unknown(Exception):
    """The scheduler does not answer, and nothing is known of the run yet. Retry."""


@dataclass(slots=True)
class _Known:
    """A trial: its newest token, and the progress of its newest checkpoint."""

    newest_token: int = 0
    saved: float = 0.0
    saved_by: tuple[int, int] = (0, 0)
    endings: dict[int, RunEnding] = field(default_factory=dict)


class SimulatedRegistry:
    """Answers restores and commits. Learns of grants and ends from the stream, or asks the scheduler about an
    unknown run.

    Args:
        ask: Whether a run's token is stale by the scheduler's tables; None: no answer.
        publish: Publishes that a checkpoint was committed or abandoned, or that a validation was stored.
        agenda: Schedules when uploads are abandoned.
        is_off: Whether a machine is off.
    """

    def __init__(
        self,
        watch: Observer,
        ask: Callable[[Run], bool | None],
        publish: Callable[[Saved | Stored], None],
        agenda: EventQueue,
        is_off: Callable[[WorkerId], bool],
    ) -> None:
        self._agenda = agenda
        self._is_off = is_off
        self._watch = watch
        self._ask = ask
        self._publish = publish
        self._trials: dict[TrialId, _Known] = {}
        self._runs: set[RunId] = set()
        self._done: dict[tuple[RunId, int], bool] = {}
        self._validations: dict[RunId, int] = {}

    def take(self, row: tuple[int, Fact], acknowledge: Act) -> None:
        """Handle a fact of the scheduler's stream; repeats change nothing."""
        match row[1]:
            case Granted(run, _):
                self._grant(run)
            case Ended(run, _, ending, exited):
                known = self._grant(run)
                if ending.outcome == "lost":
                    self._bar(known, run, RunEnding.lost)
                elif exited is not None and exited.forced:
                    self._bar(known, run, RunEnding.forced)
                    self._give_up(run)
                else:
                    self._await_uploads(run, is_requeued=ending.closes is None)
            case _:
                pass
        acknowledge()

    def restore(self, run: Run) -> float | None:
        """Return the progress from which a run resumes, or `Refused`. Raises Unknown."""
        known = self._learn(run)
        if _fence(known, run).is_stale:
            return Refused
        self._watch.on_restored(run.trial, run.token)
        return known.saved

    def commit(self, run: Run, number: int, progress: float) -> None:
        """Commit a checkpoint, or abandon it if the token is stale. Raises Unknown."""
        known = self._learn(run)
        if (run.id, number) not in self._done:
            is_good = self._done[run.id, number] = not _fence(known, run).is_stale
            if is_good:
                self._watch.on_written(run.trial, run.token)
                if (run.number, number) > known.saved_by:
                    known.saved, known.saved_by = progress, (run.number, number)
        self._publish(Saved(run, number, int(progress), self._done[run.id, number]))

    def store(self, run: Run, number: int, step: int, values: Mapping[str, float]) -> None:
        """Store a validation once; a stale one is stored and not judged. Raises Unknown."""
        is_stale = _fence(self._learn(run), run).is_stale
        if number == self._validations.get(run.id, 0) + 1:
            self._validations[run.id] = number
            self._watch.on_stored(run, number, is_stale)
            self._publish(Stored(run, number, step, values, is_stale))

    def forget(self, trial: TrialId) -> None:
        """Drop a trial that has ended."""
        self._trials.pop(trial, None)

    def _await_uploads(self, run: Run, *, is_requeued: bool) -> None:
        """Abandon the announced checkpoints of an ended run only once its next run has waited long enough, or
        its machine is lost for good."""
        if self._is_settled(run):
            return
        if is_requeued:
            self._agenda.after(UPLOAD_TIMEOUT_MS, lambda: self._give_up(run))
        self._agenda.after(REMOVED_AFTER_MS, lambda: self._give_up_lost(run))

    def _give_up_lost(self, run: Run) -> None:
        if self._is_off(run.chief):
            self._give_up(run)
        elif not self._is_settled(run):
            self._agenda.after(REMOVED_AFTER_MS, lambda: self._give_up_lost(run))

    def _is_settled(self, run: Run) -> bool:
        return all((run.id, number) in self._done for number in range(1, (run.progress.announced or 0) + 1))

    def _give_up(self, run: Run) -> None:
        for number in range(1, (run.progress.announced or 0) + 1):
            if self._done.setdefault((run.id, number), False) is False:
                self._publish(Saved(run, number, 0, is_good=False))

    def _learn(self, run: Run) -> _Known:
        if run.id not in self._runs:
            is_stale = self._ask(run)
            if is_stale is None:
                raise Unknown
            known = self._grant(run)
            if is_stale:
                self._bar(known, run, known.endings.get(run.token, RunEnding.lost))
        return self._trials[run.trial]

    def _bar(self, known: _Known, run: Run, ending: RunEnding) -> None:
        known.endings[run.token] = ending
        self._watch.on_barred(run)

    def _grant(self, run: Run) -> _Known:
        self._runs.add(run.id)
        known = self._trials.setdefault(run.trial, _Known())
        known.newest_token = max(known.newest_token, run.token)
        return known


def _fence(known: _Known, run: Run) -> Fence:
    return Fence(run.token, known.newest_token, known.endings.get(run.token))
