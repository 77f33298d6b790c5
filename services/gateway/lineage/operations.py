"""Query the lineage graph. The registry answers."""

from collections.abc import Collection
from uuid import UUID

from muster.errors import NotFound
from services.gateway.experiments import store as experiments
from services.gateway.experiments.find import find_experiment
from services.gateway.lineage.core import WORKSPACE_KINDS, LineageKind, visible_nodes
from services.gateway.lineage.render import render_graph
from services.gateway.lineage.schema import GetLineageRequest, LineageGraph
from services.gateway.models import store as models
from services.gateway.models.find import find_version
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_MODEL, SAFE
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from shared.messages.lineage import GetLineageGraph


async def get_lineage(call: Call, request: GetLineageRequest) -> LineageGraph:
    """Show everything that an entity was derived from, and everything derived from it."""
    question = GetLineageGraph(kind=request.kind.value, id=await _id_of(call, request.kind, request.id))
    graph = render_graph(
        await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    )
    if not call.row_filters:
        return graph
    kinds = {node.id: node.kind for node in graph.nodes}
    edges = [(edge.source, edge.target) for edge in graph.edges]
    seen = visible_nodes(kinds, edges, await _known(call, graph))
    if graph.start not in seen:
        raise NotFound(f"{request.kind} {request.id}")
    nodes = [node for node in graph.nodes if node.id in seen]
    kept = [edge for edge in graph.edges if edge.source in seen and edge.target in seen]
    return graph.model_copy(update={"nodes": nodes, "edges": kept})


async def _known(call: Call, graph: LineageGraph) -> set[str]:
    """Return the graph's experiments, trials and versions that the caller may see."""
    ids: dict[str, set[UUID]] = {str(kind): set() for kind in WORKSPACE_KINDS}
    for node in graph.nodes:
        if node.kind in WORKSPACE_KINDS:
            ids[node.kind].add(UUID(node.id.partition(":")[2]))
    async with call.read() as connection:
        known: dict[str, Collection[UUID]] = {
            LineageKind.EXPERIMENT: await experiments.load_names(connection, ids["experiment"]),
            LineageKind.TRIAL: await trial_store.load_trial_numbers(connection, ids["trial"]),
            LineageKind.VERSION: await models.load_known_versions(connection, ids["version"]),
        }
    return {f"{kind}:{one}" for kind, found in known.items() for one in found}


async def _id_of(call: Call, kind: LineageKind, reference: str) -> str:
    """Resolve references of experiments, trials and versions to ids; the registry resolves the other kinds."""
    if kind is LineageKind.EXPERIMENT:
        return str((await find_experiment(call, reference)).id)
    if kind is LineageKind.TRIAL:
        return str((await find_trial(call, reference)).id)
    if kind is LineageKind.VERSION and "@" in reference:
        model, _, version = reference.rpartition("@")
        return str((await find_version(call, model, version)).id)
    return reference


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetLineage", "GET", "/v1/lineage", GetLineageRequest, LineageGraph, READ_MODEL, SAFE, get_lineage, waits=True),
)
# fmt: on
