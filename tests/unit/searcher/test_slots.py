"""What a trial asks of the scheduler, from its config."""

import pytest

from muster.config import load_config
from services.searcher.events import slots_of
from shared.messages.trial_specs import Slots

CONFIG = {
    "name": "slots",
    "entrypoint": "python3 train.py",
    "searcher": {"name": "single", "metric": "loss"},
}


@pytest.mark.parametrize(
    ("resources", "slots"),
    [
        ({"slots_per_trial": 2}, Slots(min=2, max=2)),
        ({"slots_per_trial": 0.5}, Slots(min=1, max=1, fraction=500)),
        ({"slots_per_trial": {"min": 1, "max": 4}}, Slots(min=1, max=4)),
    ],
)
def test_the_slots_of_the_config_reach_the_scheduler(resources: dict[str, object], slots: Slots) -> None:
    assert slots_of(load_config({**CONFIG, "resources": resources}).resources) == slots
