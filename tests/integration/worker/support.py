"""What tests of runs share: the user's code written down, and how a run stands by the worker's word."""

from pathlib import Path

from shared.messages.allocations import DesiredAllocation
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually


def code_in(tmp_path: Path, script: str) -> Path:
    """Return a folder with `script` as train.py, beside a module of the user's own that is called as one of the platform's."""
    folder = tmp_path / "code"
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(script)
    (folder / "shared").mkdir(exist_ok=True)
    (folder / "shared" / "__init__.py").write_text("WHOSE = 'mine'\n")
    return folder


def state_of(platform: FakePlatform, run: DesiredAllocation, worker: str = "w1") -> str | None:
    """Return what the worker last said of the run, None where it holds it no longer."""
    found = platform.of(worker, run)
    return found.state if found else None


async def begin_gang(platform: FakePlatform, run: DesiredAllocation) -> DesiredAllocation:
    """Desire a run of its members, and tell them of the rendezvous once the chief has it, as the scheduler does."""
    chief, *others = [str(member.worker) for member in run.members]
    for name in (chief, *others):
        await platform.desire(name, run)
    await eventually(lambda: (platform.of(chief, run) or run).rendezvous is not None)
    met = run.model_copy(update={"rendezvous": platform.of(chief, run).rendezvous})  # type: ignore[union-attr]
    for name in others:
        await platform.desire(name, met)
    return met
