"""Leaders and losses: a worker falls silent, a leader is killed or frozen, the bus is away. Nothing is granted twice, nothing is lost."""

import asyncio
import signal

import pytest

from shared.messages.queue import RequestClosed
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.workers import WorkerJoined, WorkerLost
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

FAULTS = ("scheduler.before_save", "scheduler.after_save", "scheduler.before_desired", "unit.before_commit")


async def test_a_silent_worker_is_lost_and_its_run_starts_elsewhere_free_of_charge(around: Platform):
    trial = new_trial()
    async with around.scheduler(), around.worker("l1") as silent:
        await around.want(trial)
        await eventually(lambda: trial in silent.running)
        async with around.worker("l2") as other:
            await eventually(lambda: any(one.worker == "l2" for one in around.told(WorkerJoined)))
            await silent.fall_silent()
            await eventually(lambda: trial in other.running, timeout_s=15)
            ended = around.told(RunEnded, trial)[0]
            assert (ended.outcome, ended.charged, ended.validations, ended.next) == (
                "lost",
                False,
                None,
                "requeued",
            )
            assert [one.worker for one in around.told(WorkerLost)] == ["l1"]
            first, second = around.told(RunGranted, trial)
            assert second.token > first.token
            await other.exit(trial)
            await eventually(lambda: around.told(RequestClosed, trial))


async def test_a_stand_by_takes_over_without_losing_or_doubling_a_run(around: Platform):
    trials = [new_trial() for _ in range(3)]
    async with around.scheduler() as leader, around.worker("s1") as one, around.worker("s2") as other:
        for trial in trials:
            await around.want(trial)
        await eventually(lambda: len(one.running | other.running) == 2)
        async with around.scheduler():
            running = one.running | other.running
            epoch = one.epoch
            await leader.kill()
            await eventually(lambda: one.epoch > epoch and other.epoch > epoch, timeout_s=15)
            assert one.running | other.running == running, "a healthy run outlives its leader"
            for worker in (one, other):
                await worker.exit()
            (third,) = set(trials) - running
            await eventually(lambda: third in one.running | other.running)
            for worker in (one, other):
                await worker.exit()
            await eventually(lambda: all(around.told(RequestClosed, trial) for trial in trials))
            assert [len(around.told(RunGranted, trial)) for trial in trials] == [1, 1, 1]
            assert [len(around.told(RequestClosed, trial)) for trial in trials] == [1, 1, 1]
            assert len(one.started) + len(other.started) == 3


async def test_a_frozen_leader_that_wakes_changes_nothing(around: Platform):
    first, second = new_trial(), new_trial()
    async with around.scheduler() as old, around.worker("f1") as worker:
        await around.want(first)
        await eventually(lambda: first in worker.running)
        async with around.scheduler():
            epoch = worker.epoch
            old.freeze()
            await eventually(lambda: worker.epoch > epoch, timeout_s=15)
            await around.want(second)
            old.thaw()
            await worker.exit(first)
            await eventually(lambda: second in worker.running, timeout_s=15)
            await worker.exit(second)
            await eventually(lambda: around.told(RequestClosed, second))
            assert [len(around.told(RunGranted, trial)) for trial in (first, second)] == [1, 1]
            assert len(worker.started) == 2
            rows = await around.rows(
                "SELECT count(*) AS n FROM scheduler.run WHERE trial = ANY($1)", [first, second]
            )
            assert rows[0]["n"] == 2


async def test_an_outage_of_the_bus_costs_no_run(around: Platform):
    trial = new_trial()
    async with around.scheduler(), around.worker("o1") as worker:
        await around.want(trial)
        await eventually(lambda: trial in worker.running)
        around.servers.nats.kill()
        await _pause(6.0)
        around.servers.restart(around.servers.nats)
        await eventually(around.is_led, timeout_s=20)
        await _pause(5.0)
        assert trial in worker.running
        assert "o1" not in {one.worker for one in around.told(WorkerLost)}
        await worker.exit(trial)
        await eventually(lambda: around.told(RequestClosed, trial), timeout_s=15)
        assert len(around.told(RunGranted, trial)) == 1


@pytest.mark.parametrize("point", FAULTS)
async def test_a_leader_killed_at_any_point_of_its_cycle_leaves_one_run_and_one_end(
    around: Platform, point: str
):
    trial = new_trial()
    async with around.scheduler(MUSTER_FAULTS=f"{point}:3:kill") as doomed, around.worker("k1") as worker:
        await around.want(trial)
        async with around.scheduler():
            await eventually(lambda: trial in worker.running, timeout_s=20)
            await worker.exit(trial, validations=1)
            kinds = (RunGranted, RunEnded, RequestClosed)
            await eventually(lambda: all(around.told(kind, trial) for kind in kinds), timeout_s=20)
            await eventually(lambda: not worker.has, timeout_s=10)
        assert [len(around.told(kind, trial)) for kind in kinds] == [1, 1, 1]
        assert len(worker.started) == 1
        assert doomed.process.returncode == -signal.SIGKILL


async def _pause(seconds: float) -> None:
    """The time that an outage lasts."""
    await asyncio.sleep(seconds)
