"""Search the logs of many trials. The registry searches; the gateway adds experiment and trial numbers."""

from muster.errors import Rejected
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment
from services.gateway.logs.operations.read import filter_of
from services.gateway.logs.render import render_line
from services.gateway.logs.schema import LogLine, LogPage, SearchLogsRequest
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from shared.ids import ExperimentId, TrialId
from shared.messages.logs import FoundLines, SearchLogs

_MOST_EXPERIMENTS = 5000
"""Maximum number of experiment ids in one query."""


async def search_logs(call: Call, request: SearchLogsRequest) -> LogPage:
    """Search the logs of many trials."""
    position = read_cursor(call, request, request.cursor)
    experiments: list[ExperimentId] | None = [
        ExperimentId((await find_experiment(call, one)).id) for one in request.experiment
    ]
    trials = [TrialId((await find_trial(call, one)).id) for one in request.trial]
    if not experiments and not trials:
        experiments = await _visible(call)
        if experiments == []:
            return LogPage(items=[])
    question = SearchLogs(
        experiments=tuple(experiments) if experiments else None,
        trials=tuple(trials) if trials else None,
        after=str(position[0]) if position else None,
        limit=request.limit,
        **filter_of(request).model_dump(),
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    following = make_cursor(call, request, [found.next]) if found.next else None
    return LogPage(items=await _lines(call, found), next_cursor=following)


async def _visible(call: Call) -> list[ExperimentId] | None:
    """Return the experiments that the caller may see; None for all of the tenant."""
    if call.sees_all_experiments:
        return None
    async with call.read() as connection:
        found = await store.load_ids(connection, _MOST_EXPERIMENTS + 1)
    if len(found) > _MOST_EXPERIMENTS:
        raise Rejected(
            "too_many_experiments",
            f"the search covers more than {_MOST_EXPERIMENTS} experiments; this is the maximum for callers who do not see all of the tenant",
            "experiment",
            "name the experiments to search",
        )
    return [ExperimentId(one) for one in found]


async def _lines(call: Call, found: FoundLines) -> list[LogLine]:
    """Render found lines. Trials that the gateway does not know yet get the number 0."""
    async with call.read() as connection:
        names = await trial_store.load_trial_numbers(connection, {line.trial_id for line in found.lines})
    lines = []
    for line in found.lines:
        experiment, trial = names.get(line.trial_id, (0, 0))
        rendered = render_line(line, line.trial_id, trial, f"{trial}.{line.cursor}")
        lines.append(rendered.model_copy(update={"experiment_number": experiment}))
    return lines
