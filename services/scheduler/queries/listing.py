"""Pages of the queue: a tenant's waiting and running requests. Only the returned entries are explained."""

from collections.abc import Sequence
from uuid import UUID

from services.scheduler.core.explaining.queue_positions import QueuePosition, ahead, positions
from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.trial import RequestState, Trial
from services.scheduler.cycle import LeaderTerm
from services.scheduler.queries.filtering import arrange, displayed_slots, filter_page, read_sorted
from shared.errors import Rejected
from shared.filters.fields import ListQuery
from shared.ids import PoolName, TenantId, TrialId
from shared.messages.queue import QUEUE, GetQueue, HeldSlots, QueueEntry, QueuePage

_MOST_ENTRIES = 500


def page_of(term: LeaderTerm, tenant: TenantId, query: GetQueue) -> QueuePage:
    """Return a page of the tenant's requests: by pool, running ones first, then waiting ones in queue order; or
    sorted as requested.

    A page continues after the sort key of the last entry, wherever that entry is now. Entries that did not move
    are therefore neither repeated nor skipped.
    """
    cluster = term.cluster
    limit = max(1, min(query.limit, _MOST_ENTRIES))
    filter_, orders = QUEUE.read(query.filter, query.sort)
    if query.sort:
        wanted = ListQuery(filter_, orders, read_sorted(query.after), limit)
        page, following = arrange(term, positions(cluster, tenant, query.pool), wanted)
    else:
        after = _read(query.after)
        remaining = (
            place for place in positions(cluster, tenant, query.pool) if after is None or place > after
        )
        page, last = filter_page(term, remaining, filter_, limit)
        following = _written(last) if last else None
    return QueuePage(entries=_entries(term, page), next=following)


def _entries(term: LeaderTerm, page: Sequence[QueuePosition]) -> tuple[QueueEntry, ...]:
    cluster = term.cluster
    before: dict[TrialId, int] = {}
    for pool in {place.pool for place in page}:
        before |= ahead(cluster.pools[pool], [place.trial for place in page if place.pool == pool])
    return tuple(
        _entry(term, cluster, cluster.trials[place.trial], before.get(place.trial)) for place in page
    )


def _entry(term: LeaderTerm, cluster: Cluster, trial: Trial, before: int | None) -> QueueEntry:
    is_running, needs = trial.state is RequestState.RUNNING, trial.request.needs
    refusal = None if is_running else explain(cluster, trial, term.refusals.get(trial.id), before or 0)
    return QueueEntry(
        trial_id=trial.id,
        experiment_id=trial.request.experiment,
        experiment_number=trial.request.experiment_number,
        trial_number=trial.request.number,
        pool=cluster.pool_of(trial),
        priority=cluster.policy_of(trial).priority,
        slots=displayed_slots(cluster, trial),
        min_slots=needs.min_slots,
        max_slots=needs.max_slots,
        fraction=needs.fraction,
        state="running" if is_running else "waiting",
        position=None if before is None else before + 1,
        code=refusal.code if refusal else None,
        reason=refusal.message if refusal else None,
        since=trial.since,
        held=_held(cluster, trial) if is_running else (),
    )


def _held(cluster: Cluster, trial: Trial) -> tuple[HeldSlots, ...]:
    run = cluster.runs.get(trial.run) if trial.run else None
    if run is None:
        return ()
    return tuple(
        HeldSlots(worker=share.worker, slots=share.slot_ids)
        for share in run.shares
        if share.worker not in run.gang.released
    )


def _written(place: QueuePosition) -> str:
    numbers = ":".join(str(int(number)) for number in place[1:5])
    return f"{place.pool}:{numbers}:{place.trial}"


def _read(cursor: str | None) -> QueuePosition | None:
    if cursor is None:
        return None
    try:
        pool, is_waiting, is_late, rank, place, trial = cursor.rsplit(":", 5)
        return QueuePosition(
            PoolName(pool), is_waiting == "1", is_late == "1", int(rank), int(place), TrialId(UUID(trial))
        )
    except ValueError:
        raise Rejected("bad_cursor", "the cursor is not from a page of the queue", "after") from None
