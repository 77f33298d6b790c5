"""Leaders and losses: a worker falls silent, a leader is killed or frozen, the bus is away. Nothing is granted twice, nothing is lost."""

import asyncio
import signal

import pytest

from shared.ids import DEFAULT_TENANT, SITE, new_id
from shared.messages.pools import GetCluster
from shared.messages.queue import Explain, GetQueue, RequestClosed
from shared.messages.reservations import GetReservations
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.workers import WorkerDrained, WorkerJoined, WorkerLost
from tests.integration.scheduler.fake_worker import CLOCK, POOL
from tests.integration.scheduler.platform import Platform, Scheduler, new_trial, runs_on
from tests.support.drill_share import every
from tests.support.waiting import TIMEOUT_S, eventually

FAULTS = ("scheduler.before_save", "scheduler.after_save", "scheduler.before_desired", "unit.before_commit")


async def test_a_silent_worker_is_lost_and_its_run_starts_elsewhere_free_of_charge(around: Platform) -> None:
    trial = new_trial()
    async with around.scheduler(), around.worker("l1") as silent:
        await around.want(trial)
        await eventually(lambda: trial in silent.running)
        async with around.worker("l2") as other:
            await eventually(lambda: any(one.worker == "l2" for one in around.told(WorkerJoined)))
            await silent.fall_silent()
            await eventually(lambda: trial in other.running)
            ended = await around.heard(RunEnded, trial)
            assert (ended.outcome, ended.charged, ended.validations, ended.next) == (
                "lost",
                False,
                None,
                "requeued",
            )
            await eventually(lambda: [one.worker for one in around.told(WorkerLost)] == ["l1"])
            await eventually(lambda: len(around.told(RunGranted, trial)) == 2)
            first, second = around.told(RunGranted, trial)
            assert second.token > first.token
            await other.exit(trial)
            await eventually(lambda: around.told(RequestClosed, trial))


async def test_a_stand_by_takes_over_without_losing_or_doubling_a_run(around: Platform) -> None:
    trials = [new_trial() for _ in range(3)]
    async with around.scheduler() as leader, around.worker("s1") as one, around.worker("s2") as other:
        for trial in trials:
            await around.want(trial)
        await eventually(lambda: len(one.running | other.running) == 2)
        async with around.scheduler():
            running = one.running | other.running
            epoch = one.epoch
            await leader.kill()
            await eventually(lambda: one.epoch > epoch and other.epoch > epoch)
            assert one.running | other.running == running, "a healthy run outlives its leader"
            for worker in (one, other):
                await worker.exit()
            (third,) = set(trials) - running
            await eventually(lambda: third in one.running | other.running)
            for worker in (one, other):
                await worker.exit()
            await around.once(trials, RunGranted, RequestClosed)
            assert len(one.started) + len(other.started) == 3


async def test_a_gang_that_has_half_ended_is_not_lost_with_its_leader(around: Platform) -> None:
    trial = new_trial()
    async with around.scheduler() as leader, around.worker("h1") as one, around.worker("h2") as other:
        await around.want(trial, slots=2)
        await runs_on((one, other), trial)
        async with around.scheduler():
            await one.exit(trial, validations=3)
            await eventually(lambda: not one.has)
            epoch = one.epoch
            await leader.kill()
            await eventually(lambda: one.epoch > epoch and other.epoch > epoch)
            assert trial in other.running
            await other.exit(trial, validations=3)
            await around.once((trial,), RunGranted, RunEnded, RequestClosed)
            ended = await around.heard(RunEnded, trial)
            assert (ended.outcome, ended.validations, ended.next) == ("completed", 3, "closed")


async def test_a_frozen_leader_that_wakes_changes_nothing(around: Platform) -> None:
    first, second = new_trial(), new_trial()
    async with around.scheduler() as old, around.worker("f1") as worker:
        await around.want(first)
        await eventually(lambda: first in worker.running)
        async with around.scheduler():
            epoch = worker.epoch
            old.freeze()
            await eventually(lambda: worker.epoch > epoch)
            await around.want(second)
            old.thaw()
            await worker.exit(first)
            await eventually(lambda: second in worker.running)
            await worker.exit(second)
            await around.once((first, second), RunGranted, RequestClosed)
            assert len(worker.started) == 2
            rows = await around.rows(
                "SELECT count(*) AS n FROM scheduler.run WHERE trial = ANY($1)", [first, second]
            )
            assert rows[0]["n"] == 2


async def test_a_frozen_leader_swallows_no_heartbeats_of_its_successors_workers(around: Platform) -> None:
    trial = new_trial()
    async with around.scheduler() as old, around.worker("b1") as worker:
        await around.want(trial)
        await eventually(lambda: trial in worker.running)
        async with around.scheduler():
            epoch = worker.epoch
            old.freeze()
            await eventually(lambda: worker.epoch > epoch)
            await _pause(12.0)
            old.thaw()
            assert trial in worker.running
            assert "b1" not in {one.worker for one in around.told(WorkerLost)}
            await worker.exit(trial)
            await around.once((trial,), RunGranted, RequestClosed)


