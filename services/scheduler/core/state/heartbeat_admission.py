"""Decides whether a worker's heartbeat is accepted: in order, from one process of its daemon, and about slots
that it has.

A daemon finds its slots when it starts, so they never change within one process; a restarted daemon is a new
`incarnation`.
"""

from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from services.scheduler.core.state.records.worker import Worker
from shared.ids import PoolName, WorkerId
from shared.messages.trial_specs import SlotKind

Fault = Literal["doubled_worker", "wrong_pool", "wrong_kind", "wrong_slots"]


@dataclass(frozen=True, slots=True)
class HeartbeatClaim:
    """The part of a heartbeat that identifies the worker and its slots."""

    worker: WorkerId
    pool: PoolName
    incarnation: UUID
    sequence: int
    slots: tuple[tuple[int, SlotKind], ...]


@dataclass(frozen=True, slots=True)
class HeartbeatRejection:
    """Why a heartbeat is rejected."""

    code: Fault
    message: str


@dataclass(slots=True)
class _Accepted:
    incarnation: UUID
    slots: tuple[tuple[int, SlotKind], ...]
    sequence: int = -1
    past: set[UUID] = field(default_factory=set)


class HeartbeatGate:
    """The last heartbeat accepted from each worker."""

    def __init__(self) -> None:
        self._accepted: dict[WorkerId, _Accepted] = {}

    def take(
        self, claim: HeartbeatClaim, joined: Worker | None, kind: SlotKind | None
    ) -> bool | HeartbeatRejection:
        """Return True if the heartbeat is the newest and is accepted, False if a newer one was accepted before,
        or a Doubt, which changes nothing.

        Args:
            joined: The worker's record; None: unknown.
            kind: Kind of slot that its pool accepts; None: any.
        """
        accepted = self._accepted.get(claim.worker)
        if accepted is not None and claim.incarnation in accepted.past:
            message = f"worker {claim.worker} was started again since, perhaps on another machine; only its newest process is accepted"
            return HeartbeatRejection("doubled_worker", message)
        is_known = accepted is not None and (accepted.incarnation, accepted.slots) == (
            claim.incarnation,
            claim.slots,
        )
        doubt = None if is_known else _doubt(claim, joined, kind)
        if doubt is not None:
            return doubt
        if accepted is None or accepted.incarnation != claim.incarnation:
            past = {*accepted.past, accepted.incarnation} if accepted else set()
            accepted = self._accepted[claim.worker] = _Accepted(claim.incarnation, claim.slots, past=past)
        elif accepted.slots != claim.slots:
            had, has = len(accepted.slots), len(claim.slots)
            message = f"worker {claim.worker} started with {had} slots and now reports {has} different ones; restart it"
            return HeartbeatRejection("wrong_slots", message)
        if claim.sequence <= accepted.sequence:
            return False
        accepted.sequence = claim.sequence
        return True


def _doubt(claim: HeartbeatClaim, joined: Worker | None, kind: SlotKind | None) -> HeartbeatRejection | None:
    name, ids = claim.worker, sorted(number for number, _ in claim.slots)
    if joined is not None and joined.pool != claim.pool:
        message = f"worker {name} joined pool {joined.pool} but reports pool {claim.pool}"
        return HeartbeatRejection("wrong_pool", message)
    wrong = next(
        (one for one, after in zip(ids, [*ids[1:], None], strict=True) if one < 0 or one == after), None
    )
    if wrong is not None:
        return HeartbeatRejection(
            "wrong_slots", f"worker {name} reports slot {wrong}, which is negative or listed twice"
        )
    kinds = sorted({of for _, of in claim.slots})
    if len(kinds) > 1 or (kind is not None and kinds and kinds != [kind]):
        wanted = f"pool {claim.pool} accepts {kind}" if kind else "a worker may have only one kind"
        return HeartbeatRejection(
            "wrong_kind", f"worker {name} has slots of kind {' and '.join(kinds)}; {wanted}"
        )
    return None
