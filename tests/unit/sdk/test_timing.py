"""Where a rank's time goes, as it counts it."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset, dataloader

from muster._trial.profiling import instrumentation, start_timings
from muster._trial.profiling.step_timings import Activity, Timings
from muster._trial.worker_link.heartbeat import HeartbeatWriter
from muster.wire.timing import TIMING_BYTES, TIMINGS, ProfilingRange, Timing, read_timings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / TIMINGS).write_bytes(bytes(TIMING_BYTES))
    return tmp_path


@pytest.fixture
def own_loaders(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is hung onto PyTorch's loaders goes again."""
    monkeypatch.setattr(
        instrumentation, "_patched", set(instrumentation._PATCHES) - {"torch.utils.data.dataloader"}
    )
    monkeypatch.setattr(dataloader._BaseDataLoaderIter, "__next__", dataloader._BaseDataLoaderIter.__next__)
    monkeypatch.setattr(DataLoader, "__iter__", DataLoader.__iter__)


def _started(folder: Path, told: ProfilingRange = ProfilingRange()) -> Timings:  # noqa: B008 - frozen
    return Timings(str(folder), 0, told, lambda timings: None)


def _written(folder: Path) -> Timing:
    return read_timings((folder / TIMINGS).read_bytes())[0]


def test_each_part_is_counted_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(1)
    monkeypatch.setattr(
        "muster._trial.profiling.step_timings.time", SimpleNamespace(monotonic_ns=lambda: next(clock))
    )
    timings = _started(folder)
    with timings.within(Activity.BUSY), timings.within(Activity.DATA):
        next(clock)
    with pytest.raises(StopIteration), timings.within(Activity.DATA):
        raise StopIteration
    timings.on_step(1)
    written = _written(folder)
    assert (written.step, written.busy_ns, written.data_ns) == (1, 2, 1)


def test_what_came_after_the_last_writing_is_written_at_the_end(folder: Path) -> None:
    heartbeat = HeartbeatWriter(str(folder), 0, timings := _started(folder))
    for step in (1, 2, 3):
        timings.count(8)
        timings.on_step(step)
    timings.count(8)
    assert (_written(folder).step, _written(folder).samples) == (1, 8)
    heartbeat.close()
    assert (_written(folder).step, _written(folder).samples) == (3, 24), "as it was at that step"


def test_a_thread_that_stands_in_for_the_training_counts(folder: Path) -> None:
    timings = _started(folder)
    exchange = timings.timed(Activity.COMMUNICATION, lambda: time.sleep(0.001))

    def run_graph() -> None:
        with timings.on_behalf_of_training_thread():
            exchange()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(exchange).result()
        timings.on_step(1)
        assert _written(folder).communication_ns == 0
        threads.submit(run_graph).result()
    assert timings.begin(), "the training thread counts again"
    timings.on_step(2)
    timings.close()
    assert _written(folder).communication_ns >= 1_000_000


def test_only_the_asked_steps_are_counted(folder: Path) -> None:
    timings = _started(folder, ProfilingRange(begin_on_batch=3, end_after_batch=4))
    found = []
    for step in range(1, 7):
        timings.count(8)
        timings.on_step(step)
        found.append(_written(folder).samples)
    assert (found[:2], found[3:]) == ([0, 0], [16, 16, 16])


def test_batches_are_counted_as_they_are_loaded(folder: Path, own_loaders: None) -> None:
    timings = Timings(str(folder), 0, ProfilingRange(), instrumentation.watch_waits)
    data = TensorDataset(torch.zeros(10, 3), torch.zeros(10))
    trained = [len(batch[0]) for batch in DataLoader(data, batch_size=4)]
    with torch.no_grad():
        assert len(list(DataLoader(data, batch_size=4))) == 3
    timings.on_step(1)
    written = _written(folder)
    assert (trained, written.samples) == ([4, 4, 2], 10), "what validates is no training"
    assert written.data_ns > 0 == written.communication_ns


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        (torch.zeros(4, 2), 4),
        ({"text": ["a"], "labels": torch.zeros(3)}, 3),
        ([(torch.zeros(5), torch.zeros(6))], 5),
        ("text", 0),
        ([torch.tensor(1.0)], 0),
    ],
)
def test_a_batch_holds_as_many_samples_as_its_first_tensor(batch: object, samples: int) -> None:
    assert instrumentation.count_samples(batch) == samples


def test_a_run_that_is_not_profiled_has_nothing_of_it(folder: Path) -> None:
    assert start_timings(str(folder), 0, {}) is None
    heartbeat = HeartbeatWriter("", 0)
    heartbeat.on_step(1)
    with heartbeat.busy():
        heartbeat.beat()
    assert _written(folder).at_ns == 0
