"""`muster search`: search the logs of many trials."""

from itertools import islice
from typing import Annotated

import typer

from muster.cli.base.options import Level, Pattern, Rank, Since, Stream, Until
from muster.cli.base.output import emit_each
from muster.cli.cluster.usage import moment_of


def search(
    text: Annotated[str, typer.Argument(help="Text to find; optional with --match or --level.")] = "",
    experiment: Annotated[
        list[str] | None, typer.Option("--experiment", help="Only this experiment. Repeatable.")
    ] = None,
    trial: Annotated[list[str] | None, typer.Option("--trial", help="Only this trial. Repeatable.")] = None,
    match: Pattern = None,
    rank: Rank = None,
    stream: Stream = None,
    level: Level = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of lines.")] = 1000,
) -> None:
    """Search the logs of all trials, newest experiment first."""
    from muster.cli.trials.render import print_log_line
    from muster.client import connect

    with connect() as client:
        lines = client.search_logs(
            experiments=experiment or (),
            trials=trial or (),
            contains=text or None,
            pattern=match,
            rank=rank,
            stream=stream,
            level=level,
            since=moment_of(since, "--since"),
            until=moment_of(until, "--until"),
        )
        emit_each(islice(lines, limit), print_log_line, "no log line matches")
