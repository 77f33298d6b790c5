"""The graph of lineage as users see it."""

from pydantic import Field

from services.gateway.lineage.core import LineageKind
from services.gateway.platform.schema import JsonObject, Reference, Request, Resource


class LineageNode(Resource):
    """One thing of the graph."""

    id: str = Field(description="`kind:id`.")
    kind: LineageKind
    name: str = Field(description="What people call it.")
    facts: JsonObject = {}


class LineageEdge(Resource):
    """`source` came first and had a part in `target`."""

    source: str
    target: str
    kind: str = Field(description="used, ran, searched, saved, started, registered or consumed.")


class LineageGraph(Resource):
    """What a thing came from, and what came of it; nodes with the start first."""

    start: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]
    truncated: bool = Field(default=False, description="There is more than an answer holds.")


class GetLineageRequest(Request):
    """Where to begin: `experiment` by number or id, `trial` as 31.4, `version` as `digits@champion`, `checkpoint` and `consumer` by id,
    `code` by its SHA-256, `dataset` by `name`, `name@version` or `name@version#hash`."""

    kind: LineageKind
    id: Reference
