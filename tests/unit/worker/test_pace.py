"""How long a step takes, told from what rank 0 reports."""

from worker.ranks.pace import Pace


def reported(pace: Pace, steps: int, step_ms: int, step: int = 0, time_ms: int = 0) -> tuple[int, int]:
    """Reports each step; returns where it ended."""
    for _ in range(steps):
        step, time_ms = step + 1, time_ms + step_ms
        pace.on_report(step, time_ms)
    return step, time_ms


def test_quick_steps_and_slow_ones_are_measured_alike() -> None:
    for step_ms in (2, 40, 700, 5000):
        pace = Pace()
        reported(pace, 5000 // step_ms + 5, step_ms)
        step_s = pace.step_s()
        assert step_s is not None and abs(step_s - step_ms / 1000) < 1e-9


def test_nothing_is_said_before_there_is_something_to_say() -> None:
    pace = Pace()
    assert pace.step_s() is None
    reported(pace, 20, 50)
    assert pace.step_s() is None


def test_a_pause_now_and_then_does_not_count() -> None:
    pace = Pace()
    step, time_ms = reported(pace, 40, 100)
    reported(pace, 40, 100, step, time_ms + 60_000)
    assert pace.step_s() == 0.1


def test_a_small_change_is_no_news_and_a_lasting_one_is() -> None:
    pace = Pace()
    step, time_ms = reported(pace, 60, 100)
    assert pace.step_s() == 0.1
    step, time_ms = reported(pace, 400, 103, step, time_ms)
    assert pace.step_s() == 0.1
    reported(pace, 400, 200, step, time_ms)
    assert pace.step_s() == 0.2


def test_validations_of_the_same_step_and_a_clock_set_back_do_no_harm() -> None:
    pace = Pace()
    step, time_ms = reported(pace, 40, 100)
    pace.on_report(step, time_ms + 5000)
    pace.on_report(step, 0)
    reported(pace, 40, 100, step, 0)
    step_s = pace.step_s()
    assert step_s is not None and 0.09 < step_s < 0.2
