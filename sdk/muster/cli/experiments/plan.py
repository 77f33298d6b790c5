"""`muster plan`: estimate the cost and the end of an experiment before it is submitted."""

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
PlannedPool = Annotated[str | None, typer.Option("--pool", help="Pool to plan for; by default the config's.")]
PlannedCluster = Annotated[
    Path | None, typer.Option("--cluster", help="YAML file of machines to plan for, instead of a pool.")
]
StepTime = Annotated[
    float | None,
    typer.Option(
        "--step-time",
        min=0.001,
        help="Seconds per step (one unit of the searcher's time_metric); by default measured from earlier trials.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", min=1, help="Length of a trial in steps; by default the searcher's max_time."),
]
Price = Annotated[
    float | None,
    typer.Option("--price", min=0, help="Price of a slot-hour; by default from the pool's machines."),
]


def plan(
    config: Annotated[Path, typer.Argument(help="Path of the config, YAML or JSON; - reads stdin.")],
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of the model code, to find its earlier trials; by default the config's folder."
        ),
    ] = None,
    overrides: Overrides = None,
    template: Annotated[str | None, TEMPLATE] = None,
    pool: PlannedPool = None,
    whole: Annotated[bool, typer.Option("--whole", help="Plan as if the pool were empty.")] = False,
    cluster: PlannedCluster = None,
    step_time: StepTime = None,
    steps: Steps = None,
    price: Price = None,
    futures: Annotated[
        int, typer.Option("--futures", min=1, max=200, help="Number of simulations of the search.")
    ] = 20,
) -> None:
    """Estimate the cost and the end of an experiment by simulating its search; nothing is submitted."""
    from muster.client import connect
    from muster.config.load import load_document, validate_document
    from muster.config.yaml_reader import read_text

    text = read_source(config)
    document = load_document(text, overrides or ())
    if template is None:  # A template may supply missing keys: the platform then validates the merged config.
        validate_document(document)
    code = None if str(config) == "-" and folder is None else code_folder(config, folder)
    with connect() as client, busy("simulating the search"):
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
    """Print a plan: the pool, the basis of the estimate, and a table of expected values and ranges."""
    from rich.table import Table

    slots = "1 slot" if found.slots == 1 else f"{found.slots:g} slots"
    paper = console()
    paper.print(f"On {printable(found.on)}, {slots} a trial; {_others(found)}.", markup=False, soft_wrap=True)
    paper.print(_basis(found), soft_wrap=True)
    view = Table("", box=None, pad_edge=False, header_style="bold")
    view.add_column("expected", justify="right")
    view.add_column("80% range", justify="right")
    for name, estimate, formatted in _rows(found):
        low, high = formatted(estimate.low), formatted(estimate.high)
        view.add_row(name, formatted(estimate.middle), low if low == high else f"{low} to {high}")
    paper.print(view)
    for one in (*found.notes, *_missing(found)):
        note("[dim]{}[/]", f"{one[0].upper()}{one[1:]}.")


def _rows(found: "Plan") -> "Iterator[tuple[str, PlanRange, Formatter]]":
    yield "trials", found.trials, _count
    yield "  stopped early", found.stopped, _count
    for rung in found.rungs:
        yield f"  reach {found.unit} {rung.at:g}", rung.trials, _count
    yield f"total {_plural(found.unit)}", found.steps, _count
    if found.slot_hours:
        yield "slot-hours", found.slot_hours, lambda hours: f"{hours:,.1f}" if hours >= 1 else f"{hours:.2g}"
    if found.waits_s and found.waits_s.high >= 1:
        yield "first trial starts after", found.waits_s, span
    if found.took_s:
        yield "duration", found.took_s, span
        yield "ends if started now", found.took_s, _moment
    if found.cost:
        yield "costs", found.cost, lambda money: f"{money:,.2f}"


def _others(found: "Plan") -> str:
    if not (found.others_running or found.others_waiting):
        return "nothing else runs or waits in the pool"
    return f"{found.others_running} other trials run there and {found.others_waiting} wait"


def _basis(found: "Plan") -> str:
    times = "1 simulation" if found.futures == 1 else f"{found.futures} simulations"
    if found.basis == "earlier_trials":
        runs = "1 earlier run" if found.earlier_runs == 1 else f"{found.earlier_runs} earlier runs"
        experiments = (
            "1 experiment" if found.earlier_experiments == 1 else f"{found.earlier_experiments} experiments"
        )
        return f"Estimated from {times}, based on {runs} of the same code in {experiments}."
    return f"Estimated from {times}; this code has not run yet, so each simulation draws learning curves from a generic model."


def _missing(found: "Plan") -> list[str]:
    if found.step_s is None:
        return ["give --step-time for slot-hours, time and cost"]
    return [] if found.cost else ["the price is unknown: give --price for the cost"]


def _plural(unit: str) -> str:
    return unit if unit.endswith("s") else f"{unit}s"


def _count(number: float) -> str:
    return f"{number:,.0f}"


def span(seconds: float) -> str:
    """Format a duration."""
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
