"""What a trial did when, of what scheduler and workers noted."""

from datetime import UTC, datetime, timedelta
from typing import get_args

from services.gateway.trial_phases.core import (
    Kind,
    RunPhases,
    TrialPhase,
    WaitingUploads,
    WorkerPhase,
    phases_of,
    waiting_uploads,
)
from services.gateway.trial_phases.schema import PhaseKind

BEGAN = datetime(2026, 11, 23, 1, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return BEGAN + timedelta(seconds=second)


def told(kind: str, began: float, ended: float, step: int | None = None) -> WorkerPhase:
    return WorkerPhase(kind, at(began), at(ended), step)


def seen(phases: list[TrialPhase]) -> list[tuple[str, int | None, float, float | None]]:
    return [
        (
            one.kind,
            one.run,
            (one.began - BEGAN).total_seconds(),
            (one.ended - BEGAN).total_seconds() if one.ended else None,
        )
        for one in phases
    ]


def test_phases_follow_each_other_over_runs_with_what_lies_within_them() -> None:
    first = RunPhases(1, at(5), at(30), [
        told("prepare", 6, 9), told("fetch_code", 6, 8), told("start", 9, 12), told("first_step", 12, 14),
        told("write_checkpoint", 20, 22, 50), told("upload_checkpoint", 22, 33, 50),
    ])  # fmt: skip
    second = RunPhases(2, at(40), None, [told("prepare", 40, 44), told("restore_checkpoint", 41, 44)])
    assert seen(phases_of(at(0), "queued", [first, second])) == [
        ("queued", None, 0, 5),
        ("preparing", 1, 5, 9),
        ("fetching_code", 1, 6, 8),
        ("starting", 1, 9, 12),
        ("training", 1, 12, 30),
        ("first_step", 1, 12, 14),
        ("writing_checkpoint", 1, 20, 22),
        ("uploading_checkpoint", 1, 22, 33),
        ("queued", None, 30, 40),
        ("preparing", 2, 40, 44),
        ("restoring", 2, 41, 44),
        ("starting", 2, 44, None),
    ]


def test_every_phase_can_be_answered() -> None:
    assert {one.value for one in PhaseKind} == set(get_args(Kind))


def test_pulling_an_image_makes_the_environment_and_names_the_image() -> None:
    image = "ghcr.io/team/train@sha256:1"
    pulled = WorkerPhase("pull_image", at(1), at(3), image=image)
    phases = phases_of(at(0), "queued", [RunPhases(1, at(0), None, [told("prepare", 0, 4), pulled])])
    assert [(one.kind, one.image) for one in phases if one.within == "preparing"] == [
        ("making_environment", image)
    ]


def test_what_a_trial_without_a_run_does_depends_on_where_it_stands() -> None:
    ended = RunPhases(1, at(0), at(9))
    assert seen(phases_of(at(0), "queued", [])) == [("queued", None, 0, None)]
    assert seen(phases_of(at(0), None, [ended])) == [("running", 1, 0, 9)], "its worker has told nothing"
    assert seen(phases_of(at(0), "parked", [ended]))[-1] == ("parked", None, 9, None)
    assert seen(phases_of(at(0), "queued", [RunPhases(1, at(2), None)]))[-1] == ("preparing", 1, 2, None)


def test_a_run_that_ended_while_it_started_never_trained() -> None:
    run = RunPhases(1, at(0), at(9), [told("prepare", 0, 4)])
    assert seen(phases_of(at(0), None, [run])) == [("preparing", 1, 0, 4), ("starting", 1, 4, 9)]


def test_a_wrong_clock_of_a_worker_makes_no_phase_before_its_run_or_behind_it() -> None:
    run = RunPhases(
        1, at(10), at(20), [told("prepare", -90, -80), told("start", 900, 1000), told("fetch_code", -90, 95)]
    )
    assert seen(phases_of(at(0), None, [run])) == [
        ("queued", None, 0, 10),
        ("starting", 1, 10, 20),
    ]


def test_an_upload_that_waits_goes_on_behind_the_end_of_its_run_and_says_why() -> None:
    waits = [
        WorkerPhase("upload_checkpoint", at(second), at(30), step, "status 500")
        for second, step in ((8, 2), (6, 1))
    ]
    run = RunPhases(1, at(0), at(9), [told("prepare", 0, 1), told("start", 1, 2), *waits])
    found = phases_of(at(0), "queued", [run])
    uploads = [one for one in found if one.kind == "uploading_checkpoint"]
    assert [(one.began, one.ended, one.reason) for one in uploads] == [
        (at(8), None, "status 500"),
        (at(6), None, "status 500"),
    ]
    assert waiting_uploads(found) == WaitingUploads(2, at(6), "status 500")
    over = phases_of(at(0), None, [run])
    assert waiting_uploads(over) is None, "of a trial that is over nothing waits"
    assert all(one.ended is not None for one in over)
