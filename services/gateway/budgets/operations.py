"""Monthly budgets. Site operators set those of tenants, tenant managers those of workspaces; the scheduler enforces them (decision 0139)."""

from collections.abc import Iterable

from services.gateway.budgets.schema import (
    MonthlyBudget,
    MonthlyBudgets,
    SetTenantBudgetRequest,
    SetWorkspaceBudgetRequest,
    WhenSpent,
)
from services.gateway.experiments.workspace_warnings import warn_unused_workspace
from services.gateway.platform.auth.grants import TENANT_SCOPE, Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, MANAGE, NATURAL, POLICY, SAFE
from services.gateway.platform.schema import Empty
from services.gateway.tenants.find import named_tenant
from shared.ids import SITE, TenantId
from shared.messages.budgets import BudgetState, BudgetStatus, GetBudgets, SetBudget


async def list_budgets(call: Call, request: Empty) -> MonthlyBudgets:
    """List the monthly budgets of the caller's tenant and its workspaces, and the amounts spent. Site operators see the budget of every tenant."""
    if call.caller.is_site_operator:
        return await _list_of_site(call)
    found = await call.dependencies.bus.ask(GetBudgets(), call.tenant, call.dependencies.timeouts.query_s)
    grants = call.caller.grants
    seen = (
        one for one in found.budgets if grants.holds(Permission.CLUSTER_READ, Scope(one.budget.workspace))
    )
    return MonthlyBudgets(items=[_render(one, call.caller.tenant_name) for one in seen])


async def set_tenant_budget(call: Call, request: SetTenantBudgetRequest) -> MonthlyBudget:
    """Set the monthly budget of a tenant, starting with the current month."""
    tenant, name = await named_tenant(call, request.tenant)
    call.also_audit_in(tenant)
    before = await call.ask_if_available(GetBudgets(), tenant)
    before_set = _one(before.budgets, None, name) if before else None
    _note(call, request, before_set, f"budget/{name}")
    await call.record()
    budget = _budget(request, None)
    found = await call.dependencies.bus.ask(
        SetBudget(budget=budget), tenant, call.dependencies.timeouts.query_s
    )
    return _one(found.budgets, None, name)


async def set_workspace_budget(call: Call, request: SetWorkspaceBudgetRequest) -> MonthlyBudget:
    """Set the monthly budget of a workspace, starting with the current month."""
    call.check_scope(Permission.POLICY_MANAGE, TENANT_SCOPE)
    before = await call.ask_if_available(GetBudgets())
    before_set = _one(before.budgets, request.workspace, call.caller.tenant_name) if before else None
    _note(call, request, before_set, f"budget/{request.workspace}")
    found = await call.ask_for_change(SetBudget(budget=_budget(request, request.workspace)))
    warnings = await warn_unused_workspace(call, call.tenant, request.workspace)
    one = _one(found.budgets, request.workspace, call.caller.tenant_name)
    return one.model_copy(update={"warnings": warnings})


async def _list_of_site(call: Call) -> MonthlyBudgets:
    found = await call.dependencies.bus.ask(GetBudgets(), SITE, call.dependencies.timeouts.query_s)
    own = call.caller.grants.holds(Permission.EXPERIMENT_READ, TENANT_SCOPE)
    visible = [
        one for one in found.budgets if one.budget.workspace is None or (own and one.tenant == call.tenant)
    ]
    async with call.dependencies.database.system() as connection:
        names = await access.load_tenant_names(connection, {TenantId(one.tenant) for one in visible})
    return MonthlyBudgets(items=[_render(one, names.get(one.tenant, str(one.tenant))) for one in visible])


def _note(
    call: Call,
    request: SetTenantBudgetRequest | SetWorkspaceBudgetRequest,
    before_set: MonthlyBudget | None,
    entity: str,
) -> None:
    """Write the change into the audit log; a missing budget is recorded as null."""
    call.set_audit_fields(
        before=before_set if before_set is not None and before_set.per_month is not None else None,
        after=request.model_dump(mode="json"),
        entity=entity,
    )


def _budget(
    request: SetTenantBudgetRequest | SetWorkspaceBudgetRequest, workspace: str | None
) -> BudgetStatus:
    preempts = request.when_spent is WhenSpent.PREEMPT
    return BudgetStatus(workspace=workspace, per_month=request.per_month, preempts=preempts)


def _one(states: Iterable[BudgetState], workspace: str | None, tenant: str) -> MonthlyBudget:
    """Return the budget of a workspace or the tenant; an empty one if none is set."""
    found = next((one for one in states if one.budget.workspace == workspace), None)
    return MonthlyBudget(tenant=tenant, workspace=workspace) if found is None else _render(found, tenant)


def _render(state: BudgetState, tenant: str) -> MonthlyBudget:
    budget = state.budget
    return MonthlyBudget(
        tenant=tenant,
        workspace=budget.workspace,
        per_month=budget.per_month,
        when_spent=WhenSpent.PREEMPT if budget.preempts else WhenSpent.HOLD,
        spent=round(state.spent, 6),
        since=state.since,
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListBudgets", "GET", "/v1/budgets", Empty, MonthlyBudgets, CLUSTER, SAFE, list_budgets, waits=True),
    Operation("SetTenantBudget", "PUT", "/v1/budgets/tenant", SetTenantBudgetRequest, MonthlyBudget, MANAGE, NATURAL, set_tenant_budget, waits=True),
    Operation("SetWorkspaceBudget", "PUT", "/v1/budgets/workspace", SetWorkspaceBudgetRequest, MonthlyBudget, POLICY, NATURAL, set_workspace_budget, waits=True),
)
# fmt: on
