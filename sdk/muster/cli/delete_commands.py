"""`muster experiment delete`, `workspace delete` and `tenant delete`, with confirmation."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Number
from muster.cli.base.output import emit, note
from muster.cli.command_table import NOUNS
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import Deletion

workspaces = NOUNS["workspace"].app

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Also delete model versions that are registered from it."),
]


def add_experiment_delete(app: typer.Typer) -> None:
    """Add the verb to `muster experiment`."""
    verb(app, "delete")(delete_experiment)


def add_tenant_delete(app: typer.Typer) -> None:
    """Add the verb to `muster tenant`."""
    verb(app, "delete")(delete_tenant)


def delete_experiment(experiment: Number, force: Force = False, yes: Yes = False) -> None:
    """Delete an experiment with its trials, metrics, logs and checkpoints; running trials are ended first."""
    from muster.client import connect

    with connect() as client:
        name = client.experiments.get(experiment).name
        _confirm(
            f"experiment {experiment} ({name}) with its trials, metrics, logs and checkpoints",
            str(experiment),
            yes,
        )
        found = client.experiments.delete(experiment, force=force)
    _print(found)


@verb(workspaces, "delete")
def delete_workspace(
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="Name of the workspace.")],
    force: Force = False,
    yes: Yes = False,
) -> None:
    """Delete a workspace with its experiments, models, rules, roles and limits."""
    from muster.client import connect

    _confirm(f"workspace {workspace} with all its experiments and models", workspace, yes)
    with connect() as client:
        found = client.workspaces.delete(workspace, force=force)
    _print(found)


def delete_tenant(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")], yes: Yes = False
) -> None:
    """Delete a tenant and all its data except the audit log; its users lose access."""
    from muster.client import connect

    _confirm(f"tenant {tenant} with all its data", tenant, yes)
    with connect() as client:
        found = client.tenants.delete(tenant)
    _print(found)


def _confirm(what: str, name: str, is_sure: bool) -> None:
    """Ask for the name again. Raises Rejected if it differs, or if there is no terminal."""
    if is_sure:
        return
    try:
        typed = str(typer.prompt(f"This permanently deletes {what}. Type the name to confirm", err=True))
    except typer.Abort:
        raise Rejected(
            "not_confirmed", "nothing was deleted: the command was not confirmed", hint="use --yes in scripts"
        ) from None
    if typed != name:
        raise Rejected("not_confirmed", f"nothing was deleted: you typed {typed!r}, not {name!r}")


def _print(found: "Deletion") -> None:
    emit(found, lambda: note("{} [bold]{}[/] is deleted", found.scope, found.name))
