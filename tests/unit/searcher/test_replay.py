"""Searches decided again from their journals: recorded ones come out the same, and a difference is told in words."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from services.searcher.core.journal.entries import Entry
from services.searcher.runner.replay_process import decide_again
from tests.unit.searcher.world import SEED, World, asha, config, run_search

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_a_search_that_was_recorded_is_decided_as_it_was(path: Path) -> None:
    recorded = path.read_bytes().splitlines()
    assert orjson.loads(decide_again(recorded)) == {"checked": len(recorded) - 1}


def test_a_replay_of_what_was_decided_finds_nothing() -> None:
    world = searched()
    assert orjson.loads(decide_again(lines(world, world.journal))) == {"checked": len(world.journal)}


def test_the_first_difference_is_told_with_what_was_recorded_and_what_is_decided_now() -> None:
    world = searched()
    at = next(index for index, entry in enumerate(world.journal) if entry.facts.get("stop"))
    changed = list(world.journal)
    changed[at] = replace(changed[at], facts={**changed[at].facts, "stop": False, "decide_at": 9.0})
    found = orjson.loads(decide_again(lines(world, changed)))
    trial = changed[at].facts["trial"]
    assert found["checked"] == found["difference"]["position"] == at + 1
    assert found["difference"]["summary"] == (
        f"decision {at + 1} ('judged' of trial {trial}) differs:"
        " 'stop' was recorded as false and is recomputed as true; 'decide_at' was recorded as 9.0 and is recomputed as null"
    )


def test_a_point_that_is_not_what_the_seed_gives_is_a_difference() -> None:
    world = searched()
    first = orjson.loads(orjson.dumps(world.journal[0].facts))
    first["created"][0]["hyperparameters"]["lr"] = 0.5
    found = orjson.loads(decide_again(lines(world, [replace(world.journal[0], facts=first)])))
    assert found["difference"]["summary"].startswith(
        "decision 1 ('started') differs: 'created' was recorded as [{"
    )


def searched() -> World:
    world = World(config(asha()))
    run_search(world, lambda trial, step: (trial * 7 % 5) + 1 / step, chaos=random.Random(5))
    return world


def lines(world: World, journal: Iterable[Entry]) -> Iterator[bytes]:
    yield orjson.dumps({"config": world.config.model_dump(mode="json"), "seed": SEED})
    for each in journal:
        yield orjson.dumps({"position": each.position, "kind": each.kind, "facts": each.facts})
