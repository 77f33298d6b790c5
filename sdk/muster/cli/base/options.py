"""Arguments and options that several commands share."""

from collections.abc import Callable
from typing import Annotated

import typer


def argument_of(enum: str, *more: str) -> Callable[[str], str]:
    """Return a parser of the words of an enum of the API, and some more.

    They are looked up only when one is given: the models take their time to be imported.
    """

    def parse(value: str) -> str:
        from muster.client import models

        words = [*(word.value for word in getattr(models, enum)), *more]
        if value not in words:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(words)}")
        return value

    return parse


EXPERIMENT = typer.Argument(metavar="EXPERIMENT", help="Its number or id.")
TRIAL = typer.Argument(metavar="TRIAL", help="31.4 (trial 4 of experiment 31) or its id.")
Number = Annotated[str, EXPERIMENT]
TrialName = Annotated[str, TRIAL]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY.PATH=VALUE", help="Change one key of the config. Repeatable."),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on printing until it has ended.")]
Rank = Annotated[int | None, typer.Option("--rank", min=0, help="Only this rank.")]
Contains = Annotated[str | None, typer.Option("--contains", help="Only lines that hold this text.")]
Stream = Annotated[
    str | None,
    typer.Option(
        "--stream",
        parser=argument_of("LogStream"),
        metavar="STREAM",
        help="Only what stdout, stderr or the platform itself wrote.",
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--match", metavar="REGEX", help="Only lines that this matches somewhere; written as for RE2."
    ),
]
Level = Annotated[
    str | None,
    typer.Option(
        "--level",
        parser=argument_of("LogLevel"),
        metavar="LEVEL",
        help="Only lines that say they are at least so: debug, info, warning, error.",
    ),
]
MOMENT = "A date, a time (2026-11-01T08:00, UTC without a zone), or how long ago: 90m, 12h, 7d."
Since = Annotated[str | None, typer.Option("--since", help=f"Only lines of then or later. {MOMENT}")]
Until = Annotated[str | None, typer.Option("--until", help=f"Only lines of before that. {MOMENT}")]
Tail = Annotated[
    int | None,
    typer.Option("--tail", min=1, max=1000, help="Only this many of them, the last of each trial."),
]
ExperimentStates = Annotated[
    list[str] | None,
    typer.Option(
        "--state", parser=argument_of("ExperimentState"), metavar="STATE", help="Only those. Repeatable."
    ),
]
TrialStates = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        parser=argument_of("TrialState", "invalid"),
        metavar="STATE",
        help="Only those. Repeatable.",
    ),
]
Names = Annotated[list[str] | None, typer.Option("--name", help="Only this metric. Repeatable.")]
PoolName = Annotated[str | None, typer.Option("--pool", help="Only this pool.")]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="EXPRESSION",
        help="Only those that meet it, by any field: 'name contains digits and not owner = ada'.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option("--sort", metavar="FIELDS", help="'-created_at,name': the greatest first behind -."),
]


UserName = Annotated[str, typer.Argument(metavar="USER", help="Its name.")]
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="Its name, as `muster role list` shows it.")]
TemplateName = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Its name.")]
WebhookName = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Its name or id.")]
ViewName = Annotated[
    str, typer.Argument(metavar="NAME", help="Yours alone: others may have one of that name.")
]
CheckpointId = Annotated[str, typer.Argument(metavar="CHECKPOINT", help="Its id, as `list` shows it.")]
ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="Its name or id.")]
OfSite = Annotated[bool, typer.Option("--site", help="The site's own log, for who keeps it.")]
