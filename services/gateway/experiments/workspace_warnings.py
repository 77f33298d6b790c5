"""Warnings about workspaces without experiments."""

from difflib import get_close_matches

from services.gateway.experiments import store as experiments
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from shared.ids import TenantId


async def warn_unused_workspace(call: Call, tenant: TenantId, workspace: str | None) -> list[str]:
    """Return a warning if the named workspace has no experiment: the name may be misspelled, or be used later."""
    sees = call.caller.grants.holds(Permission.EXPERIMENT_READ, Scope(workspace))
    # Workspace names of other tenants are not revealed.
    if workspace is None or tenant != call.tenant or not sees:
        return []
    async with call.as_reader().read() as connection:
        known = await experiments.load_workspaces(connection)
    if workspace in known:
        return []
    near = get_close_matches(workspace, known, n=1)
    hint = f": did you mean '{near[0]}'?" if near else ""
    return [f"workspace '{workspace}' has no experiments yet{hint}"]
