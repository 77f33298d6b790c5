"""Records searches of every method by the real service, as `tests/unit/searcher/recorded/NAME.jsonl`: for a new method, not for a changed one.

`pytest tests/integration/searcher/record_searches.py -k NAME`. What is there stays as it is: searches that were begun must go on as they were.
"""

import asyncio
import math
from pathlib import Path
from typing import Any

import orjson
import pytest

from shared.messages.search_journals import GetJournal
from tests.integration.searcher.neighbours import Neighbours
from tests.integration.searcher.searches import ASHA
from tests.integration.searcher.test_driving import drive
from tests.integration.searcher.training import Train

FOLDER = Path(__file__).parents[2] / "unit" / "searcher" / "recorded"
SPACE: dict[str, Any] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "width": {"type": "int", "minval": 8, "maxval": 64},
}
GRID: dict[str, Any] = SPACE | {
    "lr": SPACE["lr"] | {"count": 3},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "count": 2, "when": {"optimizer": "sgd"}},
    "width": 8,
}
POINT: dict[str, Any] = {"lr": 0.01, "optimizer": "adam", "width": 16}
TIMED = {"time_metric": "step", "max_time": 9, "max_trials": 12, "max_concurrent_trials": 4}
SEARCHES: dict[str, dict[str, Any]] = {
    "random": {"name": "random", "max_trials": 8, "max_concurrent_trials": 3},
    "grid": {"name": "grid", "max_concurrent_trials": 3},
    "async_halving": ASHA,
    "async_halving_by_promotion": {**ASHA, "stop_once": False},
    "adaptive_asha": {**TIMED, "name": "adaptive_asha", "divisor": 3, "mode": "conservative"},
    "adaptive_asha_by_promotion": {**TIMED, "name": "adaptive_asha", "divisor": 3, "stop_once": False},
    "median_stopping": {**TIMED, "name": "median_stopping"},
    "hyperband": {"name": "hyperband", "time_metric": "step", "max_time": 9, "divisor": 3, "max_concurrent_trials": 4},
    "pbt": {"name": "pbt", "time_metric": "step", "max_time": 8, "interval": 2, "population_size": 4},
    "tpe": {**ASHA, "sampler": {"name": "tpe", "startup_trials": 5}},
    "cmaes": {**TIMED, "name": "median_stopping", "sampler": {"name": "cmaes", "startup_trials": 3}},
    "nsga2": {**TIMED, "name": "median_stopping", "sampler": {"name": "nsga2", "population_size": 4}},
    "quasi_random": {**ASHA, "sampler": "quasi_random"},
    "custom": {"name": "custom", "max_concurrent_trials": 2},
}  # fmt: skip


def loss(trial: int, step: int) -> float:
    """Some trials get worse on their way, and one has no numbers."""
    if trial == 5:
        return math.nan
    return math.sin(trial * 12.9898) + math.cos(step * trial) / step


@pytest.mark.parametrize("name", SEARCHES)
async def test_record(service: object, neighbours: Neighbours, name: str) -> None:
    path = FOLDER / f"{name}.jsonl"
    if path.exists():
        pytest.skip(f"{path.name} is recorded")
    config = {
        "entrypoint": "true",
        "hyperparameters": GRID if name == "grid" else SPACE,
        "searcher": {"metric": "loss", **SEARCHES[name]},
    }
    experiment = await neighbours.submit(config)
    driving = asyncio.create_task(drive(neighbours, experiment, POINT)) if name == "custom" else None
    await Train(neighbours, experiment, loss, saves_every=1).until_over()
    if driving is not None:
        await driving
    page = await neighbours.bus.ask(GetJournal(experiment_id=experiment, limit=1000), neighbours.tenant)
    assert page.next is None
    lines: list[object] = [{"config": config, "seed": experiment.int & 0x7FFFFFFF}]
    lines += [each.model_dump(include={"position", "kind", "facts"}) for each in page.entries]
    FOLDER.mkdir(exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))
