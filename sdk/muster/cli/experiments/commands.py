"""`muster experiment`: create, inspect, control and fork experiments."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import (
    EXPERIMENT,
    Follow,
    Names,
    Number,
    Overrides,
)
from muster.cli.base.output import bytes_bar, emit, emit_each, facts, note, out, table, warn
from muster.cli.command_table import NOUNS
from muster.cli.experiments.bulk_actions import act, label as label_many
from muster.cli.experiments.code import add_code
from muster.cli.experiments.edit import edit
from muster.cli.experiments.input_files import code_folder, pack_code, read_source
from muster.cli.experiments.render import experiment_facts, pareto_columns, pareto_rows
from muster.cli.experiments.search_driver import show_driver
from muster.cli.policies.commands import TEMPLATE
from muster.cli.trials.logs import add_logs

if TYPE_CHECKING:
    from muster.client.models import ExperimentDetail

FAILED = 1

app = NOUNS["experiment"].app

Wait = Annotated[
    bool, typer.Option("--wait", "-w", help="Wait until the experiment has ended and show its progress.")
]
NewName = Annotated[
    str | None, typer.Option("--name", help="Name of the experiment, instead of the config's.")
]
Label = Annotated[list[str] | None, typer.Option("--label", help="A label to add. Repeatable.")]


@verb(app, "create")
def create(
    config: Annotated[Path, typer.Argument(help="Path of the config, YAML or JSON; - reads stdin.")],
    folder: Annotated[
        Path | None,
        typer.Argument(help="Folder of the model code; by default the config's folder. Required with -."),
    ] = None,
    overrides: Overrides = None,
    name: NewName = None,
    label: Label = None,
    template: Annotated[str | None, TEMPLATE] = None,
    no_code: Annotated[
        bool,
        typer.Option("--no-code", help="Upload no code, for entrypoints that are installed on the workers."),
    ] = False,
    wait: Wait = False,
) -> None:
    """Create an experiment from a config and a folder of code."""
    from muster.archive import check_entrypoint
    from muster.client import connect
    from muster.config.load import load_document, validate_document

    if no_code and folder is not None:
        raise typer.BadParameter("--no-code cannot be combined with a code folder", param_hint="--no-code")
    code_at = None if no_code else code_folder(config, folder)
    text = read_source(config)
    document = load_document(text, overrides or ())
    if template is None:  # A template may supply missing keys: the platform then validates the merged config.
        validate_document(document)
    archive = pack_code(code_at) if code_at is not None else None
    check_entrypoint(document.root.get("entrypoint"), archive.files if archive else ())
    with connect() as client:
        code = None
        if archive is not None:
            with bytes_bar("uploading code") as on_bytes:
                code = client.experiments.put_code(archive, on_bytes)
        made = client.experiments.create(
            document.root if overrides else text, code, name=name, labels=label or (), template=template
        )
    _made(made, wait)


@verb(app, "describe")
def describe(
    experiment: Number,
    config: Annotated[bool, typer.Option("--config-only", help="Print only the config, as YAML.")] = False,
) -> None:
    """Show an experiment."""
    from muster.client import connect

    with connect() as client:
        found = client.experiments.get(experiment)
    if config:
        _print_config(found)
        return
    emit(found, lambda: facts(experiment_facts(found)))


@verb(app, "front")
def pareto_front(experiment: Number) -> None:
    """List the Pareto-optimal trials within the limits of the search."""
    from muster.client import connect

    with connect() as client:
        found = client.experiments.get(experiment)
        trials = client.experiments.front(experiment).all()
    columns, rows = pareto_columns(found, trials), pareto_rows(found, trials)
    emit(
        trials,
        lambda: table(
            columns, rows, "no Pareto-optimal trials yet: no trial has reported all metrics within the limits"
        ),
    )


add_code(app)
add_logs(app, EXPERIMENT, "Print the logs of an experiment's trials.", lambda client: client.experiments)


@verb(app, "metrics")
def metrics(
    experiment: Number,
    name: Names = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Only this group: training, validation, system, timing or your own."),
    ] = None,
    follow: Follow = False,
) -> None:
    """Show the metrics of the best trials; with --follow, print the metrics of all trials as they arrive."""
    from muster.cli.trials.render import print_value, series_rows
    from muster.client import connect

    if follow:
        with connect() as client:
            values = client.experiments.follow_metrics(experiment, names=name or (), group=group)
            emit_each(values, print_value, "the experiment has ended without reporting such a metric")
        return
    with connect() as client:
        found = client.experiments.metrics(experiment, names=name or (), group=group)
        numbers = {trial.id: trial.number for trial in client.trials.list(experiment)}
    columns = (">trial", "group", "metric", ">points", ">last", ">min", ">max", "trend")
    rows = (
        (numbers.get(trial.trial, trial.trial), *row)
        for trial in found.trials
        for row in series_rows(trial.series)
    )
    emit(found, lambda: table(columns, rows, "no metrics yet"))


@verb(app, "wait")
def wait(
    experiment: Number,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Seconds to wait; by default no limit.")
    ] = None,
) -> None:
    """Wait until an experiment has ended and show its progress; exit code 1 unless it completed."""
    from muster.cli.experiments.watch import watch
    from muster.client import connect

    with connect() as client:
        ended = watch(client, experiment, timeout)
    emit(ended, lambda: facts(experiment_facts(ended)))
    if ended.state != "completed":
        raise typer.Exit(FAILED)


verb(app, "edit")(edit)
verb(app, "act")(act)
verb(app, "label")(label_many)
verb(app, "search")(show_driver)


@verb(app, "fork")
def fork(
    experiment: Number,
    overrides: Overrides = None,
    best: Annotated[
        bool,
        typer.Option("--best", help="Train once with the best trial's hyperparameters, without a search."),
    ] = False,
    name: NewName = None,
    label: Label = None,
    wait: Wait = False,
) -> None:
    """Create an experiment from another one's code and a changed config."""
    from muster.client import connect
    from muster.client.forking import best_point, merge_patch
    from muster.config.load import load_document, validate_document

    with connect() as client:
        source = client.experiments.get(experiment)
        wanted = best_point(client, source) if best else source.config
        document = load_document(wanted, overrides or ())
        validate_document(document)
        patch = merge_patch(source.config, document.root)
        made = client.experiments.fork(experiment, patch, name=name, labels=label or ())
    _made(made, wait)


def _made(made: "ExperimentDetail", wait_for_it: bool) -> None:
    warn([*made.warnings, *([made.waiting] if made.waiting else [])])
    if wait_for_it:
        note("created experiment [bold]{}[/] ({})", made.number, made.name)
        wait(str(made.number))
        return
    message = "created experiment [bold]{}[/] ({}): watch it with `muster experiment wait {}`"
    emit(made, lambda: note(message, made.number, made.name, made.number))


def _print_config(found: "ExperimentDetail") -> None:
    if out.json:
        print(json.dumps(found.config))
        return
    import yaml

    print(yaml.safe_dump(found.config, sort_keys=False, allow_unicode=True), end="")
