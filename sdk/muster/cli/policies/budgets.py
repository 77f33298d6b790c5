"""`muster budget`: monthly budgets of a tenant and its workspaces."""

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
        float,
        typer.Argument(
            metavar="AMOUNT", min=0, help="Amount per month, in the currency of the pools' prices."
        ),
    ],
    workspace: OfWorkspace = None,
    tenant: OfTenant = None,
    preempt: Annotated[
        bool,
        typer.Option(
            "--preempt",
            help="When the budget is spent, preempt running trials: they save and release their slots.",
        ),
    ] = False,
) -> None:
    """Set a monthly budget; when it is spent, no new trials start on slots that have a price."""
    _set(amount, workspace, tenant, preempt)


@verb(app, "clear")
def clear(workspace: OfWorkspace = None, tenant: OfTenant = None) -> None:
    """Remove a budget."""
    _set(None, workspace, tenant, False)


def _set(amount: float | None, workspace: str | None, tenant: str | None, preempt: bool) -> None:
    from muster.client import connect
    from muster.client.models import WhenSpent

    if workspace is not None and tenant is not None:
        raise Rejected(
            "invalid_request",
            "a workspace's budget is set within its tenant",
            "--tenant",
            "omit --tenant or --workspace",
        )
    when_spent = WhenSpent.PREEMPT if preempt else WhenSpent.HOLD
    with connect() as client:
        found = client.budgets.set(workspace, tenant=tenant, per_month=amount, when_spent=when_spent)
    warn(found.warnings)
    emit(found, lambda: note("{}", _message(found)))


def _message(found: "MonthlyBudget") -> str:
    who = f"tenant {found.tenant}" if found.workspace is None else f"workspace {found.workspace}"
    if found.per_month is None:
        return f"{who} has no budget"
    then = "are preempted" if found.when_spent == "preempt" else "continue"
    return (
        f"{who} may spend {found.per_month:,.2f} a month and has spent {found.spent:,.2f} this month;"
        f" when the budget is spent, no new trials start and running trials {then}"
    )
