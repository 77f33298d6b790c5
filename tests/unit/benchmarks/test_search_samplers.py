"""Tables with a known best, and a search's way through them."""

import numpy as np
import pytest

from tests.bench.samplers.asked import ByHand, Ours
from tests.bench.samplers.playing import what_it_does
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


def test_a_gaussian_process_is_asked_once_by_both_and_answers_as_ever() -> None:
    from tests.bench.samplers.memory import memoized

    def places(side: Ours | ByHand) -> list[Place]:
        return play(TABLE, side, 12, at_once=1)[0]

    plain = places(ByHand("gp", TABLE, 3, anew=True))
    with memoized() as asked:
        for _ in range(2):
            assert places(Ours("gp", TABLE, 3, 12, 1)) == places(ByHand("gp", TABLE, 3, anew=True)) == plain
        assert [each.calls for each in asked] == [2, 2]


def test_whatever_differs_is_another_question_and_a_generator_goes_on_from_the_same_state() -> None:
    from tests.bench.samplers.memory import Memoized

    def drawn(at: Place, *, rng: np.random.RandomState) -> list[float]:
        return [float(rng.random_sample()) + at["x"]]

    asked = Memoized(drawn)
    one, other = np.random.RandomState(1), np.random.RandomState(1)
    first = asked({"x": 1}, rng=one)
    first.append(9.0)
    assert asked({"x": 1}, rng=other) == first[:1]
    assert one.random_sample() == other.random_sample()
    assert asked({"x": 1}, rng=one) != first[:1]
    assert asked({"x": 2}, rng=np.random.RandomState(1)) != first[:1]
    assert asked.calls == 3


def test_what_code_does_is_the_same_under_other_words_about_it() -> None:
    plain = "def a(x):\n    return x + 1\n"
    assert what_it_does('"""A."""\n# why\ndef a(x):\n    """B."""\n\n    return (x + 1)\n') == what_it_does(
        plain
    )
    assert what_it_does(plain.replace("1", "2")) != what_it_does(plain)
