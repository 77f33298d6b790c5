"""Has every decision class play its seeds, each in processes of its own, as many at once as there are cores."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench.kept import play_parts
from tests.bench.quality.cluster import Run

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / ".peers" / "bin" / "python"
AT_ONCE = {True: 5, False: 150}
"""Seeds that one process plays, of a class that learns or not: some of the peers learn for a second a run, and take three to import."""
CHEAP = 5
"""So many times the seeds are played by a class that learns nothing: it takes no time, and the more the narrower."""
LIMIT_S = 1800


@dataclass(frozen=True, slots=True)
class Class:
    """A decision class: ours, or a peer's, under its name there; one that learns has a model of where to look."""

    name: str
    is_peer: bool = False
    learns: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Some seeds of a class on a cluster."""

    played: Class
    slots: int
    seeds: range

    def run(self) -> dict[str, list[dict[str, Any]]]:
        """Return a run for each seed, as plain data. Raises SystemExit where the process fails."""
        command = (
            [str(PEERS), str(ROOT / "tests/bench/peers/decisions.py")]
            if self.played.is_peer
            else [sys.executable, "-m", "tests.bench.quality.ours"]
        )
        numbers = [str(number) for number in (self.slots, self.seeds.start, len(self.seeds))]
        done = subprocess.run(
            # Their matrices are small: more threads than one only get in each other's way.
            ["env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", *command, self.played.name, *numbers],
            cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{self.played.name} failed: {done.stderr[-1000:]}")
        return {"runs": [json.loads(line) for line in done.stdout.splitlines()]}


def play_all(
    classes: Iterable[Class],
    clusters: Mapping[int, int],
    kept: Path | None = None,
    piece_s: float | None = None,
) -> dict[tuple[str, int], list[Run]]:
    """Return the runs by class and cluster, in the order of the seeds; `clusters` has how many of each, and where that costs little they are more."""
    parts = [
        Part(played, slots, part)
        for slots, seeds in clusters.items()
        for played in classes
        for part in _split(seeds if played.learns else seeds * CHEAP, AT_ONCE[played.learns])
    ]
    runs: dict[tuple[str, int], list[Run]] = {}
    with ThreadPoolExecutor(psutil.cpu_count() or 1) as pool:
        for part, found in zip(parts, play_parts(pool, Part.run, parts, kept, piece_s), strict=True):
            runs.setdefault((part.played.name, part.slots), []).extend(Run(**run) for run in found["runs"])
    return runs


def _split(count: int, at_once: int) -> list[range]:
    return [range(first, min(first + at_once, count)) for first in range(0, count, at_once)]
