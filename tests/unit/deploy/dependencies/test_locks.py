"""The lock files hold what pyproject.toml asks for, every file with its hash."""

from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.dependencies.lock import add_local_builds, missing_pins
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


def test_a_local_build_is_accepted_beside_the_files_of_the_index(tmp_path: Path) -> None:
    entry = "torch==2.13.0 \\\n    --hash=sha256:" + "a" * 64 + "\n"
    text = add_local_builds(entry, [("torch-2.13.0+cpu.whl", "b" * 64)])
    lock = tmp_path / "lock.txt"
    lock.write_text(text + "zlib==1 \\\n    --hash=sha256:" + "c" * 64 + "\n")
    torch, zlib = read_lock(lock)
    assert (torch.version, torch.hashes) == ("2.13.0", ("a" * 64, "b" * 64))
    assert zlib.hashes == ("c" * 64,)


def _needs(package: str) -> list[Requirement]:
    try:
        needed = [Requirement(one) for one in requires(package) or ()]
    except PackageNotFoundError:
        return []
    return [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
