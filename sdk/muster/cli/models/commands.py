"""`muster model`: register models and download their versions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import ModelName
from muster.cli.base.output import bytes_bar, emit, facts, note, size, table
from muster.cli.command_table import NOUNS
from muster.cli.models.render import aliases_of
from muster.cli.models.versions import add_versions, describe_version, edit_version, read_signature, stage_of
from muster.cli.trials.render import measured
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import Model, ModelVersion

app = NOUNS["model"].app

Tags = Annotated[list[str] | None, typer.Option("--tag", help="Tag to add. Repeatable.")]
Approvals = Annotated[
    list[str] | None,
    typer.Option(
        "--approvals",
        metavar="STAGE=N",
        help="Approvals needed before a version enters this stage. Repeatable.",
    ),
]
EitherName = Annotated[
    str, typer.Argument(metavar="MODEL[@VERSION]", help="A model, or one of its versions: digits@champion.")
]


@verb(app, "create")
def create(
    name: Annotated[str, typer.Argument(help="Name, unique within the workspace.")],
    workspace: Annotated[str | None, typer.Option("--workspace", "-w")] = None,
    description: Annotated[str, typer.Option("--description")] = "",
    tag: Tags = None,
    approvals: Approvals = None,
) -> None:
    """Create a model."""
    from muster.client import connect

    with connect() as client:
        made = client.models.create(
            name,
            workspace=workspace,
            description=description,
            tags=tag or (),
            approvals=_approvals(approvals),
        )
    emit(
        made, lambda: note("created model [bold]{}[/]: add versions with `muster model register`", made.name)
    )


@verb(app, "describe")
def describe(model: EitherName) -> None:
    """Show a model and its versions, or one version in detail."""
    from muster.client import connect

    if "@" in model:
        describe_version(model)
        return
    with connect() as client:
        found, versions = client.models.get(model), client.models.versions(model).all()
    emit([found, *versions], lambda: _show(found, versions))


@verb(app, "edit")
def edit(
    model: EitherName,
    description: Annotated[
        str | None, typer.Option("--description", help="New description, for models.")
    ] = None,
    comment: Annotated[str | None, typer.Option("--comment", help="New comment, for versions.")] = None,
    notes: Annotated[
        Path | None, typer.Option("--notes", help="Markdown file with new notes.", exists=True)
    ] = None,
    tag: Tags = None,
    remove_tag: Annotated[
        list[str] | None, typer.Option("--remove-tag", help="Tag to remove. Repeatable.")
    ] = None,
    approvals: Approvals = None,
) -> None:
    """Edit the description, notes and tags of a model or a version, or the approvals of stages."""
    from muster.client import connect

    text = notes.read_text() if notes else None
    if "@" in model:
        _refuse("versions", {"--description": description, "--approvals": approvals})
        edit_version(model, comment, text, tag or (), remove_tag or ())
        return
    _refuse("models", {"--comment": comment})
    with connect() as client:
        made = client.models.edit(
            model,
            description=description,
            notes=text,
            add_tags=tag or (),
            remove_tags=remove_tag or (),
            approvals=_approvals(approvals),
        )
    emit(made, lambda: note("changed model [bold]{}[/]", made.name))


@verb(app, "register")
def register(
    model: ModelName,
    checkpoint: Annotated[str | None, typer.Argument(help="Id of the checkpoint.")] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", "-e", help="Register the best checkpoint of this experiment instead."),
    ] = None,
    name: Annotated[str, typer.Option("--name")] = "",
    comment: Annotated[str, typer.Option("--comment")] = "",
    tag: Tags = None,
    signature: Annotated[
        Path | None,
        typer.Option(
            "--signature", help="JSON file of the signature: inputs and outputs with name, dtype and shape."
        ),
    ] = None,
) -> None:
    """Register a checkpoint as the next version of a model."""
    from muster.client import connect

    if (checkpoint is None) == (experiment is None):
        raise Rejected(
            "usage",
            "give either a checkpoint's id or --experiment",
            hint="`muster trial checkpoints` lists checkpoint ids",
        )
    with connect() as client:
        chosen = checkpoint or client.checkpoints.best_of(client.experiments.get(experiment or "")).id
        made = client.models.register(
            model, chosen, name=name, comment=comment, tags=tag or (), signature=read_signature(signature)
        )
    message = "registered {} version [bold]{}[/] ({})"
    emit(made, lambda: note(message, made.model_name, made.number, size(made.size_bytes)))


@verb(app, "download")
def download(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL[@VERSION]",
            help="A version, such as digits@champion; a model alone means its latest version.",
        ),
    ],
    directory: Annotated[
        Path,
        typer.Argument(
            help="Target directory, which must not exist; it appears after all files are verified."
        ),
    ],
) -> None:
    """Download the files of a version and verify their size and SHA-256."""
    from muster.client import connect
    from muster.client.handwritten.models import split_version

    name, version = split_version(model)
    with connect() as client, bytes_bar(f"downloading {model}") as on_bytes:
        got = client.models.download(name, directory, version, on_bytes)
    total = size(sum(file.size_bytes for file in got.files))
    files = "one file" if len(got.files) == 1 else f"{len(got.files)} files"
    emit(got, lambda: note("downloaded {1} ({2}) to {0}; all hashes match", directory, files, total))


add_versions(app)


def _show(found: "Model", versions: "Sequence[ModelVersion]") -> None:
    facts(
        [
            ("model", found.name),
            ("workspace", found.workspace),
            ("description", found.description),
            ("aliases", aliases_of(found)),
            ("tags", ", ".join(found.tags)),
            ("approvals needed", ", ".join(f"{stage} {count}" for stage, count in found.approvals.items())),
            ("notes", found.notes),
        ]
    )
    columns = (">version", "stage", ">step", ">files", ">size", "metrics", "comment", "created", "checkpoint")
    rows = (
        (
            one.number, stage_of(one), one.lineage.step, one.files, size(one.size_bytes),
            measured(one.lineage), one.comment, one.created_at, one.checkpoint,
        )
        for one in versions
    )  # fmt: skip
    table(columns, rows, "no versions yet: add one with `muster model register`")


def _refuse(what: str, options: dict[str, object]) -> None:
    given = [option for option, value in options.items() if value]
    if given:
        raise Rejected("usage", f"{given[0]} does not apply to {what}", hint="see `muster model edit --help`")


def _approvals(given: list[str] | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in given or ():
        stage, _, count = one.partition("=")
        if not count.isdigit():
            raise Rejected("usage", f"{one!r} is not STAGE=N", hint="write --approvals production=1")
        found[stage] = int(count)
    return found
