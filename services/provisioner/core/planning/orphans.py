"""Find machines without a live instance, and correct the billing times of ended ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from services.provisioner.core.instances.launches import Presence, Sighting
from services.provisioner.core.planning.listing_gaps import Absence
from services.provisioner.core.planning.plan import MISSED_READINGS
from shared.ids import WorkerId

EXACT = timedelta(seconds=1)
"""Tolerance for equal billing times."""


@dataclass(frozen=True, slots=True)
class Bill:
    """Billing period of an ended instance in the ledger. `launched_at` is None if the machine is not known to have been created."""

    external_id: str | None
    launched_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderLeftovers:
    """Machines that one provider lists besides the live instances.

    Attributes:
        bills: Billing periods of ended instances in the ledger.
        orphans: Machines without a record, and since when they were seen. A record is written before its machine is
            launched, so none will appear later.
        lateness: Maximum delay of listings; ended machines may still be listed.
        terminates_orphans: Whether to terminate machines without a record.
    """

    seen: Mapping[WorkerId, Sighting]
    bills: Mapping[WorkerId, Bill]
    orphans: Mapping[WorkerId, Absence]
    lateness: timedelta
    terminates_orphans: bool


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Machines to terminate, with their ids, and corrected bills."""

    terminations: tuple[tuple[WorkerId, str | None], ...] = ()
    bills: Mapping[WorkerId, Bill] = field(default_factory=dict)


def plan_sweep(left: ProviderLeftovers, now: datetime) -> SweepPlan:
    """Terminate machines of ended instances, and machines without a record seen repeatedly for longer than listings are late."""
    terminations: list[tuple[WorkerId, str | None]] = []
    bills = {}
    for worker, seen in left.seen.items():
        if worker in left.bills:
            bill = _bill(left.bills[worker], seen)
            if bill != left.bills[worker]:
                bills[worker] = bill
        elif not _is_due(left, worker, now):
            continue
        if seen.presence is not Presence.ENDED:
            terminations += [(worker, machine) for machine in (seen.external_id, *seen.extras)]
    return SweepPlan(tuple(terminations), bills)


def _is_due(left: ProviderLeftovers, worker: WorkerId, now: datetime) -> bool:
    since = left.orphans.get(worker)
    if not left.terminates_orphans or since is None:
        return False
    # The machine's age also counts, so that a new leader does not start counting from zero.
    stands_since = min(since.since, left.seen[worker].launched_at or since.since)
    return since.readings >= MISSED_READINGS and now - stands_since >= left.lateness


def _bill(known: Bill, seen: Sighting) -> Bill:
    """Return the bill with the provider's times, if it describes the same machine."""
    if known.external_id not in (None, seen.external_id):
        return known
    reported = Bill(known.external_id, seen.launched_at or known.launched_at, seen.ended_at or known.ended_at)
    is_same = _is_near(known.launched_at, reported.launched_at) and _is_near(
        known.ended_at, reported.ended_at
    )
    return known if is_same else reported


def _is_near(one: datetime | None, other: datetime | None) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < EXACT)
