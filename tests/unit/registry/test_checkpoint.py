"""A checkpoint's life as a table, and the choice of the one to go on from."""

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from muster.errors import Broken
from services.registry.core.checkpoint import (
    CHECKPOINT,
    Candidate,
    State,
    Trigger,
    choose_newest,
    describe_mismatch,
)


@pytest.mark.parametrize(
    ("triggers", "state"),
    [
        ([Trigger.urls_signed, Trigger.commit_asked, Trigger.verified], State.saved),
        (
            [Trigger.urls_signed, Trigger.commit_asked, Trigger.mismatched],
            State.uploading,
        ),
        ([Trigger.urls_signed, Trigger.upload_timed_out], State.abandoned),
        (
            [
                Trigger.urls_signed,
                Trigger.commit_asked,
                Trigger.fenced,
                Trigger.verified,
            ],
            State.abandoned,
        ),
        (
            [
                Trigger.urls_signed,
                Trigger.commit_asked,
                Trigger.verified,
                Trigger.collected,
            ],
            State.deleting,
        ),
        (
            [
                Trigger.urls_signed,
                Trigger.commit_asked,
                Trigger.given_up,
                Trigger.commit_asked,
            ],
            State.corrupt,
        ),
    ],
)
def test_lives(triggers: list[Trigger], state: State) -> None:
    now = State.announced
    for trigger in triggers:
        now = State(CHECKPOINT.next(now, trigger))
    assert now is state


def test_what_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(Broken):
        CHECKPOINT.next(State.announced, Trigger.verified)


@given(st.lists(st.sampled_from(list(Trigger)), max_size=12))
def test_deleted_is_for_ever_and_saved_is_left_only_by_damage_or_collection(
    triggers: list[Trigger],
) -> None:
    now = State.announced
    for trigger in triggers:
        try:
            after = State(CHECKPOINT.next(now, trigger))
        except Broken:
            continue
        if now is State.deleted:
            assert after is State.deleted
        if now is State.saved and after is not State.saved:
            assert trigger in (Trigger.found_damaged, Trigger.collected)
        if after is State.saved and now is not State.saved:
            assert (now, trigger) == (State.committing, Trigger.verified)
        now = after


def test_every_state_can_be_reached() -> None:
    reached = {State.announced}
    while True:
        more = set(reached)
        for state in reached:
            for trigger in Trigger:
                try:
                    more.add(State(CHECKPOINT.next(state, trigger)))
                except Broken:
                    continue
        if more == reached:
            break
        reached = more
    assert reached == set(State)


def _candidate(number: int, token: int, step: int, state: State = State.saved) -> Candidate:
    return Candidate(UUID(int=number), token, step, state)


def test_the_newest_is_by_token_then_step_and_saved_ones_only() -> None:
    rolled_back = _candidate(1, token=2, step=10)
    candidates = [
        _candidate(2, token=1, step=90),
        rolled_back,
        _candidate(3, token=2, step=5),
        _candidate(4, token=3, step=99, state=State.uploading),
        _candidate(5, token=3, step=98, state=State.corrupt),
    ]
    assert choose_newest(candidates) == rolled_back
    assert choose_newest(reversed(candidates)) == rolled_back
    assert choose_newest([]) is None


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ((3, "aa"), None),
        (None, "not in the store"),
        ((2, "aa"), "2 bytes"),
        ((3, "bb"), "SHA-256"),
    ],
)
def test_a_file_that_does_not_fit_says_why(found: tuple[int, str] | None, reason: str | None) -> None:
    said = describe_mismatch("model.pt", (3, "aa"), found)
    assert said is None if reason is None else said is not None and reason in said and "model.pt" in said
