"""How long a step takes, told from what rank 0 reports."""

import math
from dataclasses import replace

import pytest

from muster import wire
from worker.ranks.step_meter import StepMeter

NOTIFIED = wire.StepMeasurements(0.2, 32, 64, 1024, 8, 256, grad_sqr=1.0, grad_var=3.0)


def step_s(pace: StepMeter) -> float | None:
    measured = pace.measured()
    return measured.step_s if measured else None


def reported(pace: StepMeter, steps: int, step_ms: int, step: int = 0, time_ms: int = 0) -> tuple[int, int]:
    """Reports each step; returns where it ended."""
    for _ in range(steps):
        step, time_ms = step + 1, time_ms + step_ms
        pace.on_report(step, time_ms)
    return step, time_ms


def test_quick_steps_and_slow_ones_are_measured_alike() -> None:
    for step_ms in (2, 40, 700, 5000):
        pace = StepMeter()
        reported(pace, 5000 // step_ms + 5, step_ms)
        assert step_s(pace) == pytest.approx(step_ms / 1000)


def test_nothing_is_said_before_there_is_something_to_say() -> None:
    pace = StepMeter()
    assert step_s(pace) is None
    reported(pace, 20, 50)
    assert step_s(pace) is None


def test_a_pause_now_and_then_does_not_count() -> None:
    pace = StepMeter()
    step, time_ms = reported(pace, 40, 100)
    reported(pace, 40, 100, step, time_ms + 60_000)
    assert step_s(pace) == 0.1


def test_a_small_change_is_no_news_and_a_lasting_one_is() -> None:
    pace = StepMeter()
    step, time_ms = reported(pace, 60, 100)
    assert step_s(pace) == 0.1
    step, time_ms = reported(pace, 400, 103, step, time_ms)
    assert step_s(pace) == 0.1
    reported(pace, 400, 200, step, time_ms)
    assert step_s(pace) == 0.2


def test_validations_of_the_same_step_and_a_clock_set_back_do_no_harm() -> None:
    pace = StepMeter()
    step, time_ms = reported(pace, 40, 100)
    pace.on_report(step, time_ms + 5000)
    pace.on_report(step, 0)
    reported(pace, 40, 100, step, 0)
    assert 0.09 < (step_s(pace) or 0) < 0.2


def test_what_the_script_tells_goes_before_what_it_shows() -> None:
    pace = StepMeter()
    reported(pace, 60, 100)
    pace.on_measured(NOTIFIED)
    told = pace.measured()
    assert told is not None and told.batches is not None
    assert (told.step_s, told.batches.per_slot, told.batches.grad_var) == (0.2, 32, 3.0)


@pytest.mark.parametrize(
    ("change", "is_news"),
    [
        ({"step_s": 0.201}, False),
        ({"step_s": 0.3}, True),
        ({"grad_sqr": 1.05, "grad_var": 3.1}, False),
        ({"grad_sqr": 10.0, "grad_var": 30.0}, False),
        ({"grad_sqr": 3.0}, True),
        ({"per_rank": 64}, True),
        ({"step_s": math.nan}, False),
        ({"step_s": "soon"}, False),
        ({"grad_var": math.inf}, False),
        ({"per_rank": 1 << 80}, False),
        ({"first_batch": 0}, False),
    ],
)
def test_only_news_are_told_and_nonsense_is_none(change: dict[str, object], is_news: bool) -> None:
    pace = StepMeter()
    pace.on_measured(NOTIFIED)
    before = pace.measured()
    pace.on_measured(replace(NOTIFIED, **change))  # type: ignore[arg-type]
    assert (pace.measured() != before) == is_news
