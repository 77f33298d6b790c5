"""People change an experiment's part in the queue: told with the operation's id, or refused with the range and what there is."""

from typing import Any
from uuid import UUID

import pytest

from muster.errors import Rejected
from shared.ids import DEFAULT_TENANT, SITE, ExperimentId, PoolName, TrialId, new_id
from shared.messages.experiments import OperationRefused
from shared.messages.instances import ProviderChanged
from shared.messages.queue import (
    EditExperiment,
    Explain,
    GetQueue,
    RequestClosed,
    RequestRanked,
    ValidatePlacement,
)
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK
from tests.integration.scheduler.platform import Platform, new_trial, runs_on
from tests.support.waiting import eventually


async def edit(around: Platform, experiment: UUID, **changes: Any) -> RequestRanked | OperationRefused:
    """What answers the change."""
    operation = new_id(CLOCK)
    await around.tell(
        EditExperiment(operation_id=operation, experiment_id=ExperimentId(experiment), **changes)
    )

    def answers() -> list[RequestRanked | OperationRefused]:
        told: list[RequestRanked | OperationRefused] = [
            *around.told(RequestRanked),
            *around.told(OperationRefused),
        ]
        return [one for one in told if one.operation_id == operation]

    await eventually(answers)
    return answers()[0]


async def waiting(around: Platform, slots: int = 2) -> TrialId:
    """A trial (of an experiment with the same id) that waits for more than there is."""
    trial = new_trial()
    await around.want(trial, slots=slots, priority=30)

    async def is_queued() -> bool:
        page = await around.ask(GetQueue(), DEFAULT_TENANT)
        return any(entry.trial_id == trial for entry in page.entries)

    await eventually(is_queued)
    return trial


async def test_changes_are_told_in_full_and_what_is_not_named_stays(around: Platform) -> None:
    async with around.scheduler(), around.worker("e1"):
        await eventually(lambda: around.told(WorkerJoined))
        trial = await waiting(around)
        first = [one for one in around.told(RequestRanked) if one.experiment_id == trial]
        assert [(one.priority, one.weight, one.max_slots, one.operation_id) for one in first] == [
            (30, 1.0, None, None)
        ]
        told = [
            await edit(around, trial, priority=7, max_slots=4),
            await edit(around, trial, weight=2.5),
            await edit(around, trial, no_max_slots=True, pool=PoolName("default")),
        ]
        assert [type(one) for one in told] == [RequestRanked] * 3
        assert [(one.priority, one.weight, one.max_slots, one.pool) for one in told] == [  # type: ignore[union-attr]
            (7, 1.0, 4, None),
            (7, 2.5, 4, None),
            (7, 2.5, None, "default"),
        ]
        versions = [first[0].version, *(one.version for one in told)]
        assert versions == sorted(set(versions)), "each change has a higher version"
        await impossible_changes_are_refused(around, trial)


async def test_only_so_many_trials_of_an_experiment_run_at_once(around: Platform) -> None:
    async with around.scheduler(), around.worker("t1", slots=4) as worker:
        await eventually(lambda: any(one.worker == "t1" for one in around.told(WorkerJoined)))
        first, second = new_trial(), new_trial()
        await around.want(first)
        await runs_on((worker,), first)
        capped = await edit(around, first, max_trials=1)
        assert isinstance(capped, RequestRanked)
        assert (capped.max_trials, capped.max_slots) == (1, None)
        await around.want(second, experiment=first)

        async def is_held_back() -> bool:
            told = await around.ask(Explain(trial_id=second), DEFAULT_TENANT)
            return bool(told.code == "max_trials_reached")

        await eventually(is_held_back)
        await edit(around, first, no_max_trials=True)
        await runs_on((worker,), second)
        for trial in (first, second):
            await worker.exit(trial)
        await around.once((first, second), RequestClosed)


async def impossible_changes_are_refused(around: Platform, trial: TrialId) -> None:
    limit = {
        "driver": "local",
        "minimum": 0,
        "maximum": 1,
        "slots_per_instance": 1,
        "instances": 1,
        "slot_kind": "cpu",
    }
    provided = ProviderChanged.model_validate({"pool": "default", "version": 1, **limit})
    await around.tell(provided, SITE)
    for changes, code, words in (
        ({"priority": 0}, "bad_priority", "priority 0 is not between 1 (first) and 99 (last)"),
        ({"weight": 0.0}, "bad_weight", "weight 0 is out of range: it must be above 0 and at most 1000000"),
        ({"max_slots": 0}, "bad_max_slots", "max_slots 0 is below 1"),
        ({"max_slots": 2**31}, "bad_max_slots", "max_slots 2147483648 is above 2147483647"),
        ({"max_trials": 0}, "bad_max_trials", "max_trials 0 is below 1"),
        ({"pool": PoolName("moon")}, "pool_unknown", "pool moon does not exist"),
    ):
        answer = await edit(around, trial, **changes)
        assert isinstance(answer, OperationRefused)
        assert (answer.code, answer.message) == (code, words)
    stranger = await edit(around, new_id(CLOCK), priority=3)
    assert isinstance(stranger, OperationRefused) and stranger.code == "not_found"

    async def is_too_large() -> bool:
        answer = await edit(around, trial, pool=PoolName("default"))
        return isinstance(answer, OperationRefused) and answer.code == "slots_unsatisfiable"

    await eventually(is_too_large)
    question = ValidatePlacement(pool=PoolName("default"), min_slots=1, max_slots=1, kind="cuda")
    with pytest.raises(Rejected, match="pool default can have 0 of kind cuda") as refused:
        await around.ask(question, DEFAULT_TENANT)
    assert refused.value.place == "resources.slot_kind"
