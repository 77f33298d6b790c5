"""Worlds that broke an invariant once hold now, each with the faults that it had then."""

import pytest

from tests.simulation.stored import WORLDS
from tests.simulation.worlds import MINUTE_MS, begun


@pytest.mark.parametrize("name", WORLDS)
def test_what_once_broke_an_invariant_holds(name: str) -> None:
    begun(WORLDS[name].setup, WORLDS[name].troubles).end(6 * 60 * MINUTE_MS)
