"""Long benchmarks, played in pieces: what each part came to is kept in a file as it ends, and is not played again.

parser = argparse.ArgumentParser(parents=[OPTIONS])
outcomes = play_parts(pool, play, parts, chosen.results, chosen.time_limit)
"""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

OPTIONS = argparse.ArgumentParser(add_help=False)
OPTIONS.add_argument(
    "--results", type=Path, metavar="FILE", help="file of results; parts with a result are not run again"
)
OPTIONS.add_argument(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="start no further part after this time; run the command again to continue",
)

Part = TypeVar("Part")
Outcome = dict[str, Any]
"""What JSON can write."""


def play_parts(
    pool: Executor,
    play: Callable[[Part], Outcome],
    parts: Sequence[Part],
    kept: Path | None,
    piece_s: float | None = None,
    basis: str = "",
) -> list[Outcome]:
    """Return what the parts came to, in their order; they are named by how they print.

    Args:
        basis: What their outcomes depend on beside their names, such as a version; what was kept of another does not count.

    Raises SystemExit where time was up before the last was begun.
    """
    known = read_kept(kept, basis)
    began = monotonic()
    futures = {pool.submit(play, part): part for part in parts if str(part) not in known}
    try:
        for ended in as_completed(futures):
            if ended.cancelled():
                continue
            outcome = known[str(futures[ended])] = ended.result()
            if kept:
                line = {"part": str(futures[ended]), "outcome": outcome} | ({"basis": basis} if basis else {})
                with kept.open("a") as file:
                    file.write(json.dumps(line) + "\n")
            if piece_s is not None and monotonic() - began > piece_s:
                _cancel(futures)
    finally:
        # One has failed, or a person ends it: the pool would play all the others first.
        _cancel(futures)
    missing = sum(str(part) not in known for part in parts)
    if missing:
        raise SystemExit(f"{missing} of {len(parts)} parts are to be played yet: run it again")
    return [known[str(part)] for part in parts]


def read_kept(kept: Path | None, basis: str = "") -> dict[str, Outcome]:
    """Return what was played on this basis, by the parts' names."""
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    return {
        line["part"]: line["outcome"] for line in map(json.loads, lines) if line.get("basis", "") == basis
    }


def _cancel(futures: Iterable[Future[Outcome]]) -> None:
    """No part is begun any more."""
    for future in futures:
        future.cancel()
