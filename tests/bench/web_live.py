"""The open page of an experiment whose two hundred trials report once a second, in a real browser before the whole platform.

Frames a second while the page is scrolled, how soon a point is seen that was just reported, and what the page keeps as time goes on.
Only the training is played: machines of `fleet` take the runs that the scheduler grants, and the worker's own journals and senders
report. One trial is steps ahead of the others, so that each of its reports moves the right end of the chart.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import nats

from deploy.embedded.state import load_state
from deploy.keys.directory import Keys
from deploy.keys.permissions import ADMIN, inbox
from muster import wire
from shared.bus import Bus
from shared.ids import WorkerId
from tests.bench.dashboard import played, signed_in
from tests.bench.embedded import Platform, platform
from tests.bench.fleet import Fleet
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.metrics_trials import NAMES, SimulatedTrial
from tests.bench.pairs import spent_s
from tests.support.waiting import eventually
from worker.ranks.records import make_record

TRIALS, MACHINES = 200, 8
MEASURED_S = float(os.environ.get("SECONDS_MEASURED", "600"))
WARM_UP_S, SETTLED_S = 15.0, 2.0
VALIDATES_EVERY = 10
AHEAD = 50
"""More than trials that began together may lie apart."""
CONFIG: dict[str, Any] = {
    "name": "live",
    "entrypoint": "true",
    "hyperparameters": {"learning_rate": {"type": "log", "base": 10, "minval": -5, "maxval": -1}},
    "searcher": {
        "name": "random",
        "metric": "loss",
        "max_trials": TRIALS,
        "max_concurrent_trials": TRIALS,
        "max_length": {"batches": 1_000_000},
    },
}


def measure(report: Report) -> Figures:
    report.inputs(trials=TRIALS, metrics=len(NAMES), validates_every=VALIDATES_EVERY, measured_s=MEASURED_S)
    with platform(workers=0, READS_PER_S="100000") as bench:
        return asyncio.run(_measure(report, bench))


async def _measure(report: Report, bench: Platform) -> Figures:
    url, credentials = _bus_of(bench)
    client = await nats.connect(url, user_credentials=str(credentials), inbox_prefix=inbox(ADMIN).encode())
    async with await Bus.connect(url, ADMIN, credentials) as bus, asyncio.TaskGroup() as tasks:
        fleet = Fleet(client, MACHINES, TRIALS // MACHINES, hold_s=86_400)
        await fleet.join(bus)
        await eventually(lambda: _are_ready(bench))
        made = await asyncio.to_thread(bench.client.experiments.create, CONFIG)
        await eventually(lambda: len(fleet.running()) == TRIALS)
        training = Training(bus, bench.home / "journals")
        for number, (run_id, worker) in enumerate(fleet.running().items()):
            tasks.create_task(training.report(number, run_id, worker))
        await asyncio.sleep(WARM_UP_S)
        page = f"/experiments/{made.number}?metric=training/loss"
        cookie = await asyncio.to_thread(signed_in, bench)
        given = (bench.client.address.url, *cookie, page, TRIALS, AHEAD, MEASURED_S)
        since_s, before = time.monotonic(), await asyncio.to_thread(_spent_s, bench)
        (measured,) = await played("live.mjs", *given, within_s=MEASURED_S + 120)
        spent = await asyncio.to_thread(_spent_s, bench)
        took_s = time.monotonic() - since_s
        parts = {part: one - before.get(part, 0.0) for part, one in spent.items()}
        visible_s = (measured["ended_ms"] - measured["began_ms"]) / 1000
        browser = {"the page's own thread": measured["page_s"], **dict(measured["browser_s"])}
        report.say(f"cores while it was shown: {_cores(parts, took_s)}")
        report.say(f"of the browser: {_cores(browser, visible_s)}")
        training.is_over = True
        fleet.leave()
    await client.close()
    return _figures(report, training, measured)


@dataclass
class Training:
    """What the trials report; `reported_at`: when the one that is ahead did, by its step."""

    bus: Bus
    folder: Path
    reported_at: dict[int, float] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    is_over: bool = False

    async def report(self, number: int, run_id: str, worker: str) -> None:
        """One trial's reports, each second at a moment of its own, and a validation with every tenth."""
        first = AHEAD if number == 0 else 0
        trial = SimulatedTrial(
            self.bus, WorkerId(worker), UUID(run_id), self.folder / run_id, self.refused.append, first
        )
        sender = asyncio.create_task(trial.source.run())
        due, second = time.time() + number / TRIALS, 0
        while not self.is_over:
            await asyncio.sleep(max(0.0, due - time.time()))
            due, second = due + 1, second + 1
            if number == 0:
                self.reported_at[first + second] = time.time()
            trial.append(1)
            if second % VALIDATES_EVERY == 0:
                now_ms = int(time.time() * 1000)
                frame = wire.ReportFrame(
                    0, first + second, now_ms, {"loss": 1 / second + number}, validation=1
                )
                trial.journal.append([(make_record(frame, second // VALIDATES_EVERY)[0], 0)])
                trial.source.wake(urgent=True)
        sender.cancel()


def _spent_s(bench: Platform) -> Mapping[str, float]:
    """Processor time so far by part of the platform, and of what plays the trials."""
    return {**spent_s(bench), "trials": time.process_time()}


def _cores(parts: Mapping[str, float], took_s: float) -> str:
    most = sorted(((s, part) for part, s in parts.items()), reverse=True)[:8]
    return ", ".join(f"{part} {s / took_s:.2f}" for s, part in most)


def _bus_of(bench: Platform) -> tuple[str, Path]:
    state = load_state(bench.home)
    assert state is not None
    (port,) = next(part.ports for part in state.parts if part.name == "nats")
    return f"nats://127.0.0.1:{port}", Keys(bench.home / "keys").credentials(ADMIN)


async def _are_ready(bench: Platform) -> bool:
    workers = await asyncio.to_thread(lambda: list(bench.client.cluster.workers()))
    return [worker.state for worker in workers].count("ready") == MACHINES


def _figures(report: Report, training: Training, measured: dict[str, Any]) -> Figures:
    """A point is seen with the first frame whose chart reaches its step; one that never is, was not seen until the end."""
    report.check("refused", 0, len(training.refused))
    report.check("curves", TRIALS, measured["curves"])
    frames, heap_mb = measured["frames"], measured["heap_mb"]
    began, ended = measured["began_ms"] / 1000, measured["ended_ms"] / 1000
    took_s = [
        next((at_ms / 1000 for step, at_ms in measured["reached"] if step >= reported), ended) - since
        for reported, since in training.reported_at.items()
        if began <= since < ended - SETTLED_S
    ]
    report.say(f"frames a second of each stretch: {frames}")
    report.say(f"heap behind each, in MB: {heap_mb}")
    return {
        "fps": percentile(frames, 0.5),
        "fps_lowest": min(frames),
        "visible_ms": percentile(took_s, 0.5) * 1000,
        "visible_p95_ms": percentile(took_s, 0.95) * 1000,
        "growth_mb": heap_mb[-1] - heap_mb[0],
    }


if __name__ == "__main__":
    run("web_live", measure)
