"""`make lock`: writes the lock files from pyproject.toml and constraints.txt, with the hashes that the package index states for every file.

Torch's CPU build is not on the index: a wheel of the locked version in a folder of `PIP_FIND_LINKS` is hashed here and added, and hashes
of such wheels in the present lock are kept, so that each site's build that was locked once is accepted.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.dependencies.requirements import (
    CUDA,
    INPUTS,
    LOCKS,
    PLATFORM,
    ROOT,
    Lock,
    LockedPackage,
    normalized,
)

CONSTRAINTS = ROOT / "constraints.txt"
LOCAL_BUILDS = "# local build: "
"""Comment below a package: the file name of a wheel that is not on the index, and its hash."""
_CUDA = re.compile(r"^(nvidia-|cuda-|triton$)")
_PYTHON = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
_HEADER = "# Written by `make lock` from pyproject.toml and constraints.txt. Install with `pip install --no-deps --require-hashes -r`.\n"


def main() -> int:
    entries = {lock: _resolve(lock) for lock in LOCKS if lock is not CUDA}
    platform = entries[PLATFORM]
    entries[CUDA] = {name: entry for name, entry in platform.items() if _CUDA.match(name)}
    entries[PLATFORM] = {name: entry for name, entry in platform.items() if not _CUDA.match(name)}
    entries[PLATFORM]["torch"] = _with_local_builds(entries[PLATFORM]["torch"])
    for lock, found in entries.items():
        lock.path.parent.mkdir(exist_ok=True)
        lock.path.write_text(f"{_HEADER}{INPUTS}{lock.inputs()}\n{''.join(found.values())}")
        print(f"wrote {lock.path.relative_to(ROOT)} ({len(found)} packages)")
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


def _with_local_builds(entry: str) -> str:
    """Add the hashes of wheels that are not on the index."""
    version = entry.split("==")[1].split(maxsplit=1)[0]
    known = dict(re.findall(rf"{LOCAL_BUILDS}(\S+) (\w{{64}})", _text(PLATFORM.path)))
    builds = {name: found for name, found in known.items() if name.startswith(f"torch-{version}+")}
    for folder in os.environ.get("PIP_FIND_LINKS", "").split():
        for wheel in sorted(Path(folder).glob(f"torch-{version}+*.whl")):
            builds[wheel.name] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return add_local_builds(entry, sorted(builds.items()))


def add_local_builds(entry: str, builds: Iterable[tuple[str, str]]) -> str:
    """Return a lock's entry that also accepts these files, given by name and SHA-256."""
    text = entry.rstrip("\n")
    for _, found in builds:
        text += f" \\\n    --hash=sha256:{found}"
    return f"{text}\n" + "".join(f"    {LOCAL_BUILDS}{name} {found}\n" for name, found in builds)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def missing_pins(packages: Iterable[LockedPackage]) -> list[str]:
    """Return `name==version` of packages that constraints.txt does not pin."""
    pinned = {
        normalized(line.split("==")[0]) for line in CONSTRAINTS.read_text().splitlines() if "==" in line
    }
    return [f"{one.name}=={one.version}" for one in packages if one.name not in pinned]


if __name__ == "__main__":
    sys.exit(main())
