"""Plays a search on a simulated cluster whose trials are rows of the table, until its goal is reached.

It drives any decision class behind `Searching`, ours and the peers', and so it stands on the standard library and numpy alone.
Trials start, pause and go on without delay: what is compared is decisions.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Literal, Protocol

from tests.bench.quality.table import EPOCHS, Rows, Table, load_table

Verdict = Literal["go on", "stop", "pause"]


@dataclass(frozen=True, slots=True)
class Start:
    """A trial to be made; `point` is in the coordinates of the table's rule."""

    trial: int
    point: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GoOn:
    """A paused trial that goes on from where it was."""

    trial: int


class Searching(Protocol):
    """What every decision class is driven as."""

    def ask(self) -> Start | GoOn | None:
        """Return what a free slot is to do, or None while there is nothing to do."""
        ...

    def report(self, trial: int, epoch: int, accuracy: float) -> Verdict:
        """Judge the validation after an epoch, counted from 1; after the last epoch the trial ends whatever the verdict."""
        ...

    def leave(self, trial: int, is_paused: bool) -> None:
        """Take in that the trial has left its slot: paused, or ended."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """How a search went: when its goal was reached (None: never), and what it took."""

    seconds: float | None
    trials: int
    epochs: int


@dataclass(slots=True)
class _Place:
    """Where a trial stands: its row, and the epochs that it has behind it."""

    row: int
    epoch: int = 0


def play(table: Table, slots: int, searching: Searching, is_perfect: bool = False) -> Run:
    """Return how long the search takes until a validation reaches the table's goal; of equal times the lower trial is first.

    Where `is_perfect`, the search is told at each validation what the trial would come to after the last epoch: its ranking is perfect.
    """
    rows, at = Rows(table), dict[int, _Place]()
    agenda: list[tuple[float, int]] = []
    now, free, epochs, goal = 0.0, slots, 0, table.goal
    while True:
        while free and (step := searching.ask()) is not None:
            if isinstance(step, Start):
                at[step.trial] = _Place(rows.nearest(step.point))
            _train(agenda, table, at, now, step.trial)
            free -= 1
        if not agenda:
            return Run(None, len(at), epochs)
        now, trial = heappop(agenda)
        epochs, place = epochs + 1, at[trial]
        place.epoch += 1
        accuracy = table.accuracy[place.row][place.epoch - 1]
        if accuracy >= goal:
            return Run(now, len(at), epochs)
        observed = table.accuracy[place.row][-1] if is_perfect else accuracy
        verdict = searching.report(trial, place.epoch, observed)
        if verdict == "go on" and place.epoch < EPOCHS:
            _train(agenda, table, at, now, trial)
        else:
            free += 1
            searching.leave(trial, is_paused=verdict == "pause")


def _train(
    agenda: list[tuple[float, int]], table: Table, at: Mapping[int, _Place], now: float, trial: int
) -> None:
    """Note when the trial's next epoch ends."""
    place = at[trial]
    heappush(agenda, (now + table.epoch_s[place.row][place.epoch], trial))


def print_runs(make: Callable[[int], Searching], slots: int, seeds: range, is_perfect: bool = False) -> None:
    """Print a line of JSON for the run of each seed, as it ends."""
    table = load_table()
    for seed in seeds:
        print(json.dumps(asdict(play(table, slots, make(seed), is_perfect))), flush=True)
