"""`muster checkpoint`: list, download, verify and delete checkpoints."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import CheckpointId
from muster.cli.base.output import busy, bytes_bar, emit, note, size, table
from muster.cli.checkpoints.render import show_checkpoint
from muster.cli.command_table import NOUNS
from muster.cli.trials.render import measured
from muster.errors import Conflict, Rejected

if TYPE_CHECKING:
    from pydantic import JsonValue

    from muster.client import Client
    from muster.client.models import Checkpoint

app = NOUNS["checkpoint"].app
POLL_S = 0.5


@verb(app, "list")
def list_(
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Number or id of the experiment.")
    ] = None,
    trial: Annotated[str | None, typer.Option("--trial", "-t", help="Only this trial, such as 31.4.")] = None,
) -> None:
    """List the checkpoints of an experiment or a trial, oldest first."""
    from muster.client import connect

    if (experiment is None) == (trial is None):
        raise Rejected("usage", "give either an experiment or --trial")
    with connect() as client:
        found = (
            client.checkpoints.of_trial(trial)
            if trial is not None
            else client.checkpoints.of_experiment(experiment or "")
        ).all()
    columns = (">step", "state", ">run", ">files", ">size", "metrics", "verified", "created", "id")
    rows = (
        (
            one.step, one.state, one.run, one.files, size(one.size_bytes), measured(one), one.verified_at,
            one.created_at, one.id,
        )
        for one in found
    )  # fmt: skip
    emit(found, lambda: table(columns, rows, "no checkpoints yet"))


@verb(app, "download")
def download(
    checkpoint: CheckpointId,
    directory: Annotated[
        Path,
        typer.Argument(
            help="Target directory, which must not exist; it appears after all files are verified."
        ),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="PATTERN",
            help="Only files that match, such as model.pt, 'model/*', '**/*.json'. Repeatable.",
        ),
    ] = None,
) -> None:
    """Download files and verify their size and SHA-256; run the command again to resume an interrupted download."""
    from muster.client import connect

    with connect() as client, bytes_bar("downloading") as on_bytes:
        got = client.checkpoints.download(checkpoint, directory, on_bytes, only=only or ())
    total = size(sum(file.size_bytes for file in got.files))
    files = "one file" if len(got.files) == 1 else f"{len(got.files)} files"
    emit(got, lambda: note("downloaded {1} ({2}) to {0}; all hashes match", directory, files, total))


@verb(app, "edit")
def edit(
    checkpoint: CheckpointId,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set a metadata key to a JSON value or text. Repeatable."
        ),
    ] = None,
    taken: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove a metadata key. Repeatable.")
    ] = None,
) -> None:
    """Edit the metadata of a checkpoint, key by key."""
    from muster.client import connect

    changes: dict[str, JsonValue] = dict.fromkeys(taken or ())
    for entry in given or ():
        key, sign, value = entry.partition("=")
        if not sign or not key:
            raise Rejected("usage", f"{entry!r} is not KEY=VALUE", "--set")
        changes[key] = _value(value)
    if not changes:
        raise Rejected("usage", "no changes given", hint="use --set or --unset")
    with connect() as client:
        found = client.checkpoints.edit(checkpoint, changes)
    emit(found, lambda: show_checkpoint(found))


@verb(app, "verify")
def verify(
    checkpoint: Annotated[
        str | None, typer.Argument(metavar="[CHECKPOINT]", help="Id of the checkpoint.")
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", "-e", help="Verify all saved checkpoints of this experiment instead."),
    ] = None,
) -> None:
    """Verify stored files against their hashes and wait for the result; exit code 5 if a checkpoint is corrupt."""
    from muster.client import connect

    if (checkpoint is None) == (experiment is None):
        raise Rejected("usage", "give either a checkpoint's id or --experiment")
    with connect() as client:
        before = [one for one in _named(client, checkpoint, experiment) if one.state == "saved"]
        asked = (
            client.checkpoints.verify(checkpoint)
            if checkpoint is not None
            else client.checkpoints.verify_all(experiment or "")
        )
        with busy(f"verifying {size(asked.size_bytes)}"):
            read = _read(client, before, experiment) if asked.files else []
    corrupt = [one for one in read if one.state == "corrupt"]
    emit(read, lambda: note("{} of {} checkpoints are intact", len(read) - len(corrupt), len(read)))
    if corrupt:
        details = "; ".join(f"{one.id}: {one.reason}" for one in corrupt)
        raise Conflict("checkpoint_corrupt", f"{len(corrupt)} checkpoints are corrupt: {details}")


@verb(app, "delete")
def delete(
    checkpoints: Annotated[list[str], typer.Argument(metavar="CHECKPOINT…", help="Ids of the checkpoints.")],
) -> None:
    """Delete checkpoints; registered checkpoints and checkpoints in use are refused with the reason."""
    from muster.client import connect

    with connect() as client:
        deleted = [client.checkpoints.delete(one) for one in checkpoints]
    emit(deleted, lambda: note("deleted {} checkpoints", len(deleted)))


def _named(client: "Client", checkpoint: str | None, experiment: str | None) -> "list[Checkpoint]":
    if checkpoint is not None:
        return [client.checkpoints.get(checkpoint)]
    return list(client.checkpoints.of_experiment(experiment or ""))


def _read(client: "Client", before: "list[Checkpoint]", experiment: str | None) -> "list[Checkpoint]":
    """Wait until each checkpoint is verified or no longer saved. An experiment's checkpoints are many: list them once, at the end."""
    if experiment is not None:
        while client.checkpoints.verifying(experiment).files:
            time.sleep(POLL_S)
        ids = {one.id for one in before}
        return [one for one in client.checkpoints.of_experiment(experiment) if one.id in ids]
    [asked] = before
    while True:
        found = client.checkpoints.get(asked.id)
        if found.state != "saved" or found.verified_at not in (None, asked.verified_at):
            return [found]
        time.sleep(POLL_S)


def _value(text: str) -> "JsonValue":
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text
    return found
