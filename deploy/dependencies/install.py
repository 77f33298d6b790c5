"""`python -m deploy.dependencies.install`: installs the locked packages into the running environment. Uses the standard library only.

pip checks every file against the hashes of a lock before it unpacks it, and downloads nothing that no lock names.
"""

import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "requirements"
LOCKED = ("install", "--no-deps", "--require-hashes")
OWN = ("install", "--no-deps", "--no-build-isolation", "-e", "./sdk", "-e", ".")
_BUILD = re.compile(r"^torch-(?P<version>[\w.]+)\+(?P<local>[\w.]+)-.*\.whl$")


def main() -> int:
    build = find_local_build(find_links())
    if build is not None:
        _pip(*LOCKED, "-r", str(build))
    _pip(*LOCKED, "-r", str(LOCKS / "platform.txt"))
    if needs_cuda():
        _pip(*LOCKED, "-r", str(LOCKS / "cuda.txt"))
    _pip(*OWN, "--quiet")
    return 0


def find_links() -> list[str]:
    """Return the folders of wheels that pip is configured to search, by its environment variable or its configuration."""
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.find-links"],
        check=False,
        capture_output=True,
        text=True,
    )
    return list(dict.fromkeys([*os.environ.get("PIP_FIND_LINKS", "").split(), *configured.stdout.split()]))


def find_local_build(folders: list[str], locks: Path = LOCKS) -> Path | None:
    """Return the lock of a build of torch in one of these folders, which then takes the place of the index's; None if there is none.

    A build without a lock is not used: run `make lock` to accept it.
    """
    for folder in folders:
        for wheel in sorted(Path(folder).glob("torch-*+*.whl")):
            found = _BUILD.match(wheel.name)
            lock = locks / f"torch-{found['local']}.txt" if found else None
            if lock is None or not lock.exists():
                print(
                    f"{wheel} is not locked, so the index's torch is installed; run `make lock` to accept it"
                )
            elif found and f"torch=={found['version']}+{found['local']} " in lock.read_text():
                return lock
    return None


def needs_cuda() -> bool:
    """Whether the installed torch is a build for CUDA, which needs further packages."""
    return any(one.startswith(("nvidia-", "cuda-")) for one in requires("torch") or ())


def _pip(*arguments: str) -> None:
    # Constraints of the machine must not replace the locks.
    environment = {
        **os.environ,
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    sys.exit(main())
