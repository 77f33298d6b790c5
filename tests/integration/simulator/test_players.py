"""Processes that play: as many at once as are allowed, each with its time and its memory, none left behind."""

import asyncio

import psutil
import pytest

from muster.config import load_config
from shared.clock import SystemClock
from shared.errors import Rejected, Transient
from simulator.planning.simulation_workers import MODULE, SimulationWorkers
from simulator.planning.worker_protocol import Question
from tests.support.waiting import eventually

MEMORY_MIB = 2048


def question(max_trials: int, steps: int = 100_000, futures: int = 2) -> Question:
    config = {
        "entrypoint": "python3 train.py",
        "hyperparameters": {"lr": {"type": "double", "minval": 0, "maxval": 1}},
        "searcher": {"name": "random", "metric": "loss", "max_trials": max_trials},
    }
    document = load_config(config).model_dump(mode="json", by_alias=True)
    cluster = {"machines": [{"slots": 1}]}
    return Question.model_validate(
        {"config": document, "cluster": cluster, "steps": steps, "step_s": 1.0, "futures": futures}
    )


ENDLESS = question(100_000)


def playing() -> list[psutil.Process]:
    """Players that this process has started."""
    children = psutil.Process().children()
    return [
        child for child in children if child.status() != psutil.STATUS_ZOMBIE and MODULE in child.cmdline()
    ]


async def test_what_cannot_be_played_in_its_time_is_refused_and_nothing_is_left() -> None:
    players = SimulationWorkers(SystemClock(), at_once=1, seconds=1.5, memory_mib=MEMORY_MIB)
    with pytest.raises(Rejected, match="could not be simulated once within 2 s") as refused:
        await players.play(ENDLESS, 60.0)
    assert refused.value.code == "plan_too_large"
    assert not playing()


async def test_what_takes_too_much_memory_is_refused() -> None:
    players = SimulationWorkers(SystemClock(), at_once=1, seconds=60.0, memory_mib=256)
    many = ENDLESS.model_copy(update={"futures": 1, "config": {**ENDLESS.config, "description": "x" * 2**27}})
    with pytest.raises(Rejected, match="more than 256 MiB"):
        await players.play(many, 100.0)


async def test_one_too_many_waits_for_its_turn_as_long_as_its_asker_does() -> None:
    players = SimulationWorkers(SystemClock(), at_once=1, seconds=100.0, memory_mib=MEMORY_MIB)
    first = asyncio.create_task(players.play(ENDLESS, 100.0))
    await eventually(lambda: len(playing()) == 1)
    with pytest.raises(Transient) as busy:
        await players.play(question(1, 1), 3.1)
    assert busy.value.code == "planner_busy" and not first.done()
    first.cancel()
    await asyncio.wait({first})
    assert not playing(), "whoever asked has gone"
    played = await players.play(question(1, 1), 100.0)
    assert [future.trials for future in played.futures] == [1, 1]


async def test_a_refusal_comes_through_whole() -> None:
    players = SimulationWorkers(SystemClock(), at_once=1, seconds=60.0, memory_mib=MEMORY_MIB)
    asked = question(1, 5)
    small = asked.model_copy(update={"config": {**asked.config, "resources": {"slots_per_trial": 4}}})
    with pytest.raises(Rejected) as refused:
        await players.play(small, 100.0)
    assert (refused.value.code, refused.value.place) == ("slots_unsatisfiable", "resources.slots_per_trial")
