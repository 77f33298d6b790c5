"""`muster model lineage`: ancestors and descendants of a version, experiment, trial, checkpoint, code or dataset."""

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
    """Show the lineage of an item: its origin and everything derived from it."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    kind, colon, named = reference.partition(":")
    with connect() as client:
        if not colon:
            kind, named = "version", "@".join(split_version(reference))
        found = client.models.lineage(kind, named)
    emit(found, lambda: _show_graph(found))


def short(value: object) -> str:
    """Shorten a user's value: long texts to their beginning, None to nothing."""
    if isinstance(value, str):
        return value if len(value) < 40 else f"{value[:12]}…"
    return "" if value is None else json.dumps(value)


def _show_graph(graph: "LineageGraph") -> None:
    """Print the graph as a tree, sources first; each node appears once, below the first node that leads to it."""
    made = {node.id: [edge.target for edge in graph.edges if edge.source == node.id] for node in graph.nodes}
    later = {edge.target for edge in graph.edges}
    printed: set[str] = set()
    nodes = {node.id: node for node in graph.nodes}

    def show(node_id: str, depth: int) -> None:
        node = nodes[node_id]
        mark = " ←" if node_id == graph.start else ""
        facts = ", ".join(
            f"{name} {size(value) if name == 'size_bytes' and isinstance(value, int) else short(value)}"
            for name, value in node.facts.items()
            if name not in ("number", "name", "model", "step") and value not in (None, "", {}, [], False)
        )
        again = " (see above)" if node_id in printed else ""
        text = f"{'  ' * depth}{node.kind} {node.name}{again}{mark}"
        console().print(printable(f"{text}  {facts}" if facts and not again else text), markup=False)
        if node_id in printed:
            return
        printed.add(node_id)
        for target in made[node_id]:
            show(target, depth + 1)

    for node in graph.nodes:
        if node.id not in later:
            show(node.id, 0)
    if graph.truncated:
        note("the graph is truncated: start from one of these items to see more")
