"""A cached environment is for runs with the same packages: what one experiment's code brings along is not installed for another's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_environments import wheel_in
from tests.integration.worker.test_runs import ONE
from tests.support.waiting import eventually

USES = "import wheelhouse, muster\nmuster.trial().report(1, loss=1.0)\nprint('got', wheelhouse.WHOSE)\n"
REQUIREMENTS = {
    "a folder of packages": "--no-index\n--find-links wheels\nwheelhouse\n",
    "a short option": "--no-index\n-f wheels\nwheelhouse\n",
    "a file": "wheels/wheelhouse-1.0-py3-none-any.whl\n",
    "another file without a space": "-rwheels/more.txt\n",
    "a continued line": "--no-index --find-\\\nlinks wheels\nwheelhouse\n",
}


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    return await heard(platform, daemons("w1"))


@pytest.mark.parametrize("text", REQUIREMENTS.values(), ids=REQUIREMENTS)
async def test_packages_in_the_code_are_for_this_code_only(
    platform: FakePlatform, worker: Daemon, tmp_path: Path, text: str
) -> None:
    for whose in ("attackers", "victims"):
        folder = tmp_path / whose
        folder.mkdir()
        code = code_in(folder, USES)
        (code / "requirements.txt").write_text(text)
        wheel_in(code / "wheels", {"wheelhouse.py": f"WHOSE = {whose!r}\n"})
        (code / "wheels/more.txt").write_text("--no-index\n--find-links .\nwheelhouse\n")
        run = platform.allocation(
            f"{whose} {text}", platform.add_code(code), ONE, spec={"requirements": "requirements.txt"}
        )
        await platform.desire("w1", run)
        await eventually(lambda run=run: state_of(platform, run) == "exited", 120)  # type: ignore[misc]
        await eventually(lambda run=run: "got" in platform.text(run))  # type: ignore[misc]
        assert f"got {whose}" in platform.text(run)
    await platform.desire("w1")
