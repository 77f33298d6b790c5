"""Convert experiment rows to API resources."""

import math
from typing import Any

from services.gateway.experiments import schema as experiments
from services.gateway.platform.references import Row

MASK = "********"
"""Replaces secret values."""


def render_experiment(row: Row) -> experiments.Experiment:
    return experiments.Experiment.model_validate(_experiment_fields(row))


def render_experiment_detail(row: Row) -> experiments.ExperimentDetail:
    more = {
        "config": _masked(row.config),
        "config_yaml": row.config_yaml,
        "trace_id": row.trace_id,
        "warnings": [*row.warnings, *_missing_result(row)],
        **_policy(row),
        "max_concurrent_trials": _concurrent(row),
        "budget": row.budget,
    }
    return experiments.ExperimentDetail.model_validate(_experiment_fields(row) | more)


def _masked(config: dict[str, Any]) -> dict[str, Any]:
    """Return the config with `data.secrets` masked. Only trials get the values."""
    secrets = config["data"].get("secrets")
    if not isinstance(secrets, dict):
        return config
    return {**config, "data": {**config["data"], "secrets": dict.fromkeys(secrets, MASK)}}


def _experiment_fields(row: Row) -> dict[str, Any]:
    best = row.best
    return {
        "id": row.id,
        "number": row.number,
        "name": row.name,
        "description": row.description,
        "workspace": row.workspace,
        "project": row.project,
        "labels": row.labels,
        "owner": row.owner,
        "state": row.state,
        "reason": row.reason,
        "progress": row.progress,
        "searcher": row.searcher,
        "metric": row.metric,
        "smaller_is_better": row.smaller_is_better,
        "best": _best(best) if best else None,
        "trials": row.trials,
        "priority": row.queue_policy["priority"] if row.queue_policy else row.priority,
        "code_sha256": row.code_sha256,
        "forked_from": row.forked_from,
        "archived": row.archived,
        "deleting": row.deleting,
        "final": row.final,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "version": row.version,
    }


def _policy(row: Row) -> dict[str, Any]:
    """Return weight, limits and pool as last reported by the scheduler, else as submitted."""
    submitted, ranked = row.config["resources"], row.queue_policy or {}
    return {
        "weight": ranked.get("weight", submitted["weight"]),
        "max_slots": ranked.get("max_slots") if ranked else submitted["max_slots"],
        "max_trials": ranked.get("max_trials"),
        "pool": ranked.get("pool") or submitted["resource_pool"] or "default",
    }


def _missing_result(row: Row) -> list[str]:
    """Return why a completed experiment has no result."""
    return [row.reason] if row.state == "completed" and row.best is None and row.reason else []


def _concurrent(row: Row) -> int | None:
    """Return the limit as last edited, else as submitted; None for a single training."""
    edited: int | None = (row.search_changes or {}).get("max_concurrent_trials")
    submitted: int | None = row.config["searcher"].get("max_concurrent_trials")
    return submitted if edited is None else edited


def _best(best: dict[str, Any]) -> dict[str, Any] | None:
    value = float(best["value"])  # infinities are stored as text
    if not math.isfinite(value):
        return None
    return {
        "trial": best["trial_id"],
        "trial_number": best["trial_number"],
        "step": best["step"],
        "value": value,
        "others": best.get("others", {}),
    }
