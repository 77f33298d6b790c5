"""Environments of experiments on a real worker: made once, with packages of their own; and the hook before the ranks."""

import base64
import hashlib
import os
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from muster.errors import Rejected
from shared.ids import DEFAULT_TENANT
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_runs import ONE
from tests.support.waiting import eventually
from worker.environments import environments, install_command
from worker.environments.environments import EnvironmentRequest, Environments, installing_environment

TORCH = version("torch")
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


def wheel_in(
    folder: Path, content: dict[str, str], name: str = "wheelhouse", version: str = "1.0", needs: str = ""
) -> Path:
    """A folder with one small wheel, as an index that needs no network."""
    folder.mkdir(exist_ok=True)
    about = f"{name}-{version}.dist-info"
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        **content,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text)}\n"
    record += f"{about}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as packed:
        for path, text in {**files, f"{about}/RECORD": record}.items():
            packed.writestr(path, text)
    return folder


async def test_runs_share_an_environment_that_is_made_once(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    folder = code_in(tmp_path, USES)
    wheel_in(folder / "wheels", {"wheelhouse.py": "ANSWER = 42\n"})
    (folder / "requirements.txt").write_text("--no-index\n--find-links wheels\nwheelhouse\nnumpy\n")
    code = platform.add_code(folder)
    spec = {"requirements": "requirements.txt"}
    runs = [platform.allocation(f"environment-{number}", code, ONE, spec=spec) for number in (1, 2)]
    await platform.desire("w1", *runs)
    await eventually(lambda: all(state_of(platform, run) == "exited" for run in runs))
    assert [getattr(platform.of("w1", run), "reason", "lost") for run in runs] == [None, None]
    await eventually(lambda: all("runs in" in platform.text(run) for run in runs))
    said = "\n".join(platform.text(run) for run in runs)
    assert said.count("creating an environment for requirements.txt") == 1
    assert said.count("which another run is creating") == 1
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
    wheel_in(folder / "wheels", {"muster/__init__.py": "raise ImportError('not the real one')\n"})
    (folder / "other.txt").write_text("--no-index\n--find-links wheels\nwheelhouse\n")
    broken = platform.allocation("broken", platform.add_code(folder), ONE, spec={"requirements": "other.txt"})
    await platform.desire("w1", run, lacking, broken)
    await eventually(lambda: {state_of(platform, one) for one in (run, lacking, broken)} == {"exited"})
    ended, without, useless = (platform.of("w1", one) for one in (run, lacking, broken))
    assert ended is not None and without is not None and useless is not None
    assert {ended.fault, without.fault, useless.fault} == {"user"}
    assert useless.reason == (
        "environment.requirements: other.txt installs packages that prevent trials from starting: ImportError: not the real one"
        " (correct other.txt and submit the experiment again)"
    )
    await eventually(lambda: "the last lines of pip:" in platform.text(run))
    assert "ERROR: No matching distribution found for no-such-thing==7" in platform.text(run)
    assert "more.txt could not be installed" in (ended.reason or "")
    assert "No matching distribution found for no-such-thing==7" in (ended.reason or "")
    assert "absent.txt in the experiment's code cannot be read" in (without.reason or "")


async def installed(tmp_path: Path, requirements: str) -> Path:
    """An environment with what a requirements file names of the wheels in `wheels`."""
    code, root, wheels = tmp_path / "code", tmp_path / "environments", tmp_path / "wheels"
    for folder in (code, root):
        folder.mkdir(exist_ok=True)
    (code / "requirements.txt").write_text(f"--no-index\n--find-links {wheels}\n{requirements}\n")
    # What this machine's own pip.conf says would be in the way.
    variables = installing_environment({**os.environ, "PIP_CONFIG_FILE": os.devnull})
    made = Environments(root, None, None, variables, "torch")
    name = await made.make(
        EnvironmentRequest(code, "requirements.txt", DEFAULT_TENANT, "hash"), lambda line: None
    )
    return root / name / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


async def test_the_platforms_torch_is_not_replaced(tmp_path: Path) -> None:
    """As torchvision did: its newest version needs a torch of gigabytes, an older one goes with the torch that is there."""
    there = TORCH.partition("+")[0]
    wheels = wheel_in(tmp_path / "wheels", {"torch/__init__.py": "OTHER = True\n"}, "torch", "99.1")
    wheel_in(wheels, {"vision.py": "OLD = False\n"}, "vision", "2.0", "torch==99.1")
    wheel_in(wheels, {"vision.py": "OLD = True\n"}, "vision", "1.0", f"torch=={there}")
    packages = await installed(tmp_path, "vision")
    assert (packages / "vision.py").read_text() == "OLD = True\n"
    assert not (packages / "torch").exists(), "the platform's own is imported"


@pytest.mark.parametrize(
    ("requirements", "told"),
    [
        (
            "torch==99.1",
            f"requirements.txt asks for torch==99.1, and the platform's environment has torch {TORCH} (remove torch",
        ),
        (
            "vision",
            f"installs vision 2.0, which needs torch==99.1, and the platform's environment has torch {TORCH} (pin a compatible version of vision",
        ),
        (
            "muster",
            "asks for muster, and muster on package indexes is another project, which would replace the SDK (remove muster from requirements.txt: trials have the SDK)",
        ),
        ("numpy<2", f"asks for numpy<2, and the platform's environment has numpy {version('numpy')}"),
        (
            "sympy==0.1",
            f"asks for sympy==0.1, and torch {TORCH} of the platform's environment needs sympy>=",
        ),
    ],
)
async def test_what_would_replace_the_platforms_packages_is_named(
    tmp_path: Path, requirements: str, told: str
) -> None:
    wheels = wheel_in(tmp_path / "wheels", {"torch/__init__.py": ""}, "torch", "99.1")
    wheel_in(wheels, {"muster/__init__.py": "squatted = True"}, "muster", "9.0")
    wheel_in(wheels, {"vision.py": ""}, "vision", "2.0", "torch==99.1")
    wheel_in(wheels, {"numpy/__init__.py": ""}, "numpy", "1.0")
    wheel_in(wheels, {"sympy.py": ""}, "sympy", "0.1")
    with pytest.raises(Rejected) as refused:
        await installed(tmp_path, requirements)
    assert refused.value.code == "requirements_conflict"
    assert told in str(refused.value)


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
    made = Environments(root, None, None, installing_environment(dict(os.environ)), "muster._trial")
    with pytest.raises(Rejected) as refused:
        await made.make(EnvironmentRequest(code, "endless.txt", DEFAULT_TENANT, "hash"), said.append)
    assert list(root.iterdir()) == [], "nothing is left of it"
    return str(refused.value)


async def test_a_build_that_prints_without_end_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_command, "MAX_OUTPUT_BYTES", 1024 * 1024)
    # Long lines: pip takes a third of a millisecond for each, however short.
    told = await build(tmp_path, "while True: print('compiles on and on ' * 100)\n", [])
    assert "endless.txt could not be installed: pip was stopped, it printed more than 1 MiB" in told
    assert "compiles on and on" in told


async def test_a_build_that_hangs_is_told_while_it_does_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_command, "STEP_S", 12.0)
    monkeypatch.setattr(environments, "PROGRESS_EVERY_S", 0.5)
    said: list[str] = []
    waits = "import time\nprint('waits for a licence', flush=True)\ntime.sleep(600)\n"
    told = await build(tmp_path, waits, said)
    assert "pip was stopped, it was not done after 0 minutes; it last printed: " in told
    assert "waits for a licence" in told
    at_work = [line for line in said if line.startswith("pip has been installing endless.txt for 0 min")]
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
