"""What providers show and no live instance stands for: what is left is ended, and what ended machines cost is as the provider says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from services.provisioner.core.instances.intents import Presence, Sighting
from services.provisioner.core.planning.absences import Absence
from services.provisioner.core.planning.plan import MISSED_READINGS
from shared.ids import WorkerId

EXACT = timedelta(seconds=1)
"""A bill that differs by less is right."""


@dataclass(frozen=True, slots=True)
class Bill:
    """From when until when an ended instance's machine was paid for, as the ledger has it. `launched_at` None: it was never made as far as is known."""

    external_id: str | None
    launched_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderLeftovers:
    """What one provider shows beside the live instances. `bills`: of those that have ended, as they are in the ledger. `strangers`: since when
    machines have been seen that are on no record; a record comes before its machine, so nobody will claim them. `lateness`: how late the provider's
    looks may be: what was ended may still be shown."""

    seen: Mapping[WorkerId, Sighting]
    bills: Mapping[WorkerId, Bill]
    strangers: Mapping[WorkerId, Absence]
    lateness: timedelta
    ends_strangers: bool


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Machines to be ended, each with its id, and bills that are otherwise than the ledger has them."""

    ends: tuple[tuple[WorkerId, str | None], ...] = ()
    bills: Mapping[WorkerId, Bill] = field(default_factory=dict)


def plan_sweep(left: ProviderLeftovers, now: datetime) -> SweepPlan:
    """Machines of ended instances go, and so do strangers that were seen several times and for longer than looks are late."""
    ends: list[tuple[WorkerId, str | None]] = []
    bills = {}
    for worker, seen in left.seen.items():
        if worker in left.bills:
            bill = _bill(left.bills[worker], seen)
            if bill != left.bills[worker]:
                bills[worker] = bill
        elif not _is_due(left, worker, now):
            continue
        if seen.presence is not Presence.ENDED:
            ends += [(worker, machine) for machine in (seen.external_id, *seen.extras)]
    return SweepPlan(tuple(ends), bills)


def _is_due(left: ProviderLeftovers, worker: WorkerId, now: datetime) -> bool:
    since = left.strangers.get(worker)
    if not left.ends_strangers or since is None:
        return False
    # A leader that has just begun need not count from anew how old a machine is.
    stands_since = min(since.since, left.seen[worker].launched_at or since.since)
    return since.readings >= MISSED_READINGS and now - stands_since >= left.lateness


def _bill(known: Bill, seen: Sighting) -> Bill:
    """As the provider has it, if it is the same machine that it tells of."""
    if known.external_id not in (None, seen.external_id):
        return known
    told = Bill(known.external_id, seen.launched_at or known.launched_at, seen.ended_at or known.ended_at)
    is_same = _is_near(known.launched_at, told.launched_at) and _is_near(known.ended_at, told.ended_at)
    return known if is_same else told


def _is_near(one: datetime | None, other: datetime | None) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < EXACT)
