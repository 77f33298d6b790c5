"""Operations on policies of the tenant and of workspaces. Setting a workspace's policy takes `policy.manage` in that workspace only."""

from typing import Any

from muster.config import check_partial
from muster.errors import Rejected
from services.gateway.experiments.workspace_warnings import warn_unused_workspace
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.schema import Empty, JsonObject
from services.gateway.policies import store
from services.gateway.policies.schema import ConfigPolicies, ConfigPolicy, SetPolicyRequest

_ELSEWHERE = ("workspace", "project")


async def list_policies(call: Call, request: Empty) -> ConfigPolicies:
    """List the policies of the tenant and of the workspaces that the caller may read."""
    async with call.read() as connection:
        rows = await store.load_policies(connection)
    grants = call.caller.grants
    seen = (
        row
        for row in rows
        if not row.workspace or grants.holds(Permission.EXPERIMENT_READ, Scope(row.workspace))
    )
    return ConfigPolicies(items=[_render(row._mapping) for row in seen])


async def set_policy(call: Call, request: SetPolicyRequest) -> ConfigPolicy:
    """Set the policy on experiment configs in a workspace or the whole tenant."""
    call.check_scope(Permission.POLICY_MANAGE, Scope(request.workspace))
    _check(request.invariant_config)
    rules = request.model_dump(include={"invariant_config", "max_slots", "priority_limit"})
    workspace = request.workspace or ""
    async with call.transaction() as unit:
        values: dict[str, Any] = {
            **rules,
            "tenant": call.tenant,
            "workspace": workspace,
            "changed_at": unit.now,
            "by": call.caller.name,
        }
        known = await store.find_policy(unit.connection, workspace)
        before = None if known is None else _render(known._mapping)
        if any(value not in (None, {}) for value in rules.values()):
            await store.save_policy(unit.connection, values)
        else:
            await store.delete_policy(unit.connection, call.tenant, workspace)
        call.set_audit_fields(
            before=before, after=_render(values), entity=f"policy/{request.workspace or ''}"
        )
    warnings = await warn_unused_workspace(call, call.tenant, request.workspace)
    return _render(values).model_copy(update={"warnings": warnings})


def _check(invariant: JsonObject) -> None:
    for key in _ELSEWHERE:
        if key in invariant:
            raise Rejected(
                "invalid_value",
                f"a policy cannot set '{key}': it determines which policy applies",
                f"invariant_config.{key}",
                "remove the key",
            )
    check_partial(invariant, "invariant_config")


def _render(values: Any) -> ConfigPolicy:
    names = ("invariant_config", "max_slots", "priority_limit", "changed_at", "by")
    return ConfigPolicy(workspace=values["workspace"] or None, **{name: values[name] for name in names})
