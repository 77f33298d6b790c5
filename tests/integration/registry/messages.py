"""What the other services and the workers say of a run."""

from datetime import timedelta
from typing import Any

from shared.ids import AllocationId, PoolName, WorkerId, new_id
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted, TrialChanged, TrialRequested
from shared.messages.reports import Report, Validation
from shared.messages.runs import RunEnded, RunGranted, RunOutcome, RunResized
from shared.messages.trial_specs import DesiredState, GangMember, Signal, TrialSpec
from tests.integration.registry.scheduling import CLOCK, Run


def submitted(run: Run, workspace: str = "vision", **config: Any) -> SubmissionCommitted:
    return SubmissionCommitted(
        experiment_id=run.experiment,
        number=31,
        name="digits search",
        workspace=workspace,
        project="p",
        owner="ada",
        config=config,
        code_hash="c" * 64,
        submitted_at=CLOCK.now(),
    )


def granted(run: Run) -> RunGranted:
    return RunGranted(**_state(run, 1))


def resized(run: Run, *members: str) -> RunResized:
    """The gang has re-formed with these workers."""
    kept = tuple(GangMember(worker=WorkerId(one), slots=1) for one in members)
    return RunResized(**{**_state(run, 2), "members": kept, "generation": 2})


def ended(
    run: Run,
    outcome: RunOutcome = "completed",
    checkpoints: int | None = 0,
    ago_s: float = 0.0,
    *,
    forced: bool = False,
    is_requeued: bool = False,
) -> RunEnded:
    return RunEnded(
        **_state(run, 2),
        ended_at=CLOCK.now() - timedelta(seconds=ago_s),
        outcome=outcome,
        forced=forced,
        acknowledged=Signal.STOP if outcome == "stopped" else None,
        checkpoints=checkpoints,
        next="requeued" if is_requeued else "closed",
    )


def wanted(run: Run, **spec: Any) -> TrialRequested:
    return TrialRequested(
        trial_id=run.trial,
        experiment_id=run.experiment,
        version=1,
        desired_state=DesiredState.RUN,
        spec=TrialSpec(
            **{
                "experiment_number": 1,
                "trial_number": 1,
                "entrypoint": "python3 train.py",
                "seed": 7,
                "metric": "loss",
                "hyperparameters": {"lr": 0.1},
                **spec,
            }
        ),
    )


def finished_trial(run: Run) -> TrialChanged:
    return TrialChanged(
        trial_id=run.trial,
        experiment_id=run.experiment,
        version=9,
        number=1,
        state="completed",
        hyperparameters={},
        seed=7,
        created_at=CLOCK.now(),
        ended_at=CLOCK.now(),
        final=True,
    )


def finished_experiment(run: Run) -> ExperimentChanged:
    return ExperimentChanged(
        experiment_id=run.experiment,
        version=9,
        number=1,
        state="completed",
        started_at=CLOCK.now(),
        ended_at=CLOCK.now(),
        final=True,
    )


def report(step: int, /, group: str = "training", **values: float) -> Report:
    return Report(step=step, time_ms=1_000 + step, values=values, group=group)


def validation(number: int, step: int, **values: float) -> Validation:
    return Validation(number=number, step=step, time_ms=1_000 + step, values=values)


def _state(run: Run, version: int) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "trial_id": run.trial,
        "experiment_id": run.experiment,
        "version": version,
        "number": run.number,
        "allocation_id": AllocationId(new_id(CLOCK)),
        "token": run.token,
        "pool": PoolName("default"),
        "members": tuple(GangMember(worker=worker, slots=1) for worker in run.members),
        "granted_at": CLOCK.now(),
    }
