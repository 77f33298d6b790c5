"""`muster experiment pause` … `edit`: what people change about an experiment that runs."""

from typing import Annotated

import typer

from muster.cli.frame import verb
from muster.cli.options import Number
from muster.cli.output import emit, note

_NOW = "; it is now [bold]{}[/]"
STEERING = (
    ("pause", "was asked to pause" + _NOW, "Let the trials save and give their slots back."),
    ("resume", "was asked to go on" + _NOW, "Let a paused experiment go on."),
    ("cancel", "was asked to end" + _NOW, "End an experiment; its trials may save a last checkpoint."),
    ("kill", "was told to end at once" + _NOW, "End an experiment at once."),
    (
        "finish",
        "was asked to end with the best so far" + _NOW,
        "End a search early, as completed; its trials may save a last checkpoint.",
    ),
    ("archive", "is out of the lists", "Hide an ended experiment from lists."),
    ("unarchive", "is back in the lists", "Show an archived experiment in lists again."),
)
"""The verb, what is said then, and its help."""


def add_steering(app: typer.Typer) -> None:
    """Add the verbs to `muster experiment`."""
    for name, said, what in STEERING:
        _add(app, name, said, what)
    verb(app, "edit")(edit)


def edit(
    experiment: Number,
    max_trials: Annotated[
        int | None, typer.Option("--max-trials", min=1, help="Make so many trials in all.")
    ] = None,
    max_concurrent_trials: Annotated[
        int | None, typer.Option("--max-concurrent-trials", min=1, help="Have so many open at once.")
    ] = None,
) -> None:
    """Change how far a running search goes; `muster queue` changes who gets slots."""
    from muster.client import connect

    with connect() as client:
        found = client.experiments.edit_search(
            experiment, max_trials=max_trials, max_concurrent_trials=max_concurrent_trials
        )
    said = "experiment [bold]{}[/] makes {} trials, {} at once"
    at_once = f"at most {found.max_concurrent_trials}" if found.max_concurrent_trials else "all"
    emit(found, lambda: note(said, found.number, found.trials.planned, at_once))


def _add(app: typer.Typer, name: str, said: str, what: str) -> None:
    def steer(experiment: Number) -> None:
        from muster.client import connect

        with connect() as client:
            found = getattr(client.experiments, name)(experiment)
        emit(found, lambda: note("experiment {} " + said, found.number, found.state))

    steer.__doc__ = what
    verb(app, name)(steer)
