"""Whose files make up a checkpoint that a gang wrote on several machines: the chief, where rank 0 is, says it for the gang. Pure.

A machine that lost its part in an elastic run may not have heard of that yet. What it sends then may carry a number that the gang uses again
in its next generation: its token is the gang's, so the chief's word tells the two apart.
"""

from collections.abc import Collection


def has_shard(said: Collection[str] | None, worker: str) -> bool:
    """Whether a worker's files belong to a checkpoint; `said`: whose do, by the chief's word; None: it has not spoken yet."""
    return said is None or worker in said


def awaited_by_chief(
    parts: Collection[str], chief: str, sent: Collection[str], waits_for: Collection[str]
) -> list[str]:
    """Whose parts are to be committed once the chief has announced: all, but those that were before (`sent`, and not waited for)."""
    done = set(sent) - set(waits_for)
    return sorted({*(set(parts) - done), chief})


def awaited_by_member(
    parts: Collection[str], chief: str, worker: str, waits_for: Collection[str] | None
) -> list[str]:
    """The same after another member's announcement; `waits_for` None: it is the first that is heard. Whoever sends anew commits anew."""
    return sorted({*parts, chief, worker} if waits_for is None else {*waits_for, worker})
