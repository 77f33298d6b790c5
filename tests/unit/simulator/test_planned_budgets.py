"""A plan plays what it can of a budget, and says what it leaves out."""

import pytest

from muster.config import Budget
from simulator.planning.supported_limits import playable


@pytest.mark.parametrize(
    ("budget", "is_timed", "played", "said"),
    [
        ({"slot_hours": 3.0, "deadline": "2h"}, True, {"slot_hours": 3.0, "deadline": "2h"}, ""),
        ({"slot_hours": 3.0}, False, None, "step time is unknown"),
        ({"slot_hours": 3.0, "cost": 9.0}, True, {"slot_hours": 3.0}, "cost"),
        ({"deadline": "2026-12-24T18:00Z"}, True, None, "as a duration"),
        ({"cost": 9.0}, True, None, "cost"),
    ],
)
def test_what_is_played_of_a_budget(
    budget: dict[str, object], is_timed: bool, played: dict[str, object] | None, said: str
) -> None:
    found, notes = playable(Budget.model_validate(budget), is_timed)
    assert (None if found is None else found.model_dump(exclude_none=True)) == played
    assert said in " ".join(notes) and bool(notes) == bool(said)