async def test_an_outage_of_the_bus_costs_no_run(around: Platform) -> None:
    trial = new_trial()
    async with around.scheduler(), around.worker("o1") as worker:
        await around.want(trial)
        await eventually(lambda: trial in worker.running)
        around.servers.nats.kill()
        await _pause(6.0)
        around.servers.restart(around.servers.nats)
        await eventually(around.is_led)
        await _pause(5.0)
        assert trial in worker.running
        assert "o1" not in {one.worker for one in around.told(WorkerLost)}
        await worker.exit(trial)
        await around.once((trial,), RunGranted, RequestClosed)


async def test_what_an_old_leaders_handler_stores_too_late_is_carried_out(around: Platform) -> None:
    def states() -> list[str]:
        return [one.state for one in around.told(WorkerJoined) if one.worker == "w1"]

    async with around.scheduler(), around.worker("w1"), around.worker("w2"):
        await eventually(lambda: {"w1", "w2"} <= {one.worker for one in around.told(WorkerJoined)})
        await around.rows("UPDATE scheduler.worker SET drain_requested = true WHERE worker = 'w1'")
        await around.rows("UPDATE scheduler.worker SET is_removed = true WHERE worker = 'w2'")
        await eventually(lambda: "w1" in {one.worker for one in around.told(WorkerDrained)})
        await eventually(lambda: "w2" in {one.worker for one in around.told(WorkerLost)})
        await around.rows("UPDATE scheduler.worker SET drain_requested = false WHERE worker = 'w1'")
        await eventually(lambda: states()[-1] == "ready")
        await late_rules_hold(around)


async def late_rules_hold(around: Platform) -> None:
    """Of a pool, of what a tenant may hold, of an experiment's place, and a booking."""
    trial = new_trial()
    await around.want(trial, slots=5, priority=30)

    async def priorities() -> list[int]:
        page = await around.ask(GetQueue(), DEFAULT_TENANT)
        return [entry.priority for entry in page.entries if entry.trial_id == trial]

    async def is_queued() -> bool:
        return await priorities() == [30]

    await eventually(is_queued)
    await around.rows("UPDATE scheduler.experiment_policy SET priority = 7 WHERE experiment = $1", trial)
    await around.rows("UPDATE scheduler.pool SET default_priority = 11 WHERE name = $1", POOL)
    await around.rows(
        "INSERT INTO scheduler.quota (pool, tenant, workspace, guaranteed, maximum, weight, version)"
        " VALUES ($1, $2, '', 0, 3, 1, 1)",
        *(POOL, DEFAULT_TENANT),
    )
    await around.rows(
        "INSERT INTO scheduler.reservation (reservation, pool, tenant, workspace, slots, begins_at, ends_at)"
        " VALUES ($1, $2, $3, '', 1, now(), now() + interval '1 hour')",
        *(new_id(CLOCK), POOL, DEFAULT_TENANT),
    )

    async def is_known() -> bool:
        view = await around.ask(GetCluster(), SITE)
        told = await around.ask(Explain(trial_id=trial), DEFAULT_TENANT)
        booked = await around.ask(GetReservations(), SITE)
        return (
            await priorities() == [7]
            and [pool.rules.default_priority for pool in view.pools] == [11]
            and (told.code, len(booked.items)) == ("tenant_quota_reached", 1)
        )

    await eventually(is_known)


@pytest.mark.parametrize("point", every(2, FAULTS))
async def test_a_leader_killed_at_any_point_of_its_cycle_leaves_one_run_and_one_end(
    around: Platform, point: str
) -> None:
    trial = new_trial()
    async with around.scheduler(MUSTER_FAULTS=f"{point}:3:kill") as doomed:
        await eventually(lambda: is_led_or_dead(around, doomed))
        async with around.scheduler(), around.worker(f"k{FAULTS.index(point)}") as worker:
            await around.want(trial)
            await eventually(lambda: trial in worker.running)
            await worker.exit(trial, validations=1)
            await around.once((trial,), RunGranted, RunEnded, RequestClosed)
            await eventually(lambda: not worker.has)
            assert await asyncio.wait_for(doomed.process.wait(), TIMEOUT_S) == -signal.SIGKILL
        await around.once((trial,), RunGranted, RunEnded, RequestClosed)
        assert len(worker.started) == 1


async def is_led_or_dead(around: Platform, doomed: Scheduler) -> bool:
    return doomed.process.returncode is not None or await around.is_led()


async def _pause(seconds: float) -> None:
    """The time that an outage lasts."""
    await asyncio.sleep(seconds)
