"""Whether a worker's word is taken: in the order in which it was said, of one life of its daemon, and of slots that it has.

A daemon finds its slots when it starts, so in one life they never change; a restarted one is another life (`incarnation`).
"""

from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from services.scheduler.core.state.records.worker import Worker
from shared.ids import PoolName, WorkerId
from shared.messages.specs import SlotKind

Fault = Literal["doubled_worker", "wrong_pool", "wrong_kind", "wrong_slots"]


@dataclass(frozen=True, slots=True)
class HeartbeatClaim:
    """What a worker says of itself."""

    worker: WorkerId
    pool: PoolName
    incarnation: UUID
    sequence: int
    slots: tuple[tuple[int, SlotKind], ...]


@dataclass(frozen=True, slots=True)
class HeartbeatRejection:
    """Why a worker's word is refused."""

    code: Fault
    message: str


@dataclass(slots=True)
class _Voice:
    incarnation: UUID
    slots: tuple[tuple[int, SlotKind], ...]
    sequence: int = -1
    past: set[UUID] = field(default_factory=set)


class HeartbeatGate:
    """The last word taken from each worker."""

    def __init__(self) -> None:
        self._voices: dict[WorkerId, _Voice] = {}

    def take(
        self, claim: HeartbeatClaim, joined: Worker | None, kind: SlotKind | None
    ) -> bool | HeartbeatRejection:
        """True: it is the newest and is taken; False: a newer one was taken before. A doubt leaves all as it was.

        Args:
            joined: the worker as it joined; None where it is not known.
            kind: of the slots that its pool takes; None: any.
        """
        voice = self._voices.get(claim.worker)
        if voice is not None and claim.incarnation in voice.past:
            message = f"worker {claim.worker} has been started again since, perhaps on another machine: only the last start counts"
            return HeartbeatRejection("doubled_worker", message)
        is_known = voice is not None and (voice.incarnation, voice.slots) == (claim.incarnation, claim.slots)
        doubt = None if is_known else _doubt(claim, joined, kind)
        if doubt is not None:
            return doubt
        if voice is None or voice.incarnation != claim.incarnation:
            past = {*voice.past, voice.incarnation} if voice else set()
            voice = self._voices[claim.worker] = _Voice(claim.incarnation, claim.slots, past=past)
        elif voice.slots != claim.slots:
            had, has = len(voice.slots), len(claim.slots)
            message = (
                f"worker {claim.worker} began with {had} slots and says {has} others now: restart it instead"
            )
            return HeartbeatRejection("wrong_slots", message)
        if claim.sequence <= voice.sequence:
            return False
        voice.sequence = claim.sequence
        return True


def _doubt(claim: HeartbeatClaim, joined: Worker | None, kind: SlotKind | None) -> HeartbeatRejection | None:
    name, ids = claim.worker, sorted(number for number, _ in claim.slots)
    if joined is not None and joined.pool != claim.pool:
        message = f"worker {name} joined pool {joined.pool} and says that it is in pool {claim.pool}"
        return HeartbeatRejection("wrong_pool", message)
    wrong = next(
        (one for one, after in zip(ids, [*ids[1:], None], strict=True) if one < 0 or one == after), None
    )
    if wrong is not None:
        return HeartbeatRejection(
            "wrong_slots", f"worker {name} names slot {wrong}, which is below 0 or named twice"
        )
    kinds = sorted({of for _, of in claim.slots})
    if len(kinds) > 1 or (kind is not None and kinds and kinds != [kind]):
        wanted = f"pool {claim.pool} takes {kind}" if kind else "one kind a worker is taken"
        return HeartbeatRejection(
            "wrong_kind", f"worker {name} has slots of kind {' and '.join(kinds)}; {wanted}"
        )
    return None
