"""Forking of experiments: the config of the best point, and the difference as a merge patch."""

from muster.client.client import Client
from muster.client.models import ExperimentDetail, JsonObject
from muster.errors import Rejected

KEPT_SEARCHER_KEYS = ("metric", "smaller_is_better", "metrics", "limits")


def best_point(client: Client, experiment: ExperimentDetail) -> JsonObject:
    """Return the experiment's config with the best trial's hyperparameters, for a single training.

    Raises:
        Rejected: No trial has been validated yet.
    """
    if experiment.best is None:
        raise Rejected(
            "no_best",
            f"experiment {experiment.number} has no validated trial yet",
            hint="wait for the first validation",
        )
    trial = client.trials.get(experiment.best.trial)
    searcher = experiment.config.get("searcher")
    kept = (
        {key: searcher[key] for key in KEPT_SEARCHER_KEYS if key in searcher}
        if isinstance(searcher, dict)
        else {}
    )
    return {
        **experiment.config,
        "hyperparameters": trial.hyperparameters,
        "searcher": {"name": "single", **kept},
    }


def merge_patch(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the JSON merge patch (RFC 7396) from `old` to `new`; a null in `new` counts as absent."""
    patch: JsonObject = {}
    for key in [*old, *(key for key in new if key not in old)]:
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            patch[key] = merge_patch(before, after)
        else:
            patch[key] = after
    return patch
