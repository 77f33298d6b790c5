"""Nobody who was written for a released version stumbles over today's. `released.py` says how the baselines are extended."""

import copy
from typing import Any

import pytest

from tests.contract.released import CONTRACTS, Contract, broken, extended, load

NAMES = sorted(CONTRACTS)
Change = tuple[str, str, str]


@pytest.mark.parametrize("name", NAMES)
def test_what_was_released_is_only_added_to(name: str) -> None:
    assert broken(load(name), CONTRACTS[name]()) == []


def changed(contract: Contract, shape: str, **fields: str | None) -> Contract:
    """The contract with fields of a shape replaced, or taken away."""
    other = copy.deepcopy(contract)
    found = other.shapes[shape]
    assert isinstance(found, dict)
    other.shapes[shape] = {name: kind for name, kind in (found | fields).items() if kind is not None}
    return other


@pytest.mark.parametrize(
    ("name", "shape", "fields", "fault"),
    [
        ("messages-v1", "TrialRequested", {"spec": None}, "TrialRequested.spec is gone, and is still read"),
        ("messages-v1", "TrialRequested", {"spec": None, "specification": "TrialSpec"}, "TrialRequested.spec is gone"),
        ("messages-v1", "TrialRequested", {"version": "string!"}, "TrialRequested.version was 'integer!', now 'string!'"),
        ("messages-v1", "TrialRequested", {"decide_at": "null | number!"}, "TrialRequested.decide_at has become required"),
        ("messages-v1", "TrialRequested", {"new": "string!"}, "TrialRequested.new is new and required"),
        ("rest-v1", "Experiment", {"number": None}, "Experiment.number is gone"),
        ("rest-v1", "CreateExperimentRequest", {"name": "null | string!"}, "name has become required"),
        ("rest-v1", "ListExperiments?", {"label": None}, "ListExperiments?.label is gone"),
        ("rest-v1", "ListExperiments?", {"tenant": "string!"}, "ListExperiments?.tenant is new and required"),
        ("rest-v1", "WatchEvents?", {"kind": '["experiment"]'}, "WatchEvents?.kind was"),
        ("rest-v1", "WatchEvents?", {"kind": "[string]"}, "WatchEvents?.kind was"),
        ("grpc-v1", "Experiment", {"id": None}, "Experiment.id is gone"),
        ("grpc-v1", "Experiment", {"id": "77 9"}, "Experiment.id was"),
    ],
)  # fmt: skip
def test_what_somebody_would_stumble_over_is_named(
    name: str, shape: str, fields: dict[str, str | None], fault: str
) -> None:
    released = CONTRACTS[name]()
    (told,) = broken(released, changed(released, shape, **fields))
    assert fault in told


@pytest.mark.parametrize("name", NAMES)
def test_a_thing_that_moved_or_vanished_is_named(name: str) -> None:
    released = CONTRACTS[name]()
    gone = next(iter(released.addresses))
    now = released.model_copy(update={"addresses": released.addresses | {gone: "elsewhere"}, "shapes": {}})
    told = broken(released, now)
    assert "elsewhere" in told[0] and len(told) == 1 + len(released.shapes)


def test_words_may_be_added_to_what_is_sent_to_us_and_of_answers_where_they_are_asked_for() -> None:
    released = CONTRACTS["rest-v1"]()
    before = changed(released, "WatchEvents?", kind='["experiment" | "trial"]')
    assert broken(before, released) == []
    for name, words, is_fault in (
        ("EventKind", '"experiment" | "trial"', False),
        ("EventKind", '"experiment" | "gone"', True),
        ("TrialState", '"queued"', True),
    ):
        fewer = released.model_copy(update={"shapes": released.shapes | {name: words}})
        assert bool(broken(fewer, released)) is is_fault, name


def test_a_message_with_the_same_numbers_and_more_may_take_anothers_place_and_no_other_may() -> None:
    now = CONTRACTS["grpc-v1"]()
    fewer = changed(now, "ListGroupsRequest", cursor=None)
    listed: Any = now.shapes["ListGroupsRequest"]
    shapes = {"PageRequest": {name: listed[name] for name in ("limit", "cursor")}}
    before = Contract(addresses={"ListGroups": "PageRequest → GroupPage"}, shapes=shapes)
    for contract, request, is_understood in (
        (now, "ListGroupsRequest", True),
        (now, "GroupRequest", False),
        (fewer, "ListGroupsRequest", False),
    ):
        by_now = contract.model_copy(update={"addresses": {"ListGroups": f"{request} → GroupPage"}})
        assert (broken(before, by_now) == []) is is_understood, request


@pytest.mark.parametrize(("name", "shape"), [("messages-v1", "TrialRequested"), ("rest-v1", "Experiment")])
def test_a_field_that_may_be_left_out_is_no_fault_and_is_then_kept(name: str, shape: str) -> None:
    released = CONTRACTS[name]()
    now = changed(released, shape, new="string")
    assert broken(released, now) == []
    assert broken(extended(released, now), released) == [f"{shape}.new is gone, and is still read"]
