"""`muster model alias` … `lineage`: what becomes of a version, and where things come from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.frame import verb
from muster.cli.options import word_of
from muster.cli.output import console, emit, note, printable, size, table
from muster.errors import Rejected

if TYPE_CHECKING:
    from pydantic import JsonValue

    from muster.client.models import JsonObject, LineageGraph, ModelVersion

VersionName = Annotated[
    str, typer.Argument(metavar="MODEL@VERSION", help="A model and a number, an alias or latest: digits@3.")
]
Why = Annotated[str, typer.Option("--reason", help="Kept with the change.")]


def add_versions(app: typer.Typer) -> None:
    """Add the verbs to `muster model`."""
    for name, does in VERBS.items():
        verb(app, name)(does)


def alias(
    version: VersionName, name: Annotated[str, typer.Argument(metavar="ALIAS", help="Such as champion.")]
) -> None:
    """Let an alias name this version, and no other."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    model, number = split_version(version)
    with connect() as client:
        made = client.models.set_alias(model, name, number)
    emit(made, lambda: note("[bold]{}@{}[/] is version {}", made.name, name, made.aliases[name]))


def unalias(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its name or id.")],
    name: Annotated[str, typer.Argument(metavar="ALIAS")],
) -> None:
    """Take an alias away; the version stays."""
    from muster.client import connect

    with connect() as client:
        made = client.models.delete_alias(model, name)
    emit(made, lambda: note("{}@{} names nothing any more", made.name, name))


def stage(
    version: VersionName,
    to: Annotated[str, typer.Argument(metavar="STAGE", parser=word_of("ModelStage"))],
    reason: Why = "",
) -> None:
    """Bring a version to a stage, or ask for the approvals that this takes."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    with connect() as client:
        made = client.models.set_stage(*split_version(version), to, reason)
    emit(made, lambda: _say_stage(made))


def approve(version: VersionName, reason: Why = "") -> None:
    """Agree to the change of stage that waits."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    with connect() as client:
        made = client.models.approve(*split_version(version), reason)
    emit(made, lambda: _say_stage(made))


def reject(version: VersionName, reason: Why = "") -> None:
    """End the change of stage that waits; the version stays where it is."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    with connect() as client:
        made = client.models.reject(*split_version(version), reason)
    emit(made, lambda: _say_stage(made))


def compare(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its name or id.")],
    base: Annotated[str, typer.Argument(metavar="VERSION")],
    other: Annotated[str, typer.Argument(metavar="VERSION")],
) -> None:
    """Show what differs between two versions."""
    from muster.client import connect

    with connect() as client:
        found = client.models.compare(model, base, other)
    columns = ("what", "name", f"{model}@{found.base.number}", f"{model}@{found.other.number}")
    rows = ((one.what, one.name, _short(one.base), _short(one.other)) for one in found.differences)
    emit(found, lambda: table(columns, rows, "nothing differs"))


def lineage(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="digits@champion, or experiment:31, trial:31.4, checkpoint:ID, code:SHA256, dataset:NAME[@VERSION].",
        ),
    ],
) -> None:
    """Show what a thing came from, and what came of it."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    kind, colon, named = reference.partition(":")
    with connect() as client:
        if not colon:
            kind, named = "version", "@".join(split_version(reference))
        found = client.models.lineage(kind, named)
    emit(found, lambda: _show_graph(found))


def use(
    version: VersionName,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="inference, evaluation, …")],
    reference: Annotated[str, typer.Argument(metavar="ID", help="Its own id where it runs.")],
) -> None:
    """Record that something used a version; lineage shows it."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    with connect() as client:
        made = client.models.record_use(*split_version(version), kind, reference)
    emit(
        made, lambda: note("{} {} is in the lineage of {}@{}", kind, reference, made.model_name, made.number)
    )


def delete(
    reference: Annotated[
        str, typer.Argument(metavar="MODEL[@VERSION]", help="A version, or a model with all of them.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; kept with it.")],
) -> None:
    """Delete a version, or a model with all of its versions; none may be in use."""
    from muster.client import connect
    from muster.client.catalogue import split_version

    with connect() as client:
        if "@" in reference:
            version = client.models.delete_version(*split_version(reference), reason)
            emit(version, lambda: note("deleted {}@{}", version.model_name, version.number))
        else:
            model = client.models.delete(reference, reason)
            emit(model, lambda: note("deleted {} with its versions; the name is free", model.name))


VERBS: dict[str, Callable[..., None]] = {
    "alias": alias,
    "unalias": unalias,
    "stage": stage,
    "approve": approve,
    "reject": reject,
    "compare": compare,
    "lineage": lineage,
    "use": use,
    "delete": delete,
}


def read_signature(file: Path | None) -> "JsonObject | None":
    """Return what a JSON file says a model takes and gives.

    Raises:
        Rejected: It cannot be read, or is no mapping.
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
            "a signature is a mapping of inputs and outputs",
            place=str(file),
            hint='write {"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 64]}], "outputs": […]}',
        )
    return content


def stage_of(version: "ModelVersion") -> str:
    """Return a version's stage in a word, with the one that waits."""
    waiting = version.pending
    return f"{version.stage} → {waiting.stage}?" if waiting else version.stage


def _say_stage(version: "ModelVersion") -> None:
    waiting = version.pending
    if waiting is None:
        note("{}@{} is in [bold]{}[/]", version.model_name, version.number, version.stage)
        return
    said = "{}@{} waits for {} of {} approvals to become {}: somebody else runs `muster model approve {}@{}`"
    missing = waiting.needed - len(waiting.approvals)
    named = version.model_name, version.number
    note(said, *named, missing, waiting.needed, waiting.stage, *named)


def _short(value: "JsonValue") -> str:
    if isinstance(value, str):
        return value if len(value) < 40 else f"{value[:12]}…"
    return "" if value is None else json.dumps(value)


def _show_graph(graph: "LineageGraph") -> None:
    """As a tree: what came first to the left, each thing once under the first that led to it."""
    made = {node.id: [edge.target for edge in graph.edges if edge.source == node.id] for node in graph.nodes}
    later = {edge.target for edge in graph.edges}
    shown: set[str] = set()
    nodes = {node.id: node for node in graph.nodes}

    def show(place: str, depth: int) -> None:
        node = nodes[place]
        mark = " ←" if place == graph.start else ""
        facts = ", ".join(
            f"{name} {size(value) if name == 'size_bytes' and isinstance(value, int) else _short(value)}"
            for name, value in node.facts.items()
            if name not in ("number", "name", "model", "step") and value not in (None, "", {}, [], False)
        )
        again = " (above)" if place in shown else ""
        text = f"{'  ' * depth}{node.kind} {node.name}{again}{mark}"
        console().print(printable(f"{text}  {facts}" if facts and not again else text), markup=False)
        if place in shown:
            return
        shown.add(place)
        for target in made[place]:
            show(target, depth + 1)

    for node in graph.nodes:
        if node.id not in later:
            show(node.id, 0)
    if graph.truncated:
        note("there is more: begin at one of these to see on")
