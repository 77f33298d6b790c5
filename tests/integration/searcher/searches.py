"""Searches that the tests share, and what the searcher has made of one: its requests, its refusals, its rows, its journal."""

import math
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from muster.config import load_config
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import replay
from shared.ids import ExperimentId
from shared.messages.experiments import OperationRefused, TrialRequested
from shared.messages.search_journals import GetJournal
from tests.integration.searcher.neighbours import Neighbours
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

SPACE = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}}
ASHA = {
    "name": "async_halving",
    "max_trials": 20,
    "num_rungs": 3,
    "divisor": 3,
    "max_time": 9,
    "time_metric": "step",
    "max_concurrent_trials": 4,
}
RANDOM = {"name": "random", "max_trials": 3, "max_concurrent_trials": 2}


def document(searcher: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "entrypoint": "true",
        "hyperparameters": SPACE,
        "searcher": {"metric": "loss", **searcher},
        **more,
    }


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


async def rows(postgres: TestDatabase, query: str, **values: Any) -> list[Any]:
    engine = create_async_engine(
        postgres.urls["searcher"].system.replace("postgresql://", "postgresql+asyncpg://", 1)
    )
    try:
        async with engine.begin() as connection:
            return list((await connection.execute(text(query), values)).all())
    finally:
        await engine.dispose()


async def requests(neighbours: Neighbours, experiment: ExperimentId, count: int) -> list[TrialRequested]:
    await eventually(lambda: len(neighbours.received.requests(experiment)) >= count)
    found = neighbours.received.requests(experiment).values()
    return sorted(found, key=lambda request: request.spec.trial_number)


def refusals(neighbours: Neighbours, operation: UUID) -> list[OperationRefused]:
    events = neighbours.received.events.values()
    return [one for one in events if isinstance(one, OperationRefused) and one.operation_id == operation]


async def agree_with_the_rule(
    neighbours: Neighbours, experiment: ExperimentId, config: dict[str, Any]
) -> int:
    """Fetch the journal as a neighbour would, decide everything again, and return its length."""
    entries: list[Entry] = []
    after = 0
    while True:
        page = await neighbours.bus.ask(
            GetJournal(experiment_id=experiment, after=after, limit=7), neighbours.tenant
        )
        entries += [Entry(each.position, each.kind, each.facts) for each in page.entries]  # type: ignore[arg-type]
        if page.next is None:
            break
        after = page.next
    assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
    assert replay(load_config(config), experiment.int & 0x7FFFFFFF, entries) is None
    return len(entries)


async def count_wishes(neighbours: Neighbours, experiment: ExperimentId) -> None:
    """Each trial's requests count up from 1 without a gap, and each was told once."""

    def is_whole() -> bool:
        # What a killed process had committed and not published comes last.
        versions: dict[object, list[int]] = {}
        for request in neighbours.received.all(TrialRequested, experiment):
            versions.setdefault(request.trial_id, []).append(request.version)
        return all(sorted(found) == list(range(1, len(found) + 1)) for found in versions.values())

    await eventually(is_whole)
