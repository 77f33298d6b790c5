"""A run on a real worker: what the scheduler, the registry and the user notice of it."""

import io
import tarfile
from pathlib import Path

from shared.messages.reports import Validation
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.processes import processes_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="w1", slots=1),)

TRAIN = """
import muster, sys, time
import shared                      # the user's own
trial = muster.trial()
print("hello from", trial.rank, trial.hparams["lr"], shared.WHOSE, file=sys.stderr)
start = int((trial.latest_checkpoint / "step").read_text()) if trial.latest_checkpoint else 0
for step in range(start + 1, start + 41):
    trial.report(step, loss=1.0 / step, group="training" if step % 2 else "own")
    if step % 10 == 0:
        trial.validate(step, loss=1.0 / step)
        with trial.checkpoint(step) as folder:
            (folder / "step").write_text(str(step))
            (folder / "deep").mkdir()
            (folder / "deep" / "bytes").write_bytes(b"x" * 100_000)
    if trial.should_stop():
        break
"""

ENDLESS = """
import muster, time
trial = muster.trial()
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, loss=float(step))
    time.sleep(0.01)
"""


async def test_a_run_reports_everything_once_and_ends(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    run = platform.allocation("whole", platform.add_code(code_in(tmp_path, TRAIN)), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None
    assert (ended.exit_code, ended.fault, ended.acknowledged) == (0, None, None)
    assert (ended.validations, ended.checkpoints, ended.step) == (4, 4, 40)
    await eventually(lambda: len(platform.reports[run.run_id]) == 44 and len(platform.saved_of(run)) == 4)
    assert platform.steps(run) == [step for step in range(1, 41) for _ in range(2 if step % 10 == 0 else 1)]
    stored = platform.reports[run.run_id].values()
    plain = [record.group for record in stored if not isinstance(record, Validation)]
    assert plain == ["training", "own"] * 20
    assert [record.number for record in stored if isinstance(record, Validation)] == [1, 2, 3, 4]
    assert [upload.step for upload in platform.saved_of(run)] == [10, 20, 30, 40]
    assert "hello from 0 0.1 mine" in platform.text(run)
    await platform.desire("w1")
    await eventually(lambda: platform.observed["w1"].drained)
    assert not list((worker.directory / "runs").iterdir())
    assert not list((worker.directory / "parent" / "processes").iterdir())


async def test_a_later_run_goes_on_from_the_newest_checkpoint(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, TRAIN))
    first = platform.allocation("resume-1", code, ONE)
    await platform.desire("w1", first)
    await eventually(lambda: state_of(platform, first) == "exited" and len(platform.saved_of(first)) == 4)
    second = platform.allocation("resume-2", code, ONE, run_number=2, token=2)
    await platform.desire("w1", second)
    await eventually(lambda: state_of(platform, second) == "exited")
    await eventually(lambda: bool(platform.steps(second)) and platform.steps(second)[-1] == 80)
    assert platform.steps(second)[0] == 41
    assert platform.restores == [second.run_id]


async def test_two_halves_run_on_one_slot_at_the_same_time_and_one_without_any_beside_them(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    script = """
import muster, os, time
trial = muster.trial()
print("mine is", trial.slot_fraction, os.environ["MUSTER_SLOT_PART"])
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, loss=float(step))
    time.sleep(0.01)
"""
    code = platform.add_code(code_in(tmp_path, script))
    half = (GangMember(worker="w1", slots=1, slot_ids=(0,), fraction=500),)
    runs = [platform.allocation(f"half-{number}", code, half, token=number) for number in (1, 2)]
    runs.append(platform.allocation("none", code, (GangMember(worker="w1", slots=0),), token=3))
    await platform.desire("w1", *runs)
    await eventually(lambda: all(len(platform.steps(run)) > 3 for run in runs))
    at = [len(platform.steps(run)) for run in runs]
    await eventually(
        lambda: all(len(platform.steps(run)) > before for run, before in zip(runs, at, strict=True))
    )
    assert [state_of(platform, run) for run in runs] == ["running"] * 3
    said = ["mine is 0.5 0.5", "mine is 0.5 0.5", "mine is 0.0 0"]
    assert all(words in platform.text(run) for words, run in zip(said, runs, strict=True))
    await platform.desire(
        "w1", *(run.model_copy(update={"signal": Signal.STOP, "spec": None}) for run in runs)
    )
    await eventually(lambda: all(state_of(platform, run) == "exited" for run in runs))
    ended = [platform.of("w1", run) for run in runs]
    assert [one.acknowledged for one in ended if one] == [Signal.STOP] * 3


async def test_a_signal_is_acknowledged(platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    run = platform.allocation("signal", platform.add_code(code_in(tmp_path, ENDLESS)), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: len(platform.steps(run)) > 3)
    await platform.desire("w1", run.model_copy(update={"signal": Signal.PREEMPT, "spec": None}))
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None
    assert (ended.acknowledged, ended.exit_code, ended.forced) == (Signal.PREEMPT, 0, False)
    await eventually(lambda: platform.steps(run) == list(range(1, ended.step + 1)))


async def test_a_run_that_ignores_its_stop_is_forced(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    script = "import muster, time\nt = muster.trial()\nt.report(1, a=1)\nwhile True: time.sleep(1)\n"
    code = platform.add_code(code_in(tmp_path, script))
    run = platform.allocation("deaf", code, ONE, preemption_timeout_s=0.5)
    await platform.desire("w1", run)
    await eventually(lambda: len(platform.steps(run)) == 1)
    await platform.desire("w1", run.model_copy(update={"signal": Signal.STOP}))
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None
    assert (ended.forced, ended.acknowledged, ended.fault) == (True, None, None)
    await eventually(lambda: "did not end within 0.5 s (preemption_timeout)" in platform.text(run))


async def test_a_dropped_run_is_killed_with_all_it_forked(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    script = """
import muster, os, subprocess, time
trial = muster.trial()
subprocess.Popen(["sleep", "1000.71"], start_new_session=True)
trial.report(1, a=1)
time.sleep(1000)
"""
    run = platform.allocation("dropped", platform.add_code(code_in(tmp_path, script)), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: bool(platform.steps(run)))
    assert processes_of("sleep 1000.71")
    await platform.desire("w1")
    await eventually(lambda: not processes_of("sleep 1000.71"))
    await eventually(lambda: platform.of("w1", run) is None and platform.observed["w1"].drained)


async def test_a_trial_is_told_what_it_left_running(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    script = """
import muster, os, subprocess
trial = muster.trial()
subprocess.Popen(["sleep", "1000.72"], start_new_session=True)
trial.report(1, a=1)
"""
    run = platform.allocation("leaves", platform.add_code(code_in(tmp_path, script)), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    assert getattr(platform.of("w1", run), "exit_code", None) == 0
    said = "processes that the trial left running were killed: sleep"
    await eventually(lambda: platform.text(run).count(said) == 1)
    assert not processes_of("sleep 1000.72")


async def test_failures_are_told_in_words(platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    code = platform.add_code(code_in(tmp_path, "import nothing_of_that_name\n"))
    run = platform.allocation("import", code, ONE)
    missing = platform.allocation("missing", code, ONE, spec={"entrypoint": "python3 nowhere.py"})
    shell = platform.allocation("shell", code, ONE, spec={"entrypoint": "echo out | cat; exit 3"})
    absent = platform.allocation("absent", code, ONE, spec={"entrypoint": ["no-such-program", "x"]})
    await platform.desire("w1", run, missing, shell, absent)
    for one, exit_code, text in (
        (run, 1, "No module named 'nothing_of_that_name'"),
        (missing, 2, "nowhere.py"),
        (shell, 3, "out"),
        (absent, 127, "no-such-program"),
    ):
        await eventually(lambda one=one: state_of(platform, one) == "exited")  # type: ignore[misc]
        ended = platform.of("w1", one)
        assert ended is not None
        assert (ended.exit_code, ended.fault) == (exit_code, "user")
        await eventually(lambda one=one, text=text: text in platform.text(one))  # type: ignore[misc]
    named = "(ModuleNotFoundError: No module named 'nothing_of_that_name'): see the trial's log"
    assert named in (platform.of("w1", run).reason or "")  # type: ignore[union-attr]
    for one, text in ((missing, "nowhere.py"), (absent, "no-such-program")):
        assert text in (platform.of("w1", one).reason or "")  # type: ignore[union-attr]


async def test_invalid_hyperparameters_are_told_with_their_reason(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """By the exit code together with the line: the code alone is like any other."""
    said = "import muster\ntrial = muster.trial()\ntrial.report(1, a=1)\ntrial.invalid('the batch is too wide')\n"
    script = platform.add_code(code_in(tmp_path, said))
    run = platform.allocation("invalid", script, ONE)
    cold = platform.allocation("cold", script, ONE, spec={"entrypoint": "true && python3 train.py"})
    other = platform.allocation("other", script, ONE, spec={"entrypoint": "echo no data; exit 65"})
    await platform.desire("w1", run, cold, other)
    for one, is_invalid in ((run, True), (cold, True), (other, False)):
        await eventually(lambda one=one: state_of(platform, one) == "exited")  # type: ignore[misc]
        ended = platform.of("w1", one)
        assert ended is not None
        assert (ended.invalid, ended.exit_code, ended.fault) == (is_invalid, 65, "user")
        assert ("the batch is too wide" in (ended.reason or "")) == is_invalid
    await eventually(lambda: platform.steps(run) == [1])


async def test_evil_code_reaches_no_disk(platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        member = tarfile.TarInfo("../../../evil")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    run = platform.allocation("evil", platform.add_archive(raw.getvalue()), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None
    assert ended.fault == "user", "it is what the user has submitted"
    assert "without '..'" in (ended.reason or "")
    assert not list(tmp_path.rglob("evil"))


async def test_code_that_the_store_has_lost_is_no_fault_of_the_user(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, "print('never')"))
    run = platform.allocation("lost code", code, ONE)
    del platform.store.objects[f"code/{code}"]
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None and (ended.fault, ended.exit_code) == ("machine", None)
    assert ended.reason == "the object store has no such object: it answered the download with status 404"


async def test_verdicts_are_waited_for(platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    script = """
import muster
trial = muster.trial()
for step in range(1, 100):
    trial.validate(step, loss=1.0)
    if trial.should_stop():
        break
"""
    run = platform.allocation("verdict", platform.add_code(code_in(tmp_path, script)), ONE, decide_at=3.0)
    platform.verdicts = {(run.run_id, 3): "go_on", (run.run_id, 4): "go_on", (run.run_id, 5): "stop"}
    platform.verdict_delay_s = 0.2
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None
    assert (ended.acknowledged, ended.validations) == (Signal.STOP, 5)
    await eventually(lambda: platform.steps(run) == [1, 2, 3, 4, 5])
    assert "no decision" not in platform.text(run)


async def test_a_deposed_leader_is_refused(platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    platform.epoch = 5
    await platform.desire("w1")
    platform.epoch = 4
    run = platform.allocation("deposed", platform.add_code(code_in(tmp_path, ENDLESS)), ONE)
    observed = await platform.desire("w1", run)
    assert observed.epoch == 5
    assert observed.allocations == ()
    platform.epoch = 5


async def test_what_is_not_kept_is_told_in_the_log_and_holds_nothing_up(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    script = """
import muster
trial = muster.trial()
trial.validate(1, loss=0.5, **{f"a metric with a long name {n}": 1.0 for n in range(30_000)})
for step in range(2, 6):
    trial.report(step, loss=1.0)
trial.validate(6, loss=0.1)
"""
    platform.refused = "metrics_too_many: keep fewer"
    run = platform.allocation("cut", platform.add_code(code_in(tmp_path, script)), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: len(platform.reports[run.run_id]) == 6)
    first = platform.reports[run.run_id][1]
    assert isinstance(first, Validation) and first.number == 1 and first.values["loss"] == 0.5
    assert platform.reports[run.run_id][6].number == 2
    await eventually(lambda: state_of(platform, run) == "exited")
    warnings = ("its last ", "metrics_too_many: keep fewer")
    await eventually(lambda: all(1 <= platform.text(run).count(text) <= 2 for text in warnings))
