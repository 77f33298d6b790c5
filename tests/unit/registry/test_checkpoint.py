"""A checkpoint's life as a table, and the choice of the one to go on from."""

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from muster.errors import Broken
from services.registry.core.checkpoint import (
    CHECKPOINT,
    Candidate,
    CheckpointStatus,
    CheckpointTrigger,
    choose_newest,
    describe_mismatch,
)


@pytest.mark.parametrize(
    ("triggers", "state"),
    [
        (
            [CheckpointTrigger.urls_signed, CheckpointTrigger.commit_asked, CheckpointTrigger.verified],
            CheckpointStatus.saved,
        ),
        (
            [CheckpointTrigger.urls_signed, CheckpointTrigger.commit_asked, CheckpointTrigger.mismatched],
            CheckpointStatus.uploading,
        ),
        ([CheckpointTrigger.urls_signed, CheckpointTrigger.upload_timed_out], CheckpointStatus.abandoned),
        (
            [
                CheckpointTrigger.urls_signed,
                CheckpointTrigger.commit_asked,
                CheckpointTrigger.fenced,
                CheckpointTrigger.verified,
            ],
            CheckpointStatus.abandoned,
        ),
        (
            [
                CheckpointTrigger.urls_signed,
                CheckpointTrigger.commit_asked,
                CheckpointTrigger.verified,
                CheckpointTrigger.collected,
            ],
            CheckpointStatus.deleting,
        ),
        (
            [
                CheckpointTrigger.urls_signed,
                CheckpointTrigger.commit_asked,
                CheckpointTrigger.given_up,
                CheckpointTrigger.commit_asked,
            ],
            CheckpointStatus.corrupt,
        ),
    ],
)
def test_lives(triggers: list[CheckpointTrigger], state: CheckpointStatus) -> None:
    now = CheckpointStatus.announced
    for trigger in triggers:
        now = CheckpointStatus(CHECKPOINT.next(now, trigger))
    assert now is state


def test_what_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(Broken):
        CHECKPOINT.next(CheckpointStatus.announced, CheckpointTrigger.verified)


@given(st.lists(st.sampled_from(list(CheckpointTrigger)), max_size=12))
def test_deleted_is_for_ever_and_saved_is_left_only_by_damage_or_collection(
    triggers: list[CheckpointTrigger],
) -> None:
    now = CheckpointStatus.announced
    for trigger in triggers:
        try:
            after = CheckpointStatus(CHECKPOINT.next(now, trigger))
        except Broken:
            continue
        if now is CheckpointStatus.deleted:
            assert after is CheckpointStatus.deleted
        if now is CheckpointStatus.saved and after is not CheckpointStatus.saved:
            assert trigger in (CheckpointTrigger.found_damaged, CheckpointTrigger.collected)
        if after is CheckpointStatus.saved and now is not CheckpointStatus.saved:
            assert (now, trigger) == (CheckpointStatus.committing, CheckpointTrigger.verified)
        now = after


def test_every_state_can_be_reached() -> None:
    reached = {CheckpointStatus.announced}
    while True:
        more = set(reached)
        for state in reached:
            for trigger in CheckpointTrigger:
                try:
                    more.add(CheckpointStatus(CHECKPOINT.next(state, trigger)))
                except Broken:
                    continue
        if more == reached:
            break
        reached = more
    assert reached == set(CheckpointStatus)


def _candidate(
    number: int, token: int, step: int, state: CheckpointStatus = CheckpointStatus.saved
) -> Candidate:
    return Candidate(UUID(int=number), token, step, state)


def test_the_newest_is_by_token_then_step_and_saved_ones_only() -> None:
    rolled_back = _candidate(1, token=2, step=10)
    candidates = [
        _candidate(2, token=1, step=90),
        rolled_back,
        _candidate(3, token=2, step=5),
        _candidate(4, token=3, step=99, state=CheckpointStatus.uploading),
        _candidate(5, token=3, step=98, state=CheckpointStatus.corrupt),
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
