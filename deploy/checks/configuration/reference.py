"""Every setting of a process with its meaning, which is in the docstring of its section."""

import inspect
import json
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from deploy.checks.configuration.processes import PROCESSES, settings_type
from shared.settings import SettingField, environment_name, settings_of

OTHER_NAMES = {
    "MUSTER_URL": "Address of the platform for commands and programs.",
    "MUSTER_TOKEN": "Access token for commands and programs.",
    "MUSTER_HOME": "Folder of a platform on this machine.",
    "MUSTER_CACHE": "Cache of downloaded models and checkpoints.",
    "MUSTER_KEYS": "Folder of the bus's keys.",
    "MUSTER_FAULTS": "Faults that tests inject.",
    "MUSTER_PART_OF": "Marks processes of `muster up`.",
    "MUSTER_JOIN_TOKEN": "Token of `muster worker join`.",
    "MUSTER_POSTGRES__URL": "Administrator's address of your own Postgres server, for `muster up` and `muster database`.",
    "MUSTER_POSTGRES__DATABASE": "Name of the platform's database, for `muster up` and `muster database`.",
}
"""Variables that commands and the SDK read. Processes ignore them, or refuse them where they look like settings."""
_ENTRY = re.compile(r"^ {4}(\w+(?:, \w+)*): +(\S.*)$")
_KINDS: Mapping[Any, str] = {
    bool: "true or false", int: "integer", float: "number", str: "text", Path: "path", SecretStr: "text, a secret",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """A setting of a process.

    Attributes:
        path: Its sections and its own name: `("gateway", "webhooks", "timeout_s")`.
        kind: The form of its values, for people.
        default: None if it has none, or if the default is that it is not set.
        is_required: Whether the process does not start without it.
        is_secret: Whether its value must not be shown.
        is_path: Whether it names a file or folder.
    """

    path: tuple[str, ...]
    meaning: str
    kind: str
    default: str | None
    is_required: bool
    is_secret: bool
    is_path: bool = False
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", environment_name(self.path))


@cache
def known_settings(process: str) -> tuple[KnownSetting, ...]:
    """Return the settings of a process, section by section."""
    return tuple(map(_describe, settings_of(settings_type(process))))


@cache
def known_names() -> Mapping[str, str]:
    """Return the names that some process or command of the platform reads, each with its meaning."""
    found = dict(OTHER_NAMES)
    for process in PROCESSES:
        for setting in known_settings(process):
            found[setting.name] = setting.meaning
            for length in range(1, len(setting.path)):
                found.setdefault(environment_name(setting.path[:length]), "A section as one JSON object.")
    return found


def meanings_of(section: type[BaseModel]) -> dict[str, str]:
    """Return the meanings of a section's settings: the entries below `Attributes:` in its docstring and those of its bases."""
    found: dict[str, str] = {}
    for kind in reversed(section.__mro__):
        found |= _attributes(inspect.cleandoc(kind.__doc__ or "")) if issubclass(kind, BaseModel) else {}
    return found


def _attributes(docstring: str) -> dict[str, str]:
    _, has_any, text = docstring.partition("\nAttributes:\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in text.splitlines() if has_any else ():
        if entry := _ENTRY.match(line):
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2].strip())
        elif line.startswith(" " * 8):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        elif line.strip():
            break
    return found


def _describe(setting: SettingField) -> KnownSetting:
    info = setting.field
    kind = _without_none(info.annotation)
    has_default = info.default is not PydanticUndefined and info.default is not None
    return KnownSetting(
        path=setting.path,
        meaning=meanings_of(setting.section).get(setting.path[-1], ""),
        kind=_kind_of(kind, info),
        default=_text_of(info.default) if has_default else None,
        is_required=setting.is_required,
        is_secret=kind is SecretStr,
        is_path=kind is Path,
    )


def _without_none(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        others = [one for one in get_args(annotation) if one is not type(None)]
        return _without_none(others[0]) if len(others) == 1 else annotation
    return annotation


def _kind_of(kind: Any, info: FieldInfo) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return f"one of: {', '.join(map(str, get_args(kind)))}"
    if origin in (tuple, list, set, frozenset):
        return 'JSON list, such as ["a", "b"]'
    if origin is dict:
        return "JSON object"
    named = str(_KINDS.get(kind) or getattr(kind, "__name__", "text"))
    return named + _limits(info)


def _limits(info: FieldInfo) -> str:
    found = []
    for sign, name in ((">=", "ge"), (">", "gt"), ("<=", "le"), ("<", "lt")):
        limit = next((getattr(one, name) for one in info.metadata if hasattr(one, name)), None)
        if limit is not None:
            found.append(f"{sign} {limit:g}" if abs(limit) < 1e6 else f"{sign} {limit}")
    return f" {' and '.join(found)}" if found else ""


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps([str(one) for one in value]) if isinstance(value, tuple) else str(value)
