"""What user code does wrong, line by line: each ends as stated, with words that help, and leaves slots and folders clean."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages.allocations import ObservedAllocation
from shared.messages.reports import Validation
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import TO_EXCHANGE, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

MOST_BYTES = 8 * 1024 * 1024

AFTER_THE_END = """
import muster
trial = muster.trial()
trial.report(1, loss=1.0)
trial.close()
trial.report(2, loss=1.0)
"""
NO_NUMBER = "import muster\nmuster.trial().report(1, loss='high')\n"
NO_STEP = "import muster\nmuster.trial().report(-1, loss=1.0)\n"
STEP_BACK = "import muster\ntrial = muster.trial()\nfor step in (1, 2, 3, 2): trial.report(step, loss=1.0)\n"
A_MILLION_CAUGHT = """
import muster
trial = muster.trial()
million = {f"layer.{number}": 0.5 for number in range(300_000)}
for step in (1, 2, 3):
    for say in (trial.report, trial.validate):
        try:
            say(step, loss=1.0, **(million if step == 2 else {}))
        except muster.errors.Rejected as error:
            print(error.code)
"""
NUMBER_LEFT_OUT = """
import muster, time
trial = muster.trial()
trial.report(1, loss=1.0)
trial._counts.reports += 1
for step in range(2, 100):
    trial.report(step, loss=1.0)
    time.sleep(0.1)
"""
EMPTY_CHECKPOINT = "import muster\nwith muster.trial().checkpoint(1): pass\n"
ANOTHER_MODEL = """
import muster, torch
trial = muster.trial()
with trial.checkpoint(1) as folder:
    torch.save(torch.nn.Linear(2, 2).state_dict(), folder / "model.pt")
    torch.nn.Linear(3, 3).load_state_dict(torch.load(folder / "model.pt"))
"""
HALF_A_CHECKPOINT = """
import muster, torch
trial = muster.trial()
with trial.checkpoint(1) as folder:
    torch.save(torch.nn.Linear(50, 50).state_dict(), folder / "model.pt")
    (folder / "model.pt").write_bytes((folder / "model.pt").read_bytes()[:200])
    torch.load(folder / "model.pt")
"""
NO_CODE = "def train(:\n"
GREAT_FILE = "open('great', 'wb').write(bytes(9 << 20))\n"
MANY_FILES = """
import os, time
for number in range(9):
    open(f"file {number}", "wb").write(os.urandom(1 << 20))
time.sleep(1000)
"""
A_LOT_OF_OUTPUT = "for _ in range(200): print('x' * 100_000)\n"


@pytest.fixture(scope="module")
async def bounded(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    """A worker that gives a run 8 MiB."""
    daemon = daemons("b1")
    daemon.start(MUSTER_WORKER__RUN_BYTES=str(MOST_BYTES), **TO_EXCHANGE)
    await eventually(lambda: "b1" in platform.observed)
    return daemon


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(AFTER_THE_END, "accepts no reports", id="report after the end"),
        pytest.param(
            NO_NUMBER, "a metric must be a single number, not str 'high'", id="metric that is no number"
        ),
        pytest.param(NO_STEP, "a step must be from 0", id="step that is none"),
        pytest.param(NUMBER_LEFT_OUT, "a report is missing", id="a report left out"),
        pytest.param(EMPTY_CHECKPOINT, "contains no files", id="empty checkpoint"),
        pytest.param(ANOTHER_MODEL, "RuntimeError: Error(s) in loading state_dict", id="another model"),
        pytest.param(HALF_A_CHECKPOINT, "RuntimeError: PytorchStreamReader failed", id="half a checkpoint"),
        pytest.param(NO_CODE, "SyntaxError", id="code that is none"),
        pytest.param(GREAT_FILE, "OSError: [Errno 27] File too large", id="a file too large"),
        pytest.param(A_LOT_OF_OUTPUT, "OSError: [Errno 27] File too large", id="too much output"),
    ],
)
async def test_a_failure_is_told_in_words_that_help(
    platform: FakePlatform, bounded: Daemon, tmp_path: Path, script: str, words: str
) -> None:
    ended = await _end(platform, bounded, tmp_path, script)
    assert (ended.fault, ended.exit_code) == ("user", 1)
    assert words in (ended.reason or "")


async def test_a_step_that_goes_back_is_taken_as_it_is(
    platform: FakePlatform, bounded: Daemon, tmp_path: Path
) -> None:
    ended = await _end(platform, bounded, tmp_path, STEP_BACK)
    assert (ended.exit_code, ended.reason) == (0, None)
    reports = platform.reports[ended.run_id]
    assert [reports[number].step for number in sorted(reports)] == [1, 2, 3, 2]


async def test_a_report_that_was_refused_is_as_if_it_had_not_been_made(
    platform: FakePlatform, bounded: Daemon, tmp_path: Path
) -> None:
    ended = await _end(platform, bounded, tmp_path, A_MILLION_CAUGHT)
    assert (ended.exit_code, ended.reason) == (0, None)
    reports = platform.reports[ended.run_id]
    taken = [reports[number] for number in sorted(reports)]
    assert [(one.step, one.number if isinstance(one, Validation) else None) for one in taken] == [
        (1, None), (1, 1), (3, None), (3, 2),
    ]  # fmt: skip


async def test_files_that_fill_the_disk_end_their_trial(
    platform: FakePlatform, bounded: Daemon, tmp_path: Path
) -> None:
    ended = await _end(platform, bounded, tmp_path, MANY_FILES)
    assert (ended.fault, ended.exit_code) == ("user", None)
    assert "exceed the limit of 8 MiB per run" in (ended.reason or "")


async def _end(platform: FakePlatform, bounded: Daemon, tmp_path: Path, script: str) -> ObservedAllocation:
    """How a script ended; nothing of it is left."""
    members = (GangMember(worker="b1", slots=1),)
    run = platform.allocation(f"bad input: {script}", platform.add_code(code_in(tmp_path, script)), members)
    await platform.desire("b1", run)
    await eventually(lambda: state_of(platform, run, "b1") == "exited")
    ended = platform.of("b1", run)
    assert ended is not None
    await platform.desire("b1")
    await eventually(lambda: platform.observed["b1"].drained)
    for left in (bounded.directory / "runs", bounded.directory / "parent" / "processes"):
        await eventually(lambda: not list(left.iterdir()))  # noqa: B023 - asked at once
    return ended
