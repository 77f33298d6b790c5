"""A gang of several workers on one host, as the scheduler and the user notice it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import TO_EXCHANGE, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def two(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> None:
    """Two workers that have been heard."""
    for name in ("g1", "g2"):
        daemons(name).start(**TO_EXCHANGE)
    await eventually(lambda: {"g1", "g2"} <= set(platform.observed))


@pytest.mark.usefixtures("two")
async def test_two_workers_train_as_one_gang(platform: FakePlatform, tmp_path: Path) -> None:
    script = """
import muster, time
trial = muster.trial()
import torch, horovod.torch as hvd
for step in range(1, 1001):
    total = hvd.allreduce(torch.tensor([float(trial.rank)]), op=hvd.Sum, name="x")
    if step % 10 == 0:
        trial.report(step, total=float(total), size=trial.size)
    if trial.should_stop():
        break
with trial.checkpoint(step) as folder:
    (folder / f"shard-{trial.rank}").write_bytes(bytes([trial.rank]) * 100_000)
    (folder / "alike").write_bytes(bytes([trial.rank]))
print("rank", trial.rank, "stopped at", step)
"""
    members = (GangMember(worker="g1", slots=1), GangMember(worker="g2", slots=1))
    run = platform.allocation("gang", platform.add_code(code_in(tmp_path, script)), members)
    await platform.desire("g1", run)
    await platform.desire("g2", run)
    await eventually(lambda: (platform.of("g1", run) or run).rendezvous is not None)
    met = run.model_copy(update={"rendezvous": platform.of("g1", run).rendezvous})  # type: ignore[union-attr]
    await platform.desire("g2", met)
    await eventually(lambda: len(platform.steps(run)) >= 3)
    for name in ("g1", "g2"):
        await platform.desire(name, met.model_copy(update={"signal": Signal.PAUSE}))
    for name in ("g1", "g2"):
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc]
        ended = platform.of(name, run)
        assert ended is not None
        assert (ended.exit_code, ended.forced) == (0, False)
    assert platform.of("g1", run).acknowledged is Signal.PAUSE  # type: ignore[union-attr]
    await eventually(lambda: len(platform.saved_of(run)) == 1)
    saved = platform.saved_of(run)[0]
    files = {entry.path: entry.size_bytes for entry in saved.files}
    assert files == {"alike": 1, "shard-0": 100_000, "shard-1": 100_000}
    sent_by = {
        name: {entry.path for entry in part.files}
        for name, part in platform.uploads[saved.checkpoint_id].items()
    }
    assert sent_by == {"g1": {"alike", "shard-0"}, "g2": {"shard-1"}}, (
        "each machine sends what its ranks wrote"
    )
    values = [record.values for record in platform.reports[run.run_id].values()]
    assert all(value == {"total": 1.0, "size": 2.0} for value in values)
    await eventually(lambda: all(f"rank {rank} stopped at" in platform.text(run) for rank in (0, 1)))


@pytest.mark.usefixtures("two")
async def test_a_gang_without_room_for_a_checkpoint_stays_in_step(
    platform: FakePlatform, tmp_path: Path
) -> None:
    """One rank has no room to write, then the other: both are told, and train on."""
    script = """
import errno, os, muster
trial = muster.trial()
def save(step, fail):
    try:
        with trial.checkpoint(step) as folder:
            fail(folder)
            (folder / f"shard-{trial.rank}").write_text("whole")
    except OSError as error:
        print("rank", trial.rank, "step", step, error)
        assert not folder.exists()
def without_room(rank):
    def fail(folder):
        if trial.rank == rank:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return fail
save(1, without_room(rank=1))
save(2, without_room(rank=0))
save(3, lambda folder: None)
"""
    members = (GangMember(worker="g1", slots=1), GangMember(worker="g2", slots=1))
    run = platform.allocation("gang without room", platform.add_code(code_in(tmp_path, script)), members)
    await platform.desire("g1", run)
    await platform.desire("g2", run)
    await eventually(lambda: (platform.of("g1", run) or run).rendezvous is not None)
    met = run.model_copy(update={"rendezvous": platform.of("g1", run).rendezvous})  # type: ignore[union-attr]
    await platform.desire("g2", met)
    for name in ("g1", "g2"):
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc]
        assert platform.of(name, run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
    await eventually(lambda: len(platform.saved_of(run)) == 1)
    [saved] = platform.saved_of(run)
    assert (saved.number, saved.step) == (1, 3)
    assert [entry.path for entry in saved.files] == ["shard-0", "shard-1"]
    told = [
        f"rank {rank} step {step} [Errno 28] the disk of worker g{rank + 1} is full"
        for rank in (0, 1)
        for step in (1, 2)
    ]
    await eventually(lambda: all(line in platform.text(run) for line in told))
