"""Decides which announced checkpoints of an ended run are abandoned, and what the others wait for. Pure.

A checkpoint is abandoned if a worker that must still upload a part of it is lost for good, or if the trial's next run has waited for it
for `upload_timeout` while the store responded. Elapsed time alone never abandons a checkpoint.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST_ROUND = timedelta(seconds=60)
"""A longer gap between two passes does not count: the registry or its database was unavailable."""


@dataclass(frozen=True, slots=True)
class OpenCheckpoint:
    """An announced checkpoint that is neither saved nor abandoned.

    Attributes:
        workers: Workers that must still upload a part of it.
        holders: If nothing is left to upload: workers that may still request the commit; one of them is enough.
    """

    number: int
    workers: tuple[str, ...]
    holders: tuple[str, ...] = ()

    def lost(self, lost_workers: Collection[str]) -> list[str]:
        """Return the workers that are lost for good and without which the checkpoint cannot be saved."""
        lost = sorted({*self.workers, *self.holders} & set(lost_workers))
        return lost if self.workers or len(lost) == len(set(self.holders)) else []


@dataclass(frozen=True, slots=True)
class Wait:
    """How long the trial's next run has waited for this run's uploads while the store responded.

    Attributes:
        responsive: The time that counts.
        seen_at: When the store was last seen to respond while the next run waited; None if it did not respond, or no run waited.
    """

    responsive: timedelta = timedelta()
    seen_at: datetime | None = None

    def after(self, now: datetime, *, is_waited_for: bool, responds: bool) -> "Wait":
        """Return the wait after another pass. Time counts between two passes that both found the store responding."""
        if not (is_waited_for and responds):
            return Wait(self.responsive)
        passed = now - self.seen_at if self.seen_at is not None else timedelta()
        counts = timedelta() < passed <= LONGEST_ROUND
        return Wait(self.responsive + passed if counts else self.responsive, now)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a run's open checkpoints. `abandoned`: reasons by number. `delay_reason`: why the others are not stored yet."""

    abandoned: dict[int, str]
    delay_reason: str | None


def judge_open(
    checkpoints: Sequence[OpenCheckpoint],
    wait: Wait,
    limit: timedelta,
    *,
    lost_workers: Collection[str],
    silent: Collection[str],
    responds: bool,
) -> Decision:
    """Decide on the open checkpoints of a run that ended normally.

    Args:
        limit: The experiment's `upload_timeout`.
        lost_workers: Workers that are lost for good.
        silent: Workers that do not respond and may come back.
    """
    if wait.responsive >= limit:
        reason = f"the trial's next run waited {limit.total_seconds():g} s for it while the object store responded (upload_timeout)"
        return Decision({one.number: reason for one in checkpoints}, None)
    abandoned: dict[int, str] = {}
    for one in checkpoints:
        lost = one.lost(lost_workers)
        if lost:
            abandoned[one.number] = f"worker {', '.join(lost)} is lost for good and had not uploaded it"
    left = [one for one in checkpoints if one.number not in abandoned]
    return Decision(abandoned, _describe(left, silent, responds) if left else None)


def _describe(left: Sequence[OpenCheckpoint], silent: Collection[str], responds: bool) -> str:
    count = "1 checkpoint is" if len(left) == 1 else f"{len(left)} checkpoints are"
    workers = sorted({worker for one in left for worker in one.workers})
    away = [worker for worker in workers if worker in silent]
    if not responds:
        why = "the object store does not respond"
    elif away:
        why = f"{_named(away)} {'does' if len(away) == 1 else 'do'} not respond"
    elif workers:
        why = f"{_named(workers)} still {'has' if len(workers) == 1 else 'have'} to upload"
    else:
        why = "the upload is in progress"
    return f"{count} not stored yet: {why}"


def _named(workers: Sequence[str]) -> str:
    return f"worker{'' if len(workers) == 1 else 's'} {', '.join(workers)}"
