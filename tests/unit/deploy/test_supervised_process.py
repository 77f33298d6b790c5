"""A kept process: started again ever later, given up only when it never ran."""

import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from deploy.embedded.host.processes import Command
from deploy.embedded.servers.base import HEALTHY, Daemon, Health, Home
from deploy.embedded.supervision.supervised_process import LONGEST_PAUSE_S, START_TIMEOUT_S, SupervisedProcess
from muster.errors import Broken


class FakeProcess:
    """Stands for an operating system's process."""

    pid = 0

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        self.returncode = -signal.SIGKILL


class FakeDaemon(Daemon):
    """Runs nothing; the test says what happens."""

    name = "searcher"

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.serves = False
        self.starts = 0
        self.health = HEALTHY
        self.refusal: OSError | None = None

    @property
    def ports(self) -> tuple[int, ...]:
        return ()

    def prepare(self) -> None: ...

    def command(self) -> Command:
        raise NotImplementedError

    def ready(self) -> bool:
        return self.serves

    def start(self) -> None:
        self.starts += 1
        if self.refusal:
            raise self.refusal
        self.process = FakeProcess()  # type: ignore[assignment]

    def check(self, now: float) -> Health:
        return self.health

    def stop(self) -> None:
        self.ends(0)

    def ends(self, code: int) -> None:
        cast("FakeProcess", self.process).returncode = code


@pytest.fixture
def daemon(tmp_path: Path) -> FakeDaemon:
    return FakeDaemon(Home(tmp_path))


@pytest.fixture
def keeper(daemon: FakeDaemon) -> SupervisedProcess:
    return SupervisedProcess(daemon, "service")


def _run(keeper: SupervisedProcess, daemon: FakeDaemon, now: float) -> None:
    daemon.serves = True
    keeper.tick(now)
    keeper.tick(now)
    assert keeper.state == "running"


def test_a_first_crash_is_mended_at_once_and_the_next_ever_later(
    keeper: SupervisedProcess, daemon: FakeDaemon
) -> None:
    _run(keeper, daemon, 0.0)
    pauses = []
    now = 1.0
    for _ in range(12):
        daemon.ends(1)
        keeper.tick(now)
        begun = now
        while keeper.state == "restarting":
            keeper.tick(now)
            now += 0.05
        pauses.append(round(now - begun))
        keeper.tick(now)
    assert pauses[0] == 0
    assert pauses == sorted(pauses)
    assert max(pauses) == LONGEST_PAUSE_S
    assert keeper.restarts == 12


def test_a_long_good_run_forgives_old_crashes(keeper: SupervisedProcess, daemon: FakeDaemon) -> None:
    _run(keeper, daemon, 0.0)
    for now in (1.0, 50.0):
        daemon.ends(1)
        keeper.tick(now)
        keeper.tick(now)
        assert keeper.state == "starting"
        keeper.tick(now)
        keeper.tick(now + 40.0)


def test_bad_settings_are_not_tried_again(keeper: SupervisedProcess, daemon: FakeDaemon) -> None:
    daemon.home.make()
    daemon.log.write_text("searcher: MUSTER_NATS__URL is missing\n")
    keeper.tick(0.0)
    daemon.ends(2)
    with pytest.raises(Broken, match="MUSTER_NATS__URL is missing"):
        keeper.tick(0.1)


def test_what_never_ran_is_given_up_after_three_tries(keeper: SupervisedProcess, daemon: FakeDaemon) -> None:
    now = 0.0
    while daemon.starts < 3 or keeper.state != "starting":
        keeper.tick(now)
        if keeper.state == "starting" and daemon.starts < 3:
            daemon.ends(1)
        now += 0.1
    daemon.ends(1)
    with pytest.raises(Broken, match="did not start"):
        keeper.tick(now)


def test_each_start_that_is_not_ready_in_time_gives_the_next_twice_the_time(
    keeper: SupervisedProcess, daemon: FakeDaemon
) -> None:
    _run(keeper, daemon, 0.0)
    daemon.serves = False
    daemon.ends(-9)
    began_at: dict[int, int] = {}
    for now in range(1, 800):
        keeper.tick(float(now))
        began_at.setdefault(daemon.starts, now)
    second, third, fourth, fifth = (began_at[start] for start in (2, 3, 4, 5))
    assert START_TIMEOUT_S <= third - second < START_TIMEOUT_S + 5
    assert 2 * START_TIMEOUT_S <= fourth - third < 2 * START_TIMEOUT_S + 5
    assert 4 * START_TIMEOUT_S <= fifth - fourth < 4 * START_TIMEOUT_S + 5
    assert "did not become ready within 240 s" in keeper.part().restarted_for


def test_what_cannot_be_started_again_for_want_of_room_is_tried_later(
    keeper: SupervisedProcess, daemon: FakeDaemon
) -> None:
    _run(keeper, daemon, 0.0)
    daemon.refusal = OSError(28, "No space left on device")
    daemon.ends(1)
    for now in (1.0, 1.0, 1.1):
        keeper.tick(now)
    states: list[str] = [keeper.state]
    daemon.refusal = None
    keeper.tick(60.0)
    keeper.tick(60.0)
    states.append(keeper.state)
    assert states == ["restarting", "running"]


def test_what_is_stuck_is_ended_and_started_again_and_says_why(
    keeper: SupervisedProcess, daemon: FakeDaemon
) -> None:
    _run(keeper, daemon, 0.0)
    daemon.health = Health("it stores nothing")
    assert keeper.tick(1.0), "what has changed is shown"
    assert (keeper.part().state, keeper.part().trouble) == ("running", "it stores nothing")
    daemon.health = Health("it stores nothing", is_stuck=True)
    keeper.tick(1.0)
    daemon.health = HEALTHY
    for _ in range(3):
        keeper.tick(1.0)
    assert (keeper.state, daemon.starts, keeper.restarts) == ("running", 2, 1)
    assert (keeper.part().restarted_for, keeper.part().trouble) == ("it stores nothing", "")


def test_what_ends_by_itself_says_its_exit_code(
    keeper: SupervisedProcess, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(keeper, daemon, 0.0)
    daemon.ends(3)
    keeper.tick(1.0)
    assert keeper.part().restarted_for == "it ended with exit code 3"
    assert "searcher restarts: it ended with exit code 3" in capsys.readouterr().err


def test_a_full_disk_takes_the_line_and_not_the_supervisor(
    keeper: SupervisedProcess, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(keeper, daemon, 0.0)
    with suppress(OSError), Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        daemon.health = Health("a stream refuses messages")
        keeper.tick(1.0)
        monkeypatch.undo()
    assert (keeper.state, keeper.trouble) == ("running", "a stream refuses messages")
