"""Verdicts: what a trial reports is read, kept and judged by the search, and its worker is answered."""

from collections.abc import Mapping, Sequence

from muster.config import ExperimentConfig
from services.searcher.core.experiment.entities import Mark, Trial
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import Reading, Result, read_result
from services.searcher.core.experiment.states import ExperimentTrigger, TrialState
from services.searcher.core.journal.journal import Journal
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.closing import GOING, Closing
from services.searcher.core.reducers.places import Places
from shared.messages.specs import Wanted
from shared.tuples import changed


class Judging:
    """A turn's part that judges trials."""

    def __init__(
        self, config: ExperimentConfig, changes: Changes, journal: Journal, places: Places, closing: Closing
    ) -> None:
        self._config = config
        self._objectives = Objectives.of(config)
        self._changes = changes
        self._journal = journal
        self._places = places
        self._closing = closing

    def on_validation(self, result: Result) -> None:
        """Take in a validation unless it is old; at or past `decide_at` it gets the one verdict."""
        trial = self._changes[result.trial]
        if trial.is_final or (result.run, result.number) <= trial.reported:
            return
        trial = changed(trial, reported=(result.run, result.number), run=max(trial.run, result.run))
        reading = None if result.is_stale else read_result(self._config, self._objectives, result)
        if isinstance(reading, str):
            self._changes.put(trial)
            self._changes.answer(trial, result, "stop")
            if self._changes.experiment.state in GOING:
                self._closing.stop(ExperimentTrigger.FAIL, reading, Wanted.KILL)
        elif reading is not None:
            mark = Mark(result.step, reading.value, reading.others)
            trial = self._changes.mark(self._objectives, trial, mark)
            self._judge(trial, result, reading)
        else:
            self._changes.put(trial)
        self._closing.settle(self._changes[result.trial])

    def on_superseded(
        self, trial: Trial, run: int, step: int, standing: Sequence[tuple[int, Mapping[str, float]]]
    ) -> None:
        """Find a trial's best anew where a run goes on from before it. What was decided by it stays decided."""
        if trial.is_final or trial.best is None or trial.best.step <= step:
            return
        found = [Result(trial.number, run, 0, at, values) for at, values in standing]
        readings = [(each.step, read_result(self._config, self._objectives, each)) for each in found]
        marks = [Mark(at, each.value, each.others) for at, each in readings if isinstance(each, Reading)]
        if trial.reported[0] >= run and trial.latest is not None:
            marks.append(trial.latest)
        self._closing.dethrone(self._changes.rank(self._objectives, trial, marks))

    def _judge(self, trial: Trial, result: Result, reading: Reading) -> None:
        if (
            self._changes.experiment.state not in GOING
            or trial.decide_at is None
            or reading.time < trial.decide_at
        ):
            return
        if trial.wanted is Wanted.KILL:
            self._changes.answer(trial, result, "stop")
            return
        ruling = self._journal.judge(result, reading)
        trial = changed(
            trial,
            decide_at=ruling.decide_at,
            is_stopped=ruling.stop,
            is_at_top=ruling.at_top,
            is_held=ruling.pause,
        )
        self._closing.measure()
        if trial.state is TrialState.PARKED and ruling.stop:
            self._closing.end(trial, Wanted.STOP)
        elif not trial.is_open:
            self._changes.put(trial)
            if trial.state is TrialState.PARKED and ruling.pause:
                self._places.fill(self._journal.park(trial.number))
        else:
            wanted = Wanted.STOP if ruling.stop else Wanted.PARK if ruling.pause else trial.wanted
            trial = self._changes.want(trial, wanted)
            self._changes.answer(trial, result)
