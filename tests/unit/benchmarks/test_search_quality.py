"""The simulated cluster that searches are measured on: it keeps time, slots and epochs, and every search of ours gets through it."""

from collections import deque
from collections.abc import Mapping

import numpy as np
import pytest

from tests.bench.quality.cluster import GoOn, Start, Verdict, play
from tests.bench.quality.ours import METHODS, Ours
from tests.bench.quality.table import EPOCHS, FREE, RANGES, SIZES, Rows, Table, load_table

POINT = {**dict.fromkeys(FREE, 0.0), "batch_size": 0.0}


class Scripted:
    """Starts trials 1, 2, … while there are any, and answers by (trial, epoch)."""

    def __init__(self, trials: int, answers: Mapping[tuple[int, int], Verdict]) -> None:
        self.steps: deque[Start | GoOn] = deque(Start(number, POINT) for number in range(1, trials + 1))
        self.answers = answers
        self.told: list[tuple[int, int, float]] = []

    def ask(self) -> Start | GoOn | None:
        return self.steps.popleft() if self.steps else None

    def report(self, trial: int, epoch: int, accuracy: float) -> Verdict:
        self.told.append((trial, epoch, accuracy))
        return self.answers.get((trial, epoch), "go on")

    def leave(self, trial: int, is_paused: bool) -> None:
        if is_paused:
            self.steps.append(GoOn(trial))


def table(*ends: float, epoch_s: float = 1.0) -> Table:
    """Rows that are at 0 until their last epoch, the first nearest to `POINT`; the goal is the fifth best."""
    coordinates = np.array([[row / 100.0] * len(RANGES) for row in range(len(ends))])
    curves = [[0.0] * (EPOCHS - 1) + [end] for end in ends]
    return Table(coordinates, curves, [[epoch_s] * EPOCHS for _ in ends])


FIVE_GOOD = (0.1, 0.9, 0.9, 0.9, 0.9, 0.9)


def test_time_counts_what_runs_side_by_side() -> None:
    assert play(table(*FIVE_GOOD), 1, Scripted(6, {})).seconds == 2 * EPOCHS
    assert play(table(*FIVE_GOOD), 2, Scripted(6, {})).seconds == EPOCHS


def test_a_stopped_trial_gives_its_slot_to_the_next() -> None:
    run = play(table(*FIVE_GOOD), 1, Scripted(6, {(1, 3): "stop"}))
    assert (run.seconds, run.trials, run.epochs) == (3 + EPOCHS, 2, 3 + EPOCHS)


def test_a_paused_trial_goes_on_where_it_was() -> None:
    searching = Scripted(1, {(1, 3): "pause"})
    run = play(table(0.9, 0.9, 0.9, 0.9, 0.9), 1, searching)
    assert run.seconds == EPOCHS
    assert [epoch for _, epoch, _ in searching.told] == list(range(1, EPOCHS))


def test_a_goal_that_is_never_reached_has_no_time() -> None:
    assert play(table(*FIVE_GOOD), 1, Scripted(1, {})).seconds is None


def test_who_ranks_perfectly_is_told_the_end() -> None:
    searching = Scripted(1, {(1, 1): "stop"})
    play(table(*FIVE_GOOD), 1, searching, is_perfect=True)
    assert searching.told == [(1, 1, 0.1)]


def test_a_row_is_given_once() -> None:
    rows = Rows(table(*FIVE_GOOD))
    assert [rows.nearest(POINT) for _ in FIVE_GOOD] == [0, 1, 2, 3, 4, 5]


def test_the_table_is_the_stated_one() -> None:
    stored = load_table()
    assert stored.coordinates.shape == (1000, len(RANGES))
    assert {len(row) for row in (*stored.accuracy, *stored.epoch_s)} == {EPOCHS}
    assert stored.coordinates.min() >= 0 and stored.coordinates.max() <= 1 + 1e-6
    sizes = stored.coordinates[:, list(RANGES).index("batch_size")] * (SIZES - 1)
    assert set(sizes.round(6)) == set(range(SIZES))
    assert 0.98 < stored.goal < 1


@pytest.mark.parametrize("name", [name for name in METHODS if "tpe" not in name])
def test_every_search_of_ours_gets_there(name: str) -> None:
    runs = [play(load_table(), 16, Ours(METHODS[name], 16, seed=1)) for _ in range(2)]
    assert runs[0].seconds is not None
    assert runs[0] == runs[1]
