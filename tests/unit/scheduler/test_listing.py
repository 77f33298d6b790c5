"""Pages of the queue: all that is one's own, once, in the order of service, with the place of each."""

from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.queue_positions import ahead
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.cycle import LeaderTerm
from services.scheduler.queries import filtering
from services.scheduler.queries.listing import page_of
from shared.errors import Rejected
from shared.ids import TrialId
from shared.messages.queue import GetQueue, QueueEntry
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id, trial_id

REQUESTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20
)
"""Tenant, experiment, slots."""


def term_of(world: World) -> LeaderTerm:
    return LeaderTerm(1, world.now, world.cluster, 1, 1000, 0)


def read(term: LeaderTerm, tenant: int, limit: int) -> list[QueueEntry]:
    entries: list[QueueEntry] = []
    after = None
    while True:
        page = page_of(term, tenant_id(tenant), GetQueue(limit=limit, after=after))
        assert len(page.entries) <= limit
        entries += page.entries
        if page.next is None:
            return entries
        after = page.next


def filled(requests: list[tuple[int, int, int]], policy: PoolPolicy) -> World:
    world = World(policy)
    world.worker("a", 1)
    for experiment in range(6):
        world.set_policy(experiment, priority=40 + experiment)
    for number, (tenant, experiment, slots) in enumerate(requests):
        world.want(number, slots, tenant=tenant, experiment=2 * experiment + tenant)
        world.wait(7)
    world.cycle()
    return world


@settings(max_examples=80, deadline=None)
@given(REQUESTS, st.integers(1, 7), st.sampled_from(["fifo", "priority", "aged", "fair_share"]))
def test_pages_show_all_that_is_ones_own_once_and_each_with_its_place(
    requests: list[tuple[int, int, int]], limit: int, order: str
) -> None:
    ageing = timedelta(seconds=20) if order == "aged" else None
    policy = plain(POOL, order="priority" if order == "aged" else order, ageing=ageing)
    world = filled(requests, policy)
    pool = world.cluster.pools[POOL]
    for tenant in (0, 1):
        entries = read(term_of(world), tenant, limit)
        mine = {
            trial.id for trial in world.cluster.trials.values() if trial.request.tenant == tenant_id(tenant)
        }
        assert len(entries) == len(mine) and {entry.trial_id for entry in entries} == mine
        states = [entry.state for entry in entries]
        assert states == sorted(states), "what runs comes first"
        waiting = [entry for entry in entries if entry.state == "waiting"]
        for entry in waiting:
            assert entry.position == 1 + ahead(pool, [entry.trial_id])[entry.trial_id]
        positions = [entry.position or 0 for entry in waiting]
        assert positions == sorted(set(positions)), "in the order of service, no two at one place"
    if order != "fair_share":
        both = read(term_of(world), 0, limit) + read(term_of(world), 1, limit)
        places = sorted(entry.position for entry in both if entry.position)
        assert places == list(range(1, len(places) + 1)), "places of all tenants together leave no gap"


def test_a_list_goes_on_where_it_was_when_those_before_have_gone() -> None:
    world = filled([(0, 0, 1)] * 6, plain(POOL, order="fifo"))
    first = page_of(term_of(world), tenant_id(), GetQueue(limit=3))
    world.exit(0)
    world.cycle()
    rest = page_of(term_of(world), tenant_id(), GetQueue(limit=9, after=first.next))
    assert [entry.trial_id for entry in rest.entries] == [trial_id(number) for number in (3, 4, 5)]


def test_a_cursor_of_something_else_is_refused() -> None:
    world = filled([(0, 0, 1)], plain(POOL))
    with pytest.raises(Rejected) as refused:
        page_of(term_of(world), tenant_id(), GetQueue(after="default:running:1"))
    assert refused.value.code == "bad_cursor"


def test_what_is_not_in_the_queue_has_no_place() -> None:
    world = filled([(0, 0, 1), (0, 0, 1)], plain(POOL))
    unknown = TrialId(trial_id(99))
    assert ahead(world.cluster.pools[POOL], [trial_id(0), trial_id(1), unknown]) == {trial_id(1): 0}


def chosen(world: World, filter_: str, sort: str = "", limit: int = 500) -> list[str]:
    """Experiment, trial and state of what is listed, page by page."""
    found: list[QueueEntry] = []
    after = None
    while True:
        query = GetQueue(filter=filter_, sort=sort, limit=limit, after=after)
        page = page_of(term_of(world), tenant_id(), query)
        found += page.entries
        if page.next is None:
            return [f"{one.trial_id.int - trial_id(0).int} {one.state} {one.position}" for one in found]
        after = page.next


def test_the_queue_is_filtered_in_its_order_and_sorted_by_what_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = filled([(0, 1, 1), (0, 0, 1), (0, 2, 2), (0, 0, 2)], plain(POOL, order="fifo"))
    assert chosen(world, "") == ["0 running None", "1 waiting 1", "2 waiting 2", "3 waiting 3"]
    assert chosen(world, "state = waiting and slots = 2") == ["2 waiting 2", "3 waiting 3"]
    assert chosen(world, "code = waiting_for_slots") == ["1 waiting 1"]
    assert chosen(world, "code != waiting_for_slots") == ["2 waiting 2", "3 waiting 3"]
    assert chosen(world, f'experiment = "{world.cluster.trials[trial_id(1)].request.experiment}"') == [
        "1 waiting 1",
        "3 waiting 3",
    ]
    for limit in (1, 2, 500):
        assert chosen(world, "", "-since", limit)[:2] == ["0 running None", "3 waiting 3"]
        assert chosen(world, "", "-slots,priority,-since", limit) == [
            "3 waiting 3",
            "2 waiting 2",
            "1 waiting 1",
            "0 running None",
        ]
    monkeypatch.setattr(filtering, "LOOKED_AT", 1)
    assert chosen(world, "slots = 2") == ["2 waiting 2", "3 waiting 3"], "short pages lose nothing"
    monkeypatch.setattr(filtering, "MOST_SORTED", 3)
    with pytest.raises(Rejected, match="the queue has 4 requests; at most 3") as refused:
        chosen(world, "", "since")
    assert refused.value.place == "sort"


@pytest.mark.parametrize("after", ["default:0:0:0:1:x", "{", '"x"'])
def test_a_cursor_of_another_order_is_refused_where_it_is_sorted(after: str) -> None:
    world = filled([(0, 0, 1)], plain(POOL))
    with pytest.raises(Rejected) as refused:
        page_of(term_of(world), tenant_id(), GetQueue(sort="since", after=after))
    assert refused.value.code == "bad_cursor"


def test_a_running_one_tells_its_slots_and_a_waiting_one_none() -> None:
    world = World(plain(POOL, exclusive=False))
    world.worker("a", 2)
    world.worker("b", 1)
    world.want(1, 2)
    world.want(2, 2)
    world.cycle()
    first, second = read(term_of(world), 0, 10)
    assert {one.worker: one.slots for one in first.held} == {"a": (0, 1)}
    assert (second.state, second.held) == ("waiting", ())
