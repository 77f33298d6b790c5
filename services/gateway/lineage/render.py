"""From the registry's graph of lineage to what users see."""

from services.gateway.lineage import schema as graphs
from shared.messages.lineage import LineageGraph


def render_graph(graph: LineageGraph) -> graphs.LineageGraph:
    return graphs.LineageGraph.model_validate(graph.model_dump())
