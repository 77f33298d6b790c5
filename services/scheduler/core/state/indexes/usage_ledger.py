"""Who held how many slots, on which worker, from when until when: the ledger that usage is added up from.

A holding is a stretch of time with an unchanging number of slots. It begins with the grant (or with a resize) and ends when the
worker has really let go of the slots, or is given up: the slots of a lost worker serve nobody, and that is not the tenant's
doing, not even when it comes back and still has the old run. Neighbours: `grants` begins holdings, `turn` ends them.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.worker import Liveness, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, TenantId, WorkerId
from shared.tuples import changed


class SlotUsage(NamedTuple):
    """Slots of one worker that one allocation held; `until` None: it holds them now. The price is that of its beginning; None: not known."""

    allocation: AllocationId
    worker: WorkerId
    since: datetime
    tenant: TenantId
    workspace: str
    owner: str
    experiment: ExperimentId
    pool: PoolName
    slots: SlotCount
    until: datetime | None = None
    price_per_slot_hour: float | None = None

    @property
    def key(self) -> tuple[AllocationId, WorkerId, datetime]:
        return self.allocation, self.worker, self.since


class UsageLedger:
    """Open holdings, and those that changed since they were last taken."""

    def __init__(self) -> None:
        self._open: dict[WorkerId, dict[AllocationId, SlotUsage]] = {}
        self._changed: dict[tuple[AllocationId, WorkerId, datetime], SlotUsage] = {}

    def load(self, holdings: Iterable[SlotUsage]) -> None:
        """Takes up what an earlier term left open."""
        for holding in holdings:
            self._open.setdefault(holding.worker, {})[holding.allocation] = holding

    def begin(self, run: Run, now: datetime, price_per_slot_hour: float | None = None) -> None:
        """The run has the slots that its shares say, from now on; what it held otherwise on those workers ends."""
        for share in run.shares:
            before = self._open.get(share.worker, {}).get(run.allocation)
            if before is not None and before.slots == share.charged:
                continue
            if before is not None:
                self._end(before, now)
            if share.charged:
                self._begin(_holding(run, share.worker, share.charged, now, price_per_slot_hour))

    def follow(self, worker: Worker, now: datetime) -> None:
        """Ends what the worker no longer holds. One that this term has not heard may still hold all."""
        is_given_up = worker.liveness in (Liveness.LOST, Liveness.GONE)
        if not is_given_up and not worker.is_heard:
            return
        for holding in list(self._open.get(worker.id, {}).values()):
            if is_given_up or holding.allocation not in worker.held:
                self._end(holding, now)

    def end_unknown(self, workers: Iterable[WorkerId], now: datetime) -> None:
        """Ends what is open on workers that are not among those that there are."""
        for worker in self._open.keys() - set(workers):
            for holding in list(self._open[worker].values()):
                self._end(holding, now)

    def take_changes(self) -> list[SlotUsage]:
        """Holdings that began or ended since the last call, in order."""
        taken, self._changed = self._changed, {}
        return list(taken.values())

    def _begin(self, holding: SlotUsage) -> None:
        self._open.setdefault(holding.worker, {})[holding.allocation] = holding
        self._changed[holding.key] = holding

    def _end(self, holding: SlotUsage, now: datetime) -> None:
        here = self._open[holding.worker]
        del here[holding.allocation]
        if not here:
            del self._open[holding.worker]
        # The clock of a leader that took over may be a little behind.
        self._changed[holding.key] = changed(holding, until=max(now, holding.since))


def _holding(
    run: Run, worker: WorkerId, slots: SlotCount, now: datetime, price_per_slot_hour: float | None
) -> SlotUsage:
    grant = run.grant
    return SlotUsage(
        allocation=grant.allocation,
        worker=worker,
        since=now,
        tenant=grant.tenant,
        workspace=grant.workspace,
        owner=grant.owner,
        experiment=grant.experiment,
        pool=grant.pool,
        slots=slots,
        price_per_slot_hour=price_per_slot_hour,
    )
