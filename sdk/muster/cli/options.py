"""Arguments and options that several commands share."""

from typing import Annotated

import typer

Number = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Its number or id.")]
TrialName = Annotated[str, typer.Argument(metavar="TRIAL", help="31.4 (trial 4 of experiment 31) or its id.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY.PATH=VALUE", help="Change one key of the config. Repeatable."),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on printing until it has ended.")]
Rank = Annotated[int | None, typer.Option("--rank", min=0, help="Only this rank.")]
Contains = Annotated[str | None, typer.Option("--contains", help="Only lines that hold this text.")]
Stream = Annotated[
    str | None, typer.Option("--stream", help="Only what stdout, stderr or the platform itself wrote.")
]
Tail = Annotated[
    int | None, typer.Option("--tail", min=1, max=1000, help="Only this many last lines of each trial.")
]
Names = Annotated[list[str] | None, typer.Option("--name", help="Only this metric. Repeatable.")]
PoolName = Annotated[str | None, typer.Option("--pool", help="Only this pool.")]
