"""When a script is told that a checkpoint is due."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

import muster
from muster import wire
from muster._trial import Trial
from muster._trial.checkpointing.schedule import CheckpointSchedule
from muster._trial.process_environment import load_process_environment
from muster._trial.worker_link.heartbeat import HeartbeatWriter


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("best", [1, 3, 6]), ("all", [1, 2, 3, 4, 5, 6]), ("none", [])],
)
def test_validations_make_one_due_by_the_policy(policy: str, expected: list[int]) -> None:
    due = CheckpointSchedule(policy, None, "loss", smaller_is_better=True)
    asked = []
    for step, loss in enumerate([5.0, 6.0, 4.0, 4.0, math.nan, 3.0], start=1):
        due.on_validation({"loss": loss})
        if due.is_due(step, step, is_ending=False):
            asked.append(step)
            due.on_written(step, step, step, step)
    assert asked == expected


def test_what_was_best_stays_due_until_it_is_saved() -> None:
    due = CheckpointSchedule("best", None, "accuracy", smaller_is_better=False)
    due.on_validation({"accuracy": 0.5})
    due.on_validation({"accuracy": 0.4})
    assert due.is_due(2, 2, is_ending=False)
    due.on_written(1, 2, 2, 2)
    due.on_validation({"accuracy": 0.5, "other": 1.0})
    assert not due.is_due(3, 3, is_ending=False)


def test_the_best_is_the_trials_and_not_this_runs() -> None:
    due = CheckpointSchedule("best", None, "accuracy", smaller_is_better=False, best=0.8)
    due.on_validation({"accuracy": 0.7})
    assert not due.is_due(5, 5, is_ending=False)
    due.on_validation({"accuracy": 0.81})
    assert due.is_due(6, 6, is_ending=False)


def _open(tmp_path: Path, period: int, unit: str) -> Trial:
    """A trial without a platform, of an experiment that asks for a checkpoint by a period alone."""
    description = wire.TrialFile(
        socket="",
        size=1,
        hparams={},
        seed=0,
        checkpoints=str(tmp_path),
        metric="loss",
        checkpoint_policy="none",
        checkpoint_period=period,
        checkpoint_period_unit=unit,
    )
    return Trial(description, load_process_environment(), None, None, HeartbeatWriter("", 0))


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """It asks every ten steps."""
    return _open(tmp_path, 10, "batches")


def _save(trial: muster.Trial, step: int) -> None:
    with trial.checkpoint(step) as folder:
        (folder / "state").write_text(str(step))


def test_a_period_bounds_what_a_failure_costs(trial: Trial) -> None:
    asked = []
    for step in range(1, 40):
        if step == 15:
            _save(trial, step)
        if trial.should_checkpoint(step, validated=False):
            asked.append(step)
            _save(trial, step)
    assert asked == [10, 25, 35]


def test_a_period_in_epochs_goes_by_what_the_script_reports(tmp_path: Path) -> None:
    trial, asked = _open(tmp_path, 2, "epochs"), []
    for step in range(1, 61):
        if step % 10 == 0:
            trial.report(step, epochs=step // 10)
        if trial.should_checkpoint(step, validated=False):
            asked.append(step)
            _save(trial, step)
    assert asked == [20, 40, 60]


def test_a_period_in_minutes_goes_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 6000, 10))
    monkeypatch.setattr(
        "muster._trial.checkpointing.writer.time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    trial = _open(tmp_path, 5, "minutes")
    asked = [step for step in range(1, 40) if trial.should_checkpoint(step, validated=False)]
    assert asked == list(range(30, 40)), "until it is saved"


def test_before_the_end_what_is_not_saved_is(trial: Trial) -> None:
    _save(trial, 3)
    trial._stopping = True
    assert not trial.should_checkpoint(3)
    assert trial.should_checkpoint(4)


@given(st.integers(20, 200), st.lists(st.floats(0.5, 1.0), min_size=100, max_size=100), st.floats(0.1, 9.0))
def test_a_period_counts_from_store_to_store(period: int, parts: list[float], longest: float) -> None:
    """A failure may come at any step; what it costs is all since the newest checkpoint that had arrived."""
    due, step_s, stored = CheckpointSchedule("none", period, "loss", smaller_is_better=True), 0.1, [0]
    on_way: list[tuple[float, int, int, float]] = []
    due.begin(0)
    for step in range(1, 6 * period):
        now = step * step_s
        while on_way and on_way[0][0] <= now:
            _, number, at, after = on_way.pop(0)
            stored.append(at)
            due.on_settled(number, after, step, now)
        if len(stored) > 1:
            assert step - stored[-1] <= period
        if due.is_due(step, step, is_ending=False):
            number = len(stored) + len(on_way)
            after = min(longest, period * step_s / 5) * parts[number % len(parts)]
            on_way.append((now + after, number, step, after))
            due.on_written(number, step, step, now)


def test_a_slow_store_is_asked_twice_in_a_period_at_most() -> None:
    due = CheckpointSchedule("none", 100, "loss", smaller_is_better=True)
    due.on_written(1, 100, 100, 10.0)
    due.on_settled(1, 50.0, 700, 70.0)
    assert not due.is_due(149, 149, is_ending=False)
    assert due.is_due(150, 150, is_ending=False)
