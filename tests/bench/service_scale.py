"""Part of `search_scale`: ten thousand trials through the searcher's own process, on servers whose every commit is on disk."""

import asyncio
import json
import subprocess
from collections.abc import Iterable
from itertools import islice
from time import perf_counter

from shared.bus import Envelope
from shared.bus.batch_publish import Outgoing, PublishAck
from shared.database.driver import AsyncpgDriver
from shared.database.engine import Database
from shared.ids import ExperimentId, RunId, TrialId, derived_id, new_id
from shared.messages.base import Event
from shared.messages.experiments import TrialRequested
from shared.messages.trial_specs import DesiredState
from shared.settings import PostgresSettings
from tests.bench.durable import DurableServers
from tests.bench.harness import Figures, Report
from tests.bench.quality.plays import PEERS, ROOT
from tests.integration.searcher.neighbours import (
    Neighbours,
    closed,
    run_ended,
    run_granted,
    searcher,
    validation,
)
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

TRIALS, RUNGS = 10_000, (1, 4)
AT_ONCE = 500
"""So many messages of the neighbours are under way at a time, as of a relay."""
PUBLISHED_S = 20.0
WAIT_S = 170.0
PEER_S = 20.0
"""So long Optuna makes trials, and then reports of them."""


def measure_service(report: Report) -> Figures:
    """How many reports a second become decisions that are committed, and how long the whole search takes."""
    return asyncio.run(_measure(report))


async def _measure(report: Report) -> Figures:
    servers = DurableServers()
    try:
        database = servers.migrated_database()
        environment = servers.environment("searcher", database)
        url, credentials = environment["MUSTER_NATS__URL"], servers.keys.credentials("admin")
        async with Neighbours.joined(url, credentials) as neighbours, searcher(environment):
            await neighbours.wait_answering()
            figures = await Played(neighbours, database).whole(report)
        return {**figures, **_optuna(report, servers.postgres.administrator_url)}
    finally:
        servers.close()


def _optuna(report: Report, url: str) -> Figures:
    """The same of Optuna on the same server, from the peers' own environment: its reports are committed, and its pruner decides."""
    if not PEERS.exists():
        report.say("the peers are not installed (make peers): Optuna is left out")
        return {"optuna_reports_per_s": None}
    command = [str(PEERS), str(ROOT / "tests/bench/peers/optuna_storage.py"), url, str(PEER_S)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * PEER_S, check=False)
    if done.returncode:
        raise SystemExit(f"Optuna failed: {done.stderr[-1000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {f"optuna_{name}": value for name, value in found.items()}


class Played:
    """A search whose trials all run at once: each is judged at the first rung, and one in four at the second."""

    def __init__(self, neighbours: Neighbours, database: TestDatabase) -> None:
        self.neighbours = neighbours
        urls = database.urls["searcher"]
        self.database = Database(
            PostgresSettings.model_validate({"tenant_url": urls.tenant, "system_url": urls.system}),
            "searcher",
        )

    async def whole(self, report: Report) -> Figures:
        async with self.database:
            return await self._whole(report)

    async def _whole(self, report: Report) -> Figures:
        began = perf_counter()
        experiment = await self.neighbours.submit(_config())
        await eventually(lambda: len(self._requests(experiment)) == TRIALS, WAIT_S, 0.5)
        made, requests = perf_counter() - began, self._requests(experiment)
        await self._publish(run_granted(request, _run(request)) for request in requests.values())
        await self._reached(
            "SELECT count(*) FROM searcher.trial WHERE experiment = $1 AND run = 1", experiment, TRIALS
        )
        before = perf_counter()
        await self._publish(_report(request, 1) for request in requests.values())
        await self._judged(experiment, TRIALS)
        reports_s = perf_counter() - before
        await eventually(
            lambda: all(one.version > 1 for one in self._requests(experiment).values()), WAIT_S, 0.5
        )
        going = [one for one in self._requests(experiment).values() if one.desired_state is DesiredState.RUN]
        await self._publish(_report(request, 2) for request in going)
        await self._judged(experiment, TRIALS + len(going))
        before = perf_counter()
        counts = dict.fromkeys(requests, 1) | dict.fromkeys((one.trial_id for one in going), 2)
        await self._publish(_run_ends(requests.values(), counts))
        over = await self.neighbours.wait_state(experiment, "completed", timeout_s=WAIT_S)
        report.check("service_trials", TRIALS, over.trials.completed + over.trials.stopped)
        return {
            "service_reports_per_s": TRIALS / reports_s,
            "service_trials_made_per_s": TRIALS / made,
            "service_ends_per_s": TRIALS / (perf_counter() - before),
            "service_whole_s": perf_counter() - began,
        }

    def _requests(self, experiment: ExperimentId) -> dict[TrialId, TrialRequested]:
        return self.neighbours.received.requests(experiment)

    async def _publish(self, messages: Iterable[Event]) -> None:
        """As the neighbours' own relays do: a message each that costs them little would take from the searcher what the machine has."""
        left = iter(messages)
        while batch := list(islice(left, AT_ONCE)):
            pipeline = self.neighbours.bus.pipeline
            outcomes = await pipeline.publish([self._outgoing(message) for message in batch], PUBLISHED_S)
            refused = [each for each in outcomes if not isinstance(each, PublishAck)]
            if refused:
                raise SystemExit(f"{len(refused)} messages were not stored: {refused[0]}")

    def _outgoing(self, message: Event) -> Outgoing:
        tenant = self.neighbours.tenant
        envelope = Envelope(new_id(self.neighbours.clock), message.TYPE, message.VERSION, tenant)
        return Outgoing(message.subject(tenant), message.to_bytes(), envelope.to_headers())

    async def _judged(self, experiment: ExperimentId, count: int) -> None:
        judged = "SELECT count(*) FROM searcher.journal WHERE experiment = $1 AND kind = 'judged'"
        await self._reached(judged, experiment, count)

    async def _reached(self, query: str, experiment: ExperimentId, count: int) -> None:
        async def has_reached() -> bool:
            async with self.database.system() as connection:
                found = await AsyncpgDriver.of(connection).fetch(query, experiment)
            return bool(found[0]["count"] >= count)

        await eventually(has_reached, WAIT_S, every_s=0.05)


def _config() -> dict[str, object]:
    return {
        "entrypoint": "true",
        "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}},
        "searcher": {
            "name": "async_halving", "metric": "loss", "time_metric": "step", "max_trials": TRIALS,
            "max_time": RUNGS[-1], "num_rungs": len(RUNGS), "divisor": 4, "max_concurrent_trials": TRIALS,
        },
    }  # fmt: skip


def _run(request: TrialRequested) -> RunId:
    return RunId(derived_id(request.trial_id, "run", 1))


def _report(request: TrialRequested, number: int) -> Event:
    loss = request.spec.trial_number * 0.6180339887 % 1.0
    return validation(request, _run(request), number, RUNGS[number - 1], loss)


def _run_ends(requests: Iterable[TrialRequested], counts: dict[TrialId, int]) -> Iterable[Event]:
    for request in requests:
        yield run_ended(run_granted(request, _run(request)), counts[request.trial_id])
        yield closed(request, "stopped")
