"""The command `muster simulate`. Heavy imports are deferred until the command runs."""

from pathlib import Path
from typing import Annotated

import typer


def simulate(
    cluster: Annotated[Path, typer.Option(help="YAML file with the machines.", show_default=False)],
    workload: Annotated[
        Path, typer.Option(help="CSV or YAML file with the trials and experiments.", show_default=False)
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="default, fifo, priority, fair_share, or a YAML file. Repeat the option to compare policies."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    until: Annotated[
        float | None, typer.Option(min=0, help="Stop after this many hours of simulated time.")
    ] = None,
    trials: Annotated[Path | None, typer.Option(help="Write one CSV line per trial to this file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check every invariant after every event.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")] = False,
) -> None:
    """Simulate a workload with the real scheduler on virtual time and report waiting, completion, utilisation and fairness."""
    from simulator.simulate_command import Question, answer

    answer(
        Question(cluster, workload, tuple(policy or ["default"]), seed, until, trials, check),
        as_json=as_json,
    )
