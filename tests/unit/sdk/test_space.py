"""Conditions, constraints and steps of a search space: what they mean, and where a mistake is told."""

from typing import Any

import pytest

from muster.config import active, load_config
from muster.config.constraints import read_constraint
from muster.errors import Rejected

SPACE: dict[str, Any] = {
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 1, "when": {"optimizer": "sgd"}},
    "nesterov": {"type": "categorical", "vals": [True, False], "when": {"momentum": [0.5, 1]}},
    "net": {"width": {"type": "int", "minval": 1, "maxval": 64}, "depth": 3},
}


def document(space: dict[str, Any] = SPACE, constraints: tuple[str, ...] = ()) -> dict[str, Any]:
    searcher = {"name": "random", "metric": "loss", "max_trials": 4}
    return {
        "entrypoint": "x",
        "hyperparameters": space,
        "constraints": list(constraints),
        "searcher": searcher,
    }


def refusal(space: dict[str, Any] = SPACE, constraints: tuple[str, ...] = ()) -> Rejected:
    with pytest.raises(Rejected) as refused:
        load_config(document(space, constraints))
    return refused.value


def test_what_takes_no_part_is_left_out_with_all_that_hangs_on_it() -> None:
    space = load_config(document()).hyperparameters
    net = {"net": {"width": 8, "depth": 3}}
    whole: dict[str, Any] = {"optimizer": "sgd", "momentum": 0.5, "nesterov": True, **net}
    assert active(space, whole) == whole
    assert active(space, whole | {"momentum": 0.2}) == {"optimizer": "sgd", "momentum": 0.2, **net}
    assert active(space, whole | {"optimizer": "adam"}) == {"optimizer": "adam", **net}


@pytest.mark.parametrize(
    ("when", "place", "words"),
    [
        ({"optimiser": "sgd"}, "hyperparameters.extra.when.optimiser", "is not a hyperparameter"),
        ({"optimizer": "sdg"}, "hyperparameters.extra.when.optimizer", "never has the value 'sdg'"),
        ({"net.width": 65}, "hyperparameters.extra.when.net.width", "never has the value 65"),
        ({"extra": 1}, "hyperparameters.extra.when", "circular"),
    ],
)
def test_a_condition_that_refers_to_nothing_is_refused_at_its_place(
    when: dict[str, Any], place: str, words: str
) -> None:
    refused = refusal(SPACE | {"extra": {"type": "int", "minval": 1, "maxval": 9, "when": when}})
    assert words in str(refused)
    assert (refused.place or "").startswith(place.partition(".when")[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("net.width * net.deph < 9", "'net.deph'"),
        ("__import__('os').system('x') == net.width", "not supported"),
        ("net.width <", "cannot be parsed"),
        ("1 < 2", "does not name a hyperparameter"),
        ("[x for x in (net.width,)]", "not supported"),
        ("net.width.real > 1", "'net.width.real'"),
    ],
)
def test_a_constraint_that_is_not_understood_is_refused_at_its_place(text: str, words: str) -> None:
    refused = refusal(constraints=("net.width > 1", text))
    assert words in str(refused) and (refused.place or "").startswith("constraints[1]")


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("width * 2 <= 16 and optimizer in ('sgd', 'adam')", True),
        ("1 < width ** 2 < 64", False),
        ("not (width % 2) or -width > 3", True),
        ("min(width, 4) + abs(-2) == 6", True),
        ("momentum > 5", True),  # It takes no part.
        ("width / 0 > 1", False),
        ("optimizer * 1000000000 == 'x'", False),
        ("width ** 9999 ** 9999 > 1", False),
    ],
)
def test_constraints_mean_what_they_say(text: str, is_met: bool) -> None:
    known = frozenset({("width",), ("optimizer",), ("momentum",)})
    assert read_constraint(text, known).is_met({"width": 8, "optimizer": "sgd"}) is is_met


def test_a_step_and_a_count_are_not_both_given() -> None:
    both = {"width": {"type": "int", "minval": 1, "maxval": 9, "step": 2, "count": 3}}
    assert "cannot be combined" in str(refusal(both))
    assert "exceeds maxval" in str(refusal({"w": {"type": "int", "minval": 1, "maxval": 3, "step": 5}}))


def test_a_sampler_is_a_name_or_a_mapping_and_takes_its_own_keys() -> None:
    def sampled(sampler: object) -> dict[str, Any]:
        whole = document()
        return whole | {"searcher": whole["searcher"] | {"sampler": sampler}}

    assert load_config(sampled("tpe")) == load_config(sampled({"name": "tpe"}))
    for wrong in ("tep", {"name": "random", "startup_trials": 3}, {"name": "tpe", "population_size": 9}):
        with pytest.raises(Rejected, match=r"sampler|one of|input"):
            load_config(sampled(wrong))
