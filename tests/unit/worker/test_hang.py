"""When a silent gang is called hung, and when it is left alone."""

import math

import pytest

from muster.wire.heartbeat import Heartbeat, RankPhase, read_heartbeats
from worker.core.hang import (
    LONGEST_END_S,
    HangEvidence,
    HangTimeouts,
    RankSample,
    is_check_due,
    is_hung,
    measure_silence,
    on_check,
    stack_of,
)

PATIENCE = HangTimeouts(hang_s=60.0, start_s=1800.0)
DUMP = """Thread 0x00007f0000000002 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Current thread 0x00007f0000000001 (most recent call first):
  File "/code/train.py", line 7 in step
  File "/code/train.py", line 9 in <module>
  File "/lib/muster/runtime/child.py", line 133 in _run
"""


def _pulse(at_s: float, phase: RankPhase = RankPhase.STEPPING, longest_s: float = 2.0) -> Heartbeat:
    return Heartbeat(round(at_s * 1e9), round(longest_s * 1e9), 1, 100, phase)


def _watched(heartbeats: list[Heartbeat], samples: list[RankSample], moving: float = 0.2) -> float | None:
    """When a gang that stays as it is was called hung, looked at each second; its last sight stays."""
    evidence = HangEvidence()
    for now in range(4000):
        silence = measure_silence(heartbeats, PATIENCE)
        if silence is None or not is_check_due(silence, evidence, now):
            continue
        sample = samples.pop(0) if len(samples) > 1 else samples[0]
        evidence = on_check(evidence, {0: sample}, now, moving)
        if is_hung(silence, evidence, now):
            return now
    return None


def test_a_gang_hangs_a_minute_after_the_expected_step() -> None:
    assert _watched([_pulse(100), _pulse(101)], [RankSample("train.py:7", 3.0)]) == pytest.approx(163, abs=5)
    never_steps = _pulse(10, RankPhase.STARTING, 0.0)
    assert _watched([_pulse(100), never_steps], [RankSample("train.py:7", 3.0)]) == pytest.approx(162, abs=5)


def test_before_its_first_steps_it_has_the_time_to_start() -> None:
    starting = [_pulse(100, RankPhase.STARTING), _pulse(10, RankPhase.STARTING, 0.0)]
    assert _watched(starting, [RankSample("train.py:7", 3.0)]) == pytest.approx(1902, abs=150)


@pytest.mark.parametrize(
    "heartbeats", [[_pulse(1, RankPhase.BUSY), _pulse(1)], [_pulse(0, RankPhase.ABSENT)], []]
)
def test_nothing_is_expected_of_a_checkpoint_or_of_code_that_never_spoke(heartbeats: list[Heartbeat]) -> None:
    assert measure_silence(heartbeats, PATIENCE) is None


def test_processes_whose_script_is_over_have_a_minute_once_all_are_at_it() -> None:
    ended = [_pulse(100, RankPhase.ENDED), _pulse(130, RankPhase.ENDED)]
    assert _watched(ended, [RankSample("shutdown.py:7", 3.0)]) == pytest.approx(190, abs=5)
    assert measure_silence([*ended, _pulse(1, RankPhase.BUSY)], PATIENCE) is None
    one_trains = [*ended, _pulse(140)]
    assert _watched(one_trains, [RankSample("train.py:7", 3.0)]) == pytest.approx(202, abs=5)


def test_however_much_moves_at_the_end_of_a_script_it_is_bounded() -> None:
    working = [RankSample("upload.py:1", 10.0 * used) for used in range(3000)]
    assert _watched([_pulse(100, RankPhase.ENDED)], working) == pytest.approx(1900, abs=5)


def test_no_limit_is_no_limit() -> None:
    assert measure_silence([_pulse(1)], HangTimeouts(None, None)) is None
    assert (over := measure_silence([_pulse(1, RankPhase.ENDED)], HangTimeouts(None, None))) is not None
    assert over.timeout_s == LONGEST_END_S, "but of slots that nobody uses any more"


def test_a_stack_that_moves_is_a_sign_of_life() -> None:
    steps = [RankSample(f"validate.py:{line}", 3.0) for line in range(10)]
    first_look_s, last_move_s = 102 + 30, 9 * 30
    assert _watched([_pulse(100)], steps) == pytest.approx(first_look_s + last_move_s + 35, abs=10)


def test_a_processor_at_work_is_a_sign_of_life_but_where_waiting_uses_one() -> None:
    working = [RankSample("fit.py:1", 10.0 * used) for used in range(3000)]
    assert _watched([_pulse(100)], list(working)) is None
    assert _watched([_pulse(100)], list(working), moving=math.inf) == pytest.approx(162, abs=5)


def test_a_rank_that_does_not_answer_has_not_moved() -> None:
    assert _watched([_pulse(100)], [RankSample(None, 3.0)]) == pytest.approx(162, abs=5)


def test_the_stack_is_that_of_the_thread_that_trains() -> None:
    trains = '  File "/code/train.py", line 7 in step\n  File "/code/train.py", line 9 in <module>'
    assert stack_of(DUMP, 0x7F0000000001) == trains
    assert stack_of(DUMP, 0x7F0000000002) == '  File "/usr/lib/python3.11/threading.py", line 331 in wait'
    assert stack_of(DUMP, 0x7F0000000009) == trains
    assert stack_of("nonsense", 1) is None


def test_records_are_read_whatever_user_code_wrote_there() -> None:
    heartbeat = _pulse(3)
    assert read_heartbeats(heartbeat.pack() + b"\xff" * len(heartbeat.pack()) + b"short") == [
        heartbeat,
        Heartbeat(2**64 - 1, 2**64 - 1, 2**64 - 1, 2**32 - 1, RankPhase.ABSENT),
    ]
