"""The searcher as a process of its own, driven by messages over real NATS and Postgres."""

import time
from typing import Any
from uuid import uuid4

import pytest

from shared.errors import NotFound, Rejected
from shared.ids import CheckpointId, ExperimentId, RunId, TenantId, derived_id
from shared.messages.experiments import (
    ArchiveExperiment,
    CancelExperiment,
    EditSearch,
    ExperimentChanged,
    FinishExperiment,
    GetReferences,
    KillExperiment,
    PauseExperiment,
    ResumeExperiment,
    TrialChanged,
    TrialRequested,
    ValidateConfig,
)
from shared.messages.search_journals import GetJournal, ReplayExperiment
from shared.messages.trial_specs import DesiredState
from tests.integration.searcher.neighbours import Neighbours, closed, run_ended, run_granted, validation
from tests.integration.searcher.searches import (
    ASHA,
    RANDOM,
    agree_with_the_rule,
    document,
    loss,
    refusals,
    requests,
    rows,
)
from tests.integration.searcher.training import Train
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


@pytest.mark.parametrize("repeat", [False, True], ids=["once", "every message twice"])
async def test_a_whole_search(
    service: object, neighbours: Neighbours, postgres: TestDatabase, repeat: bool
) -> None:
    config = document(ASHA)
    experiment = await neighbours.submit(config)
    train = Train(neighbours, experiment, loss, repeat=repeat)
    over = await train.until_over()
    assert over.state == "completed"
    await eventually(lambda: all(one.final for one in neighbours.received.trials(experiment).values()))
    trials = neighbours.received.trials(experiment)
    assert sorted(trials) == list(range(1, 21))
    assert {trial.state for trial in trials.values()} <= {"completed", "stopped"}
    assert train.most_running <= 4
    assert over.trials.completed + over.trials.stopped == 20
    assert over.best is not None
    assert over.best.value == pytest.approx(min(trial.best.value for trial in trials.values() if trial.best))
    versions = [event.version for event in neighbours.received.all(ExperimentChanged, experiment)]
    assert len(versions) == len(set(versions))
    verdicts = [verdict for _, verdict in neighbours.received.verdicts]
    mine = {RunId(derived_id(trial.trial_id, "run", 1)) for trial in trials.values()}
    given = [(v.run_id, v.validation) for v in verdicts if v.run_id in mine]
    assert len(given) == len(set(given)) == train.waited
    stops = [v for v in verdicts if v.run_id in mine and v.verdict == "stop"]
    assert len(stops) == 20
    await agree_with_the_rule(neighbours, experiment, config)
    stored = await rows(postgres, "SELECT count(*) FROM searcher.trial WHERE experiment = :e", e=experiment)
    assert stored[0][0] == 20


async def test_a_replay_finds_the_first_decision_that_is_not_what_was_recorded(
    service: object, neighbours: Neighbours, postgres: TestDatabase
) -> None:
    experiment = await neighbours.submit(document({**ASHA, "sampler": {"name": "tpe", "startup_trials": 4}}))
    await Train(neighbours, experiment, loss).until_over()
    ruled_out = (
        "UPDATE searcher.experiment SET config = jsonb_set(config, '{searcher,widen_to}', '1') WHERE id = :e"
    )
    length = await rows(postgres, f"{ruled_out} RETURNING position", e=experiment)
    question = ReplayExperiment(experiment_id=experiment)
    same = await neighbours.bus.ask(question, neighbours.tenant, 30.0)
    assert (same.difference, same.decisions) == (None, same.checked)
    assert same.decisions >= 60 and length[0][0] >= same.decisions
    changed = (
        "UPDATE searcher.journal SET facts = jsonb_set(facts, '{stop}', 'false') WHERE experiment = :e AND position ="
        " (SELECT min(position) FROM searcher.journal WHERE experiment = :e AND facts -> 'stop' = 'true')"
        " RETURNING position, facts -> 'trial'"
    )
    position, trial = (await rows(postgres, changed, e=experiment))[0]
    found = (await neighbours.bus.ask(question, neighbours.tenant, 30.0)).difference
    assert found is not None and found.position == position
    assert found.summary.startswith(f"decision {position} ('judged' of trial {trial}) differs: ")
    assert "'stop' was recorded as false and is recomputed as true" in found.summary


