"""The graph of lineage: the registry's to answer."""

from services.gateway.api.lineage import GetLineageRequest, LineageGraph, LineageKind
from services.gateway.operations.call import Call
from services.gateway.operations.find import find_experiment, find_trial
from services.gateway.operations.render_models import render_graph
from services.gateway.operations.versions import find_version
from shared.messages.lineage import GetLineageGraph


async def get_lineage(call: Call, request: GetLineageRequest) -> LineageGraph:
    """Shows all that a thing came from, and what came of it."""
    question = GetLineageGraph(kind=request.kind.value, id=await _id_of(call, request.kind, request.id))
    return render_graph(await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s))


async def _id_of(call: Call, kind: LineageKind, reference: str) -> str:
    """From what people say to ids; the registry knows those of the others."""
    if kind is LineageKind.EXPERIMENT:
        return str((await find_experiment(call, reference)).id)
    if kind is LineageKind.TRIAL:
        return str((await find_trial(call, reference)).id)
    if kind is LineageKind.VERSION and "@" in reference:
        model, _, version = reference.rpartition("@")
        return str((await find_version(call, model, version)).id)
    return reference
