"""Defragmentation: runs move so that free slots come together, once waiting has cost more than the moves do, and not before."""

from datetime import timedelta

from hypothesis import given, settings, strategies as st

from services.scheduler.core.planning.plan import plan
from services.scheduler.core.state.indexes.pause_durations import PRIOR_MS
from services.scheduler.core.state.records.run import RunExit
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, trial_id

PAUSE_MS = PRIOR_MS["restart"]

SAVED = RunExit(acknowledged=Signal.PREEMPT)


def split(**rules: object) -> World:
    """Two machines of four with two slots free on each: 1 and 3 run on the first, 2 and 4 on the second, 9 wants four on one machine."""
    rules.setdefault("defragment", True)
    world = World(plain(POOL, **rules))
    world.worker("a", 4)
    world.want(1, 2)
    world.want(5, 2)
    world.cycle()
    world.worker("b", 4)
    world.want(2, 2)
    world.want(6, 2)
    world.cycle()
    for number in (5, 6):
        world.exit(number)
    world.want(9, 4, single_node=True, experiment=9)
    world.cycle()
    return world


def asked(world: World) -> list[int]:
    """Trials that the next plan asks to move."""
    return sorted(world.cluster.runs[s.run].trial.int - 1000 for s in world.plan().signals)


def step(world: World) -> None:
    """Ten seconds; whoever was asked has saved."""
    world.wait(10)
    for run in list(world.cluster.runs.values()):
        if run.preempted and not run.is_ended:
            world.exit(run.trial.int - 1000, SAVED)
    world.cycle()


def test_a_run_moves_and_the_gang_starts_where_it_was() -> None:
    world = split()
    assert asked(world) == []
    for _ in range(30):
        step(world)
    assert world.running() == {1, 2, 9}
    assert sum(world.trial(number).runs for number in (1, 2)) == 3, "one has moved, once"
    assert world.trial(1).restarts == world.trial(2).restarts == 0
    assert len(world.placement(9)) == 1


def test_a_move_pays_once_waiting_has_cost_more() -> None:
    """Four slots wait; the move costs two slots the time since they were saved and a pause."""
    world = split()
    cost_ms = 2 * PAUSE_MS
    for seconds in range(0, 200, 10):
        if asked(world):
            waited_ms = seconds * 1000
            assert 4 * waited_ms > 2 * waited_ms + cost_ms >= 4 * (waited_ms - 10_000) - 2 * 10_000
            return
        world.wait(10)
    raise AssertionError("nobody was asked")


def test_the_run_that_was_saved_last_moves() -> None:
    world = split()
    world.wait(20)
    run = world.run(2)
    world.cluster.follow(run.with_progress(saved_at=world.now))
    world.wait(10)
    assert asked(world) == [2]


def test_nothing_moves_without_the_rule_or_where_it_would_not_fit() -> None:
    world = split(defragment=False)
    world.wait(500)
    assert asked(world) == []
    world = split()
    world.want(20, 1)
    world.want(21, 1)
    world.cycle()
    world.wait(500)
    assert asked(world) == [], "two slots are left: not enough for four, wherever they are"


def test_min_run_and_max_preemptions_protect_from_moves() -> None:
    for rule in ({"min_run": timedelta(hours=1)}, {"max_preemptions": 0}):
        world = split(**rule)
        world.wait(500)
        assert asked(world) == []


def test_a_machine_of_another_tenant_is_cleared_for_a_gang() -> None:
    """Tenant 1 has two machines half used; tenant 0 wants one whole."""
    world = World(plain(POOL, defragment=True))
    for name in ("a", "b"):
        world.worker(name, 4)
        world.want(ord(name), 4, tenant=1)
        world.cycle()
    world.exit(ord("a"))
    world.want(1, 2, tenant=1)
    world.cycle()
    world.exit(ord("b"))
    world.want(3, 3, tenant=1)
    world.want(4, 1, tenant=1)
    world.cycle()
    world.exit(3)
    world.want(9, 4, tenant=0, experiment=9)
    for _ in range(40):
        step(world)
    assert 9 in world.running()
    assert {1, 4} <= world.running()


REQUESTS = st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.integers(0, 1)), min_size=1, max_size=9)


@settings(max_examples=30, deadline=None)
@given(
    REQUESTS,
    st.booleans(),
    st.lists(st.integers(1, 9), max_size=4),
    st.sampled_from(["fifo", "priority", "fair_share"]),
)
def test_moves_cost_no_more_than_was_waited_and_records_plan_alike(
    requests: list[tuple[int, bool, int]], exclusive: bool, ended: list[int], order: str
) -> None:
    world = World(plain(POOL, defragment=True, exclusive=exclusive, order=order))
    for name, slots in {"a": 4, "b": 4, "c": 2}.items():
        world.worker(name, slots)
    for number, (slots, single, tenant) in enumerate(requests, start=1):
        world.want(number, slots, single_node=single, tenant=tenant, experiment=number)
        world.cycle()
    lost_ms, spent_ms = 0, 0.0
    for at in range(60):
        if at < len(ended) and ended[at] in world.running():
            world.exit(ended[at])
        for trial in list(world.cluster.pools[POOL].queue):
            lost_ms += world.cluster.trials[trial].request.needs.min_slots * 10_000
        planned = world.plan()
        assert plan(world.rebuilt(), [POOL]) == planned
        for signal in planned.signals:
            run = world.cluster.runs[signal.run]
            assert signal.because == "defragment"
            assert signal.for_trial is not None and planned.refusals[signal.for_trial] == "preempting"
            held_ms = (world.now - (run.progress.saved_at or run.granted_at)) / timedelta(milliseconds=1)
            spent_ms += run.slots * (held_ms + PAUSE_MS)
        assert spent_ms <= lost_ms
        step(world)
    assert all(world.cluster.trials[trial_id(number)].restarts == 0 for number in range(1, len(requests) + 1))