async def test_a_validation_before_a_decision_writes_neither_journal_nor_message(
    service: object, neighbours: Neighbours, postgres: TestDatabase
) -> None:
    experiment = await neighbours.submit(document({**ASHA, "max_time": 90}))
    request = (await requests(neighbours, experiment, 4))[0]
    run = RunId(derived_id(request.trial_id, "run", 1))
    for number in range(1, 10):
        await neighbours.publish(validation(request, run, number, number, 1 / number))

    async def taken() -> bool:
        query = "SELECT reported_validation, best_value FROM searcher.trial WHERE id = :t"
        found = await rows(postgres, query, t=request.trial_id)
        return bool(found[0][0] == 9 and found[0][1] == pytest.approx(1 / 9))

    await eventually(taken)
    journal = await rows(postgres, "SELECT kind FROM searcher.journal WHERE experiment = :e", e=experiment)
    assert [row[0] for row in journal] == ["started"]
    assert len(neighbours.received.all(TrialRequested, experiment)) == 4
    await neighbours.publish(KillExperiment(operation_id=uuid4(), experiment_id=experiment))
    await Train(neighbours, experiment, loss).until_over()


async def test_progress_and_best_are_told_about_once_a_second(
    service: object, neighbours: Neighbours
) -> None:
    experiment = await neighbours.submit(document(RANDOM))
    request = (await requests(neighbours, experiment, 2))[0]
    run = RunId(derived_id(request.trial_id, "run", 1))
    began = time.monotonic()
    for number in range(1, 200):
        await neighbours.publish(validation(request, run, number, number, 1 / number))
    await eventually(
        lambda: bool((published := neighbours.received.experiment(experiment)) and published.best)
    )
    await eventually(lambda: neighbours.received.trials(experiment)[1].latest is not None)
    most = 6 + (time.monotonic() - began)
    assert len(neighbours.received.all(ExperimentChanged, experiment)) <= most, "at most one a second"
    await neighbours.publish(CancelExperiment(operation_id=uuid4(), experiment_id=experiment))
    over = await Train(neighbours, experiment, loss).until_over()
    assert over.state == "cancelled"
    assert over.best is not None


async def test_pause_and_resume(service: object, neighbours: Neighbours) -> None:
    experiment = await neighbours.submit(document(ASHA))
    first = await requests(neighbours, experiment, 4)
    await neighbours.publish(PauseExperiment(operation_id=uuid4(), experiment_id=experiment))
    await neighbours.wait_state(experiment, "paused")
    await eventually(
        lambda: all(
            w.desired_state is DesiredState.PARK for w in neighbours.received.requests(experiment).values()
        )
    )
    for request in first:
        await neighbours.publish(closed(request, "parked", runs=0))
    await eventually(lambda: {t.state for t in neighbours.received.trials(experiment).values()} == {"parked"})
    await neighbours.publish(ResumeExperiment(operation_id=uuid4(), experiment_id=experiment))
    await neighbours.wait_state(experiment, "active")
    await eventually(lambda: all(w.request == 2 for w in neighbours.received.requests(experiment).values()))
    over = await Train(neighbours, experiment, loss).until_over()
    assert over.state == "completed"
    assert over.trials.completed + over.trials.stopped == 20


