"""`muster plan`: what people type. Heavy imports wait until the command runs."""

from pathlib import Path
from typing import Annotated

import typer


def plan(
    config: Annotated[Path, typer.Argument(help="The experiment's config.", show_default=False)],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="KEY.PATH=VALUE", help="Change one key of the config. Repeatable."),
    ] = None,
    step_time: Annotated[
        float | None,
        typer.Option(
            "--step-time",
            min=0.001,
            help="Seconds that a step takes, with the slots of a trial; a step is one of the searcher's time_metric.",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="How long a trial trains; by default the searcher's max_time.")
    ] = None,
    cluster: Annotated[
        Path | None, typer.Option(help="YAML: machines to plan for, instead of a pool as it stands.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(help="The pool to plan for; by default the config's, else default.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="All slots of the pool, and not only those that are free now.")
    ] = False,
    price: Annotated[
        float | None,
        typer.Option(min=0, help="Of a slot for an hour; by default as the pool's machines cost."),
    ] = None,
    futures: Annotated[int, typer.Option(min=1, max=1000, help="How often the search is played.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Tell what an experiment would cost and when it would end, by playing its search; nothing is submitted."""
    from deploy.plan.desk import Asked, answer

    answer(
        Asked(config, tuple(overrides or ()), step_time, steps, cluster, pool, whole, price, futures),
        as_json=as_json,
    )
