"""The arrangement of a pool's elastic runs: how many slots each should have now, and on which machines."""

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
    """Parameters of the distribution.

    Attributes:
        fairness: See `shares`.
        service_exponent: How much the weight of a run decreases with its past service, so that short runs go
            first, as in least attained service (Tiresias, NSDI 2019). 0: all runs count alike, as in Pollux.
        service_unit_ms: Slot-milliseconds from which the decrease becomes noticeable.
    """

    fairness: float = FAIRNESS
    service_exponent: float = 0.25
    service_unit_ms: int = 1_000_000


@dataclass(frozen=True, slots=True)
class ElasticMember:
    """An elastic trial that runs or waits.

    Attributes:
        held: Its current placement; empty while it waits.
        history: Its reports; None: none yet.
        promised: The number of slots for which its last run was ended. It resumes with them unless much has changed.
        is_silent: It does not report; its speed-up is taken to be proportional.
        age_ms: Time since its request was submitted.
        service_ms: Slot-milliseconds that it has had.
        resizes: How often it was resized or moved.
        pause_ms: The cost of a resize: save, rejoin and load, or re-form the gang while it trains.
        taste: Its excluded and preferred machines.
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
    """Return the placement of each member; members that must wait are omitted.

    Args:
        members: In the order in which they get their minimum if it does not suffice for all.
        machines: Slots that elastic runs may use on each machine: free ones and those held by members.
        domains: Each machine's domains in the pool's topology; None: no topology.
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
    """The most slots that its reports allow; without reports, what it holds or `FIRST_SLOTS`. A new run does
    not grow yet."""
    if member.history is not None:
        return member.history.most_slots
    if member.is_silent:
        return member.max_slots
    return held or FIRST_SLOTS


def _after_resize(member: ElasticMember) -> float:
    """Pollux's re-allocation factor (section 4.2): the run is expected to last as long again as it has lasted,
    and loses a pause in that time in addition to earlier ones."""
    worth = max(0, member.age_ms - member.resizes * member.pause_ms)
    return worth / (member.age_ms + member.pause_ms) if member.age_ms else 0.0
