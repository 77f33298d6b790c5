"""Attack 3: a tenant places its run beside another tenant's, to read and kill that one's processes.

In an exclusive pool a machine serves one tenant at a time, also with several workers. A worker whose runs are not isolated gets runs of a
trusted pool only, which serves a single tenant.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, SITE, TenantId, new_id
from shared.messages.pools import ClusterView, EditPool, GetCluster, PoolRules
from shared.messages.queue import Explain, Explanation, ValidatePlacement
from shared.messages.runs import RunEnded
from shared.messages.trial_specs import DesiredState
from shared.messages.workers import WorkerView
from tests.integration.scheduler.fake_worker import CLOCK, POOL, FakeWorker
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

ATTACKER = TenantId(UUID(int=66))
SEVERAL_CYCLES_S = 1.5


async def test_two_tenants_never_share_a_machine(around: Platform) -> None:
    machine = "5f0cbb6a81d24ae1"
    async with around.scheduler(), two_workers(around, machine) as workers:
        watched = asyncio.create_task(watch(workers))
        victim, beside, attacker = new_trial(), new_trial(), new_trial()
        for trial in (victim, beside):
            await around.want(trial)
            await eventually(lambda trial=trial: any(trial in worker.running for worker in workers))  # type: ignore[misc]
        await around.want(attacker, tenant=ATTACKER)
        await until(around, attacker, ATTACKER, "waiting_for_slots", "2 slots held by other tenants")
        await next(worker for worker in workers if victim in worker.running).exit()
        where = f"1 free slot is on machine {machine}, which serves another tenant"
        await until(around, attacker, ATTACKER, "waiting_for_slots", where)
        await asyncio.sleep(SEVERAL_CYCLES_S)
        assert not any(attacker in worker.running for worker in workers)

        await next(worker for worker in workers if beside in worker.running).exit()
        await eventually(lambda: any(attacker in worker.running for worker in workers))
        assert not watched.done(), "two tenants ran on one machine at the same time"
        watched.cancel()
        await next(worker for worker in workers if attacker in worker.running).exit(attacker)
        await around.once((victim, beside, attacker), RunEnded)


async def test_two_tenants_share_the_workers_of_different_machines(around: Platform) -> None:
    async with (
        around.scheduler(),
        around.worker("m1", machine="one") as one,
        around.worker("m2", machine="two") as two,
    ):
        first, second = new_trial(), new_trial()
        await around.want(first)
        await around.want(second, tenant=ATTACKER)
        await eventually(lambda: len(one.running) == len(two.running) == 1)
        await one.exit()
        await two.exit()
        await around.once((first, second), RunEnded)


async def test_a_worker_without_isolation_gets_nothing_of_a_pool_that_serves_several_tenants(
    around: Platform,
) -> None:
    async with around.scheduler(), around.worker("bare", isolation="none") as worker:
        assert worker.warning and "pool default serves several tenants" in worker.warning
        trial = new_trial()
        await around.want(trial)
        found = await until(around, trial, DEFAULT_TENANT, "no_workers")
        assert "worker bare cannot isolate their runs (network namespaces: no)" in found.message
        assert "`muster pool set default --trusted`" in found.message
        shown = await view(around, "bare")
        assert shown.isolation == "none" and shown.trouble and "cannot isolate" in shown.trouble
        await asyncio.sleep(SEVERAL_CYCLES_S)
        assert not worker.running
        await around.want(trial, DesiredState.KILL, version=2)


async def test_a_trusted_pool_serves_one_tenant(around: Platform) -> None:
    async with around.scheduler(), around.worker("bare2", slots=3, isolation="none") as worker:
        await edit(around, PoolRules(trusted=True))
        try:
            stranger, own = new_trial(), new_trial()
            await around.want(stranger, tenant=ATTACKER)
            found = await until(around, stranger, ATTACKER, "pool_serves_other_tenant")
            assert found.message.startswith("pool default serves one trusted tenant only, which is not yours")
            with pytest.raises(Rejected, match="serves one trusted tenant only"):
                await around.ask(ValidatePlacement(pool=POOL, min_slots=1, max_slots=1), ATTACKER)
            await around.want(own)
            await eventually(lambda: own in worker.running)
            assert (await view(around, "bare2")).trouble is None
            await worker.exit()
            await asyncio.sleep(SEVERAL_CYCLES_S)
            assert stranger not in worker.running

            await edit(around, PoolRules(trusted=True, tenant=ATTACKER))
            await eventually(lambda: stranger in worker.running)
            await worker.exit()
        finally:
            await edit(around, PoolRules())


@asynccontextmanager
async def two_workers(around: Platform, machine: str) -> AsyncIterator[tuple[FakeWorker, FakeWorker]]:
    async with around.worker("n1", machine=machine) as one, around.worker("n2", machine=machine) as two:

        async def are_ready() -> bool:
            return [pool.slots for pool in (await around.ask(GetCluster())).pools] == [2]

        await eventually(are_ready)
        yield one, two


async def watch(workers: tuple[FakeWorker, ...]) -> None:
    """Ends as soon as two tenants run on these workers at the same time."""
    while len({tenant for worker in workers for tenant in worker.tenants}) < 2:
        await asyncio.sleep(0.01)


async def until(around: Platform, trial: UUID, tenant: TenantId, code: str, words: str = "") -> Explanation:
    found: list[Explanation] = []

    async def is_explained() -> bool:
        found[:] = [await around.ask(Explain.model_validate({"trial_id": trial}), tenant)]
        return found[0].code == code and words in found[0].message

    await eventually(is_explained)
    return found[0]


async def view(around: Platform, worker: str) -> WorkerView:
    cluster: ClusterView = await around.ask(GetCluster())
    return next(one for one in cluster.workers if one.worker == worker)


async def edit(around: Platform, rules: PoolRules) -> None:
    await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=rules), SITE)

    async def is_edited() -> bool:
        return any(pool.rules == rules for pool in (await around.ask(GetCluster())).pools)

    await eventually(is_edited)
