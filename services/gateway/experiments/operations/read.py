"""List and show experiments, and read and replay their journals."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import MusterError
from services.gateway.checkpoints.schema import CheckpointState
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.render import render_experiment, render_experiment_detail
from services.gateway.experiments.schema import (
    Best,
    BestCheckpoint,
    Experiment,
    ExperimentDetail,
    ExperimentPage,
    ExperimentRequest,
    JournalEntry,
    JournalPage,
    ListExperimentsRequest,
    ListJournalRequest,
    Replay,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import waiting_for_bus
from services.gateway.platform.lists.paging import make_cursor, next_cursor, read_cursor, read_wanted
from services.gateway.trials import store as trial_store
from shared.ids import ExperimentId, TrialId
from shared.messages.checkpoints import ListCheckpoints
from shared.messages.search_journals import GetJournal, ReplayExperiment

REPLAY_S = 25.0
"""Timeout of a replay, within the 30 s deadline of a request."""
CHECKPOINT_S = 1.0
"""Timeout of the registry query for the best checkpoint; without an answer the field stays null."""


async def list_experiments(call: Call, request: ListExperimentsRequest) -> ExperimentPage:
    """List the tenant's experiments, newest first by default."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        found = await store.load_listed(
            connection,
            [str(state) for state in request.state],
            request.label,
            request.name_contains,
            request.archived,
            wanted,
        )
        items = [render_experiment(row) for row in found.rows]
        if request.hyperparameters:
            items = await _with_points(connection, items)
    return ExperimentPage(
        items=items,
        next_cursor=next_cursor(call, request, found.next),
    )


async def _with_points(connection: AsyncConnection, items: Sequence[Experiment]) -> list[Experiment]:
    """Add the hyperparameters of the best trials."""
    points = await trial_store.load_points(connection, [one.best.trial for one in items if one.best])
    return [
        one.model_copy(update={"hyperparameters": points.get(one.best.trial)}) if one.best else one
        for one in items
    ]


async def get_experiment(call: Call, request: ExperimentRequest) -> ExperimentDetail:
    """Show one experiment with its config."""

    async def load() -> ExperimentDetail:
        found = render_experiment_detail(await find_experiment(call, request.experiment))
        if found.best is None:
            return found
        best = found.best.model_copy(update={"checkpoint": await _checkpoint_of(call, found.best)})
        return found.model_copy(update={"best": best})

    return with_waiting_reason(call, await call.cached(request.experiment, load))


def with_waiting_reason(call: Call, detail: ExperimentDetail) -> ExperimentDetail:
    """Add why the searcher has not picked up the experiment, if a bus outage is the reason."""
    waiting = waiting_for_bus(call) if detail.version == 0 else None
    return detail.model_copy(update={"waiting": waiting}) if waiting is not None else detail


async def _checkpoint_of(call: Call, best: Best) -> BestCheckpoint | None:
    """Ask the registry for the checkpoint at the best validation's step: a saved one, else the newest. None if it does not answer."""
    question = ListCheckpoints(trial_id=TrialId(best.trial), filter=f"step = {best.step}", sort="-created_at")
    try:
        found = await call.dependencies.bus.ask(question, call.tenant, CHECKPOINT_S)
    except MusterError:
        return None
    if not found.checkpoints:
        return BestCheckpoint()
    chosen = next((one for one in found.checkpoints if one.state == "saved"), found.checkpoints[0])
    return BestCheckpoint(id=chosen.checkpoint_id, state=CheckpointState(chosen.state), reason=chosen.reason)


async def list_journal(call: Call, request: ListJournalRequest) -> JournalPage:
    """List the decisions of an experiment's search, oldest first."""
    position = read_cursor(call, request, request.cursor)
    row = await find_experiment(call, request.experiment)
    question = GetJournal(
        experiment_id=ExperimentId(row.id),
        after=int(str(position[0])) if position else 0,
        limit=request.limit,
    )
    page = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    items = [
        JournalEntry(position=entry.position, time=entry.at, kind=entry.kind, facts=entry.facts)
        for entry in page.entries
    ]
    return JournalPage(
        items=items,
        next_cursor=make_cursor(call, request, [page.next]) if page.next is not None else None,
    )


async def replay_experiment(call: Call, request: ExperimentRequest) -> Replay:
    """Replay an experiment's search from its journal and report the first decision that differs."""
    row = await find_experiment(call, request.experiment)
    found = await call.dependencies.bus.ask(
        ReplayExperiment(experiment_id=ExperimentId(row.id)), call.tenant, REPLAY_S
    )
    return Replay.model_validate(found.model_dump())
