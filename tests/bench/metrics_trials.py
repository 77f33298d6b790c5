"""Part of `metrics_ingest`: trials as a worker has them, without the training. `python -m tests.bench.metrics_trials` makes the load.

The worker's own journals, senders and batches, over its own kind of connection; only the ranks' socket is left out. Each trial
appends a burst of reports as soon as the last one is committed, so that nothing piles up and nothing is skipped.
"""

import asyncio
import json
import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import cast
from uuid import UUID

from pydantic import BaseModel

from muster import wire
from shared.bus import Bus
from shared.ids import RunId, WorkerId
from shared.messages.reports import Mark
from tests.bench.harness import percentile
from worker.connection.platform_connection import PlatformConnection
from worker.journal.journal import Journal
from worker.journal.journal_sender import Source
from worker.journal.run_senders import report_sender
from worker.ranks.records import make_record
from worker.store.records import StoredRun

REPORTS = 50
"""Reports of a burst."""
NAMES = ("loss", "accuracy", "learning_rate", "gradient_norm", "samples_per_second")
POINTS = REPORTS * len(NAMES)


class Load(BaseModel):
    """What a process is asked to play: these runs of one worker, until that time of the wall clock."""

    nats_url: str
    credentials: Path
    worker: WorkerId
    runs: tuple[RunId, ...]
    measured_from: float
    until: float


@dataclass
class Played:
    """What became of it. `took_s`: from append to commit, of the bursts that began after `measured_from`."""

    points: int = 0
    refused: list[str] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)


class SimulatedTrial:
    """One run's reports, journal and sender."""

    def __init__(
        self,
        bus: Bus,
        worker: WorkerId,
        run: UUID,
        folder: Path,
        refused: Callable[[str], None],
        after_step: int = 0,
    ) -> None:
        self.journal = Journal(folder)
        self._run = run
        self._committed = asyncio.Event()
        self._step = after_step
        self._generator = random.Random(str(run))
        kept = SimpleNamespace(run=SimpleNamespace(run_id=run), allocation=SimpleNamespace(traceparent=None))
        self._send = report_sender(cast(StoredRun, kept), _Connected(bus, worker))
        self.source = Source(self.journal, self._publish, refused)

    async def report(self) -> None:
        """Append a burst and wait until the registry has it."""
        self.append()
        while not self.journal.is_drained:
            self._committed.clear()
            await self._committed.wait()
            await asyncio.sleep(0)  # the sender commits its journal right after it has told us

    def append(self, reports: int = REPORTS) -> None:
        """A burst of reports, as the daemon writes them when they come from a rank."""
        self.journal.append([(make_record(self._point(), 0)[0], 0) for _ in range(reports)])
        self.source.wake(urgent=False)

    def _point(self) -> wire.ReportFrame:
        self._step += 1
        noise = self._generator.random()
        values = (math.exp(-self._step / 5000) + noise / 10, 1 - noise / 5, 1e-3, noise * 3, 900 + noise)
        return wire.ReportFrame(
            self._step, self._step, int(time.time() * 1000), dict(zip(NAMES, values, strict=True))
        )

    async def _publish(self, first: int, payloads: list[bytes]) -> Mark:
        mark = await self._send(first, payloads)
        self._committed.set()
        return mark


class _Connected(PlatformConnection):
    """A worker's line that is connected from the beginning."""

    def __init__(self, bus: Bus, worker: WorkerId) -> None:
        self._bus = bus
        self._worker = worker


async def play(load: Load) -> Played:
    """Play all runs at once."""
    played = Played()
    with TemporaryDirectory(prefix="muster-bench-") as folder:
        async with await Bus.connect(load.nats_url, load.worker, load.credentials) as bus:
            trials = [
                SimulatedTrial(bus, load.worker, run, Path(folder) / str(run), played.refused.append)
                for run in load.runs
            ]
            senders = [asyncio.create_task(trial.source.run()) for trial in trials]
            await asyncio.gather(*(_train(trial, load, played) for trial in trials))
            for sender in senders:
                sender.cancel()
    return played


async def _train(trial: SimulatedTrial, load: Load, played: Played) -> None:
    while (began := time.time()) < load.until:
        await trial.report()
        played.points += POINTS
        if began >= load.measured_from:
            played.took_s.append(time.time() - began)


def main() -> None:
    """Read a load from the standard input, play it, print what became of it as JSON."""
    load = Load.model_validate_json(sys.stdin.read())
    played = asyncio.run(play(load))
    print(
        json.dumps(
            {
                "points": played.points,
                "refused": played.refused[:3],
                "committed_p50_ms": percentile(played.took_s, 0.5) * 1000,
                "committed_p99_ms": percentile(played.took_s, 0.99) * 1000,
                "cpu_s": time.process_time(),
            }
        )
    )


if __name__ == "__main__":
    main()
