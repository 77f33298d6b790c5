"""`muster config check`: explains the settings of processes, and reports those that are wrong."""

import difflib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from deploy.checks.configuration.processes import PROCESSES, settings_type
from deploy.checks.configuration.reference import OTHER_NAMES, KnownSetting, known_names, known_settings
from deploy.checks.configuration.start_rules import start_rules
from deploy.checks.configuration.values import Value, Values, as_environment
from deploy.checks.findings import hide_passwords
from muster.errors import Rejected
from shared.settings import DELIMITER, ServiceSettings, environment_name, read_settings

MASK = "**********"
CREATED = frozenset({"MUSTER_GATEWAY__ADMIN_TOKEN_FILE", "MUSTER_GATEWAY__PEPPER_FILE"})
"""Files that a process creates at its first start."""
_FOLDER = "directory"
_READ_FOLDERS = frozenset({"web_directory", "packages_directory"})
"""Folders that a process only reads; it writes into all others."""
_LIKENESS = 0.75


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a setting. `process`: None if it concerns all."""

    level: Literal["error", "warning"]
    name: str
    problem: str
    remedy: str
    process: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainedSetting:
    """A setting as a process sees it. `source`: `default` if it is not set; `value` None: it has no value."""

    name: str
    meaning: str
    kind: str
    default: str | None
    value: str | None
    source: str
    is_required: bool
    is_secret: bool


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """The settings of one process. `settings`: what its code would see; None if it refuses to start."""

    process: str
    explained: tuple[ExplainedSetting, ...]
    problems: tuple[Problem, ...]
    settings: ServiceSettings | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class ConfigReport:
    """The result of `muster config check`."""

    processes: tuple[ProcessSettings, ...]
    unknown: tuple[Problem, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return (*self.unknown, *(problem for one in self.processes for problem in one.problems))

    @property
    def is_ok(self) -> bool:
        return all(problem.level != "error" for problem in self.problems)

    def to_json(self) -> dict[str, object]:
        """Return the report for programs."""
        processes = [
            {"name": one.process, "settings": [asdict(setting) for setting in one.explained]}
            for one in self.processes
        ]
        problems = [asdict(problem) for problem in self.problems]
        return {"ok": self.is_ok, "processes": processes, "problems": problems}


def check_configuration(processes: Sequence[str], values: Values) -> ConfigReport:
    """Check the settings of these processes, and all names of Muster among the variables."""
    return ConfigReport(
        tuple(_check_process(process, values) for process in processes), tuple(_find_unknown(values))
    )


def _find_unknown(values: Values) -> Iterator[Problem]:
    """Yield variables that nothing reads. Names without `__` may belong to a site, so they are errors only if they look like a setting."""
    known = known_names()
    for name, value in sorted(values.items()):
        if name in known:
            continue
        near = next(iter(difflib.get_close_matches(name, known, n=1, cutoff=_LIKENESS)), None)
        yield Problem(
            level="error" if near or DELIMITER in name else "warning",
            name=name,
            problem=f"{name} is not a setting of Muster: nothing reads it",
            remedy=f"did you mean {near}?" if near else "remove it",
            source=value.source,
        )


def _check_process(process: str, values: Values) -> ProcessSettings:
    known = known_settings(process)
    with as_environment(values):
        settings, faults = read_settings(settings_type(process))
        problems = [
            Problem(
                "error",
                fault.name,
                fault.text,
                _remedy(fault.name, known),
                process,
                _source(fault.name, values),
            )
            for fault in faults
            if fault.name in known_names() or not fault.is_unknown
        ]
        problems += _path_problems(process, known, values)
        if settings is not None:
            problems += _refusals(process, settings, values, {one.name for one in problems})
    explained = tuple(_explain(setting, values) for setting in known)
    return ProcessSettings(process, explained, tuple(problems), settings)


def _refusals(
    process: str, settings: ServiceSettings, values: Values, reported: set[str]
) -> Iterator[Problem]:
    for name, attempt in start_rules(process, settings):
        if name in reported:
            continue
        try:
            attempt()
        except Rejected as error:
            place = error.place if (error.place or "").startswith("MUSTER_") else name
            text, hint = error.message, error.hint
        except OSError as error:
            place, text, hint = (
                name,
                f"{error.filename or 'the file'} cannot be read: {error.strerror or error}",
                None,
            )
        except ValueError as error:
            place, text, hint = name, str(error), None
        else:
            continue
        if place in reported:
            continue
        reported.add(place or name)
        yield Problem(
            "error", place or name, f"{place or name}: {text}", hint or "correct the value, or the file that it names", process, _source(place or name, values)
        )  # fmt: skip


def _path_problems(process: str, known: Sequence[KnownSetting], values: Values) -> Iterator[Problem]:
    """Yield set files that cannot be read, and set folders in which the process could not write."""
    for setting in known:
        found = _find(setting, values)
        if not setting.is_path or found is None:
            continue
        path = Path(found.text)
        name = setting.path[-1]
        if name.endswith(_FOLDER) and name not in _READ_FOLDERS:
            trouble = _unwritable(path)
        elif setting.name in CREATED and not path.exists():
            trouble = _unwritable(path.parent)
        else:
            trouble = _unreadable(path)
        if trouble:
            remedy = (
                f"correct the path, or its permissions; this check ran as the user with id {os.geteuid()}"
            )
            yield Problem("error", setting.name, f"{setting.name}: {trouble}", remedy, process, found.source)


def _unreadable(path: Path) -> str | None:
    try:
        if path.is_dir():
            next(path.iterdir(), None)
        else:
            path.open("rb").close()
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return None


def _unwritable(folder: Path) -> str | None:
    nearest = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not nearest.is_dir():
        return f"{folder} cannot be a folder: {nearest} is a file"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{folder} cannot be created or written: {nearest} is not writable"
    return None


def _explain(setting: KnownSetting, values: Values) -> ExplainedSetting:
    found = _find(setting, values)
    text = setting.default if found is None else found.text
    if found is not None:
        text = MASK if setting.is_secret else hide_passwords(found.text)
    return ExplainedSetting(
        setting.name,
        setting.meaning,
        setting.kind,
        setting.default,
        text,
        "default" if found is None else found.source,
        setting.is_required,
        setting.is_secret,
    )


def _find(setting: KnownSetting, values: Values) -> Value | None:
    """Return the value of a setting: its own variable, else a key of the JSON object of one of its sections. Empty ones count as not set."""
    for length in range(len(setting.path), 0, -1):
        value = values.get(environment_name(setting.path[:length]))
        if value is None or not value.text:
            continue
        inner: object = value.text if length == len(setting.path) else _loaded(value.text)
        for key in setting.path[length:]:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if inner is not None:
            return Value(inner if isinstance(inner, str) else json.dumps(inner), value.source)
    return None


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _remedy(name: str, known: Sequence[KnownSetting]) -> str:
    if name in OTHER_NAMES:
        return "only commands read it: set it where you call them, not for this process"
    setting = next((one for one in known if one.name == name), None)
    if setting is None:
        return "remove it, or correct its name"
    example = "" if setting.default is None else f"; the default is {setting.default}"
    return f"set it to: {setting.kind}{example}"


def _source(name: str, values: Values) -> str | None:
    found = values.get(name)
    return None if found is None else found.source


def names_of_processes() -> str:
    """Return the names of all processes, for help texts."""
    return ", ".join(PROCESSES)
