"""`muster plan`: what an experiment would cost and when it would end, before it is submitted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from muster._clock import now_ms
from muster.cli.base.options import Overrides
from muster.cli.base.output import busy, console, emit, note, printable, warn
from muster.cli.experiments.input_files import code_folder, read_source
from muster.cli.policies.commands import TEMPLATE

if TYPE_CHECKING:
    from muster.client.models import Plan, PlanRange

Formatter: TypeAlias = Callable[[float], str]
PlannedPool = Annotated[
    str | None, typer.Option("--pool", help="The pool to plan for; by default the config's.")
]
PlannedCluster = Annotated[
    Path | None, typer.Option("--cluster", help="YAML: machines to plan for, instead of a pool.")
]
StepTime = Annotated[
    float | None,
    typer.Option(
        "--step-time",
        min=0.001,
        help="Seconds that a step takes (one of the searcher's time_metric); by default as earlier trials show.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", min=1, help="How long a trial trains; by default the searcher's max_time."),
]
Price = Annotated[
    float | None,
    typer.Option("--price", min=0, help="Of a slot for an hour; by default as the pool's machines cost."),
]


def plan(
    config: Annotated[Path, typer.Argument(help="The config, YAML or JSON; - reads it from stdin.")],
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="The model code, whose earlier trials are looked for; by default the config's folder."
        ),
    ] = None,
    overrides: Overrides = None,
    template: Annotated[str | None, TEMPLATE] = None,
    pool: PlannedPool = None,
    whole: Annotated[bool, typer.Option("--whole", help="As if nothing else ran in the pool.")] = False,
    cluster: PlannedCluster = None,
    step_time: StepTime = None,
    steps: Steps = None,
    price: Price = None,
    futures: Annotated[
        int, typer.Option("--futures", min=1, max=200, help="How often the search is played.")
    ] = 20,
) -> None:
    """Tell what an experiment would cost and when it would end, by playing its search; nothing is submitted."""
    from muster.client import connect
    from muster.config.load import load_document, validate_document
    from muster.config.yaml_reader import read_text

    text = read_source(config)
    document = load_document(text, overrides or ())
    if template is None:  # What it leaves open is checked where the template is known.
        validate_document(document)
    code = None if str(config) == "-" and folder is None else code_folder(config, folder)
    with connect() as client, busy("playing the search"):
        found = client.experiments.plan(
            document.root if overrides else text,
            code,
            template=template,
            pool=pool,
            whole=whole,
            cluster=None if cluster is None else read_text(read_source(cluster)).root,
            step_s=step_time,
            steps=steps,
            price_per_slot_hour=price,
            futures=futures,
        )
    warn(found.warnings)
    emit(found, lambda: show(found))


def show(found: "Plan") -> None:
    """Print a plan: on what, from what, and a table with ranges."""
    from rich.table import Table

    slots = "1 slot" if found.slots == 1 else f"{found.slots:g} slots"
    paper = console()
    paper.print(f"On {printable(found.on)}, {slots} a trial; {_others(found)}.", markup=False, soft_wrap=True)
    paper.print(_basis(found), soft_wrap=True)
    view = Table("", box=None, pad_edge=False, header_style="bold")
    view.add_column("expected", justify="right")
    view.add_column("8 of 10 times", justify="right")
    for name, told, shown in _rows(found):
        low, high = shown(told.low), shown(told.high)
        view.add_row(name, shown(told.middle), low if low == high else f"{low} to {high}")
    paper.print(view)
    for one in (*found.notes, *_missing(found)):
        note("[dim]{}[/]", f"{one[0].upper()}{one[1:]}.")


def _rows(found: "Plan") -> "Iterator[tuple[str, PlanRange, Formatter]]":
    yield "trials", found.trials, _count
    yield "  stopped early", found.stopped, _count
    for rung in found.rungs:
        yield f"  reach {found.unit} {rung.at:g}", rung.trials, _count
    yield f"{_plural(found.unit)} trained in all", found.steps, _count
    if found.slot_hours:
        yield "slot-hours", found.slot_hours, lambda hours: f"{hours:,.1f}" if hours >= 1 else f"{hours:.2g}"
    if found.waits_s and found.waits_s.high >= 1:
        yield "first trial starts after", found.waits_s, span
    if found.took_s:
        yield "takes", found.took_s, span
        yield "would end, begun now", found.took_s, _moment
    if found.cost:
        yield "costs", found.cost, lambda money: f"{money:,.2f}"


def _others(found: "Plan") -> str:
    if not (found.others_running or found.others_waiting):
        return "nothing else runs or waits there"
    return f"{found.others_running} others run there, {found.others_waiting} wait"


def _basis(found: "Plan") -> str:
    times = "once" if found.futures == 1 else f"{found.futures} times"
    if found.basis == "earlier_trials":
        runs = "1 earlier run" if found.earlier_runs == 1 else f"{found.earlier_runs} earlier runs"
        experiments = (
            "1 experiment" if found.earlier_experiments == 1 else f"{found.earlier_experiments} experiments"
        )
        return f"Played {times}, as {runs} of the same code in {experiments} went."
    return (
        f"Played {times}; this code has not run yet, so how it learns is a model's guess, another each time."
    )


def _missing(found: "Plan") -> list[str]:
    if found.step_s is None:
        return ["give --step-time for slot-hours, time and cost"]
    return [] if found.cost else ["no price is known: give --price for the cost"]


def _plural(unit: str) -> str:
    return unit if unit.endswith("s") else f"{unit}s"


def _count(number: float) -> str:
    return f"{number:,.0f}"


def span(seconds: float) -> str:
    """A duration in the units that people plan with."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours / 24:.1f} d"


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(now_ms() / 1000 + seconds, UTC).astimezone()
    return f"{moment:%a %d %b %H:%M}"
