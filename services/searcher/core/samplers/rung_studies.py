"""Results of trials at each rung, for samplers that model the value of a point.

A trial that continues past a rung is among the best, and continues for long. A sampler that sees only ended trials
knows just the others meanwhile, and treats the best trials as unknown or, as TPE does with pending trials, as bad.
"""

from collections.abc import Callable

from optuna.trial import TrialState

from muster.config import Point
from services.searcher.core.samplers.interface import Observation
from services.searcher.core.samplers.study import Study


class RungStudies:
    """A study for each rung with the results of all trials there.

    Proposals use the highest rung that enough trials have reached: Falkner, Klein, Hutter, "BOHB: Robust and
    Efficient Hyperparameter Optimization at Scale" (ICML 2018), section 3.2. BOHB waits for the number of parameters
    plus two; we wait for as many as the sampler itself does. Trials on their way to a rung are pending there.
    """

    def __init__(self, make: Callable[[], Study], enough: int) -> None:
        self._make, self._enough = make, enough
        self._studies: dict[float, Study] = {}
        self._reached: dict[float, int] = {}
        self._on_way: dict[int, float] = {}
        self._points: dict[int, Point] = {}
        self._known: list[tuple[Point, float, float | None]] = []

    def learn(self, point: Point, observation: Observation) -> None:
        """Add a trial of an earlier search; it counts at all rungs that it reached."""
        if observation.value is not None:
            self._known.append((point, observation.value, observation.time))

    def highest_modelled(self) -> Study | None:
        """Return the study to propose from; None while no rung has enough trials."""
        enough = (time for time, count in self._reached.items() if count >= self._enough)
        highest = max(enough, default=None)
        return None if highest is None else self._studies[highest]

    def begin(self, trial: int, point: Point, asked: Study | None) -> None:
        """Add a new trial; the study that proposed it already has it."""
        self._points[trial] = point
        self._on_way[trial] = 0.0
        for study in self._studies.values():
            if study is not asked:
                study.add(trial, point)

    def reach(self, trial: int, time: float, value: float | None, continues: bool) -> None:
        """Add the result of a trial at a rung, smaller where better; None if it has no usable value.

        A trial that does not continue is pending at no further rung. If it continues later, it counts at the rungs
        that it reaches.
        """
        study = self._study(time)
        if value is not None:
            self._reached[time] += 1
            if study.awaits(trial):
                study.complete(trial, [value])
            else:
                study.add(trial, self._points[trial], TrialState.COMPLETE, value)
        if continues:
            self._on_way[trial] = time
        else:
            self._on_way.pop(trial, None)
        for other, each in self._studies.items():
            if each.awaits(trial) and (other <= time or not continues):
                each.drop(trial)

    def leave(self, trial: int) -> None:
        """Record that a trial has ended."""
        self._on_way.pop(trial, None)
        self._points.pop(trial, None)
        for study in self._studies.values():
            if study.awaits(trial):
                study.drop(trial)

    def _study(self, time: float) -> Study:
        """Return the study of a rung. A new study includes all trials on their way to it."""
        if time not in self._studies:
            study = self._studies[time] = self._make()
            known = [each for each in self._known if each[2] is None or each[2] >= time]
            for point, value, _ in known:
                study.add(None, point, TrialState.COMPLETE, value)
            self._reached[time] = len(known)
            for trial, passed in self._on_way.items():
                if passed < time:
                    study.add(trial, self._points[trial])
        return self._studies[time]
