"""Implements `muster simulate`: read the files, simulate, print."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from muster.errors import Rejected
from simulator.files.reading import read_cluster, read_policy, read_workload
from simulator.files.workload import items_of, submissions_of
from simulator.observers.measures import Figures, TrialFigures
from simulator.run_workload import Answer, SimulationResult, simulate

_WIDE = 160


@dataclass(frozen=True, slots=True)
class Question:
    """The arguments of the command."""

    cluster: Path
    workload: Path
    policies: tuple[str, ...]
    seed: int
    until_h: float | None
    trials: Path | None
    is_checked: bool


def answer(question: Question, *, as_json: bool) -> None:
    """Simulate the workload once for each policy and print the results. Raises Rejected."""
    cluster, workload = read_cluster(question.cluster), read_workload(question.workload)
    items, submissions = items_of(workload), submissions_of(workload, question.workload)
    policies = [(name, read_policy(name)) for name in question.policies]
    until_s = None if question.until_h is None else question.until_h * 3600
    answers: dict[str, Answer] = {}
    for name, policy in policies:
        label = Path(name).stem
        with _bar(label, len(items) + len(submissions), is_visible=not as_json) as on_progress:
            answers[label] = simulate(
                policy, cluster, items, question.seed, until_s, question.is_checked, on_progress, submissions
            )
    if question.trials is not None:
        _write_trials(question.trials, answers)
    results = {label: one.result for label, one in answers.items()}
    if as_json:
        typer.echo(json.dumps({label: asdict(result) for label, result in results.items()}))
    else:
        _show(results)


@contextmanager
def _bar(label: str, total: int, is_visible: bool) -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    is_visible = is_visible and console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_visible) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done, _: progress.update(task, completed=done)


def _show(results: dict[str, SimulationResult]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    console.print(_comparison(results))
    for label, result in results.items():
        if len(result.tenants) > 1:
            console.print()
            console.print(_by_tenant(label, result))
        if result.experiments:
            console.print()
            console.print(_by_experiment(label, result))
        if not result.is_complete:
            console.print(
                f"{label}: the time limit was reached; the figures cover only the trials that have ended"
            )


def _comparison(results: dict[str, SimulationResult]) -> Table:
    table = Table("", *results, box=None, pad_edge=False, header_style="bold")
    rows: list[tuple[str, Callable[[SimulationResult], str]]] = [
        ("trials", lambda r: f"{r.trials:,}"),
        ("outcomes", lambda r: ", ".join(f"{count:,} {name}" for name, count in sorted(r.outcomes.items()))),
        *_figure_rows("waiting", lambda r: r.waiting),
        *_figure_rows("completion", lambda r: r.completion),
        ("makespan", lambda r: _time(r.makespan_s)),
        ("utilisation", lambda r: f"{r.utilisation:.1%}"),
        ("fairness (Jain, tenants)", lambda r: f"{r.fairness:.3f}"),
        ("placements", lambda r: f"{r.placements:,}"),
        ("preemptions", lambda r: f"{r.preemptions:,}"),
        *([("resizes", lambda r: f"{r.resizes:,}")] if any(r.resizes for r in results.values()) else []),
        ("runs lost with machines", lambda r: f"{r.lost_runs:,}"),
    ]
    if any(result.rented for result in results.values()):
        rows += [
            (
                "machines rented, peak",
                lambda r: f"{r.rented.machines:,}, {r.rented.most:,}" if r.rented else "",
            ),
            ("machine-hours", lambda r: f"{r.rented.machine_hours:,.1f}" if r.rented else ""),
            ("cost", lambda r: f"{r.rented.cost:,.2f}" if r.rented else ""),
            ("machines reclaimed", lambda r: f"{r.rented.taken:,}" if r.rented else ""),
        ]
    for name, text in rows:
        table.add_row(name, *(text(result) for result in results.values()))
    return table


def _figure_rows(
    name: str, chosen: Callable[[SimulationResult], Figures]
) -> list[tuple[str, Callable[[SimulationResult], str]]]:
    return [
        (f"{name}, average", lambda r: _time(chosen(r).average_s)),
        (f"{name}, p50", lambda r: _time(chosen(r).p50_s)),
        (f"{name}, p99", lambda r: _time(chosen(r).p99_s)),
    ]


def _by_tenant(label: str, result: SimulationResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (label, "trials", "waiting", "p99", "completion", "p99", "slot-hours", "speed"):
        table.add_column(column, justify="left" if column == label else "right")
    for name, account in result.tenants.items():
        waiting, completion = account.waiting, account.completion
        table.add_row(
            name,
            f"{account.trials:,}",
            _time(waiting.average_s),
            _time(waiting.p99_s),
            _time(completion.average_s),
            _time(completion.p99_s),
            f"{account.slot_hours:,.1f}",
            f"{account.speed:.2f}",
        )
    return table


def _by_experiment(label: str, result: SimulationResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (
        label,
        "state",
        "trials",
        "stopped",
        "failed",
        "best",
        "of trial",
        "steps",
        "took",
        "slot-hours",
    ):
        table.add_column(column, justify="left" if column in (label, "state") else "right")
    for one in result.experiments:
        table.add_row(
            one.name,
            one.state,
            f"{one.trials:,}",
            f"{one.stopped:,}",
            f"{one.failed:,}",
            "-" if one.best is None else f"{one.best:.4g}",
            "-" if one.best_trial is None else f"{one.best_trial}",
            f"{one.steps:,}",
            "-" if one.took_s is None else _time(one.took_s),
            f"{one.slot_hours:,.1f}",
        )
    return table


def _write_trials(path: Path, answers: dict[str, Answer]) -> None:
    names = [field.name for field in fields(TrialFigures)]
    try:
        with path.open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["policy", *names])
            for label, one in answers.items():
                lines.writerows([label, *astuple(served)] for served in one.served)
    except OSError as error:
        raise Rejected("unwritable", f"{path} cannot be written: {error.strerror or error}") from error


def _time(seconds: float) -> str:
    """At most two units: `3 h 05 min`, `12 min 30 s`, `4.2 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"
