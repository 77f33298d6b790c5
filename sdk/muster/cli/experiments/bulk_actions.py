"""`muster experiment act` and `label`: bulk actions on experiments."""

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
Named = Annotated[list[str], typer.Argument(metavar="EXPERIMENT...", help="Numbers or ids of experiments.")]
Several = Annotated[
    list[str] | None, typer.Argument(metavar="[EXPERIMENT]...", help="Numbers or ids of experiments.")
]


def act(
    action: Action,
    experiments: Several = None,
    filter_: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="EXPRESSION",
            help="Select matching experiments, after a preview: 'owner = ada and state = paused'.",
        ),
    ] = None,
    archived: Annotated[
        bool,
        typer.Option(
            "--archived", help="Select archived experiments, with --filter; always so for unarchive."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Apply one action to many experiments, selected by number, id or filter."""
    from muster.client import connect

    if bool(experiments) == (filter_ is not None):
        raise typer.BadParameter("name experiments by number or id, or pass --filter")
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
    add: Annotated[list[str] | None, typer.Option("--add", "-a", help="A label to add. Repeatable.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", "-r", help="A label to remove. Repeatable.")
    ] = None,
) -> None:
    """Add labels to experiments and remove labels from them; the change applies to all named experiments or to none."""
    from muster.client import connect

    if not add and not remove:
        raise typer.BadParameter("give at least one label with --add or --remove")
    with connect() as client:
        found = client.bulk.label(experiments, add=add or (), remove=remove or ())
    rows = ((one.number, one.name, ", ".join(one.labels)) for one in found)
    emit(found, lambda: table((">#", "name", "labels"), rows, "nothing to change"))


def _chosen(client: "Client", action: str, filter_: str, archived: bool, yes: bool) -> "BulkOutcome":
    seen = client.bulk.preview(filter_, archived=archived)
    if seen.selection is None:
        what = "the filter matches no experiment"
        if seen.count:
            what = f"the filter matches {seen.count} experiments, more than one bulk action allows: narrow the filter"
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
    texts = {
        "done": "done",
        "running": "started: follow it with `muster operation show {}`",
        "refused": "{}",
    }
    rows = (
        (item.number, item.state, texts[item.state].format(item.message or item.operation))
        for item in found.items
    )
    table((">#", "result", ""), rows, "nothing to change")
