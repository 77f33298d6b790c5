"""`muster budget`: what a tenant and its workspaces spend in a month, and may."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.output import emit, note, warn
from muster.cli.command_table import NOUNS
from muster.cli.policies.quotas import OfTenant, OfWorkspace
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import MonthlyBudget

app = NOUNS["budget"].app


@verb(app, "set")
def set_budget(
    amount: Annotated[
        float, typer.Argument(metavar="AMOUNT", min=0, help="A month, in the currency of the pools' prices.")
    ],
    workspace: OfWorkspace = None,
    tenant: OfTenant = None,
    preempt: Annotated[
        bool, typer.Option("--preempt", help="Once it is spent, running work saves and gives its slots back.")
    ] = False,
) -> None:
    """Say what may be spent in a month; once it is, nothing more starts that costs."""
    _set(amount, workspace, tenant, preempt)


@verb(app, "clear")
def clear(workspace: OfWorkspace = None, tenant: OfTenant = None) -> None:
    """Take a budget away."""
    _set(None, workspace, tenant, False)


def _set(amount: float | None, workspace: str | None, tenant: str | None, preempt: bool) -> None:
    from muster.client import connect
    from muster.client.models import WhenSpent

    if workspace is not None and tenant is not None:
        raise Rejected(
            "invalid_request", "a workspace's budget is set within its tenant", "--tenant", "leave one out"
        )
    when_spent = WhenSpent.PREEMPT if preempt else WhenSpent.HOLD
    with connect() as client:
        found = client.budgets.set(workspace, tenant=tenant, per_month=amount, when_spent=when_spent)
    warn(found.warnings)
    emit(found, lambda: note("{}", _said(found)))


def _said(found: "MonthlyBudget") -> str:
    who = f"tenant {found.tenant}" if found.workspace is None else f"workspace {found.workspace}"
    if found.per_month is None:
        return f"{who} has no budget any more"
    then = "saves and gives its slots back" if found.when_spent == "preempt" else "goes on"
    return (
        f"{who} may spend {found.per_month:,.2f} a month and has spent {found.spent:,.2f} of this one's;"
        f" then nothing more starts that costs, and what runs {then}"
    )