async def test_a_search_is_changed_while_it_runs_and_finished_with_the_best_so_far(
    service: object, neighbours: Neighbours
) -> None:
    experiment = await neighbours.submit(
        document({"name": "random", "max_trials": 3, "max_concurrent_trials": 1})
    )
    first = (await requests(neighbours, experiment, 1))[0]
    operation = uuid4()
    await neighbours.publish(
        EditSearch(operation_id=operation, experiment_id=experiment, max_trials=9, max_concurrent_trials=2)
    )
    await requests(neighbours, experiment, 2)
    published = neighbours.received.experiment(experiment)
    assert (
        published
        and published.terms
        and (published.terms.operation_id, published.trials.planned) == (operation, 9)
    )
    granted = run_granted(first, RunId(uuid4()))
    await neighbours.publish(granted)
    await neighbours.publish(validation(first, granted.run_id, 1, 1, 0.5))
    await eventually(lambda: bool(neighbours.received.trials(experiment)[1].best))
    refused = uuid4()
    await neighbours.publish(EditSearch(operation_id=refused, experiment_id=experiment, max_trials=1))
    await eventually(lambda: refusals(neighbours, refused))
    assert refusals(neighbours, refused)[0].code == "too_few_trials"
    await neighbours.publish(FinishExperiment(operation_id=uuid4(), experiment_id=experiment))
    await neighbours.wait_state(experiment, "stopping")
    await eventually(
        lambda: (
            {w.desired_state for w in neighbours.received.requests(experiment).values()}
            == {DesiredState.STOP, DesiredState.CANCEL}
        )
    )
    await neighbours.publish(run_ended(granted, 1))
    for request in neighbours.received.requests(experiment).values():
        ran = request.desired_state is DesiredState.STOP
        await neighbours.publish(closed(request, "stopped" if ran else "cancelled", runs=int(ran)))
    over = await neighbours.wait_state(experiment, "completed")
    assert over.reason == "finished early by a user"
    assert over.best is not None


async def test_commands_that_cannot_be_carried_out_are_refused_with_a_code(
    service: object, neighbours: Neighbours
) -> None:
    experiment = await neighbours.submit(document({"name": "random", "max_trials": 1}))
    request = (await requests(neighbours, experiment, 1))[0]
    granted = run_granted(request, RunId(uuid4()))
    await neighbours.publish(granted)
    await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
    await neighbours.publish(run_ended(granted, 1))
    await neighbours.publish(closed(request, "completed"))
    await neighbours.wait_state(experiment, "completed")

    async def refusal(command: type[Any], of: ExperimentId, **more: Any) -> str:
        operation = uuid4()
        await neighbours.publish(command(operation_id=operation, experiment_id=of, **more))
        await eventually(lambda: refusals(neighbours, operation))
        return refusals(neighbours, operation)[0].code

    assert await refusal(PauseExperiment, experiment) == "experiment_is_completed"
    assert await refusal(KillExperiment, ExperimentId(uuid4())) == "not_found"
    assert await refusal(ArchiveExperiment, experiment, expected_version=1) == "version_changed"
    await neighbours.publish(ArchiveExperiment(operation_id=uuid4(), experiment_id=experiment))
    await eventually(
        lambda: bool((published := neighbours.received.experiment(experiment)) and published.archived)
    )


async def test_a_trial_waits_for_what_it_announced(service: object, neighbours: Neighbours) -> None:
    experiment = await neighbours.submit(document({"name": "random", "max_trials": 1}))
    request = (await requests(neighbours, experiment, 1))[0]
    granted = run_granted(request, RunId(uuid4()))
    await neighbours.publish(granted)
    await neighbours.publish(run_ended(granted, 1))
    await neighbours.publish(closed(request, "completed"))
    await eventually(lambda: neighbours.received.trials(experiment)[1].finishing)
    await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.25))
    over = await neighbours.wait_state(experiment, "completed")
    assert over.best is not None
    await eventually(lambda: neighbours.received.trials(experiment)[1].final)
    final = neighbours.received.trials(experiment)[1]
    assert (final.final, final.state, final.best.value if final.best else None) == (True, "completed", 0.25)


async def test_a_missing_metric_ends_the_experiment_with_its_name(
    service: object, neighbours: Neighbours
) -> None:
    experiment = await neighbours.submit(document(RANDOM))
    request = (await requests(neighbours, experiment, 2))[0]
    await neighbours.publish(validation(request, RunId(uuid4()), 1, 1, 0, values={"accuracy": 1.0}))
    over = await Train(neighbours, experiment, loss).until_over()
    assert over.state == "error"
    assert "'loss'" in (over.reason or "")
    assert "accuracy" in (over.reason or "")


