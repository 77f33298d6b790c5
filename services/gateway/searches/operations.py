"""Operations on custom searches, which a program drives (ask and tell). The searcher owns them; long polling happens here."""

from typing import Any

from muster.errors import Conflict, NotFound, Transient
from services.gateway.experiments.find import find_experiment
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, READ_EXPERIMENT, SAFE, WRITE_EXPERIMENT
from services.gateway.searches.schema import (
    DrivenSearch,
    ListSearchEventsRequest,
    SearchEvent,
    SearchEventPage,
    SearchOperation,
    SearchRequest,
    TellSearchRequest,
)
from shared.ids import ExperimentId
from shared.messages import custom_searches
from shared.messages.base import Query

CUSTOM = "custom"


async def get_search(call: Call, request: SearchRequest) -> DrivenSearch:
    """Get the driver of a custom search and its progress through the events."""
    row = await _find(call, request.experiment)
    return _render(
        row, await _ask(call, row, custom_searches.GetDrivenSearch(experiment_id=ExperimentId(row.id)))
    )


async def list_search_events(call: Call, request: ListSearchEventsRequest) -> SearchEventPage:
    """List the events of a custom search, oldest first. With `wait`, wait for the first event if there is none."""
    row = await _find(call, request.experiment)
    clock, after = call.dependencies.clock, request.after
    end = clock.monotonic() + request.wait
    async with call.dependencies.feed.waiting_for(call.tenant, "search", row.id) as waiter:
        while True:
            question = custom_searches.GetSearchEvents(
                experiment_id=ExperimentId(row.id), after=after, limit=request.limit, driver=request.driver
            )
            page: custom_searches.SearchEventPage = await _ask(call, row, question)
            left = end - clock.monotonic()
            if page.events or page.is_over or left <= 0:
                return _render_page(page)
            after = page.scanned
            await waiter.wait(min(left, call.dependencies.timeouts.poll_s))


async def tell_search(call: Call, request: TellSearchRequest) -> DrivenSearch:  # glossary: allowed
    """Apply operations to a custom search, all or none. Repeating the request has no effect."""
    row = await _find(call, request.experiment)
    question = custom_searches.SubmitSearchOperations(
        experiment_id=ExperimentId(row.id),
        operations=tuple(_to_message(each) for each in request.operations),
        acknowledge=request.acknowledge,
        driver=request.driver,
    )
    await call.record()
    return _render(row, await _ask(call, row, question))


async def _find(call: Call, reference: str) -> Any:
    row = await find_experiment(call, reference)
    if row.searcher != CUSTOM:
        raise Conflict(
            "not_driven",
            f"experiment {row.number} uses searcher '{row.searcher}', which no program can drive",
            hint="set `searcher.name: custom` in the config of experiments that a program drives",
        )
    return row


async def _ask(call: Call, row: Any, question: Query[Any]) -> Any:
    try:
        return await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    except NotFound:
        if row.version:
            raise
        raise Transient("the searcher has not started the experiment yet", 1.0, "still_working") from None


def _to_message(operation: SearchOperation) -> custom_searches.SearchOperation:
    return custom_searches.SearchOperation(
        verb=operation.verb.value,
        key=operation.key or "",
        point=operation.hyperparameters,
        until=operation.until,
        source=operation.source,
        share=operation.share,
        reason=operation.reason,
    )


def _render(row: Any, found: custom_searches.DrivenSearch) -> DrivenSearch:
    return DrivenSearch(
        experiment=row.id,
        experiment_number=row.number,
        driver=found.driver,
        seen_at=found.seen_at,
        acknowledged=found.acknowledged,
        waiting=found.waiting,
        waiting_since=found.waiting_since,
    )


def _render_page(page: custom_searches.SearchEventPage) -> SearchEventPage:
    return SearchEventPage(
        items=[_render_event(event) for event in page.events],
        after=page.scanned,
        acknowledged=page.acknowledged,
        over=page.is_over,
    )


def _render_event(event: custom_searches.SearchEvent) -> SearchEvent:
    return SearchEvent(
        number=event.number,
        time=event.at,
        kind=event.kind,
        key=event.key,
        trial=event.trial_id,
        trial_number=event.trial,
        hyperparameters=event.point,
        at=event.time,
        value=event.value,
        others=event.others,
        state=event.state,
        reason=event.reason,
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetSearch", "GET", "/v1/experiments/{experiment}/search", SearchRequest, DrivenSearch, READ_EXPERIMENT, SAFE, get_search, waits=True),
    Operation("ListSearchEvents", "GET", "/v1/experiments/{experiment}/search/events", ListSearchEventsRequest, SearchEventPage, READ_EXPERIMENT, SAFE, list_search_events, waits=True),
    Operation("TellSearch", "POST", "/v1/experiments/{experiment}/search/tell", TellSearchRequest, DrivenSearch, WRITE_EXPERIMENT, NATURAL, tell_search, waits=True),
)
# fmt: on
