"""What two looks at a run make of it."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from muster.runtime.processes import running_processes
from muster.wire.timing import Timing, read_profiled, read_timings
from worker.core.resource_usage import GpuUse, Usage, interval_s, named_for, system_values, timing_values
from worker.executors.local_processes import LocalProcesses
from worker.machine.gpu_utilization import NoGpus, NvidiaGpus, open_gpus

IDLE = Usage(100.0, 2, 10.0, 5_000, 0, 0, 0, 0)
SECOND = 10**9


def test_what_is_counted_becomes_rates_and_the_rest_is_as_it_is() -> None:
    now = Usage(102.0, 3, 13.0, 7_000, 400, 200, 20, 10)
    values = system_values(IDLE, now, {1: GpuUse(0.5, 1_000)})
    assert values == {
        "cpu_cores": 1.5,
        "memory_bytes": 7_000,
        "processes": 3,
        "disk_read_bytes_per_s": 200,
        "disk_written_bytes_per_s": 100,
        "network_received_bytes_per_s": 10,
        "network_sent_bytes_per_s": 5,
        "gpu1_busy": 0.5,
        "gpu1_memory_bytes": 1_000,
    }


def test_a_process_that_ended_takes_nothing_back() -> None:
    values = system_values(IDLE, Usage(101.0, 1, 4.0, 0, 0, 0, 0, 0), {})
    assert values["cpu_cores"] == 0


def _timing(
    at_s: float, step: int, *, data_s: float = 0, communication_s: float = 0, busy_s: float = 0
) -> Timing:
    return Timing(
        at_ns=int(at_s * SECOND),
        step=step,
        samples=step * 8,
        data_ns=int(data_s * SECOND),
        communication_ns=int(communication_s * SECOND),
        busy_ns=int(busy_s * SECOND),
        pid=7,
    )


def test_a_step_is_shared_out_among_its_parts() -> None:
    before = [_timing(10, 100), _timing(10, 100)]
    now = [
        _timing(12, 110, data_s=0.5, communication_s=0.5, busy_s=0.2),
        _timing(12, 110, data_s=0.1, communication_s=0.9, busy_s=0.2),
    ]
    values = timing_values(before, now)
    assert values.pop("samples_per_s") == pytest.approx(2 * 40)
    assert values == pytest.approx(
        {
            "step_s": 0.2,
            "data_s": 0.03,
            "communication_s": 0.07,
            "busy_s": 0.02,
            "compute_s": 0.08,
            "steps_per_s": 5,
        }
    )


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([_timing(10, 100)], [_timing(11, 100)]),
        ([_timing(0, 0)], [_timing(11, 100)]),
        ([], [_timing(11, 100)]),
        ([_timing(10, 100)], [Timing(11 * SECOND, 120, 0, 0, 0, 0, pid=8)]),
    ],
    ids=["no step since", "first record", "first look", "another process"],
)
def test_without_a_step_between_two_looks_nothing_is_told(before: list[Timing], now: list[Timing]) -> None:
    assert timing_values(before, now) == {}


def test_records_go_through_a_file_and_what_is_cut_off_is_left_out() -> None:
    timing = _timing(3, 4, data_s=1)
    assert read_timings(timing.pack() + timing.pack()[:20]) == [timing]


def test_later_looks_are_further_apart() -> None:
    assert (interval_s(0), interval_s(59), interval_s(61)) == (1, 1, 10)


def test_machines_of_a_gang_are_told_apart() -> None:
    assert named_for(0, {"cpu_cores": 1.0}) == {"cpu_cores": 1.0}
    assert named_for(2, {"cpu_cores": 1.0}) == {"cpu_cores.node2": 1.0}


def test_a_section_says_which_steps_are_measured() -> None:
    assert read_profiled({}) is None
    told = read_profiled({"enabled": True, "begin_on_batch": 10, "end_after_batch": 20, "sync_timings": True})
    assert told is not None and told.sync_timings
    assert [told.is_on_after(step) for step in (0, 8, 9, 19, 20)] == [False, False, True, True, False]


def test_this_process_is_seen() -> None:
    processes = LocalProcesses()
    usage = processes.usage([processes.session_of(1), processes.session_of(os.getpid())])
    assert usage.processes >= 1 and usage.memory_bytes > 1024**2 and usage.processor_s > 0
    assert processes.usage([]).processes == 0


def test_a_process_whose_name_is_cut_within_a_letter_is_seen() -> None:
    processes, name = LocalProcesses(), Path("/proc/self/comm")
    before = name.read_bytes()
    name.write_bytes(b"caf\xc3")
    try:
        assert processes.usage([processes.session_of(os.getpid())]).processes >= 1
        assert os.getpid() in {pid for pid, _, _ in running_processes()}
    finally:
        name.write_bytes(before)


class _NoDriver(Exception):
    pass


def _nvml(**more: object) -> SimpleNamespace:
    def handle(slot: int) -> int:
        if slot > 1:
            raise _NoDriver
        return slot

    return SimpleNamespace(
        **{
            "NVMLError": _NoDriver,
            "nvmlInit": lambda: None,
            "nvmlDeviceGetHandleByIndex": handle,
            "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=40 + handle),
            "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=2**30),
            **more,
        }
    )


def test_gpus_are_asked_by_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _nvml())
    gpus = open_gpus("cuda")
    assert gpus.look([0, 1, 5]) == {0: GpuUse(0.4, 2**30), 1: GpuUse(0.41, 2**30)}


def _no_driver() -> None:
    raise _NoDriver("no driver")


@pytest.mark.parametrize("module", [None, _nvml(nvmlInit=_no_driver)], ids=["not installed", "no driver"])
def test_without_nvml_there_are_no_gpus_in_a_profile(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", module)
    assert NvidiaGpus().look([0]) == {}
    assert isinstance(open_gpus("cpu"), NoGpus)
