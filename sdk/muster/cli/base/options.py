"""Arguments and options that several commands share."""

from collections.abc import Callable
from typing import Annotated

import typer


def argument_of(enum: str, *more: str, **synonyms: str) -> Callable[[str], str]:
    """Return a parser for the values of an API enum, plus `more`; a synonym stands for the value that it names.

    The enum is loaded on first use because importing the models is slow.
    """

    def parse(value: str) -> str:
        from muster.client import models

        value = synonyms.get(value, value)
        choices = [*(member.value for member in getattr(models, enum)), *more]
        if value not in choices:
            raise typer.BadParameter(f"{value!r} is invalid: choose from {', '.join(choices)}")
        return value

    return parse


EXPERIMENT = typer.Argument(metavar="EXPERIMENT", help="Number or id of the experiment.")
TRIAL = typer.Argument(metavar="TRIAL", help="Trial number, such as 31.4 (trial 4 of experiment 31), or id.")
Number = Annotated[str, EXPERIMENT]
TrialName = Annotated[str, TRIAL]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY.PATH=VALUE", help="Override one key of the config. Repeatable."),
]
Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Print new output until the experiment or trial ends.")
]
Rank = Annotated[int | None, typer.Option("--rank", min=0, help="Only this rank.")]
Contains = Annotated[str | None, typer.Option("--contains", help="Only lines that contain this text.")]
Stream = Annotated[
    str | None,
    typer.Option(
        "--stream",
        parser=argument_of("LogStream"),
        metavar="STREAM",
        help="Only this stream: stdout, stderr or platform.",
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--match", metavar="REGEX", help="Only lines that match this regular expression (RE2 syntax)."
    ),
]
Level = Annotated[
    str | None,
    typer.Option(
        "--level",
        parser=argument_of("LogLevel"),
        metavar="LEVEL",
        help="Only lines of at least this level: debug, info, warning, error.",
    ),
]
MOMENT = "A date, a time (2026-11-01T08:00, UTC without a zone), or an age: 90m, 12h, 7d."
Since = Annotated[str | None, typer.Option("--since", help=f"Only lines since this time. {MOMENT}")]
Until = Annotated[str | None, typer.Option("--until", help=f"Only lines before this time. {MOMENT}")]
Tail = Annotated[
    int | None,
    typer.Option("--tail", min=1, max=1000, help="Only the last lines: this many of each trial."),
]
ExperimentStates = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        parser=argument_of("ExperimentState", running="active", failed="error"),
        metavar="STATE",
        help="Only items in this state. Repeatable.",
    ),
]
TrialStates = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        parser=argument_of("TrialState", "invalid", active="running", failed="error"),
        metavar="STATE",
        help="Only trials in this state. Repeatable.",
    ),
]
Names = Annotated[list[str] | None, typer.Option("--name", help="Only this metric. Repeatable.")]
PoolName = Annotated[str | None, typer.Option("--pool", help="Only this pool.")]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="EXPRESSION",
        help="Only items that match, by any field: 'name contains digits and not owner = ada'.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort", metavar="FIELDS", help="Sort by these fields, - for descending: '-created_at,name'."
    ),
]


UserName = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")]
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="Name of the role, from `muster role list`.")]
SecretName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the secret, such as HF_TOKEN.")]
OfWorkspace = Annotated[str, typer.Option("--workspace", "-w", help="Workspace of the secret.")]
TemplateName = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Name of the template.")]
WebhookName = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Name or id of the webhook.")]
ViewName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of the view; views belong to one user, so other users may have the same name.",
    ),
]
CheckpointId = Annotated[
    str, typer.Argument(metavar="CHECKPOINT", help="Id of the checkpoint, from `muster trial checkpoints`.")
]
ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="Name or id of the model.")]
OfSite = Annotated[bool, typer.Option("--site", help="The log of the site; needs site administrator rights.")]
