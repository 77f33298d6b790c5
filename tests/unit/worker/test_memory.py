"""Lack of memory is told apart from other ends, whichever memory it was."""

from pathlib import Path
from uuid import UUID

import pytest

from shared.ids import AllocationId, RunId
from worker.core.gang.assignment import Gang, RankAssignment
from worker.core.oom_detection import GPU, HOST, KILLED, lack_of_memory
from worker.core.run import reducers as core
from worker.core.run.records import LocalRun
from worker.core.run.states import RunState
from worker.machine.oom_kills import MemoryKills

RUN = LocalRun(
    AllocationId(UUID(int=1)), RunId(UUID(int=2)), 1, Gang(1, RankAssignment(0, 1, 0, 2, 2)), RunState.RUNNING
)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB", GPU),
        ("torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2 GiB", GPU),
        ("RuntimeError: CUDA error: out of memory", GPU),
        ("torch.cuda.CudaError: out of memory (2)", GPU),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", GPU),
        ("jax.OutOfMemoryError: on device", GPU),
        ("MemoryError", HOST),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 PiB for an array", HOST),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory",
            HOST,
        ),
        ("OSError: [Errno 12] Cannot allocate memory", HOST),
        ("ValueError: the batch is too large", None),
        ("", None),
    ],
)
def test_the_error_says_which_memory_it_was(error: str, what: str | None) -> None:
    assert lack_of_memory(error) == what


def test_the_first_that_failed_says_why_the_gang_ended() -> None:
    ran_out = core.on_exit(RUN, 1, 1, 0.0, core.Cause("MemoryError"))
    ended = core.on_exit(ran_out, 0, 1, 0.1, core.Cause("HorovodInternalError: a peer is gone"))
    assert (ended.ending.fault, ended.ending.exit_code) == ("user", 1)
    assert ended.ending.reason == f"{HOST} (MemoryError): see the trial's log"


def test_signal_9_is_lack_of_memory_only_where_the_kernel_says_so() -> None:
    starved = core.Cause(starved=True)
    killed = core.on_exit(core.on_exit(RUN, 0, -9, 0.0, starved), 1, 1, 0.1)
    assert killed.ending.reason == KILLED
    stopped = core.on_exit(core.on_exit(RUN, 0, -9, 0.0), 1, -9, 0.1, starved)
    assert stopped.ending.reason == "a process of the trial was killed (signal 9)"
    failed = core.on_exit(core.on_exit(RUN, 0, 3, 0.0, starved), 1, 1, 0.1)
    assert failed.ending.reason == "the trial's code ended with exit code 3: see the trial's log"


def test_the_kernels_count_is_news_for_some_seconds(tmp_path: Path) -> None:
    source = tmp_path / "vmstat"
    source.write_text("pgfault 12\noom_kill 3\n")
    kills = MemoryKills(source)
    assert not kills.is_recent()
    for now in range(10):
        kills.note(float(now))
    assert not kills.is_recent()
    source.write_text("pgfault 12\noom_kill 4\n")
    kills.note(10.0)
    assert kills.is_recent()
    for now in range(11, 17):
        kills.note(float(now))
    assert not kills.is_recent()


def test_a_kernel_that_counts_none_says_nothing(tmp_path: Path) -> None:
    kills = MemoryKills(tmp_path / "none")
    kills.note(1.0)
    assert not kills.is_recent()
