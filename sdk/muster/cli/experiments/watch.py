"""Follow a running experiment: a live table in a terminal, plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from muster.cli.base.output import cell, console, note, number, out
from muster.cli.experiments.render import experiment_state
from muster.cli.trials.render import state_of, trial_columns, trial_row
from muster.errors import Transient

if TYPE_CHECKING:
    from rich.console import RenderableType

    from muster.client import Client
    from muster.client.models import ExperimentDetail, Trial

ROWS = 20
REFRESH_S = 0.5

Line = Callable[[], str]


def watch(
    client: "Client",
    experiment: str,
    timeout_s: float | None = None,
    footer: Line | None = None,
) -> "ExperimentDetail":
    """Show an experiment until it is final, and return it; `footer` supplies a last line below the table.

    Raises:
        Transient: The experiment is not final after `timeout_s`.
    """
    if out.json:
        return client.experiments.wait(experiment, timeout_s=timeout_s)
    look_on = _watch_live if sys.stdout.isatty() else _watch_lines
    try:
        return look_on(client, experiment, timeout_s, footer)
    except KeyboardInterrupt:
        note("the experiment continues: follow it again with `muster experiment wait {}`", experiment)
        raise


def _watch_live(
    client: "Client", experiment: str, timeout_s: float | None, footer: Line | None
) -> "ExperimentDetail":
    from rich.live import Live

    with Live(console=console(), auto_refresh=False) as live:

        def show(seen: "ExperimentDetail") -> None:
            live.update(view(seen, client.trials.list(experiment).all(), footer), refresh=True)

        return client.experiments.wait(experiment, timeout_s=timeout_s, on_look=_throttled(show))


def _watch_lines(
    client: "Client", experiment: str, timeout_s: float | None, footer: Line | None
) -> "ExperimentDetail":
    printed: dict[int, str] = {}

    def show(seen: "ExperimentDetail") -> None:
        for trial in client.trials.list(experiment):
            if printed.get(trial.number) != state_of(trial):
                printed[trial.number] = state_of(trial)
                note("{}", _line(trial))
        if footer is not None:
            text = footer()
            if printed.get(-1) != text:
                printed[-1] = text
                note("{}", text)

    return client.experiments.wait(experiment, timeout_s=timeout_s, on_look=_throttled(show))


def _throttled(show: "Callable[[ExperimentDetail], None]") -> "Callable[[ExperimentDetail], None]":
    """Limit calls to one every REFRESH_S, plus the final one; ignore a platform that is unavailable."""
    last = -REFRESH_S

    def pass_on(seen: "ExperimentDetail") -> None:
        nonlocal last
        if seen.final or time.monotonic() - last >= REFRESH_S:
            with contextlib.suppress(Transient):
                show(seen)
            last = time.monotonic()

    return pass_on


def _line(trial: "Trial") -> str:
    text = f"trial {trial.experiment_number}.{trial.number} {state_of(trial)}"
    if trial.best and trial.best.value is not None:
        text += f", best {number(trial.best.value)}"
    return f"{text} ({trial.reason})" if trial.reason else text


def view(seen: "ExperimentDetail", trials: list["Trial"], footer: Line | None = None) -> "RenderableType":
    """Return the live view of an experiment: state, progress, and its newest trials."""
    from rich.console import Group
    from rich.markup import escape
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 2))
    best = f"best [bold]{number(seen.best.value)}[/] in trial {seen.best.trial_number}" if seen.best else ""
    bar = ProgressBar(total=1.0, completed=seen.progress, width=30)
    head.add_row(
        f"experiment [bold]{seen.number}[/] {escape(seen.name)}",
        cell(experiment_state(seen)),
        bar,
        f"{seen.progress:.0%}",
        best,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in trial_columns(trials):
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    newest = trials[-ROWS:]
    for trial in newest:
        is_best = seen.best is not None and seen.best.trial == trial.id
        table.add_row(*[cell(value) for value in trial_row(trial, trials)], style="bold" if is_best else None)
    parts: list[RenderableType] = [head, table]
    if len(trials) > len(newest):
        parts.append(Text(f"and {len(trials) - len(newest)} earlier trials", style="dim"))
    if footer is not None:
        parts.append(Text(footer(), style="dim"))
    return Group(*parts)
