"""Nouns of the command line as rows of a table: what their verbs are, and those that are one call of the client.

A row says which call that is, which flags it takes, and what people are shown of the answer. A flag's name is the call's parameter:
`{"pool": PoolName}` becomes `pool=…`, and what is not given is left to the call.
"""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

import typer
from typer.core import TyperGroup
from typer.models import ArgumentInfo

from muster.cli.base.frame import noun, verb
from muster.cli.base.output import emit, facts, note, table

if TYPE_CHECKING:
    from muster.client import Client

Flags = Mapping[str, Any]
"""By the names of the call's parameters: `Annotated` as typer takes it, or that and its default. `limit` is how many are listed at most."""
Part = str | Callable[[Any], object]
"""A part of an item, `best.value`, or what is made of the item."""
REQUIRED = inspect.Parameter.empty
"""The default of an option that must be given."""
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain(ABC):
    """A command that is one call of the client, `webhooks.list`; `told` is its help."""

    name: str
    call: str
    told: str
    flags: Flags = field(default_factory=dict)

    def add_to(self, app: typer.Typer) -> None:
        """Add the command to its noun."""

        def command(**given: Any) -> None:
            self.run({flag: value for flag, value in given.items() if value is not None})

        pairs = {
            flag: kind if isinstance(kind, tuple) else (kind, _default(kind))
            for flag, kind in self.flags.items()
        }
        command.__doc__ = self.told
        command.__annotations__ = {flag: kind for flag, (kind, _) in pairs.items()}
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(flag, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
                for flag, (kind, default) in pairs.items()
            ]
        )
        verb(app, self.name)(command)

    @abstractmethod
    def run(self, given: dict[str, Any]) -> None:
        """Make the call, and print what came of it."""

    def _called(self, client: "Client", given: Mapping[str, Any]) -> Any:
        noun, _, method = self.call.partition(".")
        return getattr(getattr(client, noun), method)(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists(Plain):
    """Shows what the call answers as a table; `none_such` in place of `empty` where a filter was given."""

    name: str = "list"
    columns: Mapping[str, Part]
    empty: str
    none_such: str | None = None

    def run(self, given: dict[str, Any]) -> None:
        from muster.client import connect

        limit = given.pop("limit", None)
        with connect() as client:
            found = self._called(client, given)
            if not isinstance(found, list):
                found = found.all() if limit is None else found.first(limit)
        rows = ([_part(one, part) for part in self.columns.values()] for one in found)
        empty = self.none_such if self.none_such and "filter" in given else self.empty
        emit(found, lambda: table(tuple(self.columns), rows, empty))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shows(Plain):
    """Shows one thing: `shown` prints it, or returns names and values to be printed."""

    name: str = "show"
    shown: Callable[[Any], Iterable[tuple[str, object]] | None]

    def run(self, given: dict[str, Any]) -> None:
        from muster.client import connect

        with connect() as client:
            found = self._called(client, given)

        def show() -> None:
            if (pairs := self.shown(found)) is not None:
                facts(pairs)

        emit(found, show)


@dataclass(frozen=True, slots=True, kw_only=True)
class Does(Plain):
    """Does something and says so: `{field}` in the sentence is the answer's, or else what was given; or what is made of the answer."""

    said: str | Callable[[Any], str]

    def run(self, given: dict[str, Any]) -> None:
        from muster.client import connect

        with connect() as client:
            found = self._called(client, given)
        if found is None:
            self._say(None, given)
        else:
            emit(found, lambda: self._say(found, given))

    def _say(self, found: Any, given: Mapping[str, Any]) -> None:
        if not isinstance(self.said, str):
            note("{}", self.said(found))
            return
        values = [getattr(found, name, given.get(name)) for name in _FIELD.findall(self.said)]
        note(_FIELD.sub("{}", self.said), *values)


class Noun:
    """One noun: its help, its verbs in the order of the help, and those of them that are plain; others are added to `app` by hand."""

    def __init__(self, help: str, verbs: str, *plain: Plain, group: type[TyperGroup] = TyperGroup) -> None:
        self.app = noun(help, group)
        self._verbs = verbs.split()
        for one in plain:
            one.add_to(self.app)

    def in_order(self) -> typer.Typer:
        """Return the app with its verbs in their order, once all are there."""
        self.app.registered_commands.sort(key=lambda command: self._verbs.index(command.name or ""))
        return self.app


def _default(kind: Any) -> object:
    of, info = get_args(kind)
    if NoneType in get_args(of):
        return None
    return REQUIRED if isinstance(info, ArgumentInfo) else False


def _part(item: Any, part: Part) -> object:
    if not isinstance(part, str):
        return part(item)
    for step in part.split("."):
        item = None if item is None else getattr(item, step)
    return item
