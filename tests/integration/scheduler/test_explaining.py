"""A trial that waits is told who holds what it waits for and what would help; what it is told to do does help."""

from typing import Any
from uuid import UUID

from shared.ids import DEFAULT_TENANT, ExperimentId, TenantId, TrialId, new_id
from shared.messages.queue import EditExperiment, Explain, Explanation, RequestRanked
from shared.messages.runs import RunEnded
from shared.messages.trial_specs import DesiredState, Signal
from tests.integration.scheduler.fake_worker import CLOCK
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

PREEMPTING = {
    "MUSTER_SCHEDULER__DEFAULT_POOL__PREEMPTION": "true",
    "MUSTER_SCHEDULER__DEFAULT_POOL__ORDER": "priority",
    "MUSTER_SCHEDULER__DEFAULT_POOL__QUANTUM_S": "none",
}


async def explanation(around: Platform, trial: UUID, tenant: TenantId = DEFAULT_TENANT) -> Explanation:
    told: Explanation = await around.ask(Explain(trial_id=TrialId(trial)), tenant)
    return told


async def until(around: Platform, trial: UUID, code: str) -> Explanation:
    told: list[Explanation] = []

    async def is_so() -> bool:
        told[:] = [await explanation(around, trial)]
        return told[0].code == code

    await eventually(is_so)
    return told[0]


async def edit(around: Platform, trial: UUID, **changes: Any) -> None:
    operation = new_id(CLOCK)
    await around.tell(EditExperiment(operation_id=operation, experiment_id=ExperimentId(trial), **changes))
    await eventually(lambda: any(one.operation_id == operation for one in around.told(RequestRanked)))


async def test_what_would_help_does_and_who_gave_back_is_told_to_whom(around: Platform) -> None:
    async with around.scheduler(**PREEMPTING), around.worker("x1", slots=2) as worker:
        first, second = new_trial(), new_trial()
        await around.want(first, slots=2, priority=40)
        await eventually(lambda: first in worker.running)
        await around.want(second, slots=2, priority=40)
        told = await until(around, second, "waiting_for_slots")
        assert told.position == 1
        assert [(one.slots, one.leaving) for one in told.holders] == [(2, False)]
        assert (told.own_runs, told.own_slots, told.other_runs, told.other_slots) == (1, 2, 0, 0)
        (way,) = told.suggestions
        assert (way.code, way.number, way.starts) == ("priority", 39, "soon")
        assert way.command == "muster queue priority 1 39"

        await edit(around, second, priority=39)
        told = await until(around, second, "waiting_for_preemption")
        assert [one.leaving for one in told.holders] == [True] and told.suggestions == ()
        asked = await until(around, first, "preempting")
        assert asked.message.endswith("it was asked to give them back for 1.1, whose priority is higher")
        await eventually(lambda: worker.wanted(first) is Signal.PREEMPT)
        await worker.exit(first, acknowledged=Signal.PREEMPT)
        await eventually(lambda: second in worker.running)
        await around.heard(RunEnded, first)
        told = await until(around, first, "waiting_for_slots")
        assert told.preemption and (told.preemption.code, told.preemption.by) == ("priority", "1.1")

        stranger = TenantId(new_id(CLOCK))
        assert (await explanation(around, first, stranger)).state == "unknown"
        await around.want(first, DesiredState.KILL, version=2, slots=2)
        await worker.exit(second)
