"""Operations on the retention of metrics and logs. The gateway checks permissions; the registry stores and enforces the rules."""

from services.gateway.experiments.workspace_warnings import warn_unused_workspace
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, READ_EXPERIMENT, SAFE
from services.gateway.platform.schema import Empty
from services.gateway.retention.schema import RetentionRule, RetentionRules, SetRetentionRequest
from shared.messages import retention as messages


async def get_retention(call: Call, request: Empty) -> RetentionRules:
    """Get the retention rules for metrics and logs of the caller's tenant and its workspaces."""
    found = await call.dependencies.bus.ask(
        messages.GetRetention(), call.tenant, call.dependencies.timeouts.query_s
    )
    grants = call.caller.grants
    return RetentionRules(
        items=[
            RetentionRule.model_validate(rule.model_dump())
            for rule in found.rules
            if rule.workspace is None or grants.holds(Permission.EXPERIMENT_READ, Scope(rule.workspace))
        ]
    )


async def set_retention(call: Call, request: SetRetentionRequest) -> RetentionRule:
    """Set how long the caller's tenant or a workspace keeps metrics and logs. Older data is deleted within an hour."""
    call.check_scope(Permission.RETENTION_MANAGE, Scope(request.workspace))
    rule = messages.RetentionRule(**request.model_dump())
    known = await call.ask_if_available(messages.GetRetention())
    before = [one for one in known.rules if one.workspace == rule.workspace] if known else []
    call.set_audit_fields(
        before=before[0].model_dump(mode="json") if before else None, after=rule.model_dump(mode="json")
    )
    await call.ask_for_change(messages.SetRetention(rule=rule))
    warnings = await warn_unused_workspace(call, call.tenant, request.workspace)
    return RetentionRule(**rule.model_dump(), warnings=warnings)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetRetention", "GET", "/v1/retention", Empty, RetentionRules, READ_EXPERIMENT, SAFE, get_retention, waits=True),
    Operation("SetRetention", "PUT", "/v1/retention", SetRetentionRequest, RetentionRule, Permission.RETENTION_MANAGE, NATURAL, set_retention, waits=True),
)
# fmt: on
