"""An instance, which is one machine with one worker, and its state machine."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal, NewType
from uuid import UUID

from services.provisioner.core.catalogue import Purchase
from shared.ids import InstanceId, PoolName, WorkerId
from shared.messages.trial_specs import SlotKind
from shared.state_machine import StateMachine

InstanceEnding = Literal["terminated", "lost", "failed"]
IntentId = NewType("IntentId", UUID)
"""Id of one launch of machines; see `launches`."""


class InstanceState(StrEnum):
    """State of an instance, as in `InstanceChanged`."""

    REQUESTED = "requested"
    LAUNCHING = "launching"
    JOINING = "joining"
    READY = "ready"
    DRAINING = "draining"
    DRAINED = "drained"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    LOST = "lost"
    FAILED = "failed"


class InstanceTrigger(StrEnum):
    """Transitions. `refused`: the machine was never created; `release` ends an empty machine, `fail` a broken one, `vanish` a missing one."""

    ORDERED = "ordered"
    REFUSED = "refused"
    APPEARED = "appeared"
    JOINED = "joined"
    DRAIN = "drain"
    UNDO = "undo"
    EMPTIED = "emptied"
    RELEASE = "release"
    FAIL = "fail"
    VANISH = "vanish"
    ENDED_RELEASED = "ended_released"
    ENDED_LOST = "ended_lost"
    ENDED_FAILED = "ended_failed"


_S, _T = InstanceState, InstanceTrigger
FINAL = frozenset({_S.TERMINATED, _S.LOST, _S.FAILED})
STARTING = frozenset({_S.REQUESTED, _S.LAUNCHING, _S.JOINING})
SERVING = frozenset({_S.LAUNCHING, _S.JOINING, _S.READY, _S.DRAINING})
"""States in which the worker should run."""
LEAVING = frozenset({_S.DRAINING, _S.DRAINED, _S.TERMINATING})

INSTANCE = StateMachine(
    name="instance",
    initial=_S.REQUESTED,
    table={
        (_S.REQUESTED, _T.ORDERED): _S.LAUNCHING,
        (_S.REQUESTED, _T.REFUSED): _S.FAILED,
        (_S.LAUNCHING, _T.APPEARED): _S.JOINING,
        **{(state, _T.JOINED): _S.READY for state in STARTING},
        (_S.READY, _T.DRAIN): _S.DRAINING,
        (_S.DRAINING, _T.UNDO): _S.READY,
        (_S.DRAINING, _T.EMPTIED): _S.DRAINED,
        (_S.DRAINED, _T.RELEASE): _S.TERMINATING,
        **{(state, _T.RELEASE): _S.TERMINATING for state in STARTING},
        **{(state, _T.FAIL): _S.TERMINATING for state in SERVING},
        **{(state, _T.VANISH): _S.TERMINATING for state in (*SERVING, _S.DRAINED)},
        (_S.TERMINATING, _T.ENDED_RELEASED): _S.TERMINATED,
        (_S.TERMINATING, _T.ENDED_LOST): _S.LOST,
        (_S.TERMINATING, _T.ENDED_FAILED): _S.FAILED,
    },
    ignored={
        *((state, _T.JOINED) for state in (_S.READY, *LEAVING)),
        *((state, _T.EMPTIED) for state in (*STARTING, _S.READY, _S.DRAINED, _S.TERMINATING)),
        *((state, _T.ORDERED) for state in (_S.LAUNCHING, _S.JOINING, _S.READY, *LEAVING)),
        *((state, _T.REFUSED) for state in (_S.LAUNCHING, _S.JOINING, _S.READY, *LEAVING)),
    },
    final=FINAL,
)
_ENDED: dict[InstanceEnding, InstanceTrigger] = {
    "terminated": _T.ENDED_RELEASED,
    "lost": _T.ENDED_LOST,
    "failed": _T.ENDED_FAILED,
}
_ENDINGS: dict[InstanceTrigger, InstanceEnding] = {
    _T.RELEASE: "terminated",
    _T.VANISH: "lost",
    _T.FAIL: "failed",
    _T.REFUSED: "failed",
}


@dataclass(frozen=True, slots=True)
class Instance:
    """One machine with one worker.

    Attributes:
        pool_index: Its index in the pool, from 0.
        attempts: Consecutive short-lived starts of its worker; the next start is not before `retry_at`.
        is_schedulable: Whether its worker sends heartbeats and takes work.
        silent_since: When the scheduler lost the worker, without a heartbeat since.
        intent: The launch that created it, as a machine of `machine_kind`.
        external_id: The provider's id of the machine.
        provider_ended_at: When the provider ended the machine.
    """

    id: InstanceId
    pool: PoolName
    worker: WorkerId
    driver: str
    pool_index: int
    slots: int
    kind: SlotKind
    price_per_hour: float
    state: InstanceState
    since: datetime
    version: int = 1
    reason: str | None = None
    ending: InstanceEnding = "terminated"
    attempts: int = 0
    retry_at: datetime | None = None
    is_schedulable: bool = False
    worker_version: int = 0
    launched_at: datetime | None = None
    ready_at: datetime | None = None
    ended_at: datetime | None = None
    silent_since: datetime | None = None
    intent: IntentId | None = None
    machine_kind: str = ""
    zone: str | None = None
    purchase: Purchase = "on_demand"
    external_id: str | None = None
    provider_ended_at: datetime | None = None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    def is_due(self, now: datetime) -> bool:
        """Whether its worker may be started (again) now."""
        return self.retry_at is None or self.retry_at <= now


def worker_of(instance: InstanceId) -> WorkerId:
    """Derive the worker's id from the instance's id. It is short, because socket paths contain it."""
    return WorkerId(f"w-{instance.hex[-10:]}")


def moved(instance: Instance, trigger: InstanceTrigger, now: datetime, reason: str | None = None) -> Instance:
    """Return the instance after `trigger`; the same instance if nothing changes."""
    state = INSTANCE.next(instance.state, trigger)
    if state == instance.state:
        return instance
    after = replace(
        instance,
        state=state,
        since=now,
        version=instance.version + 1,
        reason=reason or (instance.reason if state in FINAL else None),
        ending=_ENDINGS.get(trigger, instance.ending),
        is_schedulable=instance.is_schedulable and state in (_S.READY, _S.DRAINING),
        retry_at=None if trigger is _T.ORDERED or state is _S.TERMINATING else instance.retry_at,
    )
    if trigger is _T.ORDERED or (instance.launched_at is None and state is _S.READY):
        after = replace(after, launched_at=now)
    if trigger is _T.JOINED:
        after = replace(after, ready_at=now, is_schedulable=True, attempts=0)
    if state in FINAL:
        after = replace(after, ended_at=min(now, after.provider_ended_at) if after.provider_ended_at else now)
    return after


def ended(instance: Instance, now: datetime) -> Instance:
    """Return the instance after its machine has ended."""
    return moved(instance, _ENDED[instance.ending], now)
