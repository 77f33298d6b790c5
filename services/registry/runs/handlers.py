"""Handlers of events about experiments, trials and runs."""

from collections.abc import Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from pydantic import JsonValue, ValidationError

from muster.config.small_sections import CheckpointStorage, RetentionPolicy
from services.registry.runs import fences
from services.registry.runs.core.datasets import find_datasets
from services.registry.runs.store import trials
from shared.bus import Delivery, Unit
from shared.errors import Broken
from shared.ids import TenantId
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted, TrialChanged, TrialRequested
from shared.messages.runs import AllocationFacts, RunEvent, RunGranted, RunResized

Versioned = TypeVar("Versioned", ExperimentChanged, TrialRequested, TrialChanged)


async def on_submission(unit: Unit, batch: list[Delivery[SubmissionCommitted]]) -> None:
    """Store the experiment's name, workspace, datasets, code, and its retention of checkpoints, metrics and logs."""
    rows: dict[UUID, Mapping[str, object]] = {
        delivery.message.experiment_id: {
            "id": delivery.message.experiment_id,
            "tenant": delivery.envelope.tenant,
            "number": delivery.message.number,
            "name": delivery.message.name,
            "workspace": delivery.message.workspace,
            "code_hash": delivery.message.code_hash,
            "datasets": [one.model_dump() for one in find_datasets(delivery.message.config.get("data"))],
            **_policy(delivery.message.config),
        }
        for delivery in batch
    }
    await trials.save_submissions(unit.connection, _by_id(rows.values()))


async def on_experiment_changed(unit: Unit, batch: list[Delivery[ExperimentChanged]]) -> None:
    """Record that an experiment has ended; collection follows in its loop."""
    rows: dict[UUID, Mapping[str, object]] = {
        delivery.message.experiment_id: {
            "id": delivery.message.experiment_id,
            "tenant": delivery.envelope.tenant,
            "version": delivery.message.version,
            "is_final": delivery.message.final,
            "final_at": unit.now if delivery.message.final else None,
        }
        for delivery in _oldest_first(batch)
    }
    await trials.save_experiment_end(unit.connection, _by_id(rows.values()))


async def on_trial_requested(unit: Unit, batch: list[Delivery[TrialRequested]]) -> None:
    """Store the trial's definition, for lineage, collection and pins."""
    rows: dict[UUID, Mapping[str, object]] = {
        delivery.message.trial_id: {
            "id": delivery.message.trial_id,
            "tenant": delivery.envelope.tenant,
            "experiment": delivery.message.experiment_id,
            "request_version": delivery.message.version,
            "number": delivery.message.spec.trial_number,
            "hyperparameters": delivery.message.spec.hyperparameters,
            "code_hash": delivery.message.spec.code_hash,
            "metric": delivery.message.spec.metric,
            "smaller_is_better": delivery.message.spec.smaller_is_better,
            "start_checkpoint": delivery.message.spec.start_checkpoint,
            "upload_timeout_s": delivery.message.spec.upload_timeout_s,
            "desired_state": delivery.message.desired_state,
            "request": delivery.message.request,
        }
        for delivery in _oldest_first(batch)
    }
    await trials.save_wanted(unit.connection, _by_id(rows.values()))


async def on_trial_changed(unit: Unit, batch: list[Delivery[TrialChanged]]) -> None:
    """Store the trial's state; once it has ended, its checkpoints are no longer pinned."""
    rows: dict[UUID, Mapping[str, object]] = {
        delivery.message.trial_id: {
            "id": delivery.message.trial_id,
            "tenant": delivery.envelope.tenant,
            "experiment": delivery.message.experiment_id,
            "changed_version": delivery.message.version,
            "number": delivery.message.number,
            "state": "finishing" if delivery.message.finishing else delivery.message.state,
            "invalid": delivery.message.invalid,
            "runs": delivery.message.runs,
            "created_at": delivery.message.created_at,
            "ended_at": delivery.message.ended_at,
            "is_final": delivery.message.final,
            "final_at": unit.now if delivery.message.final else None,
        }
        for delivery in _oldest_first(batch)
    }
    await trials.save_changed(unit.connection, _by_id(rows.values()))


async def on_run_granted(unit: Unit, batch: list[Delivery[RunGranted]]) -> None:
    """Create runs and fence their predecessors."""
    for delivery in sorted(batch, key=lambda one: (one.message.trial_id, one.message.number)):
        await fences.grant(unit, facts_of(delivery.message, delivery.envelope.tenant))


async def on_run_resized(unit: Unit, batch: list[Delivery[RunResized]]) -> None:
    """Create runs that are not known yet, and store their members. A resize keeps allocation and token."""
    for delivery in sorted(batch, key=lambda one: (one.message.trial_id, one.message.number)):
        await fences.grant(unit, facts_of(delivery.message, delivery.envelope.tenant))
        await trials.save_members(unit.connection, delivery.message)


def facts_of(message: RunEvent, tenant: TenantId) -> AllocationFacts:
    """Return the allocation facts of a run's event."""
    return AllocationFacts(
        tenant=tenant,
        experiment_id=message.experiment_id,
        trial_id=message.trial_id,
        run_id=message.run_id,
        run_number=message.number,
        token=message.token,
        members=tuple(member.worker for member in message.members),
    )


def _policy(config: dict[str, JsonValue]) -> dict[str, int | None]:
    """Return the retention of `checkpoint_storage` and `retention_policy`, parsed by the config's schema without rules added since (decision 0094)."""
    try:
        counts = CheckpointStorage.of_accepted(config.get("checkpoint_storage"))
        days = RetentionPolicy.of_accepted(config.get("retention_policy"))
    except ValidationError as error:
        raise Broken(f"a committed config has a policy that its schema rejects: {error}") from error
    return {
        **counts.model_dump(),
        "metric_detail_days": _days(days.metric_detail_days),
        "metric_retention_days": _days(days.metric_retention_days),
        "log_retention_days": _days(days.log_retention_days),
    }


def _days(count: int) -> int | None:
    return count if count > 0 else None


def _oldest_first(batch: list[Delivery[Versioned]]) -> list[Delivery[Versioned]]:
    return sorted(batch, key=lambda delivery: delivery.message.version)


def _by_id(rows: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Sort rows the same way in every replica, so that two batches over the same rows cannot deadlock."""

    def sort_key(row: Mapping[str, object]) -> str:
        found = row["id"]
        return found.hex if isinstance(found, UUID) else ""

    return sorted(rows, key=sort_key)
