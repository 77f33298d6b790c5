"""One pass over a pool: observations change instances, sizing adds and removes machines, and due effects are listed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from services.provisioner.core.instances.instance import (
    SERVING,
    STARTING,
    Instance,
    InstanceState,
    InstanceTrigger,
    IntentId,
    moved,
)
from services.provisioner.core.instances.launches import Presence, Sighting, duplicates, own_sighting
from services.provisioner.core.instances.outcomes import LASTS, pause_after
from services.provisioner.core.instances.refusals import LaunchBackoff, LaunchRefusal, on_refused as on_hold
from services.provisioner.core.planning.listing_gaps import Absence
from services.provisioner.core.planning.pool_status import PoolStatus
from services.provisioner.core.planning.sizing import SETTLES_IN, Sizing, plan_size, with_migrations
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import WorkerId

MOST_ATTEMPTS = 10
APPEARS_WITHIN = timedelta(seconds=60)
HANGS_AFTER = timedelta(seconds=60)
"""A running worker without heartbeat for this long is restarted; its ranks are not its children and continue."""
HOPELESS_AFTER = timedelta(minutes=30)
"""A machine whose worker has joined is not given up before, because it may have healthy ranks and unsent journals."""
_WHERE_TO_LOOK = (
    "check the machine's startup log (can it reach the platform?), or raise the pool's join timeout"
)
MISSED_READINGS = 3
"""A machine has vanished if a provider with late listings missed it this often in a row, and for longer than its listings are late."""


@dataclass(frozen=True, slots=True)
class PoolWorld:
    """State of a pool at the start of a pass: records, and what providers list.

    Attributes:
        lateness: Maximum delay of each provider's listings.
    """

    spec: PoolSpec
    status: PoolStatus
    sightings: Mapping[WorkerId, Sighting] = field(default_factory=dict)
    absences: Mapping[WorkerId, Absence] = field(default_factory=dict)
    lateness: Mapping[str, timedelta] = field(default_factory=dict)

    def has_vanished(self, one: Instance, now: datetime) -> bool:
        """Whether the machine no longer exists: the provider reports its end, or has not listed it for longer than its listings are late."""
        seen = own_sighting(one, self.sightings)
        if seen is not None:
            return seen.presence is Presence.ENDED
        lateness = self.lateness.get(one.driver, timedelta())
        absence = self.absences.get(one.worker)
        if absence is None or not lateness:
            return not lateness
        return absence.readings >= MISSED_READINGS and now - absence.since >= lateness


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Result of a pass. Effects are repeated until they are recorded.

    Attributes:
        transitions: Changed instances, as (before, after).
        launches: Intents to launch (again).
        starts: Instances whose worker must be restarted.
        kills: Instances whose hung worker must be killed.
        terminations: Instances to terminate.
        extras: Ids of machines to terminate that claim another's worker.
        refusals: Causes that follow from failed machines.
    """

    transitions: tuple[tuple[Instance, Instance], ...] = ()
    sizing: Sizing = field(default_factory=Sizing)
    launches: tuple[IntentId, ...] = ()
    starts: tuple[Instance, ...] = ()
    kills: tuple[Instance, ...] = ()
    terminations: tuple[Instance, ...] = ()
    extras: tuple[tuple[WorkerId, str], ...] = ()
    refusals: tuple[tuple[Instance, LaunchRefusal], ...] = ()


def plan_pool(world: PoolWorld, now: datetime) -> PoolPlan:
    """Plan a pass. Sizing uses the changed instances and the refusals that follow from them."""
    transitions = [(one, _seen(one, world, now)) for one in world.status.live]
    after = [one for _, one in transitions]
    refusals = [(one, why) for before, one in transitions if (why := _refusal_of(before, one)) is not None]
    holds = [
        *world.status.holds,
        *(hold for one, why in refusals if (hold := _hold(world.spec, one, why, now)) is not None),
    ]
    status = replace(world.status, live=after, holds=holds)
    due = [one for one in after if one.is_due(now)]
    return PoolPlan(
        transitions=tuple((before, one) for before, one in transitions if one != before),
        sizing=with_migrations(world.spec, status, plan_size(world.spec, status, now), now),
        launches=tuple(
            dict.fromkeys(
                one.intent for one in due if one.state is InstanceState.REQUESTED and one.intent is not None
            )
        ),
        starts=tuple(one for one in due if _should_start_again(one, world)),
        kills=tuple(one for one in due if _hangs(one, world, now)),
        terminations=tuple(one for one in due if one.state is InstanceState.TERMINATING),
        extras=tuple((one.worker, extra) for one in after for extra in duplicates(one, world.sightings)),
        refusals=tuple(refusals),
    )


def is_idle(world: PoolWorld, plan: PoolPlan, now: datetime) -> bool:
    """Whether nothing will happen soon without an event: no effect is due, no launch is paused, and every worker serves and has settled."""
    is_held = any(is_on(world.spec, hold, now) for hold in world.status.holds)
    idle = PoolPlan(sizing=Sizing(shortfall=plan.sizing.shortfall, rates=plan.sizing.rates))
    return plan == idle and not is_held and all(_is_settled(one, now) for one in world.status.live)


def is_on(spec: PoolSpec, hold: LaunchBackoff, now: datetime) -> bool:
    """Whether a hold pauses an offer of this pool now."""
    return hold.is_on(now) and any(hold.scope.covers(offer) for offer in spec.offers)


