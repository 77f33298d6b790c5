"""From stored rows of experiments to what users see."""

import math
from typing import Any

from services.gateway.experiments import schema as experiments
from services.gateway.platform.references import Row

MASK = "********"
"""Stands in the place of a secret."""


def render_experiment(row: Row) -> experiments.Experiment:
    return experiments.Experiment.model_validate(_experiment_fields(row))


def render_experiment_detail(row: Row) -> experiments.ExperimentDetail:
    more = {
        "config": _shown(row.config),
        "config_yaml": row.config_yaml,
        "trace_id": row.trace_id,
        "warnings": [*row.warnings, *_amiss(row)],
        **_part(row),
        "max_concurrent_trials": _concurrent(row),
        "budget": row.budget,
    }
    return experiments.ExperimentDetail.model_validate(_experiment_fields(row) | more)


def _shown(config: dict[str, Any]) -> dict[str, Any]:
    """The config with `data.secrets` masked: its trials get them, people do not see them again."""
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
        "priority": row.rank["priority"] if row.rank else row.priority,
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


def _part(row: Row) -> dict[str, Any]:
    """As the scheduler last said, else as submitted."""
    asked, told = row.config["resources"], row.rank or {}
    return {
        "weight": told.get("weight", asked["weight"]),
        "max_slots": told.get("max_slots") if told else asked["max_slots"],
        "max_trials": told.get("max_trials"),
        "pool": told.get("pool") or asked["resource_pool"] or "default",
    }


def _amiss(row: Row) -> list[str]:
    """Why an experiment that completed has no result; a single training may."""
    return [row.reason] if row.state == "completed" and row.best is None and row.reason else []


def _concurrent(row: Row) -> int | None:
    """As people last changed it, else as submitted; of a single training there is no such number."""
    told: int | None = (row.terms or {}).get("max_concurrent_trials")
    asked: int | None = row.config["searcher"].get("max_concurrent_trials")
    return asked if told is None else told


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
