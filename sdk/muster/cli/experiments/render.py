"""Formatting of an experiment and of its Pareto front."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from muster.cli.base.output import number
from muster.cli.experiments.edit import budget_message
from muster.cli.trials.render import flat, varying

if TYPE_CHECKING:
    from muster.client.models import BestCheckpoint, Experiment, ExperimentDetail, FrontTrial

UP, DOWN = "↑", "↓"
"""Direction in which a metric improves."""


def experiment_facts(found: "ExperimentDetail") -> list[tuple[str, object]]:
    """Return the description of an experiment as names and values."""
    counts = {name: count for name, count in found.trials if count and name != "planned"}
    return [
        ("experiment", found.number),
        ("name", found.name),
        ("description", found.description),
        ("labels", ", ".join(found.labels)),
        ("workspace / project", f"{found.workspace} / {found.project}"),
        ("owner", found.owner),
        ("state", experiment_state(found)),
        ("warning" if found.state == "completed" and found.best is None else "reason", found.reason),
        ("waiting", found.waiting),
        ("progress", f"{found.progress:.0%}"),
        ("search", _search(found)),
        ("limits", ", ".join(_texts(found, "limits"))),
        ("best", _best(found)),
        ("front", f"`muster experiment front {found.number}`" if len(_arrows(found)) > 1 else None),
        ("queue", _queue_settings(found)),
        ("trials", ", ".join(f"{count} {name}" for name, count in counts.items())),
        ("planned", found.trials.planned),
        ("concurrent", found.max_concurrent_trials or None),
        ("budget", budget_message(found.budget)),
        ("created", found.created_at),
        ("ended", found.ended_at),
        ("code", found.code_sha256),
        ("trace", found.trace_id),
        ("id", found.id),
    ]


def pareto_columns(found: "ExperimentDetail", pareto_front: Sequence["FrontTrial"]) -> tuple[str, ...]:
    """Return the column names of a Pareto front: metrics with the direction of improvement, and the hyperparameters that differ."""
    arrows = _arrows(found)
    metrics = (f">{name} {arrows[name]}" if name in arrows else f">{name}" for name in _metrics(pareto_front))
    return (
        ">trial",
        "state",
        ">step",
        *metrics,
        *(f">{name.rpartition('.')[2]}" for name in varying(pareto_front)),
    )


def pareto_rows(
    found: "ExperimentDetail", pareto_front: Sequence["FrontTrial"]
) -> Iterator[tuple[object, ...]]:
    """Yield each trial's cells under `pareto_columns`."""
    for one in pareto_front:
        values = dict(flat(one.hyperparameters))
        yield (
            f"{found.number}.{one.trial_number}",
            one.state,
            one.step,
            *[one.metrics.get(name) for name in _metrics(pareto_front)],
            *[values.get(name) for name in varying(pareto_front)],
        )


def _search(found: "ExperimentDetail") -> str:
    if not found.metric:
        return found.searcher
    arrows = _arrows(found)
    if len(arrows) == 1:
        return f"{found.searcher} by {found.metric}"
    return f"{found.searcher} by {', '.join(f'{name} {arrow}' for name, arrow in arrows.items())}"


def _best(found: "ExperimentDetail") -> str | None:
    best = found.best
    if best is None:
        return None
    others = "".join(f", {name} {number(value)}" for name, value in best.others.items())
    where = f"trial {found.number}.{best.trial_number}, step {best.step}{others}"
    return f"{number(best.value)} ({where}){_of_checkpoint(best.checkpoint)}"


def _of_checkpoint(found: "BestCheckpoint | None") -> str:
    """Describe the state of the best step's checkpoint; empty if it is saved."""
    if found is None or found.state == "saved":
        return ""
    if found.state is None:
        return "; no checkpoint of this step is stored"
    why = f": {found.reason}" if found.reason else ""
    condition = "is still being uploaded" if found.state == "uploading" else f"is {found.state}"
    return f"; the checkpoint of this step {condition}{why}"


def _queue_settings(found: "ExperimentDetail") -> str:
    caps = (("max_slots", found.max_slots), ("max_trials", found.max_trials))
    most = "".join(f", {name} {most}" for name, most in caps if most is not None)
    priority = "the pool's" if found.priority is None else found.priority
    return f"pool {found.pool}, priority {priority}, weight {found.weight:g}{most}"


def _arrows(found: "ExperimentDetail") -> dict[str, str]:
    """The search's metrics in order, with the direction in which each improves."""
    searcher = found.config.get("searcher")
    several = searcher.get("metrics") if isinstance(searcher, dict) else None
    given = [each for each in several if isinstance(each, dict)] if isinstance(several, list) else []
    if not given:
        given = [{"name": found.metric, "smaller_is_better": found.smaller_is_better}]
    return {str(each["name"]): DOWN if each.get("smaller_is_better", True) else UP for each in given}


def _texts(found: "ExperimentDetail", key: str) -> list[str]:
    searcher = found.config.get("searcher")
    texts = searcher.get(key) if isinstance(searcher, dict) else None
    return [str(text) for text in texts] if isinstance(texts, list) else []


def _metrics(pareto_front: Sequence["FrontTrial"]) -> list[str]:
    return list(dict.fromkeys(name for one in pareto_front for name in one.metrics))


def experiment_state(found: "Experiment") -> str:
    """Return the displayed state: `pausing` while trials of a paused experiment still hold their slots."""
    holds_slots = found.trials.running + found.trials.stopping > 0
    return "pausing" if found.state == "paused" and holds_slots else str(found.state)


def pausing_message(found: "Experiment") -> str:
    """Return the message of `muster experiment pause`."""
    return f"pausing experiment {found.number}; state: {experiment_state(found)}"


def trial_count(found: "Experiment") -> str:
    """Return the number of ended trials, and the planned number if known."""
    counts = found.trials
    ended = counts.completed + counts.stopped + counts.error + counts.cancelled
    return f"{ended}/{counts.planned}" if counts.planned is not None else str(ended)
