"""Convert rows to the core's entities and back."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import RowMapping

from services.searcher.core.budget.ledger import NEW
from services.searcher.core.experiment.entities import (
    Best,
    ClosedRequest,
    Counts,
    ExperimentRecord,
    RunEndReport,
    ScoredValidation,
    SearchLimits,
    TrialCheckpoint,
    TrialRecord,
)
from services.searcher.core.experiment.states import ExperimentState, ExperimentTrigger, TrialState
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.entry_codec import read_account, write_account
from shared.ids import ExperimentId, TenantId, TrialId
from shared.messages.trial_specs import DesiredState

Row = dict[str, JsonValue]
Columns = RowMapping | Mapping[str, Any]


def to_experiment(row: Columns) -> ExperimentRecord:
    best = None
    if row["best_trial"] is not None:
        best = Best(row["best_trial"], row["best_step"], row["best_value"], _to_others(row["best_others"]))
    return ExperimentRecord(
        id=ExperimentId(row["id"]),
        number=row["number"],
        started_at=row["started_at"],
        state=ExperimentState(row["state"]),
        version=row["version"],
        position=row["position"],
        outcome=ExperimentTrigger(row["outcome"]) if row["outcome"] else None,
        reason=row["reason"],
        priority=row["priority"],
        planned=row["planned"],
        archived=row["archived"],
        progress=row["progress"],
        best=best,
        counts=Counts(**row["counts"]),
        ended_at=row["ended_at"],
        limits=_to_limits(row["limits"]),
        due_at=row["due_at"],
        dirty=row["dirty"],
    )


def to_trial(row: Columns) -> TrialRecord:
    ended = closed = checkpoint = None
    if row["ended_run"] is not None:
        ended = RunEndReport(row["ended_run"], row["ended_validations"], row["ended_checkpoints"])
    if row["closed_outcome"] is not None:
        closed = ClosedRequest(
            row["closed_outcome"], row["closed_runs"], row["closed_reason"], row["closed_at"]
        )
    if row["checkpoint"] is not None:
        checkpoint = TrialCheckpoint(row["checkpoint"], row["checkpoint_run"], row["checkpoint_step"])
    return TrialRecord(
        id=TrialId(row["id"]),
        number=row["number"],
        point=row["point"],
        seed=row["seed"],
        slots=row["slots"],
        created_at=row["created_at"],
        decide_at=row["decide_at"],
        state=TrialState(row["state"]),
        version=row["version"],
        desired_state=DesiredState(row["desired_state"]),
        request_version=row["request_version"],
        request=row["request"],
        is_stopped=row["is_stopped"],
        reached_max_time=row["reached_max_time"],
        is_paused_by_search=row["is_paused_by_search"],
        run=row["run"],
        reported=(row["reported_run"], row["reported_validation"]),
        settled=(row["settled_run"], row["settled_checkpoints"]),
        ended=ended,
        closed=closed,
        source=row["source"],
        start_checkpoint=row["start_checkpoint"],
        checkpoint=checkpoint,
        usage=NEW if row["usage"] is None else read_account(row["usage"]),
        best=to_mark(row["best_step"], row["best_value"], row["best_others"]),
        latest=to_mark(row["latest_step"], row["latest_value"], row["latest_others"]),
        reason=row["reason"],
        ended_at=row["ended_at"],
        dirty=row["dirty"],
    )


def to_entry(row: Any) -> Entry:
    return Entry(row.position, row.kind, row.facts)


def of_experiment(experiment: ExperimentRecord) -> Row:
    """Return the columns of an experiment that decisions change."""
    best, counts = experiment.best, experiment.counts
    return {
        "id": str(experiment.id),
        "state": experiment.state.value,
        "version": experiment.version,
        "position": experiment.position,
        "outcome": experiment.outcome.value if experiment.outcome else None,
        "reason": experiment.reason,
        "priority": experiment.priority,
        "planned": experiment.planned,
        "archived": experiment.archived,
        "progress": experiment.progress,
        "best_trial": best.trial if best else None,
        "best_step": best.step if best else None,
        "best_value": best.value if best else None,
        "best_others": _others(best),
        "counts": of_counts(counts),
        "ended_at": _moment(experiment.ended_at),
        "limits": of_limits(experiment.limits),
        "due_at": _moment(experiment.due_at),
        "dirty": experiment.dirty,
    }


def of_counts(counts: Counts) -> dict[str, JsonValue]:
    """Return the non-zero counts."""
    return {name: count for name in Counts._fields if (count := getattr(counts, name))}


def of_limits(limits: SearchLimits) -> dict[str, JsonValue] | None:
    """Return the edited limits and the budget of a search; None if it has neither."""
    if limits == SearchLimits():
        return None
    written = {**limits._asdict(), "deadline": _moment(limits.deadline)}
    return {**written, "operation": str(limits.operation) if limits.operation else None}


def of_trial(trial: TrialRecord, experiment: UUID, tenant: TenantId) -> Row:
    ended, closed = trial.ended, trial.closed
    return {
        "tenant": str(tenant),
        "id": str(trial.id),
        "experiment": str(experiment),
        "number": trial.number,
        "point": trial.point,
        "seed": trial.seed,
        "slots": trial.slots,
        "created_at": _moment(trial.created_at),
        "decide_at": trial.decide_at,
        "state": trial.state.value,
        "version": trial.version,
        "desired_state": trial.desired_state.value,
        "request_version": trial.request_version,
        "request": trial.request,
        "is_stopped": trial.is_stopped,
        "reached_max_time": trial.reached_max_time,
        "is_paused_by_search": trial.is_paused_by_search,
        "run": trial.run,
        "reported_run": trial.reported[0],
        "reported_validation": trial.reported[1],
        "settled_run": trial.settled[0],
        "settled_checkpoints": trial.settled[1],
        "ended_run": ended.run if ended else None,
        "ended_validations": ended.validations if ended else None,
        "ended_checkpoints": ended.checkpoints if ended else None,
        "closed_outcome": closed.outcome if closed else None,
        "closed_runs": closed.runs if closed else None,
        "closed_reason": closed.reason if closed else None,
        "closed_at": _moment(closed.at) if closed else None,
        "source": trial.source,
        "start_checkpoint": _name(trial.start_checkpoint),
        "checkpoint": _name(trial.checkpoint.id) if trial.checkpoint else None,
        "checkpoint_run": trial.checkpoint.run if trial.checkpoint else None,
        "checkpoint_step": trial.checkpoint.step if trial.checkpoint else None,
        "usage": None if trial.usage == NEW else write_account(trial.usage),
        "best_step": trial.best.step if trial.best else None,
        "best_value": trial.best.value if trial.best else None,
        "best_others": _others(trial.best),
        "latest_step": trial.latest.step if trial.latest else None,
        "latest_value": _number(trial.latest.value) if trial.latest else None,
        "latest_others": _others(trial.latest),
        "reason": trial.reason,
        "ended_at": _moment(trial.ended_at),
        "dirty": trial.dirty,
    }


def of_entry(entry: Entry, experiment: UUID, tenant: TenantId, now: datetime) -> Row:
    return {
        "tenant": str(tenant),
        "experiment": str(experiment),
        "position": entry.position,
        "at": _moment(now),
        "kind": entry.kind,
        "facts": entry.facts,
    }


def to_mark(
    step: int | None, value: float | None, others: Mapping[str, Any] | None
) -> ScoredValidation | None:
    """Return a validation of a trial, None if there is none."""
    return None if step is None or value is None else ScoredValidation(step, value, _to_others(others))


def _to_others(others: Mapping[str, Any] | None) -> dict[str, float]:
    return {name: float(value) for name, value in (others or {}).items()}


def _others(mark: ScoredValidation | Best | None) -> dict[str, JsonValue] | None:
    return {name: _number(value) for name, value in mark.others.items()} if mark and mark.others else None


def _name(id: UUID | None) -> str | None:
    return str(id) if id else None


def _to_limits(row: Mapping[str, Any] | None) -> SearchLimits:
    if not row:
        return SearchLimits()
    operation, deadline = row["operation"], row.get("deadline")
    read = {
        "operation": UUID(operation) if operation else None,
        "deadline": datetime.fromisoformat(deadline) if deadline else None,
    }
    return SearchLimits(**{**row, **read})


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _number(value: float) -> float | str:
    """Return a number as JSON; values that JSON cannot represent as text that Postgres reads."""
    return value if math.isfinite(value) else str(value)
