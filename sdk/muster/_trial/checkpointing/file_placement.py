"""Who of a gang holds which files of a checkpoint. Imported only when there is more than one rank."""

from pathlib import Path
from typing import NamedTuple

import torch

from muster._trial.gang.collectives import Collectives


class _Written(NamedTuple):
    """What lies on one machine, said by its first rank; the other ranks there say nothing."""

    worker: str
    paths: list[str]


def assign_files(
    exchange: Collectives, folder: Path, is_written: bool, worker: str
) -> tuple[str, ...] | None:
    """Return when every rank has written; each file then lies on one machine, and its worker sends it from there.

    Collective. Of files of equal name the lowest rank's is kept, the others are removed.

    Args:
        exchange: The gang's.
        folder: This machine's.
        is_written: False where this rank's disk had no room.
        worker: This machine's.

    Returns:
        On every rank the same: rank 0's worker and those that hold files besides, by rank; nobody where no file was written; None
        where a rank's disk had no room.
    """
    unwritten = torch.tensor([0.0 if is_written else 1.0])
    if float(exchange.total(unwritten, "muster.checkpoint.written")) > 0:
        return None
    mine = _Written(worker, _list_files(folder) if exchange.local_rank == 0 else [])
    if exchange.size == exchange.local_size:
        return (worker,)
    taken: set[str] = set()
    holders: list[str] = []
    for rank, answer in enumerate(exchange.gather(mine, "muster.checkpoint.files")):
        written = _Written(*answer)  # type: ignore[misc]
        if rank == exchange.rank:
            for path in taken.intersection(written.paths):
                (folder / path).unlink()
        if rank == 0 or not taken.issuperset(written.paths):
            holders.append(written.worker)
        taken.update(written.paths)
    return tuple(holders) if taken else ()


def _list_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
