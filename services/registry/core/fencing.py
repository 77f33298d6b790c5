"""Who may still change state: tokens against the trial's newest one. (architecture, "Fencing")"""

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """How an allocation ended, as far as its token is concerned."""

    ordinary = "ordinary"
    lost = "lost"
    forced = "forced"


class Effect(StrEnum):
    """What a worker's request would do."""

    points = "points"
    logs = "logs"
    validation = "validation"
    announce = "announce"
    commit = "commit"
    restore = "restore"


_HARMLESS = frozenset({Effect.points, Effect.logs})
"""Stored under their own run whatever the token: they change no state, and superseding hides what was rolled back."""


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
    ending: Ending | None = None


def is_stale(fence: Fence) -> bool:
    """Return whether a later token exists, or the run was ended as lost or forced.

    An ordinary end leaves the token valid for what was journaled before the exit.
    """
    return fence.newest_token > fence.token or fence.ending in (
        Ending.lost,
        Ending.forced,
    )


def is_allowed(fence: Fence, effect: Effect) -> bool:
    """Return whether the effect may happen under this fence."""
    return effect in _HARMLESS or not is_stale(fence)
