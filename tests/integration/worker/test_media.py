"""Media and event files between a run and the registry: what was logged comes once, also when the daemon is killed."""

import hashlib
from pathlib import Path

from shared.messages.allocations import DesiredAllocation
from shared.messages.media import MediaItem
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

SCRIPT = """
import os, pathlib, time
import muster
trial = muster.trial()
assert str(trial.tensorboard_dir) == os.environ["MUSTER_TENSORBOARD_DIR"]
events = trial.tensorboard_dir / "deep" / "events.out.tfevents.1.host"
events.parent.mkdir()
plain = pathlib.Path("runs/today/events.out.tfevents.2.host")
plain.parent.mkdir(parents=True)
pathlib.Path("runs/events.out.tfevents.link").symlink_to("/etc/hostname")
go_on = pathlib.Path("go_on")
for step in (1, 2, 3):
    trial.log_text(step, "notes", f"said at {step}")
    trial.log_histogram(step, "weights", [1.0, 2.0, step])
    for path in (events, plain):
        with path.open("ab") as growing:
            growing.write(b"event %d;" % step)
    while step == 2 and not go_on.exists():
        time.sleep(0.05)
trial.log_image(3, "last", bytes.fromhex("89504e470d0a1a0a"), caption="the end")
"""
EXPECTED = {
    ("text", "notes", 1): b"said at 1",
    ("text", "notes", 2): b"said at 2",
    ("text", "notes", 3): b"said at 3",
    ("image", "last", 3): bytes.fromhex("89504e470d0a1a0a"),
}
WHOLE = b"event 1;event 2;event 3;"
EVENT_FILES = ("deep/events.out.tfevents.1.host", "runs/today/events.out.tfevents.2.host")
LOGGED = len(EXPECTED) + 3
"""With the histograms."""


def pieces(platform: FakePlatform, run: DesiredAllocation) -> list[tuple[MediaItem, bytes]]:
    """What the registry has of a run, in order, each with its bytes."""
    found = []
    for body, items in platform.media[run.run_id]:
        for item in items:
            content = body[item.offset : item.offset + item.size_bytes]
            assert hashlib.sha256(content).hexdigest() == item.sha256
            found.append((item, content))
    return found


def event_file(platform: FakePlatform, run: DesiredAllocation, path: str) -> bytes:
    """An event file as its pieces make it."""
    whole = b""
    for item, content in pieces(platform, run):
        if item.kind == "events" and item.name == path:
            assert item.step == len(whole)
            whole += content
    return whole


async def begin(
    platform: FakePlatform, worker: Daemon, tmp_path: Path, name: str
) -> tuple[DesiredAllocation, Path]:
    code = platform.add_code(code_in(tmp_path, SCRIPT))
    run = platform.allocation(name, code, (GangMember(worker="w1", slots=1),))
    go_on = worker.directory / "runs" / str(run.run_id) / "code/go_on"
    await platform.desire("w1", run)
    await eventually(lambda: event_file(platform, run, EVENT_FILES[0]) == WHOLE[:16])
    return run, go_on


def logged_of(platform: FakePlatform, run: DesiredAllocation) -> list[tuple[MediaItem, bytes]]:
    return [(item, content) for item, content in pieces(platform, run) if item.kind != "events"]


def has_all(platform: FakePlatform, run: DesiredAllocation) -> bool:
    """Whether the last has come of each: in which packs they come, the moment decides."""
    are_whole = all(event_file(platform, run, path) == WHOLE for path in EVENT_FILES)
    return are_whole and len(logged_of(platform, run)) >= LOGGED


def check(platform: FakePlatform, run: DesiredAllocation) -> None:
    logged = logged_of(platform, run)
    assert len(logged) == LOGGED
    plain = {
        (item.kind, item.name, item.step): content for item, content in logged if item.kind != "histogram"
    }
    assert plain == EXPECTED
    for path in EVENT_FILES:
        assert event_file(platform, run, path) == WHOLE
    names = {item.name for item, _ in pieces(platform, run) if item.kind == "events"}
    assert names == set(EVENT_FILES), "a link leads nowhere"


async def test_media_and_event_files_come_while_the_run_trains_and_all_at_its_end(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    run, go_on = await begin(platform, worker, tmp_path, "media")
    assert state_of(platform, run) == "running"
    go_on.touch()
    await eventually(lambda: state_of(platform, run) == "exited")
    await eventually(lambda: has_all(platform, run))
    check(platform, run)
    await platform.desire("w1")
    await eventually(lambda: not (worker.directory / "runs" / str(run.run_id)).exists())


async def test_what_the_registry_does_not_keep_stands_in_the_log(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    platform.media_refused = "the tenant stores all that it may"
    script = "import muster; muster.trial().log_text(1, 'notes', '')"
    code = platform.add_code(code_in(tmp_path, script))
    run = platform.allocation("media refused", code, (GangMember(worker="w1", slots=1),))
    await platform.desire("w1", run)
    await eventually(lambda: "the tenant stores all that it may" in platform.text(run))
    platform.media_refused = None


async def test_a_daemon_that_is_killed_on_the_way_loses_and_doubles_nothing(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """When the registry has a pack, and the worker has not kept that yet: it sends the same one again."""
    run, go_on = await begin(platform, worker, tmp_path, "media killed")
    worker.kill()
    worker.start(MUSTER_FAULTS="media.after_commit:1:kill")
    go_on.touch()
    await eventually(lambda: worker.has_ended)
    worker.start()
    await eventually(lambda: state_of(platform, run) == "exited")
    await eventually(lambda: has_all(platform, run))
    check(platform, run)