async def test_a_config_that_turns_out_wrong_is_rejected_with_the_place(
    service: object, neighbours: Neighbours
) -> None:
    bad = document({"name": "random", "max_trials": 0})
    experiment = await neighbours.submit(bad)
    over = await neighbours.wait_state(experiment, "rejected")
    assert over.final
    assert "searcher.max_trials" in (over.reason or "")
    with pytest.raises(Rejected, match="max_trials"):
        await neighbours.bus.ask(ValidateConfig(config=bad), neighbours.tenant)
    assert (await neighbours.bus.ask(ValidateConfig(config=document(ASHA)), neighbours.tenant)).warnings == ()


async def test_containers_beyond_the_limits_of_the_site_are_refused_at_submission(
    service: object, neighbours: Neighbours
) -> None:
    image = {"environment": {"image": "ghcr.io/team/train:1"}}
    mounted = document(RANDOM) | image | {"bind_mounts": [{"host_path": "/etc", "container_path": "/mnt"}]}
    over = await neighbours.wait_state(await neighbours.submit(mounted), "rejected")
    assert (over.reason or "").startswith("bind_mounts[0]: mounting /etc is not allowed on this site")
    with pytest.raises(Rejected, match="MUSTER_CONTAINERS__BIND_MOUNTS"):
        await neighbours.bus.ask(ValidateConfig(config=mounted), neighbours.tenant)
    experiment = await neighbours.submit(document(RANDOM) | image)
    [first, *_] = await requests(neighbours, experiment, 2)
    container = first.spec.container
    assert container is not None
    assert container.images == dict.fromkeys(("cuda", "rocm", "cpu"), "ghcr.io/team/train:1")


async def test_a_repeated_submission_makes_one_experiment(service: object, neighbours: Neighbours) -> None:
    experiment = await neighbours.submit(document({"name": "random", "max_trials": 2}))
    await requests(neighbours, experiment, 2)
    await neighbours.publish(neighbours.submitted[experiment])
    later = await neighbours.submit(document({"name": "random", "max_trials": 2}))
    await requests(neighbours, later, 2)
    assert len(neighbours.received.all(TrialRequested, experiment)) == 2
    assert len(neighbours.received.all(TrialChanged, experiment)) == 2


async def test_tenants_do_not_see_each_other(service: object, neighbours: Neighbours) -> None:
    experiment = await neighbours.submit(document(RANDOM))
    await requests(neighbours, experiment, 2)
    other = TenantId(uuid4())
    with pytest.raises(NotFound):
        await neighbours.bus.ask(GetJournal(experiment_id=experiment), other)
    assert (await neighbours.wait_state(experiment, "active")).version
    operation = uuid4()
    await neighbours.publish(KillExperiment(operation_id=operation, experiment_id=experiment), tenant=other)
    await eventually(lambda: refusals(neighbours, operation))
    assert [one.code for one in refusals(neighbours, operation)] == ["not_found"]
    published = neighbours.received.experiment(experiment)
    assert published is not None and published.state == "active"


async def test_a_start_checkpoint_is_referenced_while_the_experiment_lives(
    service: object, neighbours: Neighbours
) -> None:
    mine, nobodys = CheckpointId(uuid4()), CheckpointId(uuid4())
    experiment = await neighbours.submit(document({**RANDOM, "source_checkpoint_uuid": str(mine)}))
    request = (await requests(neighbours, experiment, 2))[0]
    assert (request.spec.start_checkpoint, request.spec.workspace, request.spec.owner) == (mine, "w", "me")
    asked = GetReferences(checkpoints=(mine, nobodys))
    assert (await neighbours.bus.ask(asked, neighbours.tenant)).checkpoints == {mine}
    await neighbours.publish(KillExperiment(operation_id=uuid4(), experiment_id=experiment))
    await Train(neighbours, experiment, loss).until_over()
    assert (await neighbours.bus.ask(asked, neighbours.tenant)).checkpoints == frozenset()
