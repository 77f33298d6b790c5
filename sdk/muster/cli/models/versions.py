"""`muster model alias` … `delete`: verbs of model versions. See `lineage` for their origin."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import argument_of
from muster.cli.base.output import emit, facts, note, size, table
from muster.cli.models.lineage import lineage, short
from muster.cli.trials.render import flat, measured
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import JsonObject, ModelVersion, StageChange

VersionName = Annotated[
    str, typer.Argument(metavar="MODEL@VERSION", help="A version by number, alias or `latest`: digits@3.")
]
Why = Annotated[str, typer.Option("--reason", help="Reason, stored with the change.")]


def add_versions(app: typer.Typer) -> None:
    """Add the verbs to `muster model`."""
    for name, does in VERBS.items():
        verb(app, name)(does)


def describe_version(reference: str) -> None:
    """Show a version: its origin, stages and notes."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        found = client.models.version(*split_version(reference))
    emit(found, lambda: facts(_facts(found)))


def edit_version(
    reference: str, comment: str | None, notes: str | None, tags: Sequence[str], remove_tags: Sequence[str]
) -> None:
    """Edit the comment, notes and tags of a version."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        made = client.models.edit_version(
            *split_version(reference), comment=comment, notes=notes, add_tags=tags, remove_tags=remove_tags
        )
    emit(made, lambda: note("changed version [bold]{}@{}[/]", made.model_name, made.number))


def alias(
    version: VersionName,
    name: Annotated[str, typer.Argument(metavar="ALIAS", help="Name of the alias, such as champion.")],
) -> None:
    """Set an alias to this version; it moves from any other version."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    model, number = split_version(version)
    with connect() as client:
        made = client.models.set_alias(model, name, number)
    emit(made, lambda: note("alias [bold]{}@{}[/] is version {}", made.name, name, made.aliases[name]))


def stage(
    version: VersionName,
    to: Annotated[str, typer.Argument(metavar="STAGE", parser=argument_of("ModelStage"))],
    reason: Why = "",
) -> None:
    """Move a version to a stage, or request the approvals that the stage needs."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        made = client.models.set_stage(*split_version(version), to, reason)
    emit(made, lambda: _print_stage(made))


def approve(version: VersionName, reason: Why = "") -> None:
    """Approve the pending stage change of a version."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        made = client.models.approve(*split_version(version), reason)
    emit(made, lambda: _print_stage(made))


def reject(version: VersionName, reason: Why = "") -> None:
    """Reject the pending stage change of a version; the version keeps its stage."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        made = client.models.reject(*split_version(version), reason)
    emit(made, lambda: _print_stage(made))


def compare(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name or id of the model.")],
    base: Annotated[str, typer.Argument(metavar="VERSION")],
    other: Annotated[str, typer.Argument(metavar="VERSION")],
) -> None:
    """Compare two versions of a model."""
    from muster.client import connect

    with connect() as client:
        found = client.models.compare(model, base, other)
    columns = ("kind", "name", f"{model}@{found.base.number}", f"{model}@{found.other.number}")
    rows = ((one.what, one.name, short(one.base), short(one.other)) for one in found.differences)
    emit(found, lambda: table(columns, rows, "the versions do not differ"))


def use(
    version: VersionName,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of use: inference, evaluation, …")],
    reference: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the user of the version, in its own system.")
    ],
) -> None:
    """Record a use of a version, shown in its lineage."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        made = client.models.record_use(*split_version(version), kind, reference)
    emit(
        made,
        lambda: note("recorded {} {} in the lineage of {}@{}", kind, reference, made.model_name, made.number),
    )


def delete(
    reference: Annotated[
        str, typer.Argument(metavar="MODEL[@VERSION]", help="A version, or a model with all its versions.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Reason, stored with the deletion.")],
) -> None:
    """Delete a version, or a model with all its versions; versions in use cannot be deleted."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    with connect() as client:
        if "@" in reference:
            version = client.models.delete_version(*split_version(reference), reason)
            emit(version, lambda: note("deleted {}@{}", version.model_name, version.number))
        else:
            model = client.models.delete(reference, reason)
            emit(model, lambda: note("deleted {} and its versions; the name can be used again", model.name))


VERBS: dict[str, Callable[..., None]] = {
    "alias": alias,
    "stage": stage,
    "approve": approve,
    "reject": reject,
    "compare": compare,
    "lineage": lineage,
    "use": use,
    "delete": delete,
}


def read_signature(file: Path | None) -> "JsonObject | None":
    """Read the signature of a model from a JSON file.

    Raises:
        Rejected: The file cannot be read, or its content is not a mapping.
    """
    if file is None:
        return None
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise Rejected("bad_signature", f"the signature cannot be read: {error}", place=str(file)) from error
    if not isinstance(content, dict):
        raise Rejected(
            "bad_signature",
            "a signature must be a mapping of inputs and outputs",
            place=str(file),
            hint='write {"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 64]}], "outputs": […]}',
        )
    return content


def stage_of(version: "ModelVersion") -> str:
    """Format a version's stage, with the pending one."""
    waiting = version.pending
    return f"{version.stage} → {waiting.stage}?" if waiting else version.stage


def _facts(found: "ModelVersion") -> list[tuple[str, object]]:
    made_of = found.lineage
    signature = found.signature.model_dump() if found.signature else {}
    return [
        ("version", f"{found.model_name}@{found.number}"),
        ("name", found.name),
        ("stage", stage_of(found)),
        *(("", _change(one)) for one in found.stages),
        ("tags", ", ".join(found.tags)),
        ("comment", found.comment),
        ("notes", found.notes),
        ("metadata", json.dumps(found.metadata) if found.metadata else None),
        *((way, ", ".join(map(_tensor, tensors))) for way, tensors in signature.items() if tensors),
        ("metrics", measured(made_of)),
        ("hparams", ", ".join(f"{name} {short(value)}" for name, value in flat(made_of.hyperparameters))),
        ("data", ", ".join("@".join(filter(None, (one.name, one.version))) for one in made_of.datasets)),
        ("step", made_of.step),
        ("trial", made_of.trial),
        ("experiment", made_of.experiment),
        ("code", made_of.code_sha256),
        ("checkpoint", f"{found.checkpoint} ({found.files} files, {size(found.size_bytes)})"),
        ("owner", found.owner),
        ("created", found.created_at),
        ("changed by", found.changed_by),
    ]


def _change(one: "StageChange") -> str:
    """Describe a stage change: who requested and approved it, and why."""
    agreed = f", {' and '.join(approval.by for approval in one.approvals)} approved" if one.approvals else ""
    why = f": {one.reason}" if one.reason else ""
    return f"{one.stage} on {one.at:%Y-%m-%d}, requested by {one.by}{agreed}{why}"


def _tensor(one: "JsonObject") -> str:
    return f"{one['name']} {one['dtype']}{one['shape']}"


def _print_stage(version: "ModelVersion") -> None:
    waiting = version.pending
    if waiting is None:
        note("{}@{} is in [bold]{}[/]", version.model_name, version.number, version.stage)
        return
    message = "{}@{} needs {} of {} approvals to enter {}: another user runs `muster model approve {}@{}`"
    missing = waiting.needed - len(waiting.approvals)
    named = version.model_name, version.number
    note(message, *named, missing, waiting.needed, waiting.stage, *named)
