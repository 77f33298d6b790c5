"""When announced checkpoints of an ended run are given up: never by time alone."""

from datetime import UTC, datetime, timedelta

import pytest

from services.registry.checkpoints.core.abandonment import OpenCheckpoint, Wait, judge_open

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = timedelta(seconds=300)
OPEN = (OpenCheckpoint(1, ("a",)), OpenCheckpoint(2, ("a", "b")))


def waited(*looks: tuple[float, bool, bool]) -> float:
    """Seconds that count after looks at (seconds, is waited for, responds)."""
    wait = Wait()
    for at_s, is_waited_for, responds in looks:
        wait = wait.after(NOW + timedelta(seconds=at_s), is_waited_for=is_waited_for, responds=responds)
    return wait.responsive.total_seconds()


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([(0, True, True), (5, True, True), (10, True, True)], 10),
        ([(0, False, True), (500, False, True)], 0),
        ([(0, True, True), (5, True, False), (10, True, True), (15, True, True)], 5),
        ([(0, True, False), (5, True, True), (10, True, True)], 5),
        ([(0, True, True), (5, False, True), (10, True, True), (15, True, True)], 5),
        ([(0, True, True), (5, True, True), (3600, True, True), (3605, True, True)], 10),
        ([(0, True, True), (-5, True, True), (0, True, True)], 5),
    ],
    ids=[
        "the store responds",
        "nobody waits",
        "an outage",
        "away from the beginning",
        "the next run was paused",
        "the registry was away",
        "a clock that was set back",
    ],
)
def test_time_counts_while_a_next_run_waits_and_the_store_responds(
    looks: list[tuple[float, bool, bool]], expected: float
) -> None:
    assert waited(*looks) == expected


def test_a_next_run_that_waited_long_enough_cuts_all_uploads_short() -> None:
    decision = judge_open(OPEN, Wait(LIMIT), LIMIT, lost_workers=(), silent=(), responds=True)
    assert set(decision.abandoned) == {1, 2} and decision.delay_reason is None


def test_a_lost_worker_takes_what_it_still_had_to_send() -> None:
    decision = judge_open(OPEN, Wait(), LIMIT, lost_workers={"b"}, silent=(), responds=True)
    assert decision.abandoned == {2: "worker b is lost for good and had not uploaded it"}
    assert decision.delay_reason == "1 checkpoint is not stored yet: worker a still has to upload"


def test_what_is_sent_in_full_is_lost_with_the_last_worker_that_could_ask_for_its_commit() -> None:
    sent = (OpenCheckpoint(1, (), ("a", "b")),)
    assert judge_open(sent, Wait(), LIMIT, lost_workers={"a"}, silent=(), responds=True).abandoned == {}
    assert set(
        judge_open(sent, Wait(), LIMIT, lost_workers={"a", "b"}, silent=(), responds=True).abandoned
    ) == {1}


@pytest.mark.parametrize(
    ("silent", "responds", "why"),
    [
        ((), True, "workers a, b still have to upload"),
        (("b",), True, "worker b does not respond"),
        (("b",), False, "the object store does not respond"),
    ],
)
def test_what_is_waited_for_is_told(silent: tuple[str, ...], responds: bool, why: str) -> None:
    almost = Wait(LIMIT - timedelta(milliseconds=1))
    decision = judge_open(OPEN, almost, LIMIT, lost_workers=(), silent=silent, responds=responds)
    assert (decision.abandoned, decision.delay_reason) == ({}, f"2 checkpoints are not stored yet: {why}")
