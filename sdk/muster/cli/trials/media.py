"""`muster trial media`: media that trials logged, and TensorBoard event files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import noun, verb
from muster.cli.base.options import TrialName, argument_of
from muster.cli.base.output import emit, note, size, table

if TYPE_CHECKING:
    from muster.client.models import MediaItem, MediaName

app = noun("List and download a trial's images, tables, texts, histograms and event files.")

Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        parser=argument_of("MediaKind"),
        metavar="KIND",
        help="Only this kind: image, table, text, histogram or events. Repeatable.",
    ),
]
Group = Annotated[str | None, typer.Option("--group", help="Only this group: training, or your own.")]
MediaNames = Annotated[list[str] | None, typer.Option("--name", help="Only this name. Repeatable.")]
FirstStep = Annotated[int | None, typer.Option("--from-step", min=0, help="Only from this step on.")]
LastStep = Annotated[int | None, typer.Option("--to-step", min=0, help="Only up to this step.")]


@verb(app, "list")
def list_(
    trial: TrialName,
    kind: Kinds = None,
    group: Group = None,
    name: MediaNames = None,
    from_step: FirstStep = None,
    to_step: LastStep = None,
) -> None:
    """List the names under which a trial logged media; with a filter option, list each item."""
    from muster.client import connect

    if not (kind or group or name or from_step is not None or to_step is not None):
        with connect() as client:
            names = client.media.names(trial).all()
        emit(names, lambda: _show_names(names))
        return
    with connect() as client:
        found = client.media.list(
            trial,
            kinds=kind or (),
            group=group,
            names=name or (),
            first_step=from_step,
            last_step=to_step,
        ).all()
    emit(found, lambda: _show(found))


@verb(app, "download")
def download(
    trial: TrialName,
    directory: Annotated[
        Path, typer.Argument(help="Target folder; files are written below it by kind, group and name.")
    ],
    kind: Kinds = None,
    group: Group = None,
    name: MediaNames = None,
    from_step: FirstStep = None,
    to_step: LastStep = None,
) -> None:
    """Download a trial's media as files and check their SHA-256; event files are complete."""
    from muster.client import connect

    with connect() as client:
        count = client.media.download(
            trial,
            directory,
            kinds=kind or (),
            group=group,
            names=name or (),
            first_step=from_step,
            last_step=to_step,
        )
    note("{} items downloaded to {}", count, directory)


def _show_names(names: "list[MediaName]") -> None:
    columns = ("kind", "group", "name", ">count", ">size", ">from", ">to")
    rows = (
        (one.kind, one.group, one.name, one.count, size(one.size_bytes), one.first_step, one.last_step)
        for one in names
    )
    table(columns, rows, "no media yet: log some with `trial.log_image` and similar methods")


def _show(found: "list[MediaItem]") -> None:
    columns = ("kind", "group", "name", ">step", ">run", ">size", "caption", "time")
    rows = (
        (
            one.kind, one.group, one.name, one.step, one.run, size(one.size_bytes),
            one.about.get("caption"), one.time,
        )
        for one in found
    )  # fmt: skip
    table(columns, rows, "no media match")
