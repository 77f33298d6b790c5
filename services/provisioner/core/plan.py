"""One look at a pool: what the driver sees moves instances, sizing adds and takes away, and what is due is to be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from services.provisioner.core.instance import SERVING, STARTING, Instance, State, Trigger, moved
from services.provisioner.core.intents import Presence
from services.provisioner.core.sizing import SETTLES_IN, Demand, Policy, Sizing, plan_size
from shared.ids import WorkerId

MOST_ATTEMPTS = 10
APPEARS_WITHIN = timedelta(seconds=60)
LASTS = timedelta(seconds=5)
"""A worker that ran this long after its last start has started well."""
HANGS_AFTER = timedelta(seconds=60)
"""A worker that runs and is not heard for so long is started again; its ranks are not its children and go on."""
HOPELESS_AFTER = timedelta(minutes=30)
"""A machine whose worker has joined may have healthy ranks and unsent journals: it is not given up before."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


@dataclass(frozen=True, slots=True)
class World:
    """What is known at the beginning of a pass."""

    policy: Policy
    demand: Demand
    live: Sequence[Instance]
    presences: Mapping[WorkerId, Presence]
    idle_since: Mapping[WorkerId, datetime]
    may_launch: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """`moves`: (before, after). `starts`, `kicks` (of workers that hang) and `ends` are effects that are due; they are
    repeated until they are recorded."""

    moves: tuple[tuple[Instance, Instance], ...] = ()
    sizing: Sizing = field(default_factory=Sizing)
    starts: tuple[Instance, ...] = ()
    kicks: tuple[Instance, ...] = ()
    ends: tuple[Instance, ...] = ()


def plan_pool(world: World, now: datetime) -> Plan:
    """Plans a pass. Sizing sees the instances as the moves leave them."""
    moves = [(one, _seen(one, world, now)) for one in world.live]
    after = [one for _, one in moves]
    sizing = plan_size(world.policy, world.demand, after, world.idle_since, now)
    if not world.may_launch:
        sizing = replace(sizing, seats=())
    return Plan(
        moves=tuple((before, one) for before, one in moves if one != before),
        sizing=sizing,
        starts=tuple(one for one in after if one.is_due(now) and _should_start(one, world.presences)),
        kicks=tuple(one for one in after if one.is_due(now) and _hangs(one, world.presences, now)),
        ends=tuple(one for one in after if one.state is State.TERMINATING and one.is_due(now)),
    )


def is_at_rest(world: World, plan: Plan, now: datetime) -> bool:
    """Whether time alone brings nothing soon: nothing is to be done, no launch is put off, and every worker serves and has settled."""
    return plan == Plan() and world.may_launch and all(_is_settled(one, now) for one in world.live)


def on_ordered(instance: Instance, now: datetime) -> Instance:
    """The machine was ordered; it may have joined before this is recorded."""
    return moved(instance, Trigger.ORDERED, now)


def on_started_again(instance: Instance, now: datetime) -> Instance:
    """Its worker had ended and was started again, which counts as an attempt until it has lasted. One that lasted was mostly seen to
    (`_has_lasted`), and then has no `retry_at`; if it was not, it ended long after it could have been started again."""
    has_lasted = instance.retry_at is None or now - instance.retry_at > LASTS
    attempts = 1 if has_lasted else instance.attempts + 1
    return _given_time(_put_off(instance, attempts, now, instance.reason), now)


def on_kicked(instance: Instance, now: datetime) -> Instance:
    """Its worker hung and was killed, so that it is started again."""
    return _given_time(replace(instance, reason="its worker hung", version=instance.version + 1), now)


def on_not_done(instance: Instance, now: datetime, reason: str) -> Instance:
    """An effect failed; it is tried again, later and later."""
    return _put_off(instance, instance.attempts + 1, now, reason)


def pause_after(failures: int) -> timedelta:
    """How long to wait after so many failures in a row."""
    seconds = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(failures, 20))
    return timedelta(seconds=seconds if failures > 1 else _FIRST_PAUSE_S)


def _seen(one: Instance, world: World, now: datetime) -> Instance:
    presence = world.presences.get(one.worker)
    if one.state is State.DRAINED:
        return moved(one, Trigger.RELEASE, now)
    if one.state is State.WANTED and presence is Presence.RUNNING:
        return moved(one, Trigger.ORDERED, now)
    if one.state not in SERVING:
        return one
    if presence is None:
        is_late = one.state is not State.LAUNCHING or now - one.since > APPEARS_WITHIN
        return moved(one, Trigger.VANISH, now, "the machine has vanished") if is_late else one
    if presence is Presence.STOPPED and _is_hopeless(one, now):
        return moved(one, Trigger.FAIL, now, f"its worker ended {one.attempts} times in a row")
    if one.state in STARTING and now - one.since > world.policy.join_timeout:
        return moved(one, Trigger.FAIL, now, "its worker did not join in time")
    if one.state is State.LAUNCHING and presence is Presence.RUNNING:
        return moved(one, Trigger.APPEARED, now)
    if presence is Presence.RUNNING and _has_lasted(one, now):
        return replace(one, attempts=0, retry_at=None, version=one.version + 1)
    return one


def _has_lasted(one: Instance, now: datetime) -> bool:
    """Whether it runs well after starts that did not last: when it ends again that is the first time, and nothing is waited for."""
    if one.retry_at is None or one.silent_since is not None:
        return False
    return now - (one.retry_at - pause_after(one.attempts)) > LASTS


def _is_settled(one: Instance, now: datetime) -> bool:
    """Whether only an event, the end of its process or long idleness moves it."""
    serves = one.state is State.READY and one.is_open and one.silent_since is None
    return serves and one.is_due(now) and now - one.since >= SETTLES_IN


def _is_hopeless(one: Instance, now: datetime) -> bool:
    """Whether a worker that ends again and again is given up."""
    if one.attempts < MOST_ATTEMPTS:
        return False
    return one.ready_at is None or (one.silent_since is not None and now - one.silent_since > HOPELESS_AFTER)


def _hangs(one: Instance, presences: Mapping[WorkerId, Presence], now: datetime) -> bool:
    if one.state not in (State.READY, State.DRAINING) or one.silent_since is None:
        return False
    return presences.get(one.worker) is Presence.RUNNING and now - one.silent_since > HANGS_AFTER


def _should_start(one: Instance, presences: Mapping[WorkerId, Presence]) -> bool:
    if one.state is State.WANTED:
        return True
    return one.state in SERVING and presences.get(one.worker) is Presence.STOPPED


def _given_time(instance: Instance, now: datetime) -> Instance:
    """A worker that begins again has its time to be heard."""
    return replace(instance, silent_since=now) if instance.silent_since is not None else instance


def _put_off(instance: Instance, attempts: int, now: datetime, reason: str | None) -> Instance:
    return replace(
        instance,
        attempts=attempts,
        retry_at=now + pause_after(attempts),
        reason=reason,
        version=instance.version + 1,
    )
