"""What trials had come to at each rung, for samplers that model how good a point is.

A trial that goes on past a rung is among the best, and goes on for long. A sampler that hears of trials when they end knows for all that
time the others alone, and takes the best of all for unknown or, as TPE does with what is pending, for bad.
"""

from collections.abc import Callable

from optuna.trial import TrialState

from muster.config import Point
from services.searcher.core.samplers.port import Observation
from services.searcher.core.samplers.study import Study


class RungStudies:
    """A study for each rung, of what every trial had come to by then; proposals go by the highest that enough trials have reached.

    Falkner, Klein, Hutter, "BOHB: Robust and Efficient Hyperparameter Optimization at Scale" (ICML 2018), section 3.2; where BOHB waits for as
    many as there are parameters, and two, we wait for as many as the sampler itself does. Trials on their way to a rung are pending there.
    """

    def __init__(self, make: Callable[[], Study], enough: int) -> None:
        self._make, self._enough = make, enough
        self._studies: dict[float, Study] = {}
        self._reached: dict[float, int] = {}
        self._on_way: dict[int, float] = {}
        self._points: dict[int, Point] = {}
        self._known: list[tuple[Point, float, float | None]] = []

    def learn(self, point: Point, observation: Observation) -> None:
        """Take in a trial of an earlier search: it counts at all rungs that it came to."""
        if observation.value is not None:
            self._known.append((point, observation.value, observation.time))

    def best_known(self) -> Study | None:
        """Return the study to go by; None while no rung has enough."""
        enough = (time for time, count in self._reached.items() if count >= self._enough)
        highest = max(enough, default=None)
        return None if highest is None else self._studies[highest]

    def begin(self, trial: int, point: Point, asked: Study | None) -> None:
        """Take in a new trial; the study that was asked for it knows it."""
        self._points[trial] = point
        self._on_way[trial] = 0.0
        for study in self._studies.values():
            if study is not asked:
                study.add(trial, point)

    def reach(self, trial: int, time: float, value: float | None, goes_on: bool) -> None:
        """Take in what a trial had come to at a rung, smaller where better; None: to nothing that says anything.

        One that does not go on is awaited nowhere; if it does later it counts where it comes to.
        """
        study = self._study(time)
        if value is not None:
            self._reached[time] += 1
            if study.awaits(trial):
                study.complete(trial, [value])
            else:
                study.add(trial, self._points[trial], TrialState.COMPLETE, value)
        if goes_on:
            self._on_way[trial] = time
        else:
            self._on_way.pop(trial, None)
        for other, each in self._studies.items():
            if each.awaits(trial) and (other <= time or not goes_on):
                each.drop(trial)

    def leave(self, trial: int) -> None:
        """Take in that a trial ends."""
        self._on_way.pop(trial, None)
        self._points.pop(trial, None)
        for study in self._studies.values():
            if study.awaits(trial):
                study.drop(trial)

    def _study(self, time: float) -> Study:
        """The study of a rung; of a new one, with all who are on their way to it."""
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
