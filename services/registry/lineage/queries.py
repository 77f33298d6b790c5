"""Where models come from, and what came of things."""

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
"""Hyperparameters and what people say of a use may be large; who wants those of a thing far away begins there."""

NodeKey = tuple[NodeKind, str]


class LineageQueries:
    """Answers what is asked of lineage."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {GetLineage: self.on_lineage, GetLineageGraph: self.on_graph}

    async def on_lineage(self, ask: RequestContext, query: GetLineage) -> Lineage:
        """Where a model version comes from."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await lineage.load_lineage(unit.connection, query.version_id)
        if found is None:
            raise NotFound(f"version {query.version_id}")
        return found

    async def on_graph(self, ask: RequestContext, query: GetLineageGraph) -> LineageGraph:
        """All that a thing came from, and what came of it; the nearest where that is more than an answer holds."""
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
    """Goes through the graph level by level, so that what is nearest is there when the answer is full."""

    def __init__(self, connection: AsyncConnection, start: NodeKey) -> None:
        self.connection = connection
        self.edges: dict[LineageEdge, None] = {}
        self.truncated = False
        self._start = start
        self._seen: dict[NodeKey, None] = {start: None}

    async def follow(self, ways: Mapping[NodeKind, tuple[GraphStep, ...]]) -> None:
        """Take every step of `ways` from the start, and from what they lead to."""
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
            place = step.to, there
            if place not in self._seen:
                if len(self._seen) >= NODES_PER_ANSWER:
                    self.truncated = True
                    continue
                self._seen[place] = None
                fresh.append(place)
            ends = node_id((kind, here)), node_id(place)
            source, target = ends if down else ends[::-1]
            self.edges[LineageEdge(source=source, target=target, kind=step.edge)] = None
        return fresh

    async def nodes(self) -> tuple[LineageNode, ...]:
        """Return what was met, the start first, with the facts of the nearest."""
        named: dict[str, LineageNode] = {}
        for kind in sorted({kind for kind, _ in self._seen}):
            ids = [one for here, one in self._seen if here == kind]
            for node in await graph.load_nodes(self.connection, kind, ids):
                named[node_id((kind, node.id))] = node.model_copy(update={"id": node_id((kind, node.id))})
        return tuple(
            with_fitting_facts(named[node_id(place)] for place in self._seen if node_id(place) in named)
        )


def with_fitting_facts(nodes: Iterable[LineageNode]) -> Iterator[LineageNode]:
    """The nodes as they come, the facts left out once an answer has no room for more."""
    left = FACTS_BYTES_PER_ANSWER
    for node in nodes:
        left -= len(encode_json(node.facts))
        yield node if left >= 0 else node.model_copy(update={"facts": {}})


def node_id(place: NodeKey) -> str:
    """Return `kind:id`."""
    return ":".join(place)


def _start(kind: NodeKind, name: str) -> NodeKey:
    """Where to begin: an entity's id as the tables write it. Raises NotFound for what can be none."""
    if kind in ("dataset", "code") and name:
        return kind, name
    try:
        return kind, str(UUID(name))
    except ValueError:
        raise NotFound(f"{kind} {name}") from None
