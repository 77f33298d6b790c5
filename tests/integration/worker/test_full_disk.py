"""The disk of a worker is full for a while: what runs goes on, what waits begins later, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.small_disk import filled, small_disk
from tests.support.waiting import eventually

DISK_BYTES = 24 * 1024 * 1024
ROOM = {"MUSTER_WORKER__MIN_FREE_BYTES": str(1024 * 1024)}

TRAINS = """
import muster, time
trial = muster.trial()
step = 0
others = {f"metric_{number}": 0.5 for number in range(30)}  # a few reports must need a block of their own
while not trial.should_stop():
    step += 1
    trial.report(step, loss=1.0 / step, **others)
    if step % 10 == 0:
        trial.validate(step, loss=1.0 / step)
        try:
            with trial.checkpoint(step) as folder:
                (folder / "weights").write_bytes(b"w" * 20_000)
        except OSError as error:
            print(f"no checkpoint of {step}: {error}")
    print("step", step)
    time.sleep(0.01)
print("stopped at", step)
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_disk(tmp_path_factory.mktemp("worker") / "disk", DISK_BYTES) as folder:
        yield folder


@pytest.fixture
async def daemon(platform: FakePlatform, disk: Path, request: pytest.FixtureRequest) -> AsyncIterator[Daemon]:
    """A worker whose folder is on the small disk."""
    name = f"full-{request.node.name[-12:].strip('_').replace('_', '-')}"
    made = Daemon(platform.servers, name, disk / name)
    made.start(**ROOM)
    await eventually(lambda: name in platform.observed and (made.directory / "parent/parent.sock").exists())
    yield made
    made.clear_away()


def _run(
    platform: FakePlatform, daemon: Daemon, tmp_path: Path, name: str, script: str = TRAINS
) -> DesiredAllocation:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "train.py").write_text(script)
    members = (GangMember(worker=daemon.name, slots=1),)
    return platform.allocation(f"{daemon.name} {name}", platform.add_code(folder), members)


def _sentence(daemon: Daemon) -> str:
    return f"the disk of worker {daemon.name} is full: free space under {daemon.directory}"


def _state(platform: FakePlatform, daemon: Daemon, run: DesiredAllocation) -> str | None:
    found = platform.of(daemon.name, run)
    return found.state if found else None


async def _stop_and_count(platform: FakePlatform, daemon: Daemon, *runs: DesiredAllocation) -> None:
    """Stop runs, and find all that they reported and printed, once each."""
    await platform.desire(daemon.name, *(run.model_copy(update={"signal": Signal.STOP}) for run in runs))
    for run in runs:
        await _count(platform, daemon, run)
    await platform.desire(daemon.name)
    await eventually(lambda: platform.observed[daemon.name].drained)
    assert list((daemon.directory / "runs").iterdir()) == []


async def _count(platform: FakePlatform, daemon: Daemon, run: DesiredAllocation) -> None:
    await eventually(lambda: _state(platform, daemon, run) == "exited")
    ended = platform.of(daemon.name, run)
    assert ended is not None
    assert (ended.acknowledged, ended.exit_code, ended.fault) == (Signal.STOP, 0, None), ended
    expected = [step for step in range(1, ended.step + 1) for _ in range(2 if step % 10 == 0 else 1)]
    await eventually(lambda: len(platform.steps(run)) >= len(expected))
    assert platform.steps(run) == expected
    assert ended.validations == ended.step // 10
    await eventually(lambda: "stopped at" in platform.text(run))
    printed = [line for line in platform.text(run).splitlines() if line.startswith("step ")]
    assert printed == [f"step {step}" for step in range(1, ended.step + 1)]
    await eventually(lambda: len(platform.saved_of(run)) == ended.checkpoints)


