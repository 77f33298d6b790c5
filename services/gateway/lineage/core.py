"""What of a graph of lineage somebody sees who does not see all workspaces."""

from collections.abc import Set

from services.gateway.lineage.schema import LineageGraph, LineageKind

PLACED = (LineageKind.EXPERIMENT, LineageKind.TRIAL, LineageKind.VERSION)
"""These stand in a workspace; the others are seen beside one of them that is."""


def visible_part(graph: LineageGraph, known: Set[str]) -> LineageGraph | None:
    """The graph without the placed nodes that are not `known`, and without what hangs on such ones only; None where its start goes."""
    beside = {one for edge in graph.edges for one in _beside(edge.source, edge.target, known)}
    nodes = [
        node for node in graph.nodes if node.id in known or (node.kind not in PLACED and node.id in beside)
    ]
    kept = {node.id for node in nodes}
    if graph.start not in kept:
        return None
    edges = [edge for edge in graph.edges if edge.source in kept and edge.target in kept]
    return graph.model_copy(update={"nodes": nodes, "edges": edges})


def _beside(source: str, target: str, known: Set[str]) -> tuple[str, ...]:
    return (*([target] if source in known else []), *([source] if target in known else []))
