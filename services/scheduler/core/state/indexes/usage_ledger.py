"""The usage ledger: who held how many slots on which worker, from when until when. Usage and cost are summed from it.

An entry is a period with a constant number of slots. It starts with the grant or a resize, and ends when the
worker has released the slots or was declared lost. Slots of a lost worker are not charged to the tenant, even
if the worker returns and still has the old run. `grants` starts entries, `scheduling` ends them.
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
    """Slots of one worker held by one allocation. `until` None: held now. The price is that at the start; None:
    unknown."""

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
    """Open entries, and the entries that changed since they were last taken."""

    def __init__(self) -> None:
        self._open: dict[WorkerId, dict[AllocationId, SlotUsage]] = {}
        self._changed: dict[tuple[AllocationId, WorkerId, datetime], SlotUsage] = {}

    def load(self, usage_entries: Iterable[SlotUsage]) -> None:
        """Load the entries that an earlier term left open."""
        for usage_entry in usage_entries:
            self._open.setdefault(usage_entry.worker, {})[usage_entry.allocation] = usage_entry

    def begin(self, run: Run, now: datetime, price_per_slot_hour: float | None = None) -> None:
        """Record that the run holds its shares from now on. Entries with another number of slots end."""
        for share in run.shares:
            before = self._open.get(share.worker, {}).get(run.allocation)
            if before is not None and before.slots == share.charged:
                continue
            if before is not None:
                self._end(before, now)
            if share.charged:
                self._begin(_holding(run, share.worker, share.charged, now, price_per_slot_hour))

    def follow(self, worker: Worker, now: datetime) -> None:
        """End entries of slots that the worker no longer holds. A worker without a heartbeat in this term may
        still hold all of them."""
        is_given_up = worker.liveness in (Liveness.LOST, Liveness.REMOVED)
        if not is_given_up and not worker.has_heartbeat:
            return
        for usage_entry in list(self._open.get(worker.id, {}).values()):
            if is_given_up or usage_entry.allocation not in worker.held:
                self._end(usage_entry, now)

    def end_unknown(self, workers: Iterable[WorkerId], now: datetime) -> None:
        """End open entries of workers that are not in `workers`."""
        for worker in self._open.keys() - set(workers):
            for usage_entry in list(self._open[worker].values()):
                self._end(usage_entry, now)

    def take_changes(self) -> list[SlotUsage]:
        """Return the entries that started or ended since the last call, in order."""
        taken, self._changed = self._changed, {}
        return list(taken.values())

    def _begin(self, usage_entry: SlotUsage) -> None:
        self._open.setdefault(usage_entry.worker, {})[usage_entry.allocation] = usage_entry
        self._changed[usage_entry.key] = usage_entry

    def _end(self, usage_entry: SlotUsage, now: datetime) -> None:
        here = self._open[usage_entry.worker]
        del here[usage_entry.allocation]
        if not here:
            del self._open[usage_entry.worker]
        # A new leader's clock may be slightly behind.
        self._changed[usage_entry.key] = changed(usage_entry, until=max(now, usage_entry.since))


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
