"""`single`: one trial, whose hyperparameters with ranges are drawn once."""

import pytest

from services.searcher.core.journal.replay import replay
from services.searcher.core.search.search import Search
from tests.unit.searcher.lives import RANDOM, started
from tests.unit.searcher.world import SEED, World, config, stored

SINGLE: dict[str, object] = {"name": "single"}
SPACE: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "net": {"width": {"type": "int", "minval": 16, "maxval": 64}},
    "batch": 32,
}


def test_a_value_is_drawn_for_each_range_by_the_experiments_seed() -> None:
    def point(seed: int) -> dict[str, object]:
        (made,) = Search(config(SINGLE, SPACE), seed).start().created
        return dict(made.point)

    assert point(7) == point(7)
    assert point(7) != point(8)
    found = point(7)
    assert 1e-4 <= float(str(found["lr"])) <= 1e-1
    assert found["batch"] == 32
    assert isinstance(found["net"], dict) and 16 <= int(found["net"]["width"]) <= 64


def test_its_one_trial_is_all_of_it_and_a_replay_draws_the_same() -> None:
    world = World(config(SINGLE, SPACE))
    world.begin()
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "completed")
    assert (list(world.trials), world.experiment.state) == ([1], "completed")
    assert replay(world.config, SEED, stored(world.journal)) is None


@pytest.mark.parametrize(("searcher", "state"), [(SINGLE, "completed"), (RANDOM, "error")])
def test_without_a_validation_a_search_is_an_error_and_a_single_training_completes_with_the_reason(
    searcher: dict[str, object], state: str
) -> None:
    world = started(searcher)
    while live := [trial for trial in world.trials.values() if not trial.is_final]:
        world.grant(live[0].number)
        world.close(live[0].number, "completed")
    assert world.experiment.state == state
    reason = world.experiment.reason or ""
    assert "no trial reported searcher.metric 'loss' as a finite number" in reason
    assert "muster.trial()" in reason and "Determined's own library are not recorded" in reason
