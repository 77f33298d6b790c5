"""Queries on lineage."""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.metadata import encode_json
from services.registry.lineage.store import graph, lineage
from services.registry.lineage.store.graph import GraphStep
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound
from shared.messages.lineage import (
    GetLineage,
    GetLineageGraph,
    Lineage,
    LineageEdge,
    LineageGraph,
    LineageNode,
    NodeKind,
)

NODES_PER_ANSWER = 500
FACTS_BYTES_PER_ANSWER = 256 * 1024
"""Hyperparameters and metadata of consumers may be large. To see those of a distant node, query from that node."""

NodeKey = tuple[NodeKind, str]


class LineageQueries:
    """Answers queries on lineage."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetLineage: self.on_lineage, GetLineageGraph: self.on_graph}

    async def on_lineage(self, ask: RequestContext, query: GetLineage) -> Lineage:
        """Return what a model version was made from."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await lineage.load_lineage(unit.connection, query.version_id)
        if found is None:
            raise NotFound(f"version {query.version_id}")
        return found

    async def on_graph(self, ask: RequestContext, query: GetLineageGraph) -> LineageGraph:
        """Return the ancestors and descendants of an entity; the nearest ones if a reply cannot hold all."""
        start = _start(query.kind, query.id)
        async with self._units.tenant(ask.tenant) as unit:
            walk = _Walk(unit.connection, start)
            if not await graph.load_nodes(walk.connection, query.kind, [start[1]]):
                raise NotFound(f"{query.kind} {query.id}")
            await walk.follow(graph.UP)
            await walk.follow(graph.DOWN)
            nodes = await walk.nodes()
        if query.kind in ("dataset", "code") and len(nodes) == 1:
            raise NotFound(f"{query.kind} {query.id}")
        return LineageGraph(
            start=node_id(start), nodes=nodes, edges=tuple(walk.edges), truncated=walk.truncated
        )


class _Walk:
    """Traverses the graph level by level, so that the nearest nodes are included when the reply is full."""

    def __init__(self, connection: AsyncConnection, start: NodeKey) -> None:
        self.connection = connection
        self.edges: dict[LineageEdge, None] = {}
        self.truncated = False
        self._start = start
        self._seen: dict[NodeKey, None] = {start: None}

    async def follow(self, ways: Mapping[NodeKind, tuple[GraphStep, ...]]) -> None:
        """Take all steps of `ways` from the start, and from the nodes reached."""
        level = [self._start]
        while level:
            reached: dict[NodeKey, None] = {}
            for kind in sorted({kind for kind, _ in level}):
                ids = [one for here, one in level if here == kind]
                for step in ways.get(kind, ()):
                    reached |= dict.fromkeys(await self._step(kind, ids, step, down=ways is graph.DOWN))
            level = list(reached)

    async def _step(self, kind: NodeKind, ids: list[str], step: GraphStep, *, down: bool) -> list[NodeKey]:
        found = await step.look(self.connection, ids, NODES_PER_ANSWER + 1)
        fresh: list[NodeKey] = []
        for here, there in found:
            key = step.to, there
            if key not in self._seen:
                if len(self._seen) >= NODES_PER_ANSWER:
                    self.truncated = True
                    continue
                self._seen[key] = None
                fresh.append(key)
            nodes = node_id((kind, here)), node_id(key)
            source, target = nodes if down else nodes[::-1]
            self.edges[LineageEdge(source=source, target=target, kind=step.edge)] = None
        return fresh

    async def nodes(self) -> tuple[LineageNode, ...]:
        """Return the nodes reached, the start first, with the facts of the nearest."""
        named: dict[str, LineageNode] = {}
        for kind in sorted({kind for kind, _ in self._seen}):
            ids = [one for here, one in self._seen if here == kind]
            for node in await graph.load_nodes(self.connection, kind, ids):
                named[node_id((kind, node.id))] = node.model_copy(update={"id": node_id((kind, node.id))})
        return tuple(with_fitting_facts(named[node_id(key)] for key in self._seen if node_id(key) in named))


def with_fitting_facts(nodes: Iterable[LineageNode]) -> Iterator[LineageNode]:
    """Yield the nodes; leave out facts once a reply has no space for more."""
    left = FACTS_BYTES_PER_ANSWER
    for node in nodes:
        left -= len(encode_json(node.facts))
        yield node if left >= 0 else node.model_copy(update={"facts": {}})


def node_id(place: NodeKey) -> str:
    """Return `kind:id`."""
    return ":".join(place)


def _start(kind: NodeKind, name: str) -> NodeKey:
    """Return the node to start from. Raises NotFound for an invalid id."""
    if kind in ("dataset", "code") and name:
        return kind, name
    try:
        return kind, str(UUID(name))
    except ValueError:
        raise NotFound(f"{kind} {name}") from None
