"""Who goes first: fifo, priority with ageing, fair share over time."""

from collections import Counter
from datetime import timedelta
from fractions import Fraction

from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.indexes.decay import Decay, UsageHistory
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.run import RunExit
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World

FIFO = plain(POOL, order="fifo", preemption=True)
FAIR = plain(POOL, order="fair_share", half_life=timedelta(minutes=10))


def test_fifo_knows_no_priority_and_asks_nobody() -> None:
    world = World(FIFO)
    world.worker("a")
    world.set_policy(1, priority=99)
    world.set_policy(2, priority=1)
    world.want(1, experiment=1)
    world.want(2, experiment=1)
    world.want(3, experiment=2)
    world.cycle()
    assert world.running() == {1} and world.plan().signals == ()
    assert explain(world.cluster, world.trial(3)).facts["ahead"] == 1


def test_fair_share_serves_tenants_in_turn_whoever_asks_more() -> None:
    world = World(FAIR)
    world.worker("a")
    world.worker("b")
    world.worker("c")
    world.worker("d")
    for number in range(1, 7):
        world.want(number, tenant=0, experiment=0)
    for number in range(11, 13):
        world.want(number, tenant=1, experiment=1)
    world.cycle()
    assert world.running() == {1, 2, 11, 12}


def test_weights_divide_among_siblings() -> None:
    world = World(FAIR)
    for name in "abcdef":
        world.worker(name)
    world.set_policy(1, weight=2.0)
    world.set_policy(2)
    for number in range(1, 7):
        world.want(number, experiment=1)
        world.want(10 + number, experiment=2)
    world.cycle()
    assert Counter(number > 10 for number in world.running()) == {False: 4, True: 2}


def test_users_and_workspaces_share_before_experiments_do() -> None:
    world = World(FAIR)
    for name in "abcd":
        world.worker(name)
    for number in range(1, 4):
        world.want(number, experiment=number, workspace="one", owner="ann")
    world.want(11, experiment=11, workspace="two", owner="bob")
    world.want(12, experiment=11, workspace="two", owner="bob")
    world.cycle()
    assert world.running() == {1, 2, 11, 12}


def test_past_use_counts_and_fades() -> None:
    def next_after(pause_s: float) -> int:
        world = World(FAIR)
        world.worker("a")
        world.want(1, tenant=0, experiment=0)
        world.cycle()
        world.wait(3600)
        world.exit(1)
        world.wait(pause_s)
        world.want(2, tenant=1, experiment=1)
        world.cycle()
        world.wait(120)
        world.exit(2)
        world.want(3, tenant=0, experiment=0)
        world.want(4, tenant=1, experiment=1)
        world.cycle()
        return world.running().pop()

    assert next_after(pause_s=0) == 4, "an hour just before weighs more than two minutes now"
    assert next_after(pause_s=3600 * 2) == 3, "after twelve half-lives it is forgotten"


def test_the_shares_of_one_period_do_not_depend_on_how_often_they_were_looked_at() -> None:
    """Determined's sums were wrong here: an offer was reckoned from what the pass itself had changed."""
    decay = Decay(timedelta(minutes=10), 0)
    often, once = UsageHistory(decay), UsageHistory(decay)
    mine, other = ShareNode(("t",), None), ShareNode(("t",), None)
    often.charge([mine], 3, 1_234)
    once.charge([other], 3, 1_234)
    for now_ms in range(2_000, 3_000_000, 7_777):
        often.charge([mine], 1, now_ms)
        often.charge([mine], -1, now_ms)
    assert often.pasts == once.pasts
    average = Fraction(once.pasts["t",].at(decay.until(30_000_000))) / decay.present(30_000_000)
    assert abs(average - 3) < 0.05, "who has held three slots for long has an average of three"


def test_a_cap_frees_shares_for_others_and_holds_up_nobody() -> None:
    """Determined gave a capped experiment its whole offer, and left the rest of it idle."""
    world = World(FAIR)
    for name in "abcd":
        world.worker(name)
    world.set_policy(1, max_slots=1)
    world.set_policy(2)
    for number in range(1, 4):
        world.want(number, experiment=1)
        world.want(10 + number, experiment=2)
    world.cycle()
    assert world.running() == {1, 11, 12, 13}


def test_a_gang_larger_than_its_fair_share_still_gets_its_turn() -> None:
    """Determined disabled the newest group whose smallest request exceeded its offer, and left it waiting for ever."""
    world = World(FAIR)
    world.worker("a", 4)
    for number in range(1, 5):
        world.want(number, tenant=1, experiment=1)
    world.cycle()
    world.want(10, 4, tenant=0, experiment=0)
    for number in range(21, 40):
        world.want(number, tenant=1, experiment=1)
    world.cycle()
    for number in range(1, 5):
        world.exit(number)
        world.wait(11)
        world.cycle()
    assert world.running() == {10}


def test_who_has_machines_reserved_keeps_its_turn_when_shares_change() -> None:
    world = World(FAIR)
    world.worker("a", 2)
    world.want(1, tenant=2, experiment=2)
    world.want(2, tenant=2, experiment=2)
    world.cycle()
    world.want(10, 2, tenant=0, experiment=0)
    world.cycle()
    reserved = world.cluster.pools[POOL].reserved
    assert reserved is not None and reserved.trial == world.trial(10).id
    world.want(20, tenant=1, experiment=1)
    world.exit(1)
    world.cycle()
    assert world.running() == {2}, "what comes free is kept for the gang"
    world.exit(2)
    world.cycle()
    assert world.running() == {10}


LEVEL_S = 30
REQUESTS = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 60)), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(REQUESTS)
def test_ageing_bounds_who_may_pass(requests: list[tuple[int, int]]) -> None:
    """Of priority p, one is passed only by those of p' < p that came less than (p - p') levels of waiting after it."""
    world = World(plain(POOL, ageing=timedelta(seconds=LEVEL_S)))
    world.worker("a")
    came = {}
    for number, (priority, pause) in enumerate(requests, start=1):
        world.wait(pause)
        world.set_policy(number, priority)
        world.want(number, experiment=number)
        came[number] = (priority, world.now)
    waiting = set(came)
    while waiting:
        world.cycle()
        world.wait(1)
        first = world.running().pop()
        waiting -= {first}
        priority, at = came[first]
        for other in waiting:
            its, when = came[other]
            assert (at - when).total_seconds() <= max(0, (its - priority) * LEVEL_S)
        world.exit(first)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=10), st.booleans())
def test_priority_is_never_inverted(requests: list[tuple[int, int]], preemption: bool) -> None:
    """No one-slot request waits while a less important one of its kind is granted; with preemption, none runs beside it for long."""
    world = World(plain(POOL, preemption=preemption))
    world.worker("a")
    world.worker("b")
    for number, (priority, _) in enumerate(requests, start=1):
        world.set_policy(number, priority)
        world.want(number, experiment=number)
        made = world.cycle()
        ranks = {n: requests[n - 1][0] for n in range(1, number + 1)}
        waiting = set(ranks) - world.running()
        granted = {n for n in ranks if any(run.trial == world.trial(n).id for run in made)}
        assert all(ranks[g] <= ranks[w] for g in granted for w in waiting)
        for n in list(world.running()):
            if world.run(n).preempted:
                world.exit(n, RunExit(acknowledged=Signal.PREEMPT))
        world.cycle()
        if preemption:
            waiting = set(ranks) - world.running()
            assert all(ranks[r] <= ranks[w] for r in world.running() for w in waiting)
