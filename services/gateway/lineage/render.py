"""Convert the registry's lineage graph to the API resource."""

from services.gateway.lineage import schema as graphs
from shared.messages.lineage import LineageGraph


def render_graph(graph: LineageGraph) -> graphs.LineageGraph:
    return graphs.LineageGraph.model_validate(graph.model_dump())
