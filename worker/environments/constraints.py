"""Constraints on requirements files: the packages that every trial needs, and their dependencies (decision 0262)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from worker.core.faults import CausedByTrial

PINNED = ("torch", "horovod", "numpy", "muster-sdk")
"""Built for each other: another version of one breaks the others, or adds gigabytes."""
_CONSTRAINT = re.compile(r"^\s*The user requested \(constraint\) ([A-Za-z0-9._-]+)", re.MULTILINE)
_ASKED = re.compile(r"^\s*The user requested (?!\(constraint\))(.+)$", re.MULTILINE)
_NEEDED = re.compile(r"^\s*(\S+) (\S+) depends on (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One line of a pip constraints file."""

    name: str
    line: str
    reason: str
    """The clause that follows `and` in error messages."""


FOREIGN = Constraint(
    "muster", "muster<0", "muster on package indexes is another project, which would replace the SDK"
)
"""No version satisfies it."""


def load_constraints() -> tuple[Constraint, ...]:
    """Return the constraints of this interpreter's packages: pinned ones at their versions, and their dependencies as declared.

    Dependencies are not pinned: an environment may have another compatible version.
    """
    return _load()


@cache
def _load() -> tuple[Constraint, ...]:
    # Of two distributions with one name, the first in the path is imported.
    installed: dict[str, Distribution] = {
        canonicalize_name(one.name): one for one in reversed(list(distributions()))
    }
    pinned = [installed[name] for name in PINNED if name in installed]
    return (
        FOREIGN,
        *map(_pin, pinned),
        *(each for one in pinned for each in _needs(one) if each.name in installed),
    )


def _pin(one: Distribution) -> Constraint:
    name = canonicalize_name(one.name)
    return Constraint(name, f"{name}=={one.version}", f"the platform's environment has {name} {one.version}")


def _needs(one: Distribution) -> Iterator[Constraint]:
    for needed in map(Requirement, one.requires or ()):
        marker = f"; {needed.marker}" if needed.marker else ""
        name = canonicalize_name(needed.name)
        if not needed.specifier or name in PINNED or "extra" in marker:
            continue
        needs = f"{name}{needed.specifier}"
        reason = f"{canonicalize_name(one.name)} {one.version} of the platform's environment needs {needs}"
        yield Constraint(name, f"{needs}{marker}", reason)


def find_conflict(
    output: str, requirements: str, constraints: tuple[Constraint, ...]
) -> CausedByTrial | None:
    """Return the error if pip failed because of the constraints; None if it failed for another reason."""
    known: Mapping[str, Constraint] = {one.name: one for one in reversed(constraints)}
    for named in _CONSTRAINT.findall(output):
        constraint = known.get(canonicalize_name(named))
        if constraint is None:
            continue
        conflict = _asked_for(output, requirements, constraint)
        if conflict is not None:
            message, hint = conflict
            return CausedByTrial(
                "requirements_conflict", message, place="environment.requirements", hint=hint
            )
    return None


def _asked_for(output: str, requirements: str, constraint: Constraint) -> tuple[str, str] | None:
    name = constraint.name
    for asked in _ASKED.findall(output):
        if _is_of(asked, name):
            or_else = ": trials have the SDK" if constraint is FOREIGN else ", or allow the installed version"
            hint = f"remove {name} from {requirements}{or_else}"
            return f"{requirements} asks for {asked.strip()}, and {constraint.reason}", hint
    for package, version, needed in _NEEDED.findall(output):
        if _is_of(needed, name):
            message = f"{requirements} installs {package} {version}, which needs {needed.strip()}, and {constraint.reason}"
            return message, f"pin a compatible version of {package} in {requirements}"
    return None


def _is_of(requirement: str, name: str) -> bool:
    read = re.match(r"[A-Za-z0-9._-]+", requirement.strip())
    return read is not None and canonicalize_name(read[0]) == name
