"""`muster import`: import experiments and models from another platform."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.output import emit, note, table
from muster.cli.command_table import NOUNS

if TYPE_CHECKING:
    from muster.importing import ImportPlan, ImportResult

app = NOUNS["import"].app


@verb(app, "determined")
def determined(
    dumps: Annotated[
        list[Path],
        typer.Argument(
            metavar="DUMP…", help="JSON responses of Determined's REST API: files, or folders of files."
        ),
    ],
    apply: Annotated[
        bool, typer.Option("--apply", help="Perform the import; without it, only show the plan.")
    ] = False,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder for the configs.")] = Path(
        "determined"
    ),
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Only write configs; create no models.")
    ] = False,
    submit: Annotated[
        Path | None,
        typer.Option("--submit", metavar="CODE", help="Also submit the configs, with this folder of code."),
    ] = None,
    s3: Annotated[
        str,
        typer.Option(
            "--s3", metavar="ADDRESS", help="Address of the object store with Determined's checkpoints."
        ),
    ] = "",
    access_key: Annotated[str, typer.Option("--access-key", envvar="AWS_ACCESS_KEY_ID")] = "",
    secret_key: Annotated[str, typer.Option("--secret-key", envvar="AWS_SECRET_ACCESS_KEY")] = "",
    region: Annotated[str, typer.Option("--region", envvar="AWS_REGION")] = "us-east-1",
) -> None:
    """Import experiment configs and registered models from dumps of Determined's REST API."""
    from muster.client import connect
    from muster.importing import ObjectStore, execute_import, plan_import, read_dumps

    store = ObjectStore(s3, access_key, secret_key, region) if s3 else None
    plan = plan_import(read_dumps(dumps), store.has if store else None)
    if not apply:
        would = _would(plan, to, submits=submit is not None)
        emit(would, lambda: _report(would))
        note("this is the plan; run again with --apply to perform it")
        return
    if files_only:
        done = execute_import(plan, to, None)
    else:
        with connect() as client:
            done = execute_import(plan, to, client, submit)
    emit(done, lambda: _report(done))


def _would(plan: "ImportPlan", to: Path, submits: bool) -> "list[ImportResult]":
    """The results that --apply would have, as far as known without the platform."""
    from muster.importing import ImportOutcome, ImportResult

    would = [
        ImportResult(what=str(to / one.file), outcome=ImportOutcome.MADE, why=one.remark)
        for one in plan.configs
    ]
    would += [
        ImportResult(
            what=f"model {one.name}",
            outcome=ImportOutcome.MADE,
            why=f"{one.versions} versions in its metadata",
        )
        for one in plan.models
    ]
    if submits:
        would += [
            ImportResult(
                what=f"experiment {one.experiment}",
                outcome=ImportOutcome.LEFT_OUT if one.refusal else ImportOutcome.MADE,
                why=one.refusal,
            )
            for one in plan.configs
        ]
    return [
        *would,
        *(ImportResult(what=what, outcome=ImportOutcome.LEFT_OUT, why=why) for what, why in plan.left_out),
    ]


def _report(done: "list[ImportResult]") -> None:
    rows = [(one.what, str(one.outcome), one.why) for one in done]
    table(("item", "outcome", "reason"), rows, "the dumps contain nothing to import")
    outcomes = [one.outcome for one in done]
    note("{}", ", ".join(f"{outcomes.count(one)} {one}" for one in dict.fromkeys(outcomes)) or "nothing")
