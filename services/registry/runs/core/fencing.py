"""Fencing: whether a run may still change state, by comparing its token with the trial's newest one. (`docs/delivery.md`, "Fencing")"""

from dataclasses import dataclass
from enum import StrEnum


class RunEnding(StrEnum):
    """How an allocation ended, as far as its token is concerned."""

    ordinary = "ordinary"
    lost = "lost"
    forced = "forced"


@dataclass(frozen=True, slots=True)
class Fence:
    """The facts that determine whether an allocation's token is valid.

    Attributes:
        token: The asking allocation's token.
        newest_token: The highest token seen for the trial, including this one.
        ending: How the asking allocation ended; None while it runs.
    """

    token: int
    newest_token: int
    ending: RunEnding | None = None

    @property
    def is_stale(self) -> bool:
        """Whether a later token exists, or the run ended as lost or forced: only its points and logs are stored.

        An ordinary end leaves the token valid for what was journaled before the exit.
        """
        return self.newest_token > self.token or self.ending in (RunEnding.lost, RunEnding.forced)
