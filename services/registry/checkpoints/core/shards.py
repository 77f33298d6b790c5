"""Which workers hold files of a checkpoint written by a gang on several machines. The chief, the worker of rank 0, decides. Pure.

In an elastic run, a worker may not know yet that it left the gang. It may then send a checkpoint number that the gang uses again in its next
generation, with the same token. Only the chief's list of workers tells the two apart.
"""

from collections.abc import Collection


def has_shard(shard_workers: Collection[str] | None, worker: str) -> bool:
    """Return whether a worker's files belong to a checkpoint. `shard_workers`: the workers that the chief listed; None: it has not yet."""
    return shard_workers is None or worker in shard_workers


def awaited_by_chief(
    parts: Collection[str], chief: str, sent: Collection[str], pending_workers: Collection[str]
) -> list[str]:
    """Return the workers that must still commit after the chief's announcement: all except those that already have."""
    done = set(sent) - set(pending_workers)
    return sorted({*(set(parts) - done), chief})


def awaited_by_member(
    parts: Collection[str], chief: str, worker: str, pending_workers: Collection[str] | None
) -> list[str]:
    """Return the same after another worker's announcement. `pending_workers` None: it is the first one. A new announcement needs a new commit."""
    return sorted({*parts, chief, worker} if pending_workers is None else {*pending_workers, worker})
