"""Whatever fails, in whatever order: all work ends, and the invariants hold after each event."""

from dataclasses import replace
from typing import Any

import pytest

from simulator.event_queue import EventQueue
from simulator.faults import Fault, InjectedFault
from simulator.observers.observer import Observer
from tests.simulation.worlds import EVERY_FAULT, MINUTE_MS, POOL, REAL, world
from tests.support.drill_share import examples
from tests.support.policies import plain


class Causes(Observer):
    """When machines ended ranks, and why."""

    def __init__(self) -> None:
        self.agenda = EventQueue()
        self.seen: list[tuple[int, str]] = []

    def on_stopped(self, worker: Any, run: Any, cause: str) -> None:
        self.seen.append((self.agenda.now_ms, cause))


@pytest.mark.parametrize("seed", range(examples(24, 500)))
def test_everything_fails_together(seed: int) -> None:
    world(seed, EVERY_FAULT, count=12).end()


@pytest.mark.parametrize("seed", [1097, 1098, 1100])
def test_outages_of_minutes_and_hours_leave_no_work_behind(seed: int) -> None:
    # Of 1097: a machine goes, and the leader dies before it has taken that up; the next one must end what ran there.
    day_ms = 24 * 60 * MINUTE_MS
    world(seed, EVERY_FAULT, count=14, searches=2, longest_ms=[2, 20, 60][seed % 3] * MINUTE_MS).end(day_ms)


def test_no_worker_hears_of_a_grant_that_is_not_saved() -> None:
    slow = replace(REAL, commit_ms=400)
    for seed in (14, 15, 16):
        world(
            seed, ["database_down", "scheduler_died", "worker_cut_off", "scheduler_froze"], 14, tempo=slow
        ).end()


@pytest.mark.parametrize("fault", EVERY_FAULT)
def test_one_thing_fails_again_and_again(fault: Fault) -> None:
    for seed in (100, 101):
        world(seed, [fault], count=6).end()


@pytest.mark.parametrize("lasts_ms", [300, 2_000, 5_000, 60_000, 25 * MINUTE_MS])
@pytest.mark.parametrize("fault", ["bus_down", "database_down", "scheduler_froze", "scheduler_cut_off"])
def test_an_outage_of_the_control_plane_ends_no_healthy_run(fault: Fault, lasts_ms: int) -> None:
    trouble = InjectedFault(40_000, fault, lasts_ms, whom=0, how=0)
    ended = world(7, troubles=[trouble], policy=plain(POOL))
    ended.end()
    runs = ended.simulation.records.runs.values()
    assert all(run.number == 1 for run in runs), "a run was begun anew although no machine failed"


def test_a_worker_that_nobody_speaks_to_for_half_an_hour_ends_its_ranks_and_not_before() -> None:
    causes = Causes()
    trouble = InjectedFault(60_000, "bus_down", 40 * MINUTE_MS, whom=0, how=0)
    silent = world(4, troubles=[trouble], watches=[causes], longest_work_ms=45 * MINUTE_MS)
    causes.agenda = silent.simulation.agenda
    silent.end(after_ms=240 * MINUTE_MS)
    orphaned = [at_ms for at_ms, cause in causes.seen if cause == "orphaned"]
    assert orphaned and min(orphaned) >= 60_000 + 30 * MINUTE_MS - 1000


def test_equal_seeds_make_equal_histories_and_others_do_not() -> None:
    digests = [world(seed, EVERY_FAULT).end() for seed in (5, 5, 6)]
    assert digests[0] == digests[1] != digests[2]
