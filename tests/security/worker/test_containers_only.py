"""A worker that runs containers only: it reports sandboxes, and nothing runs there outside of a container."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.integration.worker import executors
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

pytestmark = executors.need_podman
CONTAINERS = {"MUSTER_WORKER__SANDBOX": "container"}
WHERE = "import os\nprint('image', os.environ.get('FROM_IMAGE'), 'user', os.getuid())\n"


@pytest.fixture(scope="module")
async def executor(platform: FakePlatform) -> AsyncIterator[executors.Executor]:
    async with executors.opened("container", platform) as made:
        yield made


@pytest.fixture(scope="module")
async def worker(
    executor: executors.Executor, platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> Daemon:
    daemon = daemons(executor.worker(1))
    daemon.start(**executor.settings, **CONTAINERS)
    await eventually(lambda: daemon.name in platform.observed)
    return daemon


async def test_it_reports_sandboxes_and_refuses_a_run_without_an_image(
    executor: executors.Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    heard = platform.observed[worker.name]
    assert (heard.isolation, heard.isolated_user) == ("sandbox", True)
    assert "runs without an image are refused" in heard.isolation_detail
    run = executor.run("outside", code_in(tmp_path, "open('/tmp/outside', 'w')\n"), spec={"container": {}})
    run = run.model_copy(update={"spec": run.spec.model_copy(update={"container": None})})  # type: ignore[union-attr]
    await platform.desire(worker.name, run)
    await eventually(lambda: state_of(platform, run, worker.name) == "exited")
    found = platform.of(worker.name, run)
    assert found is not None and found.fault == "machine" and found.exit_code is None
    assert "runs containers only, and the experiment names no image" in (found.reason or "")
    assert [one.action for one in found.policies] == ["exclude_node"], "its next run goes elsewhere"
    assert not (worker.directory / "runs" / str(run.run_id) / "code" / "train.py").exists()
    await platform.desire(worker.name)


async def test_a_run_with_an_image_has_a_container_and_a_user_of_its_own(
    executor: executors.Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = code_in(tmp_path, WHERE)
    runs = [executor.run(f"inside {number}", code) for number in (1, 2)]
    await platform.desire(worker.name, *runs)
    for run in runs:
        await eventually(lambda run=run: "image yes user" in platform.text(run))  # type: ignore[misc]
    users = {platform.text(run).partition(" user ")[2].split()[0] for run in runs}
    assert len(users) == 2 and "0" not in users
    await platform.desire(worker.name)


async def test_without_an_engine_it_does_not_start(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    daemon = daemons("no-engine")
    daemon.start(MUSTER_WORKER__CONTAINER_ENGINE="/usr/bin/no-such-podman", **CONTAINERS)
    await eventually(lambda: daemon.has_ended)
    assert (
        "this worker runs containers only and needs a container engine"
        in (daemon.directory / "daemon.log").read_text()
    )
    assert daemon.name not in platform.observed
