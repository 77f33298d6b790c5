"""`muster trial`: trials with their runs, metrics, logs and checkpoints."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import TRIAL, Follow, Names, Number, TrialName, TrialStates
from muster.cli.base.output import emit, emit_each, facts, note, number, out, slots, table
from muster.cli.command_table import NOUNS
from muster.cli.trials import media, trial_table
from muster.cli.trials.logs import add_logs

if TYPE_CHECKING:
    from muster.client.models import Measured, Run, Trial

LINES_LOOKED_AT = 1000
"""Log lines to read for warnings; a run repeats its warnings at the end of its log."""
MAX_WARNINGS = 5

app = NOUNS["trial"].app


@verb(app, "list")
def list_(
    experiment: Number,
    best: Annotated[bool, typer.Option("--best", help="Best trials first.")] = False,
    state: TrialStates = None,
    filter_: trial_table.Filter = None,
    sort: trial_table.Sort = None,
    columns: trial_table.Columns = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of trials; by default all.")
    ] = None,
) -> None:
    """List an experiment's trials; with a filter, a sort or columns, as a table of any metrics and hyperparameters."""
    from muster.cli.trials.render import trial_columns, trial_row
    from muster.client import connect

    if filter_ or sort or columns:
        if state:
            raise typer.BadParameter(
                "combine it into the filter: 'state in (completed, stopped)'", param_hint="--state"
            )
        chosen = trial_table.names_in(columns)
        with connect() as client:
            rows_of = client.trials.table(
                experiment, filter=filter_ or "", sort=sort or ("best" if best else ""), columns=chosen
            )
            wanted = rows_of.all() if limit is None else rows_of.first(limit)
        trial_table.show(wanted, "no trial matches the filter" if filter_ else "no trials yet")
        return
    with connect() as client:
        listed = client.trials.list(experiment, states=state or (), best_first=best)
        found = listed.all() if limit is None else listed.first(limit)
    rows = (trial_row(one, found) for one in found)
    emit(found, lambda: table(trial_columns(found), rows, "no trials yet"))


app.add_typer(media.app, name="media")
verb(app, "columns")(trial_table.columns)
verb(app, "compare")(trial_table.compare)


@verb(app, "describe")
def describe(trial: TrialName) -> None:
    """Show a trial and its runs."""
    from muster.cli.trials.timeline import waiting_message
    from muster.client import connect

    with connect() as client:
        found, runs = client.trials.get(trial), client.trials.runs(trial).all()
        lines = client.trials.logs(trial, stream="platform", tail=LINES_LOOKED_AT)
        warnings = list(dict.fromkeys(line.text for line in lines if line.level == "warning"))
        waiting = None if found.final else client.trials.phases(trial).waiting_uploads
    if out.json:
        more = {
            "runs": [json.loads(run.model_dump_json()) for run in runs],
            "warnings": warnings,
            "waiting_uploads": json.loads(waiting.model_dump_json()) if waiting else None,
        }
        print(json.dumps(json.loads(found.model_dump_json()) | more))
        return
    recent = warnings[-MAX_WARNINGS:]
    uploads = [("uploads", waiting_message(waiting))] if waiting else []
    facts([*_facts(found), *uploads, *[("warning", text) for text in recent]])
    if len(recent) < len(warnings):
        note("{} more warnings: `muster trial logs {} --stream platform`", len(warnings) - len(recent), trial)
    columns = (
        ">run",
        "state",
        "outcome",
        "reason",
        ">exit",
        "counts as restart",
        "labels",
        "workers",
        "granted",
        "ended",
    )
    table(columns, (_run_row(run) for run in runs), "no runs yet: `muster trial explain` shows why")


add_logs(app, TRIAL, "Print the logs of a trial.", lambda client: client.trials)


@verb(app, "metrics")
def metrics(
    trial: TrialName,
    name: Names = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Only this group: training, validation, system, timing or your own."),
    ] = None,
    points: Annotated[bool, typer.Option("--points", help="Print every point instead of a summary.")] = False,
    follow: Follow = False,
) -> None:
    """Show the metrics of a trial."""
    from muster.cli.trials.render import print_value, series_rows
    from muster.client import connect
    from muster.client.metric_values import value_of

    if follow:
        with connect() as client:
            values = client.trials.follow_metrics(trial, names=name or (), group=group)
            emit_each(values, print_value, "the trial has ended without reporting such a metric")
        return
    with connect() as client:
        found = client.trials.metrics(trial, names=name or (), group=group)
    empty = "no such metric yet" if name or group else "no metrics yet"
    if points and not out.json:
        rows = (
            (series.group, series.name, point.step, value_of(point), point.run, point.time)
            for series in found.series
            for point in series.points
        )
        table(("group", "metric", ">step", ">value", ">run", "time"), rows, empty)
        return
    columns = ("group", "metric", ">points", ">last", ">min", ">max", "trend")
    emit(found, lambda: table(columns, series_rows(found.series), empty))


def _facts(found: "Trial") -> list[tuple[str, object]]:
    from muster.cli.trials.render import state_of

    return [
        ("trial", f"{found.experiment_number}.{found.number}"),
        ("state", state_of(found)),
        ("reason", found.reason),
        (
            "slots",
            f"{found.min_slots} to {found.slots}"
            if found.min_slots
            else slots(found.slots, fraction=found.slot_fraction),
        ),
        ("copy of", f"{found.experiment_number}.{found.source}" if found.source else None),
        ("starts from", found.start_checkpoint),
        ("seed", found.seed),
        *[(f"  {name}", value) for name, value in found.hyperparameters.items()],
        ("best", _result(found.best)),
        ("latest", _result(found.latest)),
        ("created", found.created_at),
        ("ended", found.ended_at),
        ("id", found.id),
    ]


def _result(found: "Measured | None") -> str | None:
    if found is None:
        return None
    return f"{'not a number' if found.value is None else number(found.value)} at step {found.step}"


def _run_row(run: "Run") -> tuple[object, ...]:
    on = ", ".join(
        f"{member.worker} ({slots(member.slots, fraction=member.slot_fraction)})" for member in run.members
    )
    return (
        run.number,
        "running" if run.state == "granted" else run.state,
        run.outcome,
        run.reason,
        run.exit_code,
        run.charged,
        ", ".join(run.labels or ()),
        on,
        run.granted_at,
        run.ended_at,
    )
