"""API schema of the lineage graph."""

from pydantic import Field

from services.gateway.lineage.core import LineageKind
from services.gateway.platform.schema import JsonObject, Reference, Request, Resource


class LineageNode(Resource):
    """A node of the graph."""

    id: str = Field(description="`kind:id`.")
    kind: LineageKind
    name: str = Field(description="Display name.")
    facts: JsonObject = {}


class LineageEdge(Resource):
    """A relation: `target` was derived from `source`, or used it."""

    source: str
    target: str
    kind: str = Field(description="used, ran, searched, saved, started, registered or consumed.")


class LineageGraph(Resource):
    """An entity, its ancestors and its descendants. The start node comes first."""

    start: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]
    truncated: bool = Field(default=False, description="True if the graph was too large and is incomplete.")


class GetLineageRequest(Request):
    """The start node: `experiment` by number or id, `trial` as 31.4, `version` as `digits@champion`, `checkpoint` and `consumer` by id,
    `code` by its SHA-256, `dataset` by `name`, `name@version` or `name@version#hash`."""

    kind: LineageKind
    id: Reference