async def test_what_runs_goes_on_and_what_waits_begins(
    platform: FakePlatform, daemon: Daemon, disk: Path, tmp_path: Path
) -> None:
    first = _run(platform, daemon, tmp_path, "first")
    await platform.desire(daemon.name, first)
    await eventually(lambda: len(platform.steps(first)) > 30)
    parent = daemon.parent_pid
    second = _run(platform, daemon, tmp_path, "second")
    with filled(disk):
        await platform.desire(daemon.name, first, second)
        await asyncio.sleep(3)
        assert _state(platform, daemon, first) == "running"
        assert _state(platform, daemon, second) in (None, "preparing")
        assert platform.observed[daemon.name].trouble == _sentence(daemon)
    await platform.desire(daemon.name, first, second)
    await eventually(lambda: len(platform.steps(second)) > 30)
    assert daemon.parent_pid == parent and not daemon.has_ended
    await _stop_and_count(platform, daemon, first, second)
    sentence = _sentence(daemon)
    await eventually(lambda: platform.observed[daemon.name].trouble is None)
    assert "no checkpoint of" in platform.text(first)
    assert sentence in platform.text(first).split("no checkpoint of", 1)[1].splitlines()[0]
    assert f"{sentence}; the trial's reports wait in memory" in platform.text(first)


async def test_a_rank_that_ends_meanwhile_has_ended_when_its_reports_are_kept(
    platform: FakePlatform, daemon: Daemon, disk: Path, tmp_path: Path
) -> None:
    script = "while step < 100 and not trial.should_stop():"
    run = _run(platform, daemon, tmp_path, "ends", TRAINS.replace("while not trial.should_stop():", script))
    await platform.desire(daemon.name, run)
    await eventually(lambda: len(platform.steps(run)) > 10)
    with filled(disk):
        await asyncio.sleep(4)
        assert _state(platform, daemon, run) == "running"
    await eventually(lambda: _state(platform, daemon, run) == "exited")
    ended = platform.of(daemon.name, run)
    assert ended is not None
    assert (ended.exit_code, ended.step, ended.validations) == (0, 100, 10)
    expected = [step for step in range(1, 101) for _ in range(2 if step % 10 == 0 else 1)]
    await eventually(lambda: platform.steps(run) == expected)


async def test_a_daemon_killed_meanwhile_loses_nothing(
    platform: FakePlatform, daemon: Daemon, disk: Path, tmp_path: Path
) -> None:
    run = _run(platform, daemon, tmp_path, "killed", TRAINS)
    await platform.desire(daemon.name, run)
    await eventually(lambda: len(platform.steps(run)) > 10)
    with filled(disk):
        await asyncio.sleep(1)
        daemon.kill()
        await asyncio.sleep(1)
    daemon.start(**ROOM)
    incarnation = platform.observed[daemon.name].incarnation
    await eventually(lambda: platform.observed[daemon.name].incarnation != incarnation)
    seen = len(platform.steps(run))
    await eventually(lambda: len(platform.steps(run)) > seen + 20)
    await _stop_and_count(platform, daemon, run)


async def test_code_that_dies_of_it_is_not_to_blame(
    platform: FakePlatform, daemon: Daemon, disk: Path, tmp_path: Path
) -> None:
    script = TRAINS.replace("        except OSError as error:\n", "        except KeyError as error:\n")
    run = _run(platform, daemon, tmp_path, "dies", script)
    await platform.desire(daemon.name, run)
    await eventually(lambda: len(platform.steps(run)) > 10)
    with filled(disk):
        await asyncio.sleep(3)
    await eventually(lambda: _state(platform, daemon, run) == "exited")
    ended = platform.of(daemon.name, run)
    assert ended is not None
    assert (ended.fault, ended.exit_code) == ("machine", None)
    assert ended.reason == f"the disk of worker {daemon.name} is full: free space under {daemon.directory}"
    folders = {path.name for path in (daemon.directory / "runs" / str(run.run_id) / "checkpoints").iterdir()}
    await eventually(lambda: len(platform.saved_of(run)) == ended.checkpoints)
    assert len(folders) <= ended.checkpoints
