"""Filtering and sorting of the queue. Only the fields that a filter or sort needs are looked up."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from heapq import nsmallest
from math import ceil
from typing import Any

from services.scheduler.core.explaining.queue_positions import QueuePosition
from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.trial import RequestState, Trial
from services.scheduler.cycle import LeaderTerm
from shared.errors import Rejected
from shared.filters.fields import Field, ListQuery, Position, position_of
from shared.filters.in_memory import meets, select
from shared.filters.syntax_tree import Filter

LOOKED_AT = 5_000
"""The number of requests examined per page, because the leader grants nothing meanwhile."""
MOST_SORTED = 10_000


def filter_page(
    term: LeaderTerm, behind: Iterable[QueuePosition], filter_: Filter[Field] | None, limit: int
) -> tuple[list[QueuePosition], QueuePosition | None]:
    """Return the requests of a page that match the filter, in queue order, and the key after which the
    next page begins (None: it is the last)."""
    looked_at = limit if filter_ is None else LOOKED_AT
    near = nsmallest(looked_at + 1, behind)
    last = near[looked_at - 1] if len(near) > looked_at else None
    if filter_ is None:
        return near[:limit], last
    met: list[QueuePosition] = []
    for place in near[:looked_at]:
        if meets(filter_, partial(_cell, term, place)):
            met.append(place)
            if len(met) == limit:
                return met, place if place != near[-1] else None
    return met, last


def arrange(
    term: LeaderTerm, positions: Iterable[QueuePosition], wanted: ListQuery
) -> tuple[list[QueuePosition], str | None]:
    """Return a sorted page of requests and the cursor of the next.

    Raises:
        Rejected: There are too many requests to sort.
    """
    every = list(positions)
    if len(every) > MOST_SORTED:
        raise Rejected(
            "too_many_values",
            f"the queue has {len(every)} requests; at most {MOST_SORTED} can be sorted",
            "sort",
            "select one pool, or omit the sort: the queue is then listed in queue order",
        )
    found = select(every, wanted, partial(_cell, term))
    page = found[: wanted.limit]
    if len(found) == len(page):
        return page, None
    last = position_of(_cell(term, page[-1], order.column) for order in wanted.orders)
    return page, json.dumps(last)


def read_sorted(cursor: str | None) -> Position | None:
    """Return the position after which a page of a sorted queue begins. Raises Rejected for another cursor."""
    try:
        found = json.loads(cursor) if cursor is not None else None
    except ValueError:
        found = ()
    if found is not None and not isinstance(found, list):
        raise Rejected("bad_cursor", "the cursor is not from a page of a sorted queue", "after")
    return found


def displayed_slots(cluster: Cluster, trial: Trial) -> int:
    """Return the slots that its run holds, or the most that it waits for."""
    if trial.state is RequestState.RUNNING and trial.run:
        return ceil(cluster.runs[trial.run].slots)
    return trial.request.needs.max_slots


def _cell(term: LeaderTerm, place: QueuePosition, field: Field) -> Any:
    return _CELLS[field.name](term, place, term.cluster.trials[place.trial])


def _code(term: LeaderTerm, trial: Trial) -> str | None:
    if trial.state is RequestState.RUNNING:
        return None
    # The number of requests ahead changes the message, never the code.
    return explain(term.cluster, trial, term.refusals.get(trial.id), 0).code


_CELLS: Mapping[str, Callable[[LeaderTerm, QueuePosition, Trial], Any]] = {
    "experiment": lambda term, place, trial: str(trial.request.experiment),
    "experiment_number": lambda term, place, trial: trial.request.experiment_number,
    "trial": lambda term, place, trial: str(trial.id),
    "trial_number": lambda term, place, trial: trial.request.number,
    "pool": lambda term, place, trial: place.pool,
    "priority": lambda term, place, trial: term.cluster.policy_of(trial).priority,
    "slots": lambda term, place, trial: displayed_slots(term.cluster, trial),
    "min_slots": lambda term, place, trial: trial.request.needs.min_slots,
    "max_slots": lambda term, place, trial: trial.request.needs.max_slots,
    "state": lambda term, place, trial: "waiting" if place.is_waiting else "running",
    "code": lambda term, place, trial: _code(term, trial),
    "since": lambda term, place, trial: trial.since,
}
