"""A budget as it is asked for: what its words mean, and what is refused before a search begins."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.config import load_config
from services.searcher.core.budget.limits import check_budget
from shared.errors import Rejected
from tests.unit.searcher.spending import RANDOM
from tests.unit.searcher.world import NOW, config


def budgeted(**budget: object) -> None:
    document = {
        "entrypoint": "true",
        "hyperparameters": {"lr": 0.1},
        "searcher": {"name": "single", "metric": "loss"},
    }
    load_config({**document, "budget": budget, "resources": {"slots_per_trial": 4}})


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({}, "at least one of"),
        ({"slot_hours": 0}, "above 0"),
        ({"deadline": "soon"}, "not a deadline"),
        ({"deadline": "2026-12-24T18:00"}, "not a deadline"),
        ({"deadline": "0h"}, "ten years"),
        ({"slot_hours": 3, "trial_s": 3600}, "one trial takes 4 slot-hours, more than the budget's 3"),
        ({"deadline": "30m", "trial_s": 3600}, "longer than the deadline's 30m"),
        ({"hours": 3}, "unknown key"),
    ],
)
def test_a_budget_that_says_nothing_or_bears_no_trial_is_refused(
    budget: dict[str, object], said: str
) -> None:
    with pytest.raises(Rejected, match=said):
        budgeted(**budget)


def test_what_a_deadline_means() -> None:
    submitted = datetime(2026, 1, 1, 12, tzinfo=UTC)
    for text, hours in (("90m", 1.5), ("36h", 36), ("2d", 48), ("2026-01-01T15:00+02:00", 1)):
        budget = config(RANDOM, budget={"deadline": text}).budget
        assert budget and budget.deadline_at(submitted) == submitted + timedelta(hours=hours)


@pytest.mark.parametrize(
    ("budget", "price", "said"),
    [
        ({"deadline": "2025-12-31T23:00Z"}, 0.0, "already passed"),
        ({"deadline": "2026-01-01T00:30Z", "trial_s": 3600}, 0.0, "the deadline is in 1800 s"),
        ({"cost": 5, "trial_s": 3600}, 6.0, "one trial costs 6"),
    ],
)
def test_what_only_the_clock_and_the_pool_know_is_refused_at_submission(
    budget: dict[str, object], price: float, said: str
) -> None:
    with pytest.raises(Rejected, match=said):
        check_budget(config(RANDOM, budget=budget), NOW, price)
