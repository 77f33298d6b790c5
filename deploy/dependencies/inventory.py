"""Everything that a distribution of Muster is built from or runs with: packages of Python and npm, and the servers inside wheels."""

import base64
import json
import re
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Literal

from deploy.dependencies.requirements import CMAKE, CUDA, HOROVOD, PLATFORM, ROOT, Lock, LockedPackage

WEB = ROOT / "web/package-lock.json"
UNKNOWN = ""
_RULES = Path(__file__).with_name("licences.toml")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?\b")

Ecosystem = Literal["pypi", "npm", "generic"]
Scope = Literal["required", "optional", "excluded"]


@dataclass(frozen=True, slots=True)
class Component:
    """One package or program.

    Attributes:
        licence: An SPDX expression; `UNKNOWN` if none is stated.
        hashes: Algorithm and hexadecimal digest of each file.
        scope: `optional`: installed only with a CUDA build of torch; `excluded`: only for tests and builds.
        part_of: The package that contains a program.
    """

    ecosystem: Ecosystem
    name: str
    version: str
    licence: str
    hashes: tuple[tuple[str, str], ...] = ()
    scope: Scope = "required"
    part_of: str = ""

    @property
    def purl(self) -> str:
        """Its package URL, which identifies it in vulnerability databases."""
        return f"pkg:{self.ecosystem}/{self.name.replace('@', '%40')}@{self.version}"


@dataclass(frozen=True, slots=True)
class LicenceRules:
    """The contents of `licences.toml`."""

    allowed: tuple[str, ...]
    allowed_with_cuda: tuple[str, ...]
    aliases: Mapping[str, str]
    packages: Mapping[str, str]
    programs: tuple[Mapping[str, object], ...]


@cache
def load_rules() -> LicenceRules:
    """Return the rules about licences."""
    found = tomllib.loads(_RULES.read_text())
    return LicenceRules(
        tuple(found["allowed"]),
        tuple(found["allowed_with_cuda"]),
        found["aliases"],
        found["packages"],
        tuple(found["programs"]),
    )


def load_components() -> tuple[Component, ...]:
    """Return all components, sorted."""
    found = [*_python(PLATFORM, "required"), *_python(CUDA, "optional")]
    found += [*_python(HOROVOD, "required"), *_python(CMAKE, "excluded"), *_npm(), *_programs()]
    return tuple(sorted(found, key=lambda one: (one.ecosystem, one.name, one.version)))


def licence_of(package: str, stated: Mapping[str, Sequence[str]], rules: LicenceRules) -> str:
    """Return a package's licence as an SPDX expression; `UNKNOWN` if it does not state one that is known.

    Args:
        stated: Its metadata: `License-Expression`, `License` and `Classifier`.
    """
    if package in rules.packages:
        return rules.packages[package]
    if expression := stated.get("License-Expression"):
        return expression[0]
    classified = [
        one.rpartition(" :: ")[2] for one in stated.get("Classifier", ()) if one.startswith("License")
    ]
    for text in (*stated.get("License", ()), *classified):
        if text in rules.aliases:
            return rules.aliases[text]
        if text in rules.allowed:
            return text
    return UNKNOWN


def _python(lock: Lock, scope: Scope) -> Iterator[Component]:
    for package in lock.packages():
        hashes = tuple(("SHA-256", one) for one in package.hashes)
        yield Component("pypi", package.name, package.version, _licence(package), hashes, scope)


def _licence(package: LockedPackage) -> str:
    rules = load_rules()
    if re.match(r"^(nvidia|cuda)-", package.name):
        return "LicenseRef-NVIDIA"
    try:
        found = metadata(package.name)
    except PackageNotFoundError:
        return licence_of(package.name, {}, rules)
    names = ("License-Expression", "License", "Classifier")
    return licence_of(package.name, {name: found.get_all(name) or () for name in names}, rules)


def _npm() -> Iterator[Component]:
    """Return the packages of the dashboard. Those only for its build are not part of it."""
    found: dict[tuple[str, str], Component] = {}
    for path, entry in json.loads(WEB.read_text())["packages"].items():
        if not path:
            continue
        name = path.rpartition("node_modules/")[2]
        algorithm, _, digest = entry.get("integrity", "").partition("-")
        known = ((f"SHA-{algorithm.removeprefix('sha')}", base64.b64decode(digest).hex()),) if digest else ()
        scope: Scope = "excluded" if entry.get("dev") else "required"
        licence = entry.get("license", UNKNOWN)
        found[name, entry["version"]] = Component("npm", name, entry["version"], licence, known, scope)
    yield from found.values()


def _programs() -> Iterator[Component]:
    for rule in load_rules().programs:
        command = rule["command"]
        assert isinstance(command, list)
        folders = (Path(sysconfig.get_path(name)) for name in ("scripts", "platlib"))
        program = next(path for folder in folders if (path := folder / command[0]).exists())
        output = subprocess.run([program, *command[1:]], check=True, capture_output=True, text=True).stdout
        version = _VERSION.search(output)
        assert version is not None, output
        yield Component(
            "generic", str(rule["name"]), version[0], str(rule["licence"]), part_of=str(rule["package"])
        )
