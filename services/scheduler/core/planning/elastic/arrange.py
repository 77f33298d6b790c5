"""The arrangement of a pool's elastic runs: how many slots each should have now, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from services.scheduler.core.planning.elastic.affinity import MachinePreference
from services.scheduler.core.planning.elastic.packing import Packing, allowed_sizes
from services.scheduler.core.planning.elastic.shares import FAIRNESS, Claim, distribute
from services.scheduler.core.state.indexes.elastic.history import FIRST_SLOTS, ReportHistory
from services.scheduler.core.state.indexes.elastic.step_times import StepTimes
from services.scheduler.core.state.indexes.pause_durations import PRIOR_MS
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.indexes.placement.placement_index import Domains
from shared.ids import TrialId, WorkerId


@dataclass(frozen=True, slots=True)
class Tuning:
    """How slots are distributed.

    Attributes:
        fairness: See `shares`.
        service_exponent: How much less a run counts for what it has had already: the long ones stand back behind the short ones, as with
            the least attained service (Tiresias, NSDI 2019); 0: all count alike, as in Pollux.
        service_unit_ms: Slot-milliseconds from which on that shows.
    """

    fairness: float = FAIRNESS
    service_exponent: float = 0.25
    service_unit_ms: int = 1_000_000


@dataclass(frozen=True, slots=True)
class ElasticMember:
    """An elastic trial that runs or waits.

    Attributes:
        held: Where it runs now; empty: it waits.
        history: What it has reported; None: nothing yet.
        promised: The slots for which its last run was ended: it goes on with so many, unless much has changed since.
        is_silent: It does not report: it is taken to speed up in proportion.
        age_ms: Since it was asked for.
        service_ms: Slot-milliseconds that it has had.
        resizes: How often it was resized or moved.
        pause_ms: What a resize costs it: saving, joining anew, loading; or forming its gang anew while it trains.
        taste: On which machines it may not be, and on which it would rather be.
    """

    trial: TrialId
    min_slots: int
    max_slots: int
    held: Placement = ()
    history: ReportHistory | StepTimes | None = None
    promised: int = 0
    is_silent: bool = False
    age_ms: int = 0
    service_ms: int = 0
    resizes: int = 0
    pause_ms: int = PRIOR_MS["restart"]
    taste: MachinePreference = field(default_factory=MachinePreference)


DEFAULT = Tuning()


def arrange(
    members: Sequence[ElasticMember],
    machines: Mapping[WorkerId, int],
    tuning: Tuning = DEFAULT,
    domains: Mapping[WorkerId, Domains] | None = None,
) -> dict[TrialId, Placement]:
    """Where each member should be; those that must wait are left out.

    Args:
        members: In the order in which they get their minimum when there is not enough for all.
        machines: Slots of each that elastic runs may have: the free ones and those that members hold.
        domains: Where each stands in the pool's topology; None: it has none.
    """
    per_machine = max(machines.values(), default=0)
    if not per_machine:
        return {}
    claims = [_claim(member, per_machine, tuning) for member in members]
    shares = distribute(claims, sum(machines.values()), tuning.fairness)
    wanted = {member.trial: slots for member, slots in zip(members, shares, strict=True)}
    held = {member.trial: member.held for member in members}
    tastes = {member.trial: member.taste for member in members}
    return Packing(machines, held, tastes, domains).pack(
        wanted, {member.trial: member.min_slots for member in members}
    )


def _claim(member: ElasticMember, per_machine: int, tuning: Tuning) -> Claim:
    held = sum(count for _, count in member.held) or member.promised
    most = max(member.min_slots, min(member.max_slots, _most_slots(member, held)))
    sizes = allowed_sizes(member.min_slots, most, per_machine)
    if member.held:
        sizes = tuple(sorted({*sizes, held}))
    proportion = np.array(sizes) / sizes[0]
    return Claim(
        sizes=sizes,
        speedups=member.history.speedups(sizes, per_machine) if member.history else proportion,
        held=held,
        after_resize=_after_resize(member),
        weight=(1 + member.service_ms / tuning.service_unit_ms) ** -tuning.service_exponent,
    )


def _most_slots(member: ElasticMember, held: int) -> int:
    """What is known allows so many: the reports, or nothing yet; a run that has just begun does not grow."""
    if member.history is not None:
        return member.history.most_slots
    if member.is_silent:
        return member.max_slots
    return held or FIRST_SLOTS


def _after_resize(member: ElasticMember) -> float:
    """Pollux's re-allocation factor (section 4.2): a run is expected to live on for as long as it has lived, and to lose a pause in that
    time, beside those that it has lost already."""
    worth = max(0, member.age_ms - member.resizes * member.pause_ms)
    return worth / (member.age_ms + member.pause_ms) if member.age_ms else 0.0
