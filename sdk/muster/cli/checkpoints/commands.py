"""`muster checkpoint`: what training saved, where it goes, and what of it stays."""

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
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Its number or id.")
    ] = None,
    trial: Annotated[str | None, typer.Option("--trial", "-t", help="Only this trial's, as 31.4.")] = None,
) -> None:
    """List the checkpoints of an experiment or a trial, oldest first."""
    from muster.client import connect

    if (experiment is None) == (trial is None):
        raise Rejected("usage", "name an experiment, or a trial with --trial")
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
    directory: Annotated[Path, typer.Argument(help="A fresh directory; it appears when all is checked.")],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PATTERN", help="As model.pt, 'model/*', '**/*.json'. Repeatable."),
    ] = None,
) -> None:
    """Fetch files, checked by size and SHA-256; what broke off goes on when it is called again."""
    from muster.client import connect

    with connect() as client, bytes_bar("fetching") as on_bytes:
        got = client.checkpoints.download(checkpoint, directory, on_bytes, only=only or ())
    total = size(sum(file.size_bytes for file in got.files))
    files = "one file" if len(got.files) == 1 else f"{len(got.files)} files"
    emit(got, lambda: note("{} holds {} ({}), all hashes right", directory, files, total))


@verb(app, "edit")
def edit(
    checkpoint: CheckpointId,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="JSON, or else text; replaces the key. Repeatable."),
    ] = None,
    taken: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Take a key away. Repeatable.")
    ] = None,
) -> None:
    """Say something about a checkpoint, key by key."""
    from muster.client import connect

    changes: dict[str, JsonValue] = dict.fromkeys(taken or ())
    for entry in given or ():
        key, sign, value = entry.partition("=")
        if not sign or not key:
            raise Rejected("usage", f"{entry!r} is not KEY=VALUE", "--set")
        changes[key] = _value(value)
    if not changes:
        raise Rejected("usage", "nothing is to be changed", hint="give --set or --unset")
    with connect() as client:
        found = client.checkpoints.edit(checkpoint, changes)
    emit(found, lambda: show_checkpoint(found))


@verb(app, "verify")
def verify(
    checkpoint: Annotated[str | None, typer.Argument(metavar="[CHECKPOINT]", help="Its id.")] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", "-e", help="All saved checkpoints of this experiment instead."),
    ] = None,
) -> None:
    """Have the files read in the store and compared with what they were; waits for the outcome, exits with 5 when one is corrupt."""
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
        with busy(f"reading {size(asked.size_bytes)}"):
            read = _read(client, before, experiment) if asked.files else []
    corrupt = [one for one in read if one.state == "corrupt"]
    emit(read, lambda: note("{} of {} checkpoints are what they were", len(read) - len(corrupt), len(read)))
    if corrupt:
        said = "; ".join(f"{one.id}: {one.reason}" for one in corrupt)
        raise Conflict("checkpoint_corrupt", f"{len(corrupt)} are corrupt: {said}")


@verb(app, "delete")
def delete(
    checkpoints: Annotated[list[str], typer.Argument(metavar="CHECKPOINT…", help="Their ids.")],
) -> None:
    """Delete checkpoints; what is registered or in use stays, with the reason."""
    from muster.client import connect

    with connect() as client:
        gone = [client.checkpoints.delete(one) for one in checkpoints]
    emit(gone, lambda: note("deleted {} checkpoints", len(gone)))


def _named(client: "Client", checkpoint: str | None, experiment: str | None) -> "list[Checkpoint]":
    if checkpoint is not None:
        return [client.checkpoints.get(checkpoint)]
    return list(client.checkpoints.of_experiment(experiment or ""))


def _read(client: "Client", before: "list[Checkpoint]", experiment: str | None) -> "list[Checkpoint]":
    """The checkpoints once each was read, or is no longer saved. Those of an experiment are many: they are listed once, at the end."""
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
