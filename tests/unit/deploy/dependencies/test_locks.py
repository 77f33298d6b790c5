"""The lock files hold what pyproject.toml asks for, every file with its hash."""

import hashlib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.dependencies.install import find_local_build
from deploy.dependencies.lock import lock_builds, missing_pins
from deploy.dependencies.requirements import (
    CONSTRAINTS,
    CUDA,
    INPUTS,
    LOCKS,
    PLATFORM,
    Lock,
    project_requirements,
    read_lock,
)

BY_NAME = {one.path.stem: one for one in LOCKS}
locks = pytest.mark.parametrize("lock", LOCKS, ids=BY_NAME)


@locks
def test_a_lock_is_of_the_present_requirements(lock: Lock) -> None:
    assert f"{INPUTS}{lock.inputs()}\n" in lock.path.read_text(), "run `make lock`"


@locks
def test_every_package_has_a_version_and_hashes(lock: Lock) -> None:
    assert lock.packages()
    assert not [one.name for one in lock.packages() if not one.hashes or not one.version]


def test_every_requirement_is_met() -> None:
    versions = {one.name: one.version for one in PLATFORM.packages()}
    for requirement in map(Requirement, project_requirements()):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_what_packages_depend_on_is_locked_too() -> None:
    """Set-up installs without resolving dependencies, so a missing one would be missing at run time."""
    locked = {one.name for one in (*PLATFORM.packages(), *CUDA.packages())}
    missing = {
        f"{name} needs {needed}"
        for name in (one.name for one in PLATFORM.packages())
        for needed in _needs(name)
        if canonicalize_name(needed.name) not in locked
    }
    assert not missing


def test_constraints_and_locks_agree() -> None:
    pinned = {
        canonicalize_name(name): version
        for name, _, version in (line.partition("==") for line in CONSTRAINTS.read_text().split())
    }
    for lock in LOCKS:
        if lock.is_constrained:
            assert not missing_pins(lock.packages()), "add these to constraints.txt"
            assert {one.name: one.version for one in lock.packages()}.items() <= pinned.items()


def test_a_locked_build_of_torch_takes_the_place_of_the_index_s(tmp_path: Path) -> None:
    wheels, locks = tmp_path / "wheels", tmp_path / "locks"
    for folder in (wheels, locks):
        folder.mkdir()
    (wheels / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").write_bytes(b"one")
    (wheels / "torch-2.12.0+cpu-cp311-cp311-linux_x86_64.whl").write_bytes(b"old")
    assert find_local_build([str(wheels)], locks) is None, "not locked yet"
    (made,) = lock_builds("2.13.0", [str(wheels)], locks)
    assert find_local_build([str(wheels)], locks) == made
    assert find_local_build([str(tmp_path)], locks) is None
    (package,) = read_lock(made)
    assert (package.name, package.version) == ("torch", "2.13.0+cpu")
    assert package.hashes == (hashlib.sha256(b"one").hexdigest(),)
    (wheels / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").unlink()
    assert find_local_build([str(wheels)], locks) is None, "another version"


def test_a_lock_keeps_the_builds_of_other_machines(tmp_path: Path) -> None:
    here = tmp_path / "torch-2.13.0+rocm-cp311-cp311-linux_x86_64.whl"
    here.write_bytes(b"this machine")
    (made,) = lock_builds("2.13.0", [str(tmp_path)], tmp_path)
    here.write_bytes(b"another machine")
    list(lock_builds("2.13.0", [str(tmp_path)], tmp_path))
    assert len(read_lock(made)[0].hashes) == 2


def _needs(package: str) -> list[Requirement]:
    try:
        needed = [Requirement(one) for one in requires(package) or ()]
    except PackageNotFoundError:
        return []
    return [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
