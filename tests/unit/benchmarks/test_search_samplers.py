"""Tables with a known best, and a search's way through them."""

import numpy as np
import pytest

from tests.bench.samplers.asked import ByHand, Ours
from tests.bench.samplers.tables import Place, Table, play

PARAMETERS = {"kind": 3, "width": 5}
LOSS = np.arange(15.0).reshape(3, 5)
TABLE = Table("small", LOSS, 1.0 + LOSS, PARAMETERS, frozenset({"width"}))


class Listed:
    """Asks for the widths 0 to 4, and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float]] = []

    def ask(self, trial: int) -> Place:
        return {"kind": 0, "width": 5 - trial}

    def tell(self, trial: int, loss: float) -> None:
        self.told.append((trial, loss))


def test_the_best_has_no_regret_and_the_mean_has_one() -> None:
    assert [TABLE.regret(loss) for loss in (0.0, 7.0)] == [0.0, 1.0]


def test_one_after_the_other_in_order_and_side_by_side_by_their_times() -> None:
    alone, together = Listed(), Listed()
    assert play(TABLE, alone, 5, at_once=1)[1] == [4.0, 3.0, 2.0, 1.0, 0.0]
    play(TABLE, together, 5, at_once=5)
    assert together.told == [(5, 0.0), (4, 1.0), (3, 2.0), (2, 3.0), (1, 4.0)]


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_our_points_are_optunas(sampler: str, at_once: int) -> None:
    ours = play(TABLE, Ours(sampler, TABLE, 3, 20, at_once), 20, at_once)
    assert ours == play(TABLE, ByHand(sampler, TABLE, 3, anew=True), 20, at_once)
