"""Checkpoints between a machine and the store: what is sent, what is fetched, and what happens to one that is spoilt."""

from collections.abc import Callable
from pathlib import Path

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

SCRIPT = """
import muster
trial = muster.trial()
latest = trial.latest_checkpoint
print("goes on from", (latest / "step").read_text() if latest else "nothing")
if latest:
    print("holds", sorted(str(path.relative_to(latest)) for path in latest.rglob("*") if path.is_file()))
for step in (1, 2):
    with trial.checkpoint(step) as folder:
        (folder / "step").write_text(f"{step} of {trial.hparams['name']}")
        (folder / "frozen").write_bytes(b"never changes" * trial.hparams.get("frozen", 1000))
"""
LARGE = 10_000
"""Of a file that is waited for rather than sent again beside the first."""
NO_ROOM = "the checkpoint at step 2 is not stored: the tenant stores all that it may"
WARNING = (
    "the checkpoint of step 2 is damaged in the store (step): the trial resumes from the checkpoint of step 1"
)


async def _train(
    platform: FakePlatform,
    worker: str,
    tmp_path: Path,
    number: int,
    name: str,
    saved: int = 2,
    frozen: int = 1000,
) -> DesiredAllocation:
    """A run of the trial on that worker, to its end and with all that it saved."""
    members = (GangMember(worker=worker, slots=1),)
    code = platform.add_code(code_in(tmp_path, SCRIPT))
    spec = {"hyperparameters": {"name": name, "frozen": frozen}}
    run = platform.allocation(f"{name} {number}", code, members, run_number=number, spec=spec)
    await eventually(lambda: worker in platform.observed)
    await platform.desire(worker, run)
    await eventually(lambda: state_of(platform, run, worker) == "exited")
    await eventually(lambda: len(platform.saved_of(run)) == saved)
    await eventually(lambda: "goes on from" in platform.text(run))
    return run


def _sent_of(platform: FakePlatform, run: DesiredAllocation) -> list[tuple[str, str]]:
    """What went to the store for a run's checkpoints together: both may be on their way at once, in either order."""
    uploads = platform.saved_of(run)
    return sorted(one for upload in uploads for one in platform.store.transfers_of(upload.checkpoint_id))


