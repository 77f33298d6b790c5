"""Assignment of a checkpoint's files to machines. Imported only when there is more than one rank."""

from pathlib import Path
from typing import NamedTuple

import torch

from muster._trial.gang.collectives import Collectives


class _Written(NamedTuple):
    """Files on one machine, listed by its first rank; other ranks there list none."""

    worker: str
    paths: list[str]


def assign_files(
    collectives: Collectives, folder: Path, is_written: bool, worker: str
) -> tuple[str, ...] | None:
    """Wait until every rank has written; afterwards each file is on one machine, whose worker uploads it.

    Collective. If several machines have the same file, the lowest rank's file is kept and the others are removed.

    Args:
        collectives: Collective operations of the gang.
        folder: The checkpoint's folder on this machine.
        is_written: False if this rank's disk was full.
        worker: The worker of this machine.

    Returns:
        The same on every rank: rank 0's worker and the other workers that hold files, by rank; empty if no file was written;
        None if a rank's disk was full.
    """
    unwritten = torch.tensor([0.0 if is_written else 1.0])
    if float(collectives.total(unwritten, "muster.checkpoint.written")) > 0:
        return None
    mine = _Written(worker, _list_files(folder) if collectives.local_rank == 0 else [])
    if collectives.size == collectives.local_size:
        return (worker,)
    taken: set[str] = set()
    holders: list[str] = []
    for rank, answer in enumerate(collectives.gather(mine, "muster.checkpoint.files")):
        written = _Written(*answer)  # type: ignore[misc]
        if rank == collectives.rank:
            for path in taken.intersection(written.paths):
                (folder / path).unlink()
        if rank == 0 or not taken.issuperset(written.paths):
            holders.append(written.worker)
        taken.update(written.paths)
    return tuple(holders) if taken else ()


def _list_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
