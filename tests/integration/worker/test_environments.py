"""Environments of experiments on a real worker: made once, with packages of their own; and the hook before the ranks."""

import base64
import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from muster.errors import Rejected
from shared.ids import DEFAULT_TENANT
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_runs import ONE
from tests.support.waiting import eventually
from worker.preparing import environments, steps
from worker.preparing.environments import Environments, Wish, installing_environment

USES = """
import sys, muster, numpy
import wheelhouse
trial = muster.trial()
trial.report(1, answer=wheelhouse.ANSWER)
print("runs in", sys.prefix, wheelhouse.__file__)
"""
HOOK = """
echo "the hook is in $PWD" > hooked
echo "said by the hook"
exit $(cat exit-code 2>/dev/null || echo 0)
"""


def wheel_in(folder: Path, content: dict[str, str]) -> Path:
    """A folder with one small wheel, as an index that needs no network."""
    folder.mkdir(exist_ok=True)
    files = {
        **content,
        "wheelhouse-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: wheelhouse\nVersion: 1.0\n",
        "wheelhouse-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text)}\n"
    record += "wheelhouse-1.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / "wheelhouse-1.0-py3-none-any.whl", "w") as packed:
        for name, text in {**files, "wheelhouse-1.0.dist-info/RECORD": record}.items():
            packed.writestr(name, text)
    return folder


async def test_runs_share_an_environment_that_is_made_once(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    wheels = wheel_in(tmp_path / "wheels", {"wheelhouse.py": "ANSWER = 42\n"})
    folder = code_in(tmp_path, USES)
    (folder / "requirements.txt").write_text(f"--no-index\n--find-links {wheels}\nwheelhouse\nnumpy\n")
    code = platform.add_code(folder)
    spec = {"requirements": "requirements.txt"}
    runs = [platform.allocation(f"environment-{number}", code, ONE, spec=spec) for number in (1, 2)]
    await platform.desire("w1", *runs)
    await eventually(lambda: all(state_of(platform, run) == "exited" for run in runs))
    assert [getattr(platform.of("w1", run), "reason", "lost") for run in runs] == [None, None]
    await eventually(lambda: all("runs in" in platform.text(run) for run in runs))
    said = "\n".join(platform.text(run) for run in runs)
    assert said.count("an environment is made for requirements.txt") == 1
    assert said.count("is being made for another run") == 1
    (made,) = (worker.directory / "environments").iterdir()
    assert said.count(f"runs in {made} {made}/lib") == 2


async def test_a_requirement_that_does_not_install_is_told_in_pips_words(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    folder = code_in(tmp_path, USES)
    (folder / "more.txt").write_text("--no-index\nno-such-thing==7\n")
    spec = {"requirements": "more.txt"}
    run = platform.allocation("impossible", platform.add_code(folder), ONE, spec=spec)
    lacking = platform.allocation(
        "lacking", platform.add_code(code_in(tmp_path, USES)), ONE, spec={"requirements": "absent.txt"}
    )
    wheels = wheel_in(tmp_path / "wheels", {"muster/__init__.py": "raise ImportError('not the real one')\n"})
    (folder / "other.txt").write_text(f"--no-index\n--find-links {wheels}\nwheelhouse\n")
    broken = platform.allocation("broken", platform.add_code(folder), ONE, spec={"requirements": "other.txt"})
    await platform.desire("w1", run, lacking, broken)
    await eventually(lambda: {state_of(platform, one) for one in (run, lacking, broken)} == {"exited"})
    ended, without, useless = (platform.of("w1", one) for one in (run, lacking, broken))
    assert ended is not None and without is not None and useless is not None
    assert {ended.fault, without.fault, useless.fault} == {"machine"}, "no user code has run"
    assert useless.reason == (
        "environment.requirements: other.txt installs what no trial can start with: ImportError: not the real one"
    )
    assert "more.txt could not be installed" in (ended.reason or "")
    assert "No matching distribution found for no-such-thing==7" in (ended.reason or "")
    assert "absent.txt of the experiment's code cannot be read" in (without.reason or "")


async def build(tmp_path: Path, backend: str, said: list[str]) -> str:
    """Why an environment could not be made whose one requirement is built so."""
    code, root = tmp_path / "code", tmp_path / "environments"
    package = code / "endless"
    for folder in (root, package):
        folder.mkdir(parents=True)
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (package / "backend.py").write_text(backend)
    (code / "endless.txt").write_text("--no-index\n./endless\n")
    made = Environments(root, None, installing_environment(dict(os.environ)), "muster._trial")
    with pytest.raises(Rejected) as refused:
        await made.make(Wish(code, "endless.txt", DEFAULT_TENANT, "hash"), said.append)
    assert list(root.iterdir()) == [], "nothing is left of it"
    return str(refused.value)


async def test_a_build_that_prints_without_end_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MOST_PRINTED_BYTES", 1024 * 1024)
    # Long lines: pip takes a third of a millisecond for each, however short.
    told = await build(tmp_path, "while True: print('compiles on and on ' * 100)\n", [])
    assert "endless.txt could not be installed: pip was ended, it printed more than 1 MiB" in told
    assert "compiles on and on" in told


async def test_a_build_that_hangs_is_told_while_it_does_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "STEP_S", 12.0)
    monkeypatch.setattr(environments, "SAY_EVERY_S", 0.5)
    said: list[str] = []
    waits = "import time\nprint('waits for a licence', flush=True)\ntime.sleep(600)\n"
    told = await build(tmp_path, waits, said)
    assert "pip was ended, it was not done after 0 minutes; it last printed: " in told
    assert "waits for a licence" in told
    at_work = [line for line in said if line.startswith("pip is at work on endless.txt, 0 min by now")]
    assert any("waits for a licence" in line for line in at_work), said


async def test_a_startup_hook_runs_before_the_ranks(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    folder = code_in(tmp_path, "print('found:', open('hooked').read())")
    (folder / "startup-hook.sh").write_text(HOOK)
    run = platform.allocation("hooked", platform.add_code(folder), ONE)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    await eventually(lambda: "found: the hook is in" in platform.text(run))
    assert "said by the hook" in platform.text(run)
    (folder / "exit-code").write_text("7")
    failing = platform.allocation("hook fails", platform.add_code(folder), ONE)
    await platform.desire("w1", failing)
    await eventually(lambda: state_of(platform, failing) == "exited")
    ended = platform.of("w1", failing)
    assert ended is not None
    assert (ended.fault, ended.reason) == (
        "user",
        "startup-hook.sh ended with exit code 7: see the trial's log",
    )
    assert "found:" not in platform.text(failing)
