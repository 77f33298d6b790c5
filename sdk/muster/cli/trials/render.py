"""Formatting of trials, series and log lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from muster.cli.base.output import console

if TYPE_CHECKING:
    from pydantic import BaseModel

    from muster.client.models import Checkpoint, JsonObject, MetricSeries, ModelLineage, Trial, TrialPhases

BARS = "▁▂▃▄▅▆▇█"
SPARKLINE_WIDTH = 24
LEVEL_STYLES = {"warning": "yellow", "error": "red"}
RANK_STYLES = ("cyan", "magenta", "yellow", "green", "blue")


def measured(one: "Checkpoint | ModelLineage") -> str:
    """Format the metrics at a checkpoint's step as one line."""
    from muster.client.metric_values import metrics_of

    return ", ".join(f"{name} {value:.4g}" for name, value in metrics_of(one).items())


def trial_columns(trials: Sequence["Trial"]) -> tuple[str, ...]:
    """Return the column names of a table of trials: one per hyperparameter that differs, and a reason if a trial is finishing."""
    names = (f">{name.rpartition('.')[2]}" for name in varying(trials))
    waits = ("waits for",) if _is_any_finishing(trials) else ()
    return (">trial", "state", *names, ">step", ">latest", ">best", ">runs", *waits)


def trial_row(trial: "Trial", trials: Sequence["Trial"]) -> tuple[object, ...]:
    """Return a trial's cells under `trial_columns`."""
    values = dict(flat(trial.hyperparameters))
    latest, best = trial.latest, trial.best
    return (
        f"{trial.experiment_number}.{trial.number}",
        state_of(trial),
        *[values.get(name) for name in varying(trials)],
        latest.step if latest else None,
        latest.value if latest else None,
        best.value if best else None,
        trial.runs,
        *((trial.reason if trial.finishing else None,) if _is_any_finishing(trials) else ()),
    )


def _is_any_finishing(trials: Sequence["Trial"]) -> bool:
    return any(trial.finishing for trial in trials)


def state_of(trial: "Trial") -> str:
    """Return the displayed state of a trial: `invalid` and `finishing` replace the stored state."""
    return "invalid" if trial.invalid else "finishing" if trial.finishing else trial.state


class Point(Protocol):
    """An object with hyperparameters."""

    @property
    def hyperparameters(self) -> "JsonObject": ...


def varying(trials: Sequence[Point]) -> list[str]:
    """Return the names of the hyperparameters whose values differ between the trials."""
    seen: dict[str, set[str]] = {}
    for trial in trials:
        for name, value in flat(trial.hyperparameters):
            seen.setdefault(name, set()).add(repr(value))
    return [name for name, values in seen.items() if len(values) > 1]


def flat(values: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested values under dotted names."""
    if not isinstance(values, dict):
        yield prefix, values
        return
    for name, value in values.items():
        yield from flat(value, f"{prefix}.{name}" if prefix else str(name))


def series_rows(series: Iterable["MetricSeries"]) -> Iterator[tuple[object, ...]]:
    """Yield group, name, number of points, last, minimum, maximum and a sparkline of each series."""
    from muster.client.metric_values import value_of

    for one in series:
        values = [point.value for point in one.points if point.value is not None]
        last = value_of(one.points[-1]) if one.points else None
        if values:
            yield one.group, one.name, one.count, last, min(values), max(values), sketch(values)
        else:
            yield one.group, one.name, one.count, last, None, None, ""


def sketch(values: Sequence[float], width: int = SPARKLINE_WIDTH) -> str:
    """Draw `values` as a sparkline."""
    if len(values) > width:
        values = [values[index * (len(values) - 1) // (width - 1)] for index in range(width)]
    least, greatest = min(values), max(values)
    span = greatest - least
    return "".join(BARS[round((value - least) / span * (len(BARS) - 1)) if span else 3] for value in values)


def no_lines(*filters: object) -> str:
    """Return the message for an empty log: filtered, or nothing written."""
    return (
        "no such lines in the log"
        if any(one is not None for one in filters)
        else "the log is empty: the trial has printed nothing"
    )


def print_log_line(line: "BaseModel") -> None:
    """Print one log line with its trial and rank."""
    from rich.text import Text

    from muster.client.models import LogLine

    assert isinstance(line, LogLine)
    style = RANK_STYLES[line.rank % len(RANK_STYLES)] if line.stream != "platform" else "dim"
    trial = f"{line.experiment_number}.{line.trial_number}" if line.experiment_number else line.trial_number
    who = f"trial {trial} rank {line.rank}" if line.stream != "platform" else f"trial {trial}"
    moment = f"{line.time:%Y-%m-%d %H:%M:%S}" if line.experiment_number else f"{line.time:%H:%M:%S}"
    text = Text(f"{moment} [{who}] ", style=style)
    written = Text.from_ansi(line.text)  # keeps colours, drops other control sequences
    written.stylize_before(LEVEL_STYLES.get(line.level or "") or ("red" if line.stream == "stderr" else ""))
    text.append_text(written)
    console().print(text, soft_wrap=True)


def print_value(value: "BaseModel") -> None:
    """Print one reported value."""
    from rich.text import Text

    from muster.cli.base.output import cell
    from muster.client.metric_values import value_of
    from muster.client.models import ReportedValue

    assert isinstance(value, ReportedValue)
    whose = "" if value.trial_number is None else f"trial {value.trial_number}  "
    text = Text.assemble((f"{whose}step {value.step}  ", "dim"), f"{value.group}.{value.name}  ")
    text.append(Text.from_markup(cell(value_of(value))))
    console().print(text, soft_wrap=True)


def show_phases(found: "TrialPhases") -> None:
    """Print the phases of a trial."""
    from muster.cli.trials.timeline import show

    show(found)
