"""The verb `logs` of trials and experiments."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import ArgumentInfo

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Contains, Follow, Level, Pattern, Rank, Since, Stream, Tail, Until
from muster.cli.base.output import emit_each
from muster.cli.cluster.usage import moment_of

if TYPE_CHECKING:
    from muster.client import Client
    from muster.client.resources.experiments import Experiments
    from muster.client.resources.trials import Trials


def add_logs(
    app: typer.Typer, argument: ArgumentInfo, what: str, of: Callable[["Client"], "Experiments | Trials"]
) -> None:
    """Add the verb to a noun; `what` is its help, and `of` selects the client resource that its argument names."""

    def logs(
        name: Annotated[str, argument],
        follow: Follow = False,
        rank: Rank = None,
        contains: Contains = None,
        match: Pattern = None,
        stream: Stream = None,
        level: Level = None,
        since: Since = None,
        until: Until = None,
        tail: Tail = None,
    ) -> None:
        from muster.cli.trials.render import no_lines, print_log_line
        from muster.client import connect

        period = moment_of(since, "--since"), moment_of(until, "--until")
        with connect() as client:
            read = of(client).follow_logs if follow else of(client).logs
            lines = read(
                name, rank=rank, contains=contains, pattern=match, stream=stream, level=level,
                since=period[0], until=period[1], tail=tail,
            )  # fmt: skip
            emit_each(lines, print_log_line, no_lines(rank, contains, match, stream, level, *period))

    logs.__doc__ = what
    verb(app, "logs")(logs)
