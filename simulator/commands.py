"""`muster simulate`: what people type. Heavy imports wait until the command runs."""

from pathlib import Path
from typing import Annotated

import typer


def simulate(
    cluster: Annotated[Path, typer.Option(help="YAML: the machines.", show_default=False)],
    workload: Annotated[Path, typer.Option(help="CSV or YAML: the trials.", show_default=False)],
    policy: Annotated[
        list[str] | None,
        typer.Option(help="default, fifo, priority, fair_share, or a YAML file; repeat it to compare."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is left to chance.")] = 0,
    until: Annotated[
        float | None, typer.Option(min=0, help="Stop after so many hours of the workload.")
    ] = None,
    trials: Annotated[Path | None, typer.Option(help="Write a CSV line for each trial to this file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check every invariant after every event.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Play a workload through the real scheduler on virtual time: waiting, completion, use, fairness."""
    from simulator.simulate_command import Question, answer

    answer(
        Question(cluster, workload, tuple(policy or ["default"]), seed, until, trials, check),
        as_json=as_json,
    )
