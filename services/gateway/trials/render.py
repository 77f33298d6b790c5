"""Renders trials and runs from stored rows and from answers of other services."""

from typing import Any

from services.gateway.platform.json_values import (
    finite,
    finite_only,
    fraction_of,
    not_finite,
    not_finite_only,
)
from services.gateway.platform.references import Row
from services.gateway.trials import schema as trials
from shared.messages.experiments import ParetoTrial, TrialChanged
from shared.messages.runs import WORKER_STOPPED


def render_trial(row: Row, experiment_number: int, config: dict[str, Any]) -> trials.Trial:
    """Render a trial; `config` is its experiment's config."""
    changed = TrialChanged.model_validate(row.last_event)
    return trials.Trial(
        id=changed.trial_id,
        experiment=changed.experiment_id,
        experiment_number=experiment_number,
        number=changed.number,
        state=trials.TrialState(changed.state),
        invalid=changed.invalid,
        finishing=changed.finishing,
        reason=changed.reason,
        hyperparameters=changed.hyperparameters,
        seed=changed.seed,
        slots=changed.slots,
        source=changed.source,
        start_checkpoint=changed.start_checkpoint,
        min_slots=_least_slots(config),
        slot_fraction=_slot_fraction(config),
        best=_measured(changed.best),
        latest=_measured(changed.latest),
        runs=changed.runs,
        final=changed.final,
        created_at=changed.created_at,
        ended_at=changed.ended_at,
        version=changed.version,
    )


def render_pareto_trial(found: ParetoTrial) -> trials.FrontTrial:
    return trials.FrontTrial(
        trial=found.trial_id,
        trial_number=found.number,
        state=trials.TrialState(found.state),
        step=found.step,
        metrics=found.metrics,
        hyperparameters=found.hyperparameters,
    )


def render_run(row: Row) -> trials.Run:
    changed = row.last_event
    members = [
        {**member, "slot_fraction": fraction_of(member.get("fraction", 0))} for member in changed["members"]
    ]
    return trials.Run.model_validate(
        {
            **changed,
            "id": changed["run_id"],
            "trial": changed["trial_id"],
            "state": row.state,
            "outcome": _outcome(changed),
            "members": members,
        }
    )


def _outcome(changed: dict[str, Any]) -> str | None:
    """Return a run's outcome; `interrupted` instead of `lost` if its worker was stopped on purpose."""
    is_interrupted = changed.get("outcome") == "lost" and changed.get("reason") == WORKER_STOPPED
    return "interrupted" if is_interrupted else changed.get("outcome")


def _measured(validated: Any) -> trials.Measured | None:
    if not validated:
        return None
    return trials.Measured(
        step=validated.step,
        value=finite(validated.value),
        not_finite=not_finite(validated.value),
        others=finite_only(validated.others),
        others_not_finite=not_finite_only(validated.others),
    )


def _least_slots(config: dict[str, Any]) -> int | None:
    """Return the minimum slots of an elastic trial, else None."""
    asked = config["resources"]["slots_per_trial"]
    return asked["min"] if isinstance(asked, dict) else None


def _slot_fraction(config: dict[str, Any]) -> float | None:
    """Return the share of a trial with a fractional slot, else None."""
    asked = config["resources"]["slots_per_trial"]
    return asked if isinstance(asked, float) and not asked.is_integer() else None
