"""`muster experiment act` and `label`: one thing done with many experiments."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.options import argument_of
from muster.cli.base.output import emit, note, table

if TYPE_CHECKING:
    from muster.client import Client
    from muster.client.models import BulkOutcome, ExperimentSelection

FAILED = 1

Action = Annotated[
    str,
    typer.Argument(
        parser=argument_of("BulkAction"),
        metavar="ACTION",
        help="pause, resume, cancel, kill, finish, archive or unarchive.",
    ),
]
Named = Annotated[list[str], typer.Argument(metavar="EXPERIMENT...", help="Their numbers or ids.")]
Several = Annotated[list[str] | None, typer.Argument(metavar="[EXPERIMENT]...", help="Their numbers or ids.")]


def act(
    action: Action,
    experiments: Several = None,
    filter_: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="EXPRESSION",
            help="Those that meet it, once you have seen them: 'owner = ada and state = paused'.",
        ),
    ] = None,
    archived: Annotated[
        bool,
        typer.Option("--archived", help="Of the archived ones, with --filter; unarchive looks there anyway."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Do one thing with many experiments: with those named, or with those that a filter meets."""
    from muster.client import connect

    if bool(experiments) == (filter_ is not None):
        raise typer.BadParameter("name the experiments, or give a --filter")
    with connect() as client:
        if filter_ is None:
            found = client.bulk.act(action, experiments or ())
        else:
            found = _chosen(client, action, filter_, archived or action == "unarchive", yes)
    emit(found, lambda: _show(found))
    if any(item.state == "refused" for item in found.items):
        raise typer.Exit(FAILED)


def label(
    experiments: Named,
    add: Annotated[list[str] | None, typer.Option("--add", "-a", help="A label that they get.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", "-r", help="A label that they lose.")
    ] = None,
) -> None:
    """Give labels to experiments, and take labels from them: from all that are named, or from none."""
    from muster.client import connect

    if not add and not remove:
        raise typer.BadParameter("say what is to --add or to --remove")
    with connect() as client:
        found = client.bulk.label(experiments, add=add or (), remove=remove or ())
    rows = ((one.number, one.name, ", ".join(one.labels)) for one in found)
    emit(found, lambda: table((">#", "name", "labels"), rows, "nothing was to be done"))


def _chosen(client: "Client", action: str, filter_: str, archived: bool, yes: bool) -> "BulkOutcome":
    seen = client.bulk.preview(filter_, archived=archived)
    if seen.selection is None:
        what = "the filter meets no experiment"
        if seen.count:
            what = f"the filter meets {seen.count} experiments, more than can be acted on at once: narrow it"
        note("{}", what)
        raise typer.Exit(FAILED)
    if not yes:
        _preview(seen)
        typer.confirm(f"{action} {seen.count} experiments?", abort=True, err=True)
    return client.bulk.act_on(action, seen)


def _preview(seen: "ExperimentSelection") -> None:
    for one in seen.sample:
        note("{}  {}  [dim]{}, of {}[/]", one.number, one.name, one.state, one.owner)
    if seen.count > len(seen.sample):
        note("and {} more", seen.count - len(seen.sample))


def _show(found: "BulkOutcome") -> None:
    said = {
        "done": "it is so",
        "running": "ordered: `muster operation show {}` tells how it goes",
        "refused": "{}",
    }
    rows = (
        (item.number, item.state, said[item.state].format(item.message or item.operation))
        for item in found.items
    )
    table((">#", "came to", ""), rows, "nothing was to be done")
