"""A pool as one who plans for it finds it: who holds and waits for what, for how long, and whose it is not."""

import pytest

from muster.errors import Rejected
from services.scheduler.queries import outlook as telling
from services.scheduler.queries.outlook import outlook_of
from shared.ids import WorkerId
from shared.messages.plans import Outlook
from shared.messages.pools import PoolView
from tests.support.policies import plain
from tests.unit.scheduler.test_forecast import served
from tests.unit.scheduler.world import POOL, World, tenant_id

VIEW = PoolView(
    pool=POOL,
    slot_kind=None,
    workers=1,
    slots=2,
    used_slots=0,
    waiting_slots=0,
    preemption=False,
    exclusive=False,
)


def seen(world: World, tenant: int = 0, workspace: str = "Uncategorized") -> Outlook:
    pool = world.cluster.pools[POOL]
    return outlook_of(world.cluster, pool, (tenant_id(tenant), workspace), VIEW, ())


def test_those_who_run_come_first_then_lines_of_those_who_wait() -> None:
    world = served(slots=2)
    world.want(1, 2, experiment=1, tenant=3)
    world.cycle()
    world.wait(30)
    for number in (2, 3):
        world.want(number, 1, experiment=2)
    world.want(4, 2, experiment=2)
    world.cycle()
    found = seen(world).requests
    assert [(one.tenant, one.experiment, one.slots, one.count) for one in found] == [
        (1, 1, 2, 1),
        (0, 2, 1, 2),
        (0, 2, 2, 1),
    ]
    assert (found[0].workers, found[0].age_s, found[1].workers) == ({WorkerId("a"): 2}, 30.0, {})
    running, waiting = found[0].rest_s, found[1].rest_s
    assert len(running) == len(waiting) == 5 and list(running) == sorted(running)
    assert 20 < running[2] < 40 and 45 < waiting[2] < 75, "a minute each, half of it gone"
    assert seen(world, tenant=3).requests[0].tenant == 0


def test_where_too_few_have_ended_nothing_is_said_of_how_long() -> None:
    world = World(plain(POOL, exclusive=False))
    world.worker("a", 1)
    world.want(1)
    world.want(2)
    world.cycle()
    assert [one.rest_s for one in seen(world).requests] == [(), ()]


def test_limits_and_windows_are_told_by_numbers_and_the_workspace_that_asks_is_its_own() -> None:
    world = World()
    world.worker("a", 4)
    world.quota(0, 1, 3)
    world.quota(0, 0, 2, workspace="vision")
    world.quota(5, 2, None)
    world.reserve(5, 2, 60, 120)
    found = seen(world, workspace="vision")
    assert [(one.tenant, one.workspace, one.maximum) for one in found.limits] == [
        (0, None, 3),
        (0, 0, 2),
        (1, None, None),
    ]
    (window,) = found.windows
    assert (window.tenant, window.slots, window.starts_in_s, window.ends_in_s) == (1, 2, 60.0, 120.0)
    assert seen(world, workspace="speech").limits[1].workspace == 1


def test_a_pool_that_no_answer_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.worker("a", 4)
    for number in range(3):
        world.want(number, 1, experiment=number)
    world.cycle()
    monkeypatch.setattr(telling, "MOST", 2)
    with pytest.raises(Rejected, match="more than 2 runs, request groups and machines") as refused:
        seen(world)
    assert refused.value.place == "pool"
