"""An exclusive pool serves one tenant at a time on a machine, however many workers run on it."""

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers.workers import on_heartbeat, on_silent_worker_removed
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.observed import ObservedState
from services.scheduler.core.state.records.worker import MachineId
from shared.ids import PoolName, WorkerId
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World

HOST = MachineId("host")


def test_two_workers_of_one_machine_serve_one_tenant_at_a_time() -> None:
    w = two_workers()
    w.want(1, tenant=0)
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    assert w.running() == {1}
    w.exit(1)
    w.cycle()
    assert w.running() == {2}


def test_a_tenant_uses_all_workers_of_its_machine() -> None:
    w = two_workers()
    w.want(1, tenant=0)
    w.want(2, tenant=0)
    w.cycle()
    assert w.running() == {1, 2}


def test_a_machine_that_is_served_later_stays_with_its_tenant() -> None:
    w = two_workers()
    w.want(1, tenant=0)
    w.cycle()
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    assert w.running() == {1}


def test_workers_of_different_machines_serve_different_tenants() -> None:
    w = World()
    w.worker("a", machine=MachineId("one"))
    w.worker("b", machine=MachineId("two"))
    w.want(1, tenant=0)
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    assert w.running() == {1, 2}


def test_a_pool_that_is_not_exclusive_does_not_separate_tenants() -> None:
    w = World(policy=plain(POOL, exclusive=False))
    w.worker("a", machine=HOST)
    w.worker("b", machine=HOST)
    w.want(1, tenant=0)
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    assert w.running() == {1, 2}


@pytest.mark.parametrize("exclusive", [True, False])
def test_workers_of_other_pools_count(exclusive: bool) -> None:
    other = PoolName("other")
    w = World()
    w.cluster.put_pool(plain(other, exclusive=exclusive))
    w.worker("a", machine=HOST)
    beat(w, "b", other)
    w.want(1, tenant=0)
    w.want(2, tenant=1, experiment=1, pool=other)
    w.cycle()
    assert w.running() == {1}
    w.cycle()
    assert w.running() == {1}
    w.exit(1)
    w.cycle()
    assert w.running() == {2}
    w.want(3, tenant=0)
    w.cycle()
    assert w.running() == {2}


def test_a_draining_worker_still_keeps_its_machine() -> None:
    w = two_workers()
    w.want(1, tenant=0)
    w.cycle()
    w.worker(on(w, 1), machine=HOST, trouble="its disk is full")
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    assert w.running() == {1}


def test_a_lost_worker_keeps_its_machine_until_it_is_given_up() -> None:
    """Its daemon is silent; the processes of its run may still be there."""
    w = two_workers()
    w.want(1, tenant=0)
    w.cycle()
    lost = on(w, 1)
    w.silence(lost)
    w.want(2, tenant=1, experiment=1)
    w.want(1, version=2, wanted="stop", tenant=0)  # type: ignore[arg-type]
    w.cycle()
    assert 2 not in w.running()
    w.cluster.apply(on_silent_worker_removed(w.cluster, WorkerId(lost), "silent"))
    w.cycle()
    assert 2 in w.running()


def test_a_guarantee_clears_the_whole_machine() -> None:
    w = World(policy=plain(POOL, preemption=True))
    w.worker("a", machine=HOST)
    w.worker("b", machine=HOST)
    w.quota(1, guaranteed=1)
    w.want(1, tenant=0)
    w.want(2, tenant=0)
    w.cycle()
    w.want(3, tenant=1, experiment=1)
    w.cycle()
    assert {run.trial.int - 1000 for run in w.cluster.runs.values() if run.asked} == {1, 2}
    w.exit(1)
    w.cycle()
    assert w.running() == {2}
    w.exit(2)
    w.cycle()
    assert w.running() == {3}


def test_explain_names_the_machine() -> None:
    w = two_workers()
    w.want(1, tenant=0)
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    message = explain(w.cluster, w.trial(2), "slots").message
    assert "1 free slot is on machine host, which serves another tenant" in message


def test_a_worker_that_moves_to_another_machine_frees_the_old_one() -> None:
    w = two_workers()
    w.want(1, tenant=0)
    w.cycle()
    w.worker(on(w, 1), machine=MachineId("elsewhere"))
    w.want(2, tenant=1, experiment=1)
    w.cycle()
    assert w.running() == {1, 2}


WORKERS = [
    ("a", "x", POOL),
    ("b", "x", POOL),
    ("c", "x", PoolName("other")),
    ("d", "y", POOL),
    ("e", "y", POOL),
]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_whatever_happens_a_machine_never_serves_two_tenants(seed: int) -> None:
    random = Random(seed)
    policy = {
        "preemption": random.random() < 0.5,
        "elastic": random.random() < 0.5,
        "defragment": random.random() < 0.3,
        "order": random.choice(["fifo", "priority", "fair_share"]),
    }
    w = World(policy=plain(POOL, **policy))
    w.cluster.put_pool(plain(PoolName("other"), **policy))
    for name, machine, pool in WORKERS:
        beat(w, name, pool, machine=MachineId(machine), slots=random.randint(1, 3))
    w.quota(0, guaranteed=random.randint(0, 3))
    for number in range(1, 25):
        match random.choice(["want", "want", "want", "exit", "wait", "reserve", "lose", "beat"]):
            case "want":
                tenant, slots = random.randint(0, 2), random.randint(0, 5)
                w.want(number, slots, tenant=tenant, experiment=tenant, pool=random.choice([POOL, "other"]))
            case "exit" if running := sorted(w.running()):
                w.exit(random.choice(running))
            case "wait":
                w.wait(random.choice([1, 700]))
            case "reserve":
                w.reserve(random.randint(0, 2), random.randint(1, 4), 0, 1000)
            case "lose":
                w.silence(random.choice(WORKERS)[0])
            case "beat":
                name, machine, pool = random.choice(WORKERS)
                slots = len(w.cluster.workers[WorkerId(name)].slot_ids)
                beat(w, name, pool, machine=MachineId(machine), slots=slots, allocations=w.observed(name))
        w.cycle()
        for machine in "xy":
            here = [w.cluster.workers[WorkerId(name)] for name, of, _ in WORKERS if of == machine]
            tenants = {hold.tenant for worker in here for hold in worker.held.values()}
            assert len(tenants) <= 1, (number, machine, tenants)


def two_workers() -> World:
    w = World()
    w.worker("a", machine=HOST)
    w.worker("b", machine=HOST)
    return w


def beat(w: World, name: str, pool: PoolName, slots: int = 1, **more: object) -> None:
    state = ObservedState(WorkerId(name), pool, "cpu", tuple(range(slots)), **{"machine": HOST, **more})  # type: ignore[arg-type]
    w.cluster.apply(on_heartbeat(w.cluster, state, w.now))
    refresh(w.cluster)


def on(w: World, number: int) -> str:
    return next(iter(w.placement(number)))
