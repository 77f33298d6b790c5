"""What a trial, or a thief of a worker's credential, makes a worker report does not end the scheduler, which serves all tenants."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from shared.messages.runs import RunEnded
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import FakeWorker
from tests.integration.scheduler.platform import Platform, Scheduler, new_trial
from tests.support.waiting import eventually

Around = tuple[Scheduler, FakeWorker, FakeWorker]
REPORTS: dict[str, dict[str, Any]] = {
    "a step beyond the column": {"step": 2**63},
    "a step beyond JSON's integers": {"step": 2**70},
    "a step far below zero": {"step": -(2**70)},
    "more checkpoints than the column holds": {"checkpoints": 2**31},
    "checkpoints beyond JSON's integers": {"checkpoints": 2**70},
    "validations beyond JSON's integers": {"validations": 2**70},
    "an exit code beyond JSON's integers": {"exit_code": 2**70, "fault": "user"},
    "a reason with a NUL": {"exit_code": 65, "fault": "user", "invalid": True, "reason": "a\0b"},
}


@pytest.fixture(scope="module")
async def led(around: Platform) -> AsyncIterator[Around]:
    async with (
        around.scheduler() as scheduler,
        around.worker("hostile", machine="one") as hostile,
        around.worker("other", machine="two") as other,
    ):
        await eventually(lambda: len(around.told(WorkerJoined)) >= 2)
        yield scheduler, hostile, other


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("is_over", [False, True], ids=["while it runs", "at its end"])
async def test_the_scheduler_goes_on(
    around: Platform, led: Around, report: dict[str, Any], is_over: bool
) -> None:
    scheduler, hostile, other = led
    trial, later = new_trial(), new_trial()
    await around.want(trial, max_restarts=0)
    await eventually(lambda: any(trial in worker.running for worker in (hostile, other)))
    runs = hostile if trial in hostile.running else other
    if not is_over:
        for allocation, observed in list(runs.has.items()):
            if trial == runs._trials[allocation]:
                runs.has[allocation] = observed.model_copy(update=report)
        await runs.say()
        await runs.exit(trial, exit_code=0, reason=None, step=1, checkpoints=0, validations=0)
    else:
        await runs.exit(trial, **report)
    await around.heard(RunEnded, trial)
    await around.want(later)
    await eventually(lambda: any(later in worker.running for worker in (hostile, other)))
    for worker in (hostile, other):
        await worker.exit(later)
    await around.heard(RunEnded, later)
    assert scheduler.process.returncode is None
