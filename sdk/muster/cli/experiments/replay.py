"""`muster experiment replay`: check whether the current search code repeats the recorded decisions."""

from typing import TYPE_CHECKING

import typer

from muster.cli.base.options import Number
from muster.cli.base.output import busy, emit, printable

if TYPE_CHECKING:
    from muster.client.models import Replay

DIFFERS = 1


def replay(experiment: Number) -> None:
    """Replay a search from its journal and show the first decision that differs; exit code 1 if one differs."""
    from muster.client import connect

    with connect() as client, busy("replaying the search"):
        found = client.experiments.replay(experiment)
    emit(found, lambda: _show(found))
    if found.difference is not None:
        raise typer.Exit(DIFFERS)


def _show(found: "Replay") -> None:
    if found.difference is not None:
        print(printable(found.difference.summary))
    elif found.checked == found.decisions:
        print(f"all {found.decisions} decisions are the same")
    else:
        print(
            f"the first {found.checked} of {found.decisions} decisions are the same; the time limit was reached before the rest"
        )
