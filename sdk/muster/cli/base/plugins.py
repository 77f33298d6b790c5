"""Plug-in commands by entry points: `muster.commands` at the root, `muster.commands.<noun>` below a noun."""

from importlib.metadata import EntryPoint, entry_points

import typer
from typer.core import TyperCommand, TyperGroup

from muster.cli.base.command_classes import BaseCommand
from muster.errors import Rejected

PLUGINS = "muster.commands"
KNOWN_HELP = {
    "up": "Start the platform on this machine.",
    "down": "Stop the platform on this machine.",
    "status": "Show the platform's processes on this machine, their health and memory.",
    "config": "Explain and check the settings of services and workers.",
    "doctor": "Check this machine, and the servers that its settings name.",
    "deadletters": "List, show, replay or drop dead letters: messages that no handler could process.",
    "prices": "Update the prices of rented machines in the catalogue.",
    "keys": "Create, rotate and revoke the keys of services and workers.",
    "database": "Set up or adopt the platform's database on your own Postgres server, or rotate its passwords.",
    "republish": "Have services publish the state of their entities again, for a new consumer.",
    "simulate": "Simulate a scheduling policy on a workload, in virtual time.",
    "join": "Make this machine a worker of the platform.",
}


class Plugin(TyperCommand):
    """Placeholder for a plug-in command until it is called, so that the `--help` of its group stays fast."""

    def __init__(self, entry: EntryPoint) -> None:
        super().__init__(
            entry.name, help=KNOWN_HELP.get(entry.name, f"From {entry.value.partition(':')[0]}.")
        )
        self._entry = entry

    def make_context(self, info_name, args, parent=None, **extra):  # type: ignore[no-untyped-def]
        """Parse `args` with the real command."""
        return load_plugin(self._entry).make_context(info_name, args, parent=parent, **extra)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the real command, which created the context."""
        return ctx.command.invoke(ctx)


class Extended(TyperGroup):
    """A noun to which other packages may add verbs."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [*super().list_commands(ctx), *sorted(self._plugins())]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | TyperGroup | None:  # type: ignore[override]
        plugin = self._plugins().get(cmd_name)
        return super().get_command(ctx, cmd_name) if plugin is None else Plugin(plugin)  # type: ignore[return-value]

    def _plugins(self) -> dict[str, EntryPoint]:
        return plugins(f"{PLUGINS}.{self.name}")


def load_plugin(entry: EntryPoint) -> TyperCommand | TyperGroup:
    """Return the command of an entry point: a function or a `typer.Typer`.

    Raises:
        Rejected: The package of the command cannot be imported.
    """
    try:
        target = entry.load()
    except (ImportError, AttributeError) as error:
        raise Rejected(
            "command_unavailable",
            f"`muster {entry.name}` cannot be loaded: {error}",
            hint="install the whole platform: run `make setup` in its repository",
        ) from error
    app = target
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command(entry.name, cls=BaseCommand)(target)
    return typer.main.get_command(app)  # type: ignore[return-value]


def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name."""
    return {entry.name: entry for entry in entry_points(group=group)}
