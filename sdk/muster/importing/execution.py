"""Execution of an import plan: write files, create models, submit experiments. Repeating it changes nothing."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from muster.client import Client
from muster.errors import Conflict, Rejected
from muster.importing.planning import ConfigFile, ImportPlan, ModelEntry

UNCATEGORIZED = "Uncategorized"


class ImportOutcome(StrEnum):
    """Result of one item of an import."""

    MADE = "made"
    CHANGED = "changed"
    KNOWN = "already there"
    LEFT_OUT = "left out"


class ImportResult(BaseModel):
    """Result of one item of an import, actual or planned, and its reason."""

    model_config = ConfigDict(frozen=True)

    what: str
    outcome: ImportOutcome
    why: str = ""


def execute_import(
    plan: ImportPlan, folder: Path, client: Client | None, code: Path | None = None
) -> list[ImportResult]:
    """Write the configs into `folder`, create the models, and with `code` submit the configs with that folder of code.

    Refused items are reported, and the rest continues. Without a `client`, only files are written.

    Raises:
        MusterError: The platform cannot be reached.
    """
    done = [_write(config, folder) for config in plan.configs]
    if client is not None:
        done += [_attempt(f"model {entry.name}", partial(_make, client, entry)) for entry in plan.models]
    if client is not None and code is not None:
        stored = client.experiments.put_code(code)
        for config in plan.configs:
            what = f"experiment {config.experiment}"
            done.append(_attempt(what, partial(_submit, client, config, stored)))
    return [
        *done,
        *(ImportResult(what=what, outcome=ImportOutcome.LEFT_OUT, why=why) for what, why in plan.left_out),
    ]


def _write(config: ConfigFile, folder: Path) -> ImportResult:
    file = folder / config.file
    if file.exists():
        if file.read_text(encoding="utf-8") == config.content:
            return ImportResult(what=str(file), outcome=ImportOutcome.KNOWN)
        why = "the file was modified: delete it to write it again"
        return ImportResult(what=str(file), outcome=ImportOutcome.LEFT_OUT, why=why)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(config.content, encoding="utf-8")
    return ImportResult(what=str(file), outcome=ImportOutcome.MADE, why=config.remark)


def _attempt(what: str, work: Callable[[], tuple[ImportOutcome, str]]) -> ImportResult:
    try:
        outcome, why = work()
    except (Rejected, Conflict) as error:
        return ImportResult(what=what, outcome=ImportOutcome.LEFT_OUT, why=error.message)
    return ImportResult(what=what, outcome=outcome, why=why)


def _make(client: Client, entry: ModelEntry) -> tuple[ImportOutcome, str]:
    """Create the model; for a model from an earlier import, update only the data from Determined."""
    workspace = entry.workspace or UNCATEGORIZED
    found = [
        one
        for one in client.models.list(name_contains=entry.name)
        if (one.name, one.workspace) == (entry.name, workspace)
    ]
    if not found:
        client.models.create(
            entry.name,
            workspace=entry.workspace,
            description=entry.description,
            notes=entry.notes,
            tags=entry.tags,
            metadata=entry.metadata,
        )
        return ImportOutcome.MADE, f"{entry.versions} versions in its metadata"
    known, imported = found[0].metadata.get("determined"), entry.metadata["determined"]
    if (
        not isinstance(known, dict)
        or not isinstance(imported, dict)
        or known.get("name") != imported.get("name")
    ):
        return ImportOutcome.LEFT_OUT, f"{workspace} already has another model with this name"
    if known == imported:
        return ImportOutcome.KNOWN, ""
    client.models.edit(found[0].id, metadata={"determined": imported})
    return ImportOutcome.CHANGED, f"{entry.versions} versions in its metadata"


def _submit(client: Client, config: ConfigFile, code: str) -> tuple[ImportOutcome, str]:
    if config.refusal:
        return ImportOutcome.LEFT_OUT, config.refusal
    for archived in (False, True):
        for one in client.experiments.list(labels=[config.label], archived=archived):
            return ImportOutcome.KNOWN, f"as experiment {one.number}"
    made = client.experiments.create(config.content, code, labels=[config.label])
    return ImportOutcome.MADE, f"as experiment {made.number}"
