"""Warnings about workspaces that have no experiment."""

from difflib import get_close_matches

from services.gateway.experiments import store as experiments
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call import Call
from shared.ids import TenantId


async def warn_unused_workspace(call: Call, tenant: TenantId, workspace: str | None) -> list[str]:
    """What is worth saying where no experiment of a tenant is in the workspace that is named: it may be yet to come, or be written otherwise."""
    sees = call.caller.grants.holds(Permission.EXPERIMENT_READ, Scope(workspace))
    if workspace is None or tenant != call.tenant or not sees:  # What others call their workspaces is theirs.
        return []
    async with call.as_reader().read() as connection:
        known = await experiments.load_workspaces(connection)
    if workspace in known:
        return []
    near = get_close_matches(workspace, known, n=1)
    hint = f": did you mean '{near[0]}'?" if near else ""
    return [f"no experiment of this tenant is in the workspace '{workspace}' yet{hint}"]
