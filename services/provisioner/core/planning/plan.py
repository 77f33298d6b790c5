"""One look at a pool: what the driver sees moves instances, sizing adds and takes away, and what is due is to be done."""

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
from services.provisioner.core.instances.intents import Presence, Sighting, duplicates, own_sighting
from services.provisioner.core.instances.outcomes import LASTS, pause_after
from services.provisioner.core.instances.refusals import LaunchBackoff, LaunchRefusal, on_refused as on_hold
from services.provisioner.core.planning.absences import Absence
from services.provisioner.core.planning.pool_status import PoolStatus
from services.provisioner.core.planning.sizing import SETTLES_IN, Sizing, plan_size, with_migrations
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import WorkerId

MOST_ATTEMPTS = 10
APPEARS_WITHIN = timedelta(seconds=60)
HANGS_AFTER = timedelta(seconds=60)
"""A worker that runs and is not heard for so long is started again; its ranks are not its children and go on."""
HOPELESS_AFTER = timedelta(minutes=30)
"""A machine whose worker has joined may have healthy ranks and unsent journals: it is not given up before."""
_WHERE_TO_LOOK = (
    "look at the log of the machine's start (can it reach the platform?), or raise the pool's join timeout"
)
MISSED_READINGS = 3
"""A machine that a late provider did not name so often in a row, and for longer than it is late, is gone."""


@dataclass(frozen=True, slots=True)
class PoolWorld:
    """What is known of a pool at the beginning of a pass: what is on record, and what the providers name. `lateness`: of each, how late its readings
    may be."""

    spec: PoolSpec
    standing: PoolStatus
    sightings: Mapping[WorkerId, Sighting] = field(default_factory=dict)
    absences: Mapping[WorkerId, Absence] = field(default_factory=dict)
    lateness: Mapping[str, timedelta] = field(default_factory=dict)

    def is_gone(self, one: Instance, now: datetime) -> bool:
        """Whether nothing of it is there: the provider says so, or has not named it for longer than its readings are late."""
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
    """`moves`: (before, after). `launches`: calls to be made (again). `starts`, `kicks` (of workers that hang), `ends` and `extras` (machines that
    say they are somebody else, with their ids) are effects that are due; they are repeated until they are recorded. `refusals`: what machines
    that came to nothing say of their offers."""

    moves: tuple[tuple[Instance, Instance], ...] = ()
    sizing: Sizing = field(default_factory=Sizing)
    launches: tuple[IntentId, ...] = ()
    starts: tuple[Instance, ...] = ()
    kicks: tuple[Instance, ...] = ()
    ends: tuple[Instance, ...] = ()
    extras: tuple[tuple[WorkerId, str], ...] = ()
    refusals: tuple[tuple[Instance, LaunchRefusal], ...] = ()


def plan_pool(world: PoolWorld, now: datetime) -> PoolPlan:
    """Plans a pass. Sizing sees the instances as the moves leave them, and heeds what they say of their offers."""
    moves = [(one, _seen(one, world, now)) for one in world.standing.live]
    after = [one for _, one in moves]
    refusals = [(one, why) for before, one in moves if (why := _refusal_of(before, one)) is not None]
    holds = [
        *world.standing.holds,
        *(hold for one, why in refusals if (hold := _hold(world.spec, one, why, now)) is not None),
    ]
    standing = replace(world.standing, live=after, holds=holds)
    due = [one for one in after if one.is_due(now)]
    return PoolPlan(
        moves=tuple((before, one) for before, one in moves if one != before),
        sizing=with_migrations(world.spec, standing, plan_size(world.spec, standing, now), now),
        launches=tuple(
            dict.fromkeys(
                one.intent for one in due if one.state is InstanceState.WANTED and one.intent is not None
            )
        ),
        starts=tuple(one for one in due if _should_start_again(one, world)),
        kicks=tuple(one for one in due if _hangs(one, world, now)),
        ends=tuple(one for one in due if one.state is InstanceState.TERMINATING),
        extras=tuple((one.worker, extra) for one in after for extra in duplicates(one, world.sightings)),
        refusals=tuple(refusals),
    )


def is_idle(world: PoolWorld, plan: PoolPlan, now: datetime) -> bool:
    """Whether time alone brings nothing soon: nothing is to be done, no launch is put off, and every worker serves and has settled."""
    is_held = any(is_on(world.spec, hold, now) for hold in world.standing.holds)
    idle = PoolPlan(sizing=Sizing(short=plan.sizing.short, rates=plan.sizing.rates))
    return plan == idle and not is_held and all(_is_settled(one, now) for one in world.standing.live)


