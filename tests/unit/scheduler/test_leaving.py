"""A machine that its provider takes back: nothing new is granted there, and its runs go on elsewhere at no cost."""

import pytest

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers import draining
from services.scheduler.core.reducers.workers import on_worker_lost
from services.scheduler.core.state.observed import ReclaimNotice
from services.scheduler.core.state.published_events import Ended, WorkerEmptied, WorkerUp
from services.scheduler.core.state.records.run import RunExit
from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from tests.unit.scheduler.world import World

SOON = ReclaimNotice(in_s=118.0)
PERHAPS = ReclaimNotice()


def begun() -> World:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.worker("a")
    return world


def test_a_run_is_asked_for_its_slots_and_goes_on_elsewhere_at_no_cost() -> None:
    world = begun()
    world.worker("b")
    world.worker("a", leaving=SOON)
    asked = world.run(1).asked
    assert world.run(1).preempted and asked is not None and asked.because == "leaving"
    world.exit(1, RunExit(acknowledged=Signal.PREEMPT, step=7))
    world.worker("a", leaving=SOON)
    world.cycle()
    [ended] = [fact for fact in world.unsaved.facts if isinstance(fact, Ended)]
    assert (ended.ending.outcome, ended.ending.charged) == ("preempted", False)
    assert world.placement(1) == {"b": 1} and world.trial(1).restarts == 0


def test_what_is_only_likely_keeps_new_work_away() -> None:
    world = begun()
    world.exit(1)
    world.worker("a", leaving=PERHAPS)
    world.worker("b")
    world.want(2)
    world.cycle()
    assert world.placement(2) == {"b": 1}
    world.worker("b", leaving=PERHAPS)
    assert not world.run(2).preempted, "it may train on until it is taken back"


def test_neighbours_are_told_and_a_machine_that_stays_after_all_takes_work_again() -> None:
    world = begun()
    world.exit(1)
    world.worker("a", leaving=PERHAPS)
    world.want(2)
    world.cycle()
    assert any(isinstance(fact, WorkerUp) for fact in world.unsaved.facts) and world.running() == set()
    told = explain(world.cluster, world.trial(2))
    assert told.message.endswith("; 1 more slot on workers that are being drained (a)")
    world.worker("a")
    world.cycle()
    assert world.running() == {2}


@pytest.mark.parametrize("change", ["leaves", "slot disabled", "drained again", "comes back"])
def test_the_last_word_of_a_drained_machine_is_always_that_it_is_empty(change: str) -> None:
    world, a = World(), WorkerId("a")
    world.worker("a", 2)
    world.cluster.apply(draining.on_drain(world.cluster, a, reclaim=False, undo=False))
    world.cycle()
    match change:
        case "leaves":
            world.worker("a", 2, leaving=PERHAPS)
        case "slot disabled":
            world.cluster.apply(draining.on_slot(world.cluster, a, 0, undo=False))
        case "drained again":
            world.cluster.apply(draining.on_drain(world.cluster, a, reclaim=True, undo=False))
        case "comes back":
            world.cluster.apply(on_worker_lost(world.cluster, a, "not heard", world.now))
            world.worker("a", 2)
    world.cycle()
    assert isinstance(world.unsaved.facts[-1], WorkerEmptied)