def _seen(one: Instance, world: PoolWorld, now: datetime) -> Instance:
    sighting = own_sighting(one, world.sightings)
    one = _with_facts(one, sighting, now)
    presence = sighting.presence if sighting else None
    if one.state is InstanceState.DRAINED:
        return moved(one, InstanceTrigger.RELEASE, now)
    if one.state is InstanceState.REQUESTED:
        return _seen_wanted(one, presence, now)
    if one.state not in SERVING:
        return one
    if world.has_vanished(one, now):
        is_late = (
            presence is Presence.ENDED
            or one.state is not InstanceState.LAUNCHING
            or now - one.since > APPEARS_WITHIN
        )
        return _vanished(one, world, now) if is_late else one
    if presence is Presence.STOPPED and _is_hopeless(one, now):
        return moved(one, InstanceTrigger.FAIL, now, f"the worker exited {one.attempts} times in a row")
    if one.state in STARTING and now - one.since > world.spec.join_timeout:
        return moved(one, InstanceTrigger.FAIL, now, "the worker did not join before the join timeout")
    if one.state is InstanceState.LAUNCHING and presence is Presence.RUNNING:
        return moved(one, InstanceTrigger.APPEARED, now)
    if presence is Presence.RUNNING and _has_lasted(one, now):
        return replace(one, attempts=0, retry_at=None, version=one.version + 1)
    return one


def _with_facts(one: Instance, sighting: Sighting | None, now: datetime) -> Instance:
    """Return the instance with the provider's facts: its id and its billing times."""
    if sighting is None:
        return one
    external_id = one.external_id or sighting.external_id
    launched_at, provider_ended_at = one.launched_at, one.provider_ended_at
    if launched_at is not None and sighting.launched_at:
        launched_at = sighting.launched_at
    if provider_ended_at is None and sighting.presence is Presence.ENDED:
        provider_ended_at = sighting.ended_at or now
    if (external_id, launched_at, provider_ended_at) == (
        one.external_id,
        one.launched_at,
        one.provider_ended_at,
    ):
        return one
    return replace(
        one,
        external_id=external_id,
        launched_at=launched_at,
        provider_ended_at=provider_ended_at,
        version=one.version + 1,
    )


def _seen_wanted(one: Instance, presence: Presence | None, now: datetime) -> Instance:
    """Handle a launch without a recorded outcome, which may have worked. One that failed repeatedly without a trace is given up."""
    if presence in (Presence.RUNNING, Presence.ENDED):
        return moved(one, InstanceTrigger.ORDERED, now)
    if one.attempts >= MOST_ATTEMPTS and presence is None:
        return moved(one, InstanceTrigger.RELEASE, now, one.reason)
    return one


def _vanished(one: Instance, world: PoolWorld, now: datetime) -> Instance:
    absence = world.absences.get(one.worker)
    provider_ended_at = one.provider_ended_at or (absence.since if absence else None)
    return replace(
        moved(one, InstanceTrigger.VANISH, now, "the machine no longer exists at its provider"),
        provider_ended_at=provider_ended_at,
    )


def _refusal_of(before: Instance, after: Instance) -> LaunchRefusal | None:
    """Return what an instance's end means for its offer: not available, or its machines do not work."""
    if after.state is not InstanceState.TERMINATING or before.state is InstanceState.TERMINATING:
        return None
    if after.ending == "failed" and before.ready_at is None:
        return LaunchRefusal("never_joins", f"{after.reason or 'the worker did not join'}; {_WHERE_TO_LOOK}")
    if after.ending == "lost" and after.purchase == "spot":
        return LaunchRefusal("no_capacity", "a spot machine was reclaimed")
    return None


def _hold(spec: PoolSpec, one: Instance, refusal: LaunchRefusal, now: datetime) -> LaunchBackoff | None:
    """Return the hold as it will be recorded, with the fields that matter to this pass."""
    mine = (one.machine_kind, one.zone, one.purchase)
    for offer in spec.offers:
        if mine == (offer.kind.name, offer.zone, offer.purchase):
            return on_hold(None, offer, refusal, now)
    return None


def _has_lasted(one: Instance, now: datetime) -> bool:
    """Whether the worker runs well after short-lived starts, so that its next end counts as the first."""
    if one.retry_at is None or one.silent_since is not None:
        return False
    return now - (one.retry_at - pause_after(one.attempts)) > LASTS


def _is_settled(one: Instance, now: datetime) -> bool:
    """Whether only an event, the end of its process or long idleness changes it."""
    serves = one.state is InstanceState.READY and one.is_schedulable and one.silent_since is None
    return serves and one.is_due(now) and now - one.since >= SETTLES_IN


def _is_hopeless(one: Instance, now: datetime) -> bool:
    """Whether a worker that exits again and again is given up."""
    if one.attempts < MOST_ATTEMPTS:
        return False
    return one.ready_at is None or (one.silent_since is not None and now - one.silent_since > HOPELESS_AFTER)


def _hangs(one: Instance, world: PoolWorld, now: datetime) -> bool:
    if one.state not in (InstanceState.READY, InstanceState.DRAINING) or one.silent_since is None:
        return False
    return _presence(one, world) is Presence.RUNNING and now - one.silent_since > HANGS_AFTER


def _should_start_again(one: Instance, world: PoolWorld) -> bool:
    return one.state in SERVING and _presence(one, world) is Presence.STOPPED


def _presence(one: Instance, world: PoolWorld) -> Presence | None:
    sighting = own_sighting(one, world.sightings)
    return sighting.presence if sighting else None
