"""Formatting of checkpoints, storage and garbage collection."""

import json
from typing import TYPE_CHECKING

from muster.cli.base.output import facts, note, number, size, table

if TYPE_CHECKING:
    from muster.client.models import Checkpoint, Collected, Storage


def show_checkpoint(found: "Checkpoint") -> None:
    """Print a checkpoint with its metadata and its files."""
    from muster.client.metric_values import metrics_of

    facts(
        [
            ("checkpoint", found.id),
            ("state", found.state),
            ("reason", found.reason),
            ("step", found.step),
            ("run", found.run),
            ("size", size(found.size_bytes)),
            ("verified", found.verified_at),
            ("created", found.created_at),
            *[(f"  {name}", number(value)) for name, value in metrics_of(found).items()],
            *[(f"  {name}", json.dumps(value)) for name, value in found.metadata.items()],
        ]
    )
    rows = ((file.path, size(file.size_bytes), file.sha256) for file in found.manifest)
    table(("file", ">size", "sha256"), rows, "no files")


def show_storage(found: "Storage") -> None:
    """Print the stored bytes and the limits."""
    most = "no limit" if found.maximum_bytes is None else size(found.maximum_bytes)
    facts([("stored", size(found.used_bytes)), ("limit", most)])
    rows = [
        (one.workspace, size(one.used_bytes), "" if one.maximum_bytes is None else size(one.maximum_bytes))
        for one in found.workspaces
    ]
    if rows:
        table(("workspace", ">stored", ">limit"), rows, "")


def show_collected(found: "Collected") -> None:
    """Print the deleted checkpoints, and why the others are kept."""
    rows = (
        (one.step, size(one.size_bytes), one.trial_number or one.trial, one.id) for one in found.checkpoints
    )
    table((">step", ">size", "trial", "id"), rows, "nothing to delete")
    if found.count > len(found.checkpoints):
        note("… and {} smaller checkpoints", found.count - len(found.checkpoints))
    kept = ", ".join(f"{count} {reason}" for reason, count in sorted(found.kept.items())) or "none"
    message = "{} checkpoints would be deleted" if found.dry_run else "{} checkpoints are being deleted"
    note(message + " ({}), freeing {} within a day; {} are kept: {}", found.count, size(found.size_bytes),
         size(found.freed_bytes), sum(found.kept.values()), kept)  # fmt: skip
