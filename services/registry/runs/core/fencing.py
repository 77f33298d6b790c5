"""Who may still change state: tokens against the trial's newest one. (`docs/delivery.md`, "Fencing")"""

from dataclasses import dataclass
from enum import StrEnum


class RunEnding(StrEnum):
    """How an allocation ended, as far as its token is concerned."""

    ordinary = "ordinary"
    lost = "lost"
    forced = "forced"


@dataclass(frozen=True, slots=True)
class Fence:
    """What the registry knows of a trial and of the allocation that asks.

    Attributes:
        token: the asking allocation's token.
        newest_token: the highest token seen for the trial, this one included.
        ending: how the asking allocation ended, None while it runs.
    """

    token: int
    newest_token: int
    ending: RunEnding | None = None

    @property
    def is_stale(self) -> bool:
        """Whether a later token exists, or the run was ended as lost or forced: its points and logs are stored, and nothing else of it.

        An ordinary end leaves the token valid for what was journaled before the exit.
        """
        return self.newest_token > self.token or self.ending in (RunEnding.lost, RunEnding.forced)
