"""Operations that read trials and their runs, and explain why trials wait."""

from dataclasses import replace

from muster.errors import NotFound, Rejected
from services.gateway.cluster.render import render_explanation
from services.gateway.cluster.schema import Explanation
from services.gateway.experiments import store
from services.gateway.experiments.find import experiment_in, find_experiment
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import make_cursor, next_cursor, read_cursor, read_wanted
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from services.gateway.trials.render import render_pareto_trial, render_run, render_trial
from services.gateway.trials.schema import (
    FrontPage,
    ListFrontRequest,
    ListRunsRequest,
    ListTrialsRequest,
    RunPage,
    Trial,
    TrialOrder,
    TrialPage,
    TrialRequest,
    TrialState,
)
from shared.filters.fields import ListQuery
from shared.filters.syntax_tree import Order
from shared.ids import ExperimentId, TrialId
from shared.messages import queue as messages
from shared.messages.experiments import GetParetoFront

_PARKED = (
    "the trial is parked without slots; it continues when its experiment is resumed or its search promotes it"
)


async def list_trials(call: Call, request: ListTrialsRequest) -> TrialPage:
    """List an experiment's trials, by number unless `order` or `sort` is set."""
    state_filter = trial_store.TrialStateFilter([str(state) for state in request.state], request.invalid)
    async with call.read() as connection:
        experiment = await experiment_in(connection, request.experiment)
        wanted = _in_order(read_wanted(call, request), request, experiment.smaller_is_better)
        found = await trial_store.load_listed_trials(connection, experiment.id, state_filter, wanted)
    return TrialPage(
        items=[render_trial(row, experiment.number, experiment.config) for row in found.rows],
        next_cursor=next_cursor(call, request, found.next),
    )


async def list_pareto_front(call: Call, request: ListFrontRequest) -> FrontPage:
    """List the Pareto-optimal trials of an experiment, among those within the limits of its search."""
    position = read_cursor(call, request, request.cursor)
    row = await find_experiment(call, request.experiment)
    question = GetParetoFront(
        experiment_id=ExperimentId(row.id),
        after=(float(str(position[0])), int(str(position[1]))) if position else None,
        limit=request.limit,
    )
    try:
        page = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    except NotFound:  # The searcher has not started the experiment yet.
        return FrontPage(items=[], total=0, admissible=0)
    return FrontPage(
        items=[render_pareto_trial(found) for found in page.trials],
        total=page.total,
        admissible=page.admissible,
        next_cursor=make_cursor(call, request, list(page.next)) if page.next else None,
    )


async def get_trial(call: Call, request: TrialRequest) -> Trial:
    """Get one trial."""
    row = await find_trial(call, request.trial)
    return render_trial(row, row.experiment_number, row.config)


async def list_runs(call: Call, request: ListRunsRequest) -> RunPage:
    """List the runs of a trial, oldest first unless `sort` is set."""
    wanted = read_wanted(call, request)
    trial = await find_trial(call, request.trial)
    async with call.read() as connection:
        found = await trial_store.load_runs(connection, trial.id, wanted)
    return RunPage(
        items=[render_run(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def explain_trial(call: Call, request: TrialRequest) -> Explanation:
    """Explain why a trial waits, or where it runs."""
    trial = await find_trial(call, request.trial)
    if trial.last_event["state"] == TrialState.PARKED:
        # The scheduler does not distinguish parked from ended trials: only the search can resume one.
        return Explanation(trial=trial.id, state="closed", code="parked", message=_PARKED)
    question = messages.Explain(trial_id=TrialId(trial.id))
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return render_explanation(await _without_hidden(call, found))


def _in_order(wanted: ListQuery, request: ListTrialsRequest, smaller_is_better: bool) -> ListQuery:
    """Add the order by best value if the request asks for it. The experiment defines which values are better."""
    if request.order is TrialOrder.NUMBER:
        return wanted
    if request.sort:
        raise Rejected(
            "bad_filter", "`order` and `sort` cannot be set together", "sort", "leave one of them out"
        )
    best = Order(request.listing.fields["best.value"], is_descending=not smaller_is_better)
    return replace(wanted, orders=(best, *wanted.orders))


async def _without_hidden(call: Call, explanation: messages.Explanation) -> messages.Explanation:
    """Remove the names of experiments that the caller may not read from an explanation; their count remains."""
    if call.sees_all_experiments:
        return explanation
    back = explanation.preemption
    by = back.by if back is not None else None
    asker = int(by.partition(".")[0]) if by else None
    named = {one.experiment_number for one in explanation.holders} | ({asker} if asker else set())
    async with call.read() as connection:
        seen = await store.load_known_numbers(connection, named)
    if back is not None and by and asker not in seen:
        back = back.model_copy(
            update={"by": None, "message": back.message.replace(by, "a trial that you may not read")}
        )
    holders = tuple(one for one in explanation.holders if one.experiment_number in seen)
    return explanation.model_copy(update={"holders": holders, "preemption": back})
