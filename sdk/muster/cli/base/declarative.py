"""Declarative commands: a noun is a row of a table, and a command that makes a single client call is a row of its noun.

Each row names the client method, the parameters of the command and the format of the output. A command parameter has
the name of the method's parameter: `{"pool": PoolName}` is passed as `pool=…`. Omitted parameters are not passed.
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

from muster.cli.base.command_classes import noun, verb
from muster.cli.base.output import emit, facts, note, table, warn

if TYPE_CHECKING:
    from muster.client import Client

Parameters = Mapping[str, Any]
"""Typer's `Annotated` types by parameter name, or pairs of a type and its default. `limit` is the number of listed items."""
Column = str | Callable[[Any], object]
"""An attribute of the item, such as `best.value`, or a function of the item."""
REQUIRED = inspect.Parameter.empty
"""The default of a required option."""
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCommand(ABC):
    """A command that makes a single client call; `method` is such as `webhooks.list`."""

    name: str
    method: str
    help: str
    parameters: Parameters = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the method that are not parameters of the command."""

    def add_to(self, app: typer.Typer) -> None:
        """Add the command to its noun."""

        def command(**given: Any) -> None:
            self.run({name: value for name, value in given.items() if value is not None})

        pairs = {
            name: kind if isinstance(kind, tuple) else (kind, _default(kind))
            for name, kind in self.parameters.items()
        }
        command.__doc__ = self.help
        command.__annotations__ = {name: kind for name, (kind, _) in pairs.items()}
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
                for name, (kind, default) in pairs.items()
            ]
        )
        verb(app, self.name)(command)

    @abstractmethod
    def run(self, arguments: dict[str, Any]) -> None:
        """Call the client and print the response."""

    def _call(self, client: "Client", arguments: Mapping[str, Any]) -> Any:
        resource, _, method = self.method.partition(".")
        return getattr(getattr(client, resource), method)(**arguments, **self.fixed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCommand(DeclaredCommand):
    """Print a list as a table; an empty list prints `empty`, or `no_match` if a filter is set."""

    name: str = "list"
    columns: Mapping[str, Column]
    empty: str
    no_match: str | None = None

    def run(self, arguments: dict[str, Any]) -> None:
        from muster.client import connect

        limit = arguments.pop("limit", None)
        with connect() as client:
            found = self._call(client, arguments)
            found = getattr(found, "items", found)
            if not isinstance(found, list):
                found = found.all() if limit is None else found.first(limit)
        rows = ([_cell(item, column) for column in self.columns.values()] for item in found)
        empty = self.no_match if self.no_match and "filter" in arguments else self.empty
        emit(found, lambda: table(tuple(self.columns), rows, empty))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCommand(DeclaredCommand):
    """Print one item; `render` prints it itself or returns names and values."""

    name: str = "show"
    render: Callable[[Any], Iterable[tuple[str, object]] | None]

    def run(self, arguments: dict[str, Any]) -> None:
        from muster.client import connect

        with connect() as client:
            found = self._call(client, arguments)

        def show() -> None:
            if (pairs := self.render(found)) is not None:
                facts(pairs)

        emit(found, show)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCommand(DeclaredCommand):
    """Perform an action and print a message: a function of the response, or a template such as `token {name} revoked`.

    A field of the template is an attribute of the response or, if the response has no such attribute, an argument.
    """

    message: str | Callable[[Any], str]
    prints_warnings: bool = False

    def run(self, arguments: dict[str, Any]) -> None:
        from muster.client import connect

        with connect() as client:
            found = self._call(client, arguments)
        if found is None:
            self._print(None, arguments)
            return
        if self.prints_warnings:
            warn(found.warnings)
        emit(found, lambda: self._print(found, arguments))

    def _print(self, found: Any, arguments: Mapping[str, Any]) -> None:
        if not isinstance(self.message, str):
            note("{}", self.message(found))
            return
        values = [getattr(found, name, arguments.get(name)) for name in _FIELD.findall(self.message)]
        note(_FIELD.sub("{}", self.message), *values)


class Noun:
    """A noun with its help, its verbs in the order of the help, and its declared commands. Modules add more verbs to `app`."""

    def __init__(
        self, help: str, verbs: str, *commands: DeclaredCommand, group: type[TyperGroup] = TyperGroup
    ) -> None:
        self.app = noun(help, group)
        self.commands = commands
        self.verbs = tuple(verbs.split())
        for command in commands:
            command.add_to(self.app)

    def in_order(self) -> typer.Typer:
        """Return the app with its verbs sorted; call it after all modules have added their verbs.

        Raises:
            ValueError: A verb is missing from the noun's `verbs`.
        """
        self.app.registered_commands.sort(key=lambda command: self.verbs.index(command.name or ""))
        return self.app


def _default(kind: Any) -> object:
    of, info = get_args(kind)
    if NoneType in get_args(of):
        return None
    return REQUIRED if isinstance(info, ArgumentInfo) else False


def _cell(item: Any, column: Column) -> object:
    if not isinstance(column, str):
        return column(item)
    for step in column.split("."):
        item = None if item is None else getattr(item, step)
    return item
