"""`make lock`: writes the lock files from pyproject.toml and constraints.txt, with the hashes that the package index states for every file.

Builds of torch that are not on the index, such as the CPU build, have locks of their own, `requirements/torch-BUILD.txt`: a wheel of the locked
version in a folder of `PIP_FIND_LINKS` is hashed here. Locks of builds that are not on this machine are kept.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from deploy.dependencies.install import find_links
from deploy.dependencies.requirements import (
    CUDA,
    INPUTS,
    LOCKS,
    PLATFORM,
    ROOT,
    Lock,
    LockedPackage,
    normalized,
    read_lock,
)

CONSTRAINTS = ROOT / "constraints.txt"
_CUDA = re.compile(r"^(nvidia-|cuda-|triton$)")
_PYTHON = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
_HEADER = "# Written by `make lock` from pyproject.toml and constraints.txt. Install with `pip install --no-deps --require-hashes -r`.\n"


def main() -> int:
    entries = {lock: _resolve(lock) for lock in LOCKS if lock is not CUDA}
    platform = entries[PLATFORM]
    entries[CUDA] = {name: entry for name, entry in platform.items() if _CUDA.match(name)}
    entries[PLATFORM] = {name: entry for name, entry in platform.items() if not _CUDA.match(name)}
    for lock, found in entries.items():
        lock.path.parent.mkdir(exist_ok=True)
        lock.path.write_text(f"{_HEADER}{INPUTS}{lock.inputs()}\n{''.join(found.values())}")
        print(f"wrote {lock.path.relative_to(ROOT)} ({len(found)} packages)")
    version = next(one.version for one in PLATFORM.packages() if one.name == "torch")
    for made in lock_builds(version, find_links(), PLATFORM.path.parent):
        print(f"wrote {made.relative_to(ROOT)}")
    return 0


def _resolve(lock: Lock) -> dict[str, str]:
    """Return the entry of each package by normalized name, as uv writes it."""
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "requirements.in"
        asked.write_text("\n".join(lock.requirements))
        command = [
            *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--no-config"),
            *("--generate-hashes", "--no-header", "--no-annotate", *_PYTHON, str(asked)),
            *(("--constraints", str(CONSTRAINTS)) if lock.is_constrained else ()),
            *(() if lock.has_dependencies else ("--no-deps",)),
        ]
        # The index alone decides on hashes, not a folder of wheels of this machine.
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))
        }
        output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    entries = re.findall(r"^\S[^\n]*(?:\n +[^\n]+)*\n", output, re.MULTILINE)
    return {normalized(re.split(r"[=\[]", entry, maxsplit=1)[0]): entry for entry in entries}


def lock_builds(version: str, folders: Iterable[str], target: Path) -> Iterator[Path]:
    """Lock the builds of torch in these folders; yield the files written. Wheels of one build for several platforms share a lock."""
    builds: dict[str, list[str]] = {}
    for folder in folders:
        for wheel in sorted(Path(folder).glob(f"torch-{version}+*.whl")):
            local = wheel.name.split("+")[1].split("-")[0]
            builds.setdefault(local, []).append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    for local, found in builds.items():
        lock = target / f"torch-{local}.txt"
        known = {
            one
            for package in (read_lock(lock) if lock.exists() else ())
            if package.version == f"{version}+{local}"
            for one in package.hashes
        }
        hashes = " \\\n".join(f"    --hash=sha256:{one}" for one in sorted({*known, *found}))
        lock.write_text(f"{_HEADER}torch=={version}+{local} \\\n{hashes}\n")
        yield lock


def missing_pins(packages: Iterable[LockedPackage]) -> list[str]:
    """Return `name==version` of packages that constraints.txt does not pin."""
    pinned = {
        normalized(line.split("==")[0]) for line in CONSTRAINTS.read_text().splitlines() if "==" in line
    }
    return [f"{one.name}=={one.version}" for one in packages if one.name not in pinned]


if __name__ == "__main__":
    sys.exit(main())
