"""What `muster plan` does: read, play, print."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from deploy.plan.standing import Standing, ask
from muster.config import ExperimentConfig, load_config
from muster.errors import Rejected
from simulator.files.reading import read_cluster
from simulator.files.schema import Policy
from simulator.planning import Prediction, Question, Range, predict

PATIENCE_S = 60.0
"""After so long no further future is begun."""
DEFAULT_POOL = "default"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed."""

    config: Path
    overrides: tuple[str, ...]
    step_s: float | None
    steps: int | None
    cluster: Path | None
    pool: str | None
    is_whole: bool
    price: float | None
    futures: int


def answer(asked: Asked, *, as_json: bool) -> None:
    """Plays the search and prints what it comes to. Raises Rejected."""
    config = _read(asked)
    where = _where(asked, config)
    price = asked.price if asked.price is not None else where.price
    until = time.monotonic() + PATIENCE_S
    question = Question(config, where.cluster, where.policy, asked.steps, asked.step_s)
    with Console(stderr=True).status("playing the search"):
        found = predict(question, range(asked.futures), lambda done: time.monotonic() < until)
    cost = _cost(found, price)
    if as_json:
        told = {"on": where.label, **asdict(found), "price_per_slot_hour": price, "cost": cost}
        typer.echo(json.dumps(told | {"cost": asdict(cost) if cost else None}))
    else:
        _show(config, where, found, price, cost)


def _read(asked: Asked) -> ExperimentConfig:
    try:
        text = sys.stdin.read() if str(asked.config) == "-" else asked.config.read_text("utf-8")
    except OSError as error:
        raise Rejected("unreadable", f"{asked.config} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Rejected("unreadable", f"{asked.config} is no UTF-8") from error
    return load_config(text, asked.overrides)


def _where(asked: Asked, config: ExperimentConfig) -> Standing:
    if asked.cluster is None:
        pool = asked.pool or config.resources.resource_pool or DEFAULT_POOL
        return ask(pool, asked.is_whole, config.resources.excluded_workers)
    cluster = read_cluster(asked.cluster)
    slots = sum(one.count * one.slots for one in cluster.machines)
    machines = sum(one.count for one in cluster.machines)
    label = f"{asked.cluster}, {slots} slots on {machines} machines"
    return Standing(label, cluster, Policy(), price=None)


def _cost(found: Prediction, price: float | None) -> Range | None:
    hours = found.slot_hours
    if price is None or hours is None:
        return None
    return Range(hours.low * price, hours.middle * price, hours.high * price)


def _show(
    config: ExperimentConfig, where: Standing, found: Prediction, price: float | None, cost: Range | None
) -> None:
    console = Console(highlight=False)
    slots = "1 slot" if found.slots == 1 else f"{found.slots} slots"
    console.print(f"{config.searcher.name} with {slots} a trial, on {where.label}", soft_wrap=True)
    table = Table("", box=None, pad_edge=False, header_style="bold")
    table.add_column("expected", justify="right")
    table.add_column("8 of 10 times", justify="right")
    for name, told, shown in _rows(found, cost):
        low, high = shown(told.low), shown(told.high)
        table.add_row(name, shown(told.middle), low if low == high else f"{low} to {high}")
    console.print(table)
    console.print(_footnote(found, price), soft_wrap=True, style="dim")


def _rows(found: Prediction, cost: Range | None) -> list[tuple[str, Range, Callable[[float], str]]]:
    rows: list[tuple[str, Range, Callable[[float], str]]] = [
        ("trials", found.trials, _count),
        ("of them stopped early", found.stopped, _count),
        ("steps in all", found.steps, _count),
    ]
    if found.slot_hours and found.took_s:
        rows += [
            ("slot-hours", found.slot_hours, lambda hours: f"{hours:,.1f}" if hours >= 1 else f"{hours:.2g}"),
            ("takes", found.took_s, _span),
            ("would end, begun now", found.took_s, _moment),
        ]
    if cost:
        rows.append(("costs", cost, lambda money: f"{money:,.2f}"))
    return rows


def _footnote(found: Prediction, price: float | None) -> str:
    times = "once" if found.futures == 1 else f"{found.futures} times"
    parts = [
        f"Played {times}, by the search's own rules; how your model learns is not known, so each time differs."
    ]
    if found.step_s is None:
        parts.append("Give --step-time for slot-hours, time and cost.")
    elif price is None:
        parts.append("No price is known: give --price for the cost.")
    return " ".join(parts)


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours / 24:.1f} d"


def _moment(seconds: float) -> str:
    return f"{datetime.now().astimezone() + timedelta(seconds=seconds):%a %d %b %H:%M}"
