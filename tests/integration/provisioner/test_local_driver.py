"""The driver `local` on real processes: the contract of drivers, and what is its own."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from services.provisioner.core.instances.launches import Presence
from services.provisioner.drivers import local
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.local import LocalDriver, LocalSite
from services.provisioner.drivers.processes import find_by_variable, is_held
from shared.errors import Transient
from shared.ids import WorkerId
from tests.contract.machine_driver import WorkerDriverContract, an_intent, sees, tokens
from tests.support.waiting import TIMEOUT_S, eventually

WORKER = WorkerId("w-1")
ONE = replace(an_intent().instances[0], worker=WORKER)
TOY = Path(__file__).with_name("toy_worker.py")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[LocalSite]:
    found = LocalSite(
        directory=tmp_path / "workers",
        command=(sys.executable, "-S", str(TOY), "stay"),
        environment={"PATH": os.defpath},
        gateway_url="http://gateway",
        stop_timeout_s=2.0,
    )
    yield found
    for folder in found.directory.glob("*"):
        for pid in find_by_variable("MUSTER_WORKER__DIRECTORY", str(folder)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class TestLocalDriver(WorkerDriverContract[LocalDriver]):
    @pytest.fixture
    def driver(self, site: LocalSite) -> LocalDriver:
        return LocalDriver(site)

    def again(self, driver: LocalDriver) -> LocalDriver:
        return LocalDriver(driver._site)

    async def kill_worker(self, driver: LocalDriver, worker: WorkerId) -> None:
        os.kill(pid_of(driver, worker), signal.SIGKILL)

    async def lose_machine(self, driver: LocalDriver, worker: WorkerId) -> None:
        shutil.rmtree(driver._site.directory / worker)

    async def starts(self, driver: LocalDriver, worker: WorkerId) -> int:
        with suppress(FileNotFoundError):
            return len((driver._site.directory / worker / "starts").read_text().splitlines())
        return 0

    async def test_a_worker_gets_its_part_and_nothing_else_of_ours(self, driver: LocalDriver) -> None:
        await driver.start_again(ONE, "let-me-in")
        file = driver._site.directory / WORKER / "environment.json"
        await eventually(lambda: file.exists() and file.read_text().endswith("}"))
        given = json.loads(file.read_text())
        assert {name for name in given if name.startswith("MUSTER_")} == {
            f"MUSTER_WORKER__{name}"
            for name in "ID DIRECTORY POOL SLOTS KIND ADDRESS GATEWAY_URL JOIN_TOKEN".split()
        }
        assert given["MUSTER_WORKER__ID"] == WORKER
        assert given["MUSTER_WORKER__JOIN_TOKEN"] == "let-me-in"
        assert (driver._site.directory / WORKER).stat().st_mode & 0o777 == 0o700
        pid = pid_of(driver, WORKER)
        assert os.getsid(pid) == pid, "it leads a session of its own"

    async def test_each_seat_has_gpus_of_its_own(self, site: LocalSite) -> None:
        driver = LocalDriver(replace(site, devices=("0", "1", "4", "5")))
        second = replace(ONE, pool_index=1, slots=2, kind="cuda")
        await driver.start_again(second, None)
        file = site.directory / WORKER / "environment.json"
        await eventually(lambda: file.exists() and file.read_text().endswith("}"))
        assert json.loads(file.read_text())["CUDA_VISIBLE_DEVICES"] == "4,5"

    async def test_a_worker_that_does_not_end_is_killed_after_the_timeout(self, site: LocalSite) -> None:
        driver = LocalDriver(replace(site, command=(*site.command[:-1], "stubborn"), stop_timeout_s=0.3))
        await driver.start_again(ONE, "let-me-in")
        await eventually(lambda: (site.directory / WORKER / "daemon.lock").exists())
        pid = pid_of(driver, WORKER)
        await asyncio.wait_for(driver.terminate([MachineRef(WORKER)]), TIMEOUT_S)
        assert not Path(f"/proc/{pid}/environ").exists() or not Path(f"/proc/{pid}/environ").read_bytes()

    async def test_a_warm_parent_that_outlived_its_daemon_goes_too(self, driver: LocalDriver) -> None:
        folder = driver._site.directory / WORKER / "parent"
        folder.mkdir(parents=True)
        sleep = "import sys, time; time.sleep(60)"
        arguments = [sys.executable, "-c", sleep, "muster.runtime", "--directory", str(folder)]
        parent = subprocess.Popen(arguments, start_new_session=True)
        (folder / "parent.lock").write_text(str(parent.pid))
        await driver.terminate([MachineRef(WORKER)])
        assert await asyncio.to_thread(parent.wait, TIMEOUT_S) == -signal.SIGTERM

    async def test_a_stranger_with_the_parents_number_is_left_alone(self, driver: LocalDriver) -> None:
        folder = driver._site.directory / WORKER / "parent"
        folder.mkdir(parents=True)
        stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (folder / "parent.lock").write_text(str(stranger.pid))
        await driver.terminate([MachineRef(WORKER)])
        assert stranger.poll() is None
        stranger.kill()
        stranger.wait()

    async def test_a_program_that_ends_at_once_is_a_stopped_machine(self, site: LocalSite) -> None:
        driver = LocalDriver(replace(site, command=(*site.command[:-1], "fail")))
        await driver.start_again(ONE, "let-me-in")
        await eventually(sees(driver, WORKER, Presence.STOPPED))
        assert not is_held(site.directory / WORKER / "launch.lock")

    async def test_a_program_that_is_not_there_is_told_in_the_log(self, site: LocalSite) -> None:
        driver = LocalDriver(replace(site, command=("/no/such/program",)))
        await driver.start_again(ONE, "let-me-in")
        await eventually(sees(driver, WORKER, Presence.STOPPED))
        assert "/no/such/program" in (site.directory / WORKER / local.LOG).read_text()

    async def test_a_place_that_cannot_be_written_is_said(self, site: LocalSite) -> None:
        site.directory.parent.mkdir(exist_ok=True)
        site.directory.write_text("a file, not a folder")
        with pytest.raises(Transient, match="w-1 was not started"):
            await LocalDriver(site).start_again(ONE, None)
        intent = an_intent()
        launched = await LocalDriver(site).launch(intent, tokens(intent))
        assert not launched.placed
        assert launched.refused is not None
        assert f"{intent.instances[0].worker} was not started" in launched.refused.reason

    async def test_the_log_keeps_within_its_size(
        self, driver: LocalDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(local, "LARGEST_LOG_BYTES", 1000)
        await driver.start_again(ONE, "let-me-in")
        log = driver._site.directory / WORKER / local.LOG
        log.write_text("x" * 1001)
        await driver.observe()
        assert log.stat().st_size == 0
        assert log.with_name(f"{local.LOG}.1").stat().st_size == 1001


def pid_of(driver: LocalDriver, worker: WorkerId) -> int:
    return int((driver._site.directory / worker / local.LAUNCH_LOCK).read_text())