async def test_what_has_not_changed_is_sent_once_and_what_was_saved_here_is_not_fetched(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    platform.saved.clear()
    first = await _train(platform, "w1", tmp_path, 1, "sent once", frozen=LARGE)
    assert _sent_of(platform, first) == [("PUT", "frozen"), ("PUT", "step"), ("PUT", "step")]
    two = platform.saved_of(first)[1]
    before = platform.store.transfers_of(two.checkpoint_id)
    second = await _train(platform, "w1", tmp_path, 2, "sent once", frozen=LARGE)
    await eventually(lambda: "holds ['frozen', 'step']" in platform.text(second))
    assert "goes on from 2" in platform.text(second)
    assert platform.store.transfers_of(two.checkpoint_id) == before, "the machine had it"
    platform.no_room = "the tenant stores all that it may"
    third = await _train(platform, "w1", tmp_path, 3, "sent once", saved=0)
    await eventually(lambda: NO_ROOM in platform.text(third))
    platform.no_room = None


async def test_a_checkpoint_that_is_damaged_in_the_store_is_told_and_the_one_before_it_taken(
    platform: FakePlatform, worker: Daemon, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    """On another machine, which has nothing of it; one file is flipped, and in the next trial one is gone."""
    daemons("w2").start()
    for fault in ("flipped", "gone"):
        platform.saved.clear()
        platform.damaged.clear()
        first = await _train(platform, "w1", tmp_path, 1, f"damaged {fault}")
        two = platform.saved_of(first)[1]
        key = f"checkpoints/{two.checkpoint_id}/step"
        if fault == "flipped":
            platform.store.objects[key] = b"9" + platform.store.objects[key][1:]
        else:
            del platform.store.objects[key]
        second = await _train(platform, "w2", tmp_path, 2, f"damaged {fault}")
        assert [(found.checkpoint_id, found.path) for found in platform.damaged] == [
            (two.checkpoint_id, "step")
        ]
        assert "goes on from 1" in platform.text(second)
        await eventually(lambda run=second: WARNING in platform.text(run))  # type: ignore[misc]


async def test_a_store_that_fails_once_gets_again_only_what_it_did_not_take(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    platform.saved.clear()
    platform.store.puts_refused.add("step")
    first = await _train(platform, "w1", tmp_path, 1, "store fails", frozen=LARGE)
    sent = _sent_of(platform, first)
    assert sent.count(("PUT", "step")) == 3
    assert sent.count(("PUT", "frozen")) <= 2, "again only where the failure came before its answer"


async def test_a_large_file_goes_in_parts_and_what_failed_of_it_alone_is_sent_again(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """130 thousand bytes in parts of fifty thousand; the last fails once, when the others are there."""
    platform.saved.clear()
    platform.part_bytes = 50_000
    platform.store.puts_refused.add("frozen-100000")
    first = await _train(platform, "w1", tmp_path, 1, "in parts", frozen=LARGE)
    sent = _sent_of(platform, first)
    counts = [sent.count(("PUT", f"frozen-{part}")) for part in (0, 50_000, 100_000)]
    assert counts == [1, 1, 2] and ("PUT", "frozen") not in sent
    platform.part_bytes = 2**30


async def test_what_the_store_refuses_for_its_content_is_told_by_the_commit(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """A file that changed after it was announced: the registry counts, and ends it; nothing behind it waits for ever."""
    platform.saved.clear()
    platform.headers = {"x-amz-checksum-sha256": "signed"}
    platform.store.contents_refused["frozen"] = "BadDigest"
    await _train(platform, "w1", tmp_path, 1, "store refuses")
    assert platform.incomplete == ["frozen"], "the registry was asked before it was tried again"
    platform.store.contents_refused["frozen"] = "RequestTimeout"
    await _train(platform, "w1", tmp_path, 1, "store waited")
    assert platform.incomplete == ["frozen"], (
        "what broke off is sent again, and nothing is said of its content"
    )
    platform.headers = {}


ASKS = """
import muster
trial = muster.trial()
for step in range(1, 13):
    if step in (3, 4, 9):
        trial.validate(step, loss={3: 2.0, 4: 3.0, 9: 1.0}[step])
    if trial.should_checkpoint(step, validated=step in (3, 4, 9)):
        with trial.checkpoint(step) as folder:
            (folder / "step").write_text(str(step))
"""


async def test_a_script_is_told_when_a_checkpoint_is_due(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """By what the experiment's config says of it, as it came with the trial's spec."""
    code = platform.add_code(code_in(tmp_path, ASKS))
    wanted: dict[str, dict[str, object]] = {
        "best": {"checkpoint_policy": "best"},
        "largest": {"checkpoint_policy": "best", "smaller_is_better": False},
    }
    saved = {}
    for name, spec in wanted.items():
        run = platform.allocation(f"due {name}", code, (GangMember(worker="w1", slots=1),), spec=spec)
        await platform.desire("w1", run)
        await eventually(lambda run=run: state_of(platform, run) == "exited")  # type: ignore[misc]
        await eventually(lambda run=run: len(platform.saved_of(run)) == 2)  # type: ignore[misc]
        saved[name] = [upload.step for upload in platform.saved_of(run)]
    assert saved == {"best": [3, 9], "largest": [3, 4]}
    platform.best = 1.5
    again = platform.allocation(
        "due again", code, (GangMember(worker="w1", slots=1),), run_number=2, spec=wanted["best"]
    )
    await platform.desire("w1", again)
    await eventually(lambda: state_of(platform, again) == "exited")
    await eventually(lambda: [upload.step for upload in platform.saved_of(again)] == [9])


LONGER = """
import time, muster
trial = muster.trial()
for step in range(1, 81):
    time.sleep(0.05)
    if trial.should_checkpoint(step, validated=False):
        with trial.checkpoint(step) as folder:
            (folder / "step").write_text(str(step))
"""


async def test_a_checkpoint_is_asked_for_so_early_that_it_is_stored_within_the_period(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """The worker tells the rank how long the one before took, here a second, since the store refuses it once; until then nobody knows."""
    platform.store.puts_refused.add("step")
    code = platform.add_code(code_in(tmp_path, LONGER))
    period = {"checkpoint_policy": "none", "checkpoint_period": 40, "checkpoint_period_unit": "batches"}
    run = platform.allocation("due early", code, (GangMember(worker="w1", slots=1),), spec=period)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    await eventually(lambda: len(platform.saved_of(run)) == 2)
    first, second = (upload.step for upload in platform.saved_of(run))
    assert first == 40
    assert 60 <= second < 80
