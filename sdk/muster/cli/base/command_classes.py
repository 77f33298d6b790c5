"""Options of every command (`--json`, `--debug`) and of every list (`--fields`)."""

from collections.abc import Callable
from functools import cache

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from muster.cli.base.output import chosen, common
from muster.errors import MusterError

LISTS = frozenset({"list", "bindings", "deliveries", "tokens"})


class BaseCommand(TyperCommand):
    """A command with the common options, unless it defines an option of the same name."""

    def __init__(self, name: str | None, **attributes: object) -> None:
        super().__init__(name, **attributes)  # type: ignore[arg-type]
        _add_common(self)
        if name in LISTS:
            self.params.extend(_options(chosen))

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the command; an error that names a request field is reported at the option that set the field."""
        try:
            return super().invoke(ctx)
        except MusterError as error:
            error.place = _as_typed(ctx, error.place)
            raise


class Group(TyperGroup):
    """A noun that is also a command, with the same options."""

    def __init__(self, **attributes: object) -> None:
        super().__init__(**attributes)  # type: ignore[arg-type]
        _add_common(self)


def noun(help: str, group: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Return an app for the verbs of one noun."""
    return typer.Typer(help=help, no_args_is_help=True, cls=group)


def verb(
    app: typer.Typer, name: str, *, takes_number: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a command with the common options to `app`; with `takes_number`, -1 is an argument and not an option."""
    return app.command(name, cls=BaseCommand, context_settings={"ignore_unknown_options": takes_number})


def _add_common(command: TyperCommand | TyperGroup) -> None:
    own = {option for parameter in command.params for option in parameter.opts}
    command.params.extend(option for option in _options(common) if not own & set(option.opts))


def _as_typed(context: typer.Context, place: str | None) -> str | None:
    """The command-line option that set the request field `place`, or `place`; a repeatable option matches singular and plural names."""
    field = (place or "").partition("[")[0]
    for option in context.command.params:
        if not isinstance(option, TyperOption) or option.name is None:
            continue
        name, source = option.name.rstrip("_"), context.get_parameter_source(option.name)
        names = (name, f"{name}s", name.removesuffix("s")) if option.multiple else (name,)
        if field in names and source is not None and source.name == "COMMANDLINE":
            return max(option.opts, key=len)
    return place


@cache
def _options(of: Callable[..., None]) -> tuple[TyperOption, ...]:
    template = typer.Typer(add_completion=False)
    template.command()(of)
    parameters = typer.main.get_command(template).params
    return tuple(parameter for parameter in parameters if isinstance(parameter, TyperOption))
