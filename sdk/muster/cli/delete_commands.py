"""`muster experiment delete`, `workspace delete`, `tenant delete`: what cannot be undone is asked for twice."""

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

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Also where versions of models are registered of it; they are deleted too."),
]


def add_experiment_delete(app: typer.Typer) -> None:
    """Add the verb to `muster experiment`."""
    verb(app, "delete")(delete_experiment)


def add_tenant_delete(app: typer.Typer) -> None:
    """Add the verb to `muster tenant`."""
    verb(app, "delete")(delete_tenant)


def delete_experiment(experiment: Number, force: Force = False, yes: Yes = False) -> None:
    """Delete an experiment with its trials, metrics, logs and checkpoints; what trains is ended first."""
    from muster.client import connect

    with connect() as client:
        name = client.experiments.get(experiment).name
        _confirm(f"experiment {experiment} ({name}) with all that came of it", str(experiment), yes)
        found = client.experiments.delete(experiment, force=force)
    _say(found)


@verb(workspaces, "delete")
def delete_workspace(
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="Its name.")],
    force: Force = False,
    yes: Yes = False,
) -> None:
    """Delete all experiments and models of a workspace, and the rules, roles and limits in it."""
    from muster.client import connect

    _confirm(f"workspace {workspace} with all its experiments and models", workspace, yes)
    with connect() as client:
        found = client.workspaces.delete(workspace, force=force)
    _say(found)


def delete_tenant(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Its name.")], yes: Yes = False
) -> None:
    """Delete everything that a tenant has, but for its audit log; its people cannot come in any more."""
    from muster.client import connect

    _confirm(f"tenant {tenant} with everything that it has", tenant, yes)
    with connect() as client:
        found = client.tenants.delete(tenant)
    _say(found)


def _confirm(what: str, name: str, is_sure: bool) -> None:
    """Has the name typed again. Raises Rejected where it is another, or nobody is there to type it."""
    if is_sure:
        return
    try:
        typed = str(typer.prompt(f"This deletes {what}, for good. Its name again", err=True))
    except typer.Abort:
        raise Rejected(
            "not_confirmed", "nothing was deleted: nobody confirmed it", hint="give --yes in a script"
        ) from None
    if typed != name:
        raise Rejected("not_confirmed", f"nothing was deleted: you typed {typed!r}, not {name!r}")


def _say(found: "Deletion") -> None:
    emit(found, lambda: note("{} [bold]{}[/] is deleted", found.scope, found.name))
