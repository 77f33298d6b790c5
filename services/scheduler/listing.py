"""Pages of the queue: what a tenant has waiting and running. Only what is shown is explained."""

from heapq import nsmallest
from itertools import groupby
from math import ceil
from uuid import UUID

from services.scheduler.core.cluster import Cluster
from services.scheduler.core.explain.places import Place, ahead, places
from services.scheduler.core.explain.refusals import explain
from services.scheduler.core.trial import RequestState, Trial
from services.scheduler.cycle import Term
from shared.errors import Rejected
from shared.ids import PoolName, TenantId, TrialId
from shared.messages.queue import GetQueue, QueueEntry, QueuePage

_MOST_ENTRIES = 500


def page_of(term: Term, tenant: TenantId, query: GetQueue) -> QueuePage:
    """The tenant's requests: pool by pool, running ones first, then waiting ones in the order of the queue.

    A page goes on behind the place of the last entry shown, wherever that entry is now: what moves meanwhile makes none come twice
    that stayed, nor be left out.
    """
    cluster, after = term.cluster, _read(query.after)
    limit = max(1, min(query.limit, _MOST_ENTRIES))
    behind = (place for place in places(cluster, tenant, query.pool) if after is None or place > after)
    found = nsmallest(limit + 1, behind)
    shown = found[:limit]
    entries: list[QueueEntry] = []
    for pool, group in groupby(shown, lambda place: place.pool):
        trials = [place.trial for place in group]
        before = ahead(cluster.pools[pool], trials)
        entries += (_entry(term, cluster, cluster.trials[trial], before.get(trial)) for trial in trials)
    more = len(found) > limit
    return QueuePage(entries=tuple(entries), next=_written(shown[-1]) if more else None)


def _entry(term: Term, cluster: Cluster, trial: Trial, before: int | None) -> QueueEntry:
    is_running, needs = trial.state is RequestState.RUNNING, trial.wish.needs
    told = None if is_running else explain(cluster, trial, term.refusals.get(trial.id), before or 0)
    return QueueEntry(
        trial_id=trial.id,
        experiment_id=trial.wish.experiment,
        experiment_number=trial.wish.experiment_number,
        trial_number=trial.wish.number,
        pool=cluster.pool_of(trial),
        priority=cluster.part_of(trial).priority,
        slots=ceil(cluster.runs[trial.run].slots) if is_running and trial.run else needs.max_slots,
        min_slots=needs.min_slots,
        max_slots=needs.max_slots,
        part=needs.part,
        state="running" if is_running else "waiting",
        position=None if before is None else before + 1,
        code=told.code if told else None,
        reason=told.message if told else None,
        since=trial.since,
    )


def _written(place: Place) -> str:
    numbers = ":".join(str(int(number)) for number in place[1:5])
    return f"{place.pool}:{numbers}:{place.trial}"


def _read(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    try:
        pool, is_waiting, is_late, rank, place, trial = cursor.rsplit(":", 5)
        return Place(
            PoolName(pool), is_waiting == "1", is_late == "1", int(rank), int(place), TrialId(UUID(trial))
        )
    except ValueError:
        raise Rejected("bad_cursor", "the cursor is not one of the queue's", "after") from None
