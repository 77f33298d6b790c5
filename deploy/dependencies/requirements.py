"""The project's requirements and lock files: where they are, and what is in them.

`constraints.txt` has the version of every package; a lock adds the hashes of all its files. `deploy.dependencies.lock` writes the locks.
"""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
EXTRAS = ("servers", "examples", "dev")
BUILD_TOOLS = ("setuptools", "wheel")
"""Needed to install the project's own packages, which pip must not download unpinned for it."""
INPUTS = "# inputs: sha256:"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[\w,-]+\])?==(?P<version>\S+)(?: ;(?P<marker>[^\\]*))?")
_HASH = re.compile(r"--hash=sha256:(?P<hash>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One package of a lock. `name` is normalized; `hashes` are SHA-256 of all files that may be installed."""

    name: str
    version: str
    hashes: tuple[str, ...]
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file, and the requirements that it locks.

    Attributes:
        requirements: As of pyproject.toml, or fixed ones.
        is_constrained: Its versions are those of `constraints.txt`.
        has_dependencies: It contains what its requirements depend on.
    """

    path: Path
    requirements: tuple[str, ...]
    is_constrained: bool = True
    has_dependencies: bool = True

    def packages(self) -> tuple[LockedPackage, ...]:
        """Return its packages, sorted by name."""
        return read_lock(self.path)

    def inputs(self) -> str:
        """Return a digest of what it is made from, which it contains as well: a difference means that it is out of date."""
        pins = CONSTRAINTS.read_text() if self.is_constrained else ""
        return hashlib.sha256("\n".join((*sorted(self.requirements), pins)).encode()).hexdigest()


def normalized(name: str) -> str:
    """Return a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> tuple[LockedPackage, ...]:
    """Return the packages of a lock file, sorted by name."""
    found = []
    for entry in re.split(r"\n(?=\S)", path.read_text()):
        if pin := _PIN.match(entry):
            hashes = tuple(one["hash"] for one in _HASH.finditer(entry))
            marker = (pin["marker"] or "").strip()
            found.append(LockedPackage(normalized(pin["name"]), pin["version"], hashes, marker))
    return tuple(sorted(found, key=lambda one: one.name))


def project_requirements() -> tuple[str, ...]:
    """Return the requirements of the SDK and the platform with `EXTRAS`, without the SDK itself."""
    platform = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sdk = tomllib.loads((ROOT / "sdk/pyproject.toml").read_text())["project"]
    extras = [one for extra in EXTRAS for one in platform["optional-dependencies"][extra]]
    asked = (*sdk["dependencies"], *platform["dependencies"], *extras, *BUILD_TOOLS)
    return tuple(dict.fromkeys(one for one in asked if not one.startswith("muster-sdk==")))


PLATFORM = Lock(ROOT / "requirements/platform.txt", project_requirements())
"""Everything that `make setup` installs, without CUDA."""
CUDA = Lock(ROOT / "requirements/cuda.txt", PLATFORM.requirements)
"""Additional packages for torch's CUDA build."""
TENSORFLOW = Lock(ROOT / "requirements/tensorflow.txt", ("tensorflow-cpu==2.21.0",))
HOROVOD = Lock(ROOT / "deploy/horovod/horovod.txt", ("horovod==0.28.1",), False, False)
CMAKE = Lock(ROOT / "deploy/horovod/cmake.txt", ("cmake<4",), False, False)
LOCKS = (PLATFORM, CUDA, TENSORFLOW, HOROVOD, CMAKE)
