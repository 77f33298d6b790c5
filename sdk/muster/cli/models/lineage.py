"""`muster model lineage`: what a thing came from, and what came of it."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.output import console, emit, note, printable, size

if TYPE_CHECKING:
    from muster.client.models import LineageGraph


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
    from muster.client.handwritten.models import split_version

    kind, colon, named = reference.partition(":")
    with connect() as client:
        if not colon:
            kind, named = "version", "@".join(split_version(reference))
        found = client.models.lineage(kind, named)
    emit(found, lambda: _show_graph(found))


def short(value: object) -> str:
    """Return a value of the user's in a word: long texts by their beginning, nothing for None."""
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
            f"{name} {size(value) if name == 'size_bytes' and isinstance(value, int) else short(value)}"
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
