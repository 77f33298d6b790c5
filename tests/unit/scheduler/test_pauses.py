"""What it costs to be asked for slots is what it cost the runs of the same experiment lately."""

import pytest

from services.scheduler.core.planning.elastic.allocation import ElasticMember, arrange
from services.scheduler.core.reducers.grants import on_preempted
from services.scheduler.core.reducers.workers import on_heartbeat
from services.scheduler.core.state.indexes.pause_durations import PRIOR_MS, Kind
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.observed import Observed, ObservedState
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.store.rows import run_row
from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.elastic.test_arrange import learnt, machines, slots_of, trial
from tests.unit.scheduler.elastic.test_live_resize import Live
from tests.unit.scheduler.world import POOL, World, experiment_id

SAVED = RunExit(acknowledged=Signal.PREEMPT)


def told(world: World, kind: Kind, experiment: int = 0) -> int:
    return world.cluster.pause_durations.get(experiment_id(experiment), kind)


def step(world: World, number: int, reached: int = 1) -> None:
    """Its workers tell of a step."""
    run = world.run(number)
    for share in run.shares:
        one = Observed(run.allocation, run.id, run.token, step=reached)
        others = tuple(other for other in world.observed(share.worker) if other.run != run.id)
        slots = world.cluster.workers[share.worker].slot_ids
        said = ObservedState(WorkerId(share.worker), POOL, "cpu", slots, allocations=(*others, one))
        world.cluster.apply(on_heartbeat(world.cluster, said, world.now))


def restart(world: World, number: int, leave_s: float, start_s: float, queued_s: float = 60) -> None:
    """A trial's run is asked and goes, and after a wait its next one begins to train."""
    world.cluster.apply(on_preempted(world.cluster, world.run(number).id, PreemptionNotice("drain")))
    world.wait(leave_s)
    world.exit(number, SAVED)
    world.wait(queued_s)
    world.cycle()
    world.wait(start_s)
    step(world, number)


def one_run() -> World:
    world = World(plain(POOL, preemption=True))
    world.worker("a", 4)
    world.want(1, 2)
    world.cycle()
    world.wait(10)
    step(world, 1)
    return world


def test_what_was_never_measured_is_taken_from_the_stated_prior() -> None:
    world = one_run()
    assert {kind: told(world, kind) for kind in PRIOR_MS} == PRIOR_MS, "a first start is none"


def test_a_restart_is_what_leaving_and_beginning_took_and_not_the_queue() -> None:
    world = one_run()
    restart(world, 1, leave_s=2, start_s=3)
    assert (told(world, "leave"), told(world, "restart")) == (2_000, 5_000)
    assert told(world, "restart", experiment=1) == PRIOR_MS["restart"]


def test_one_bad_measurement_among_many_changes_nothing() -> None:
    world = one_run()
    for start_s in (4, 900, 4, 4):
        restart(world, 1, leave_s=1, start_s=start_s)
    assert told(world, "restart") == 5_000


def test_a_new_leader_knows_what_was_measured() -> None:
    world = one_run()
    restart(world, 1, leave_s=2, start_s=3)
    again = world.rebuilt()
    assert again.pause_durations.get(experiment_id(), "restart") == 5_000


def test_of_equal_runs_the_one_is_asked_that_begins_anew_sooner() -> None:
    world = one_run()
    restart(world, 1, leave_s=1, start_s=2)
    world.want(2, 2, experiment=2)
    world.cycle()
    world.wait(3600)
    step_saved(world)
    world.set_policy(3, priority=1)
    world.want(3, 2, experiment=3)
    world.cycle()
    assert (world.run(1).preempted, world.run(2).preempted) == (True, False)


def step_saved(world: World) -> None:
    """All that runs has saved just now."""
    for number in world.running():
        run = world.run(number)
        world.cluster.follow(run.with_progress(saved_at=world.now))
    refresh(world.cluster)


def test_a_resize_while_it_trains_is_what_forming_the_gang_took() -> None:
    world = Live()
    world.begin(1, least=2)
    assert told(world, "reform", 1) == PRIOR_MS["reform"]
    world.to(1, w0=2, w1=2)
    world.wait(2)
    world.say(1, "w0", "w1")
    assert told(world, "reform", 1) == 2_000
    run = world.run(1)
    assert run_row(run)["pause_times"]["reform_ms"] == 2_000 and not run.preempted


@pytest.mark.parametrize(("pause_ms", "grows"), [(30_000, False), (2_000, True)])
def test_a_short_pause_makes_a_small_gain_worth_it(pause_ms: int, grows: bool) -> None:
    held = ((WorkerId("m00"), 2),)
    member = ElasticMember(
        trial(1), 2, 4, held, learnt(4, is_scalable=False), age_ms=40_000, pause_ms=pause_ms
    )
    assert slots_of(arrange([member], machines(4))[trial(1)]) == (4 if grows else 2)
