"""A replay charges what a job really costs, and comes out the same each time."""

from dataclasses import replace

import pytest

from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import PoolName
from simulator.workloads.profiles import load_profile
from simulator.workloads.published import MODELS, RESTART_MS, Job, read_jobs, workloads
from simulator.workloads.replay import ReplayOutcome, Setting, WorkloadReplay
from simulator.workloads.training import alone_ms, limits_of
from tests.support.policies import plain

POOL = PoolName("gpus")
FIFO = plain(POOL, order="fifo")
PRIORITY = plain(POOL, order="priority", preemption=True)
ELASTIC = plain(POOL, order="fifo", elastic=True)


def job(application: str, arrives_s: int = 0, slots: int = 4, batch: int = 512) -> Job:
    return Job(
        f"{application}-{arrives_s}", arrives_s * 1000, load_profile(MODELS / application), slots, batch
    )


def replay(policy: PoolPolicy, *jobs: Job, machines: int = 1) -> list[ReplayOutcome]:
    def needs(asking: Job) -> SlotNeeds:
        if policy.elastic:
            return SlotNeeds(1, limits_of(asking.profile).most_slots)
        return SlotNeeds(asking.slots, asking.slots)

    setting = Setting(policy, machines, 4, needs, priority=lambda asking: 40 + asking.slots)
    return WorkloadReplay(setting, jobs).run()


def test_a_job_alone_takes_its_start_and_its_training() -> None:
    (done,) = replay(FIFO, job("cifar10"))
    assert done.completion_ms == pytest.approx(RESTART_MS + alone_ms(done.job), abs=200)
    assert done.service_ms == 4 * done.completion_ms


def test_who_comes_second_waits() -> None:
    first, second = replay(FIFO, job("cifar10"), job("cifar10", arrives_s=10))
    assert second.started_ms == first.ended_ms


def test_a_preempted_job_pays_another_start_and_loses_nothing_else() -> None:
    long, short = replay(PRIORITY, job("cifar10"), job("ncf", arrives_s=100, slots=1, batch=32768))
    assert (long.starts, short.starts) == (2, 1)
    assert short.completion_ms == pytest.approx(RESTART_MS + alone_ms(short.job), abs=200)
    busy_ms = RESTART_MS + alone_ms(long.job)
    assert long.completion_ms == pytest.approx(busy_ms + short.completion_ms + RESTART_MS, abs=500)


def test_an_elastic_job_grows_where_there_is_room() -> None:
    (alone,) = replay(ELASTIC, job("bert", slots=1, batch=12), machines=8)
    (fixed,) = replay(FIFO, job("bert", slots=1, batch=12), machines=8)
    assert alone.starts > 2
    assert alone.completion_ms < fixed.completion_ms / 4


def test_equal_replays_end_equally() -> None:
    jobs = [job(name, arrives_s=30 * n) for n, name in enumerate(("ncf", "bert", "ncf", "bert"))]
    first, second = (replay(ELASTIC, *jobs, machines=2) for _ in range(2))
    assert [replace(outcome) for outcome in first] == [replace(outcome) for outcome in second]


def test_the_published_files_hold_what_their_page_says() -> None:
    assert len(workloads()) == 4
    for path in workloads():
        jobs = read_jobs(path)
        assert len(jobs) == 160
        assert all(limits_of(job.profile).last_batch >= job.batch for job in jobs)
