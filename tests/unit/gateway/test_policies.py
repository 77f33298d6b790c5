"""What policies allow, and what they give to who leaves a thing open."""

import pytest

from muster.config import ExperimentConfig, load_config
from muster.errors import Rejected
from services.gateway.policies.core import PolicyRules, apply_policies

HERE, ALL = PolicyRules("vision", {}, 8, 50), PolicyRules(None, {}, 16, 20)


def config(**resources: object) -> ExperimentConfig:
    return load_config(
        {
            "entrypoint": "python3 train.py",
            "searcher": {"name": "single", "metric": "loss"},
            "resources": resources,
        }
    )


@pytest.mark.parametrize(
    ("asked", "slots", "priority"),
    [({}, 8, 50), ({"max_slots": 2}, 2, 50), ({"priority": 99}, 8, 99), ({"slots_per_trial": 8}, 8, 50)],
)
def test_who_leaves_a_thing_open_is_given_the_tightest_limit(
    asked: dict[str, object], slots: int, priority: int
) -> None:
    held = apply_policies((HERE, ALL), config(**asked)).resources
    assert (held.max_slots, held.priority) == (slots, priority)


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"max_slots": 9}, "resources.max_slots"),
        ({"slots_per_trial": 9}, "resources.slots_per_trial"),
        ({"slots_per_trial": {"min": 9, "max": 12}}, "resources.slots_per_trial"),
        ({"priority": 49}, "resources.priority"),
    ],
)
def test_a_workspace_may_be_stricter_than_its_tenant(asked: dict[str, object], key: str) -> None:
    with pytest.raises(Rejected) as refused:
        apply_policies((HERE, ALL), config(**asked))
    assert refused.value.place == key
    assert "workspace 'vision'" in refused.value.message


def test_without_policies_a_config_is_as_it_was() -> None:
    given = config()
    assert apply_policies((), given) is given
