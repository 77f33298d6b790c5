"""The command group `muster deadletters`. Heavy imports are deferred until a command runs."""

from typing import Annotated

import typer

deadletters = typer.Typer(
    help="List, replay or drop messages that a service could not handle.", no_args_is_help=True
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
Consumer = Annotated[str | None, typer.Option(help="Only dead letters of one service.")]
Positions = Annotated[list[int] | None, typer.Argument(help="Positions, from `muster deadletters list`.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters, or all of --consumer.")]


@deadletters.command("list")
def list_(
    consumer: Consumer = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number, oldest first.")] = 100,
    as_json: Json = False,
) -> None:
    """Show dead letters: message, consumer, error and age."""
    from deploy.deadletters.actions import show_all

    show_all(consumer, limit, as_json=as_json)


@deadletters.command("show")
def show(position: int, as_json: Json = False) -> None:
    """Show one dead letter with headers and body."""
    from deploy.deadletters.actions import show_one

    show_one(position, as_json=as_json)


@deadletters.command("replay")
def replay(
    positions: Positions = None, every: All = False, consumer: Consumer = None, as_json: Json = False
) -> None:
    """Send messages to their subjects again; services that already handled them ignore them."""
    from deploy.deadletters.actions import replay_all

    replay_all(positions or [], every, consumer, as_json=as_json)


@deadletters.command("drop")
def drop(
    positions: Positions = None, every: All = False, consumer: Consumer = None, as_json: Json = False
) -> None:
    """Delete dead letters permanently."""
    from deploy.deadletters.actions import drop_all

    drop_all(positions or [], every, consumer, as_json=as_json)