def is_on(spec: PoolSpec, hold: LaunchBackoff, now: datetime) -> bool:
    """Whether a hold keeps this pool from something now."""
    return hold.is_on(now) and any(hold.scope.covers(offer) for offer in spec.offers)


def _seen(one: Instance, world: PoolWorld, now: datetime) -> Instance:
    sighting = own_sighting(one, world.sightings)
    one = _with_facts(one, sighting, now)
    presence = sighting.presence if sighting else None
    if one.state is InstanceState.DRAINED:
        return moved(one, InstanceTrigger.RELEASE, now)
    if one.state is InstanceState.WANTED:
        return _seen_wanted(one, presence, now)
    if one.state not in SERVING:
        return one
    if world.is_gone(one, now):
        is_late = (
            presence is Presence.ENDED
            or one.state is not InstanceState.LAUNCHING
            or now - one.since > APPEARS_WITHIN
        )
        return _vanished(one, world, now) if is_late else one
    if presence is Presence.STOPPED and _is_hopeless(one, now):
        return moved(one, InstanceTrigger.FAIL, now, f"its worker ended {one.attempts} times in a row")
    if one.state in STARTING and now - one.since > world.spec.join_timeout:
        return moved(one, InstanceTrigger.FAIL, now, "its worker did not join in time")
    if one.state is InstanceState.LAUNCHING and presence is Presence.RUNNING:
        return moved(one, InstanceTrigger.APPEARED, now)
    if presence is Presence.RUNNING and _has_lasted(one, now):
        return replace(one, attempts=0, retry_at=None, version=one.version + 1)
    return one


def _with_facts(one: Instance, sighting: Sighting | None, now: datetime) -> Instance:
    """What the provider says of it: its id, and between which times it is billed."""
    if sighting is None:
        return one
    external_id = one.external_id or sighting.external_id
    launched_at, over_at = one.launched_at, one.over_at
    if launched_at is not None and sighting.launched_at:
        launched_at = sighting.launched_at
    if over_at is None and sighting.presence is Presence.ENDED:
        over_at = sighting.ended_at or now
    if (external_id, launched_at, over_at) == (one.external_id, one.launched_at, one.over_at):
        return one
    return replace(
        one, external_id=external_id, launched_at=launched_at, over_at=over_at, version=one.version + 1
    )


def _seen_wanted(one: Instance, presence: Presence | None, now: datetime) -> Instance:
    """A call whose outcome is not on record may have been carried out; one that failed again and again without any trace is given up."""
    if presence in (Presence.RUNNING, Presence.ENDED):
        return moved(one, InstanceTrigger.ORDERED, now)
    if one.attempts >= MOST_ATTEMPTS and presence is None:
        return moved(one, InstanceTrigger.RELEASE, now, one.reason)
    return one


def _vanished(one: Instance, world: PoolWorld, now: datetime) -> Instance:
    absence = world.absences.get(one.worker)
    over_at = one.over_at or (absence.since if absence else None)
    return replace(moved(one, InstanceTrigger.VANISH, now, "the machine has vanished"), over_at=over_at)


def _refusal_of(before: Instance, after: Instance) -> LaunchRefusal | None:
    """What its end says of its offer: that it is not to be had, or that its machines do not work."""
    if after.state is not InstanceState.TERMINATING or before.state is InstanceState.TERMINATING:
        return None
    if after.ending == "failed" and before.ready_at is None:
        return LaunchRefusal("never_joins", f"{after.reason or 'its worker did not join'}; {_WHERE_TO_LOOK}")
    if after.ending == "lost" and after.purchase == "spot":
        return LaunchRefusal("no_capacity", "a machine was taken back")
    return None


def _hold(spec: PoolSpec, one: Instance, refusal: LaunchRefusal, now: datetime) -> LaunchBackoff | None:
    """As it will be once it is recorded: so much of it as matters to this pass."""
    mine = (one.machine_kind, one.zone, one.purchase)
    for offer in spec.offers:
        if mine == (offer.kind.name, offer.zone, offer.purchase):
            return on_hold(None, offer, refusal, now)
    return None


def _has_lasted(one: Instance, now: datetime) -> bool:
    """Whether it runs well after starts that did not last: when it ends again that is the first time, and nothing is waited for."""
    if one.retry_at is None or one.silent_since is not None:
        return False
    return now - (one.retry_at - pause_after(one.attempts)) > LASTS


def _is_settled(one: Instance, now: datetime) -> bool:
    """Whether only an event, the end of its process or long idleness moves it."""
    serves = one.state is InstanceState.READY and one.is_open and one.silent_since is None
    return serves and one.is_due(now) and now - one.since >= SETTLES_IN


def _is_hopeless(one: Instance, now: datetime) -> bool:
    """Whether a worker that ends again and again is given up."""
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
