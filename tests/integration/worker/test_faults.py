"""The daemon is killed at each named point, started again, and everything is still counted once."""

import importlib
import pkgutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import worker
from shared.errors import Transient
from shared.messages.trial_specs import GangMember
from shared.runtime import faults
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

SCRIPT = """
import muster, time
trial = muster.trial()
for step in range(1, 61):
    trial.report(step, loss=1.0 / step)
    if step % 20 == 0:
        trial.validate(step, loss=1.0 / step)
        with trial.checkpoint(step) as folder:
            (folder / "step").write_text(str(step))
    print("step", step)
    time.sleep(0.005)
"""


def _points() -> list[str]:
    for module in pkgutil.walk_packages(worker.__path__, "worker."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return sorted(name for name in faults.names() if name.startswith("worker."))


POINTS = [(name, nth) for name in _points() for nth in (1, 2)]


@pytest.mark.parametrize(("name", "nth"), POINTS)
async def test_a_daemon_killed_anywhere_counts_once(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path, name: str, nth: int
) -> None:
    daemon = daemons(f"{name.split('.')[1]}-{nth}")
    (tmp_path / "train.py").write_text(SCRIPT)
    members = (GangMember(worker=daemon.name, slots=1),)
    run = platform.allocation(daemon.name, platform.add_code(tmp_path), members)
    daemon.start(MUSTER_FAULTS=f"{name}:{nth}:kill")
    await eventually(lambda: daemon.name in platform.observed)
    with suppress(Transient):  # the daemon may die before it answers
        await platform.desire(daemon.name, run)
    await eventually(lambda: daemon.has_ended)
    daemon.start()
    incarnation = platform.observed[daemon.name].incarnation
    await eventually(lambda: platform.observed[daemon.name].incarnation != incarnation)
    await platform.desire(daemon.name, run)
    await eventually(lambda: _has_ended(platform, daemon, run))
    expected = [step for step in range(1, 61) for _ in range(2 if step % 20 == 0 else 1)]
    await eventually(lambda: len(platform.steps(run)) >= len(expected))
    assert platform.steps(run) == expected
    await eventually(lambda: len(platform.saved_of(run)) == 3)
    await eventually(lambda: platform.text(run).splitlines() == [f"step {step}" for step in range(1, 61)])
    await platform.desire(daemon.name)
    await eventually(lambda: platform.observed[daemon.name].drained)


def _has_ended(platform: FakePlatform, daemon: Daemon, run) -> bool:  # type: ignore[no-untyped-def]
    found = platform.of(daemon.name, run)
    return found is not None and found.state == "exited" and found.exit_code == 0
