"""Which workers get presigned URLs of a run: members while it runs; afterwards only for what they still owe. Pure.

The scheduler counts every worker that ever belonged to a run as a member, so that reports written before a worker left are stored.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

LATE_MEDIA = timedelta(days=1)
"""How long after the end of a run its workers may send media that they could not send before."""


@dataclass(frozen=True, slots=True)
class RunMembership:
    """The members of a run, as stored by the registry.

    Attributes:
        workers: Members after the last resize, or at the end; None: as granted.
        announced: Number of checkpoints that an ended run announced, if known.
    """

    ended_at: datetime | None = None
    workers: tuple[str, ...] | None = None
    announced: int | None = None

    def refuse_reading(self, worker: str) -> str | None:
        """Return why a worker may not read the run's code and checkpoints; None: it may."""
        if self.ended_at is not None:
            return "the run has ended"
        return "the worker has left the run" if self.has_left(worker) else None

    def refuse_new_checkpoint(self, number: int) -> str | None:
        """Return why a checkpoint that is not known yet may not be announced; None: it may."""
        if self.ended_at is not None and self.announced is not None and number > self.announced:
            return f"the run has ended and announced only {self.announced} checkpoints"
        return None

    def refuse_media(self, now: datetime) -> str | None:
        """Return why no more media are accepted; None: they are."""
        if self.ended_at is not None and now - self.ended_at > LATE_MEDIA:
            return f"the run ended more than {LATE_MEDIA.days} day ago"
        return None

    def has_left(self, worker: str) -> bool:
        """Whether a member is none any more. It may still owe its files of checkpoints that rank 0 listed it for."""
        return self.workers is not None and worker not in self.workers
