"""Checks on changes of access: callers can grant and revoke only permissions that they hold, and cannot remove their own access management."""

from collections.abc import Sequence
from difflib import get_close_matches

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Rejected
from services.gateway.platform.auth.grants import Grants, combine_bindings
from services.gateway.platform.auth.permissions import Permission, Permissions
from services.gateway.platform.auth.store import accounts as people, roles
from services.gateway.platform.call_context import Call


def read_permissions(names: Sequence[str], place: str) -> Permissions:
    """Parse names of permissions. Raises Rejected for an unknown name."""
    known = [str(permission) for permission in Permission]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"permissions: {', '.join(known)}"
            raise Rejected("unknown_permission", f"unknown permission {name!r}", place, hint)
    return frozenset(map(Permission, names))


def check_caller_holds(call: Call, granted: Grants, what: str, place: str | None = None) -> None:
    """Raise Rejected if the caller would grant or revoke permissions that the caller does not hold."""
    if call.caller.grants.covers(granted):
        return
    lacking = sorted(
        permission
        for permission, scopes in granted.held.items()
        if not all(call.caller.grants.holds(permission, one) for one in scopes)
    )
    raise Rejected(
        "forbidden",
        f"{what} has permissions that you do not hold: {', '.join(lacking)}",
        place,
        "ask somebody who holds all of them",
    )


async def check_no_self_lockout(call: Call, connection: AsyncConnection) -> None:
    """Raise Conflict if the change in this transaction removes the caller's own `access.manage`. A tenant thus always keeps somebody who has it."""
    managing, user = Permission.ACCESS_MANAGE, call.caller.user
    if user is None or not call.caller.grants.holds(managing):
        return
    # Without the lock, two callers could remove each other's access concurrently.
    await roles.lock_access(connection, call.tenant)
    account = await people.load_account(connection, user)
    given = await roles.load_account_bindings(connection, call.tenant, user)
    if account is None or account.disabled_at is not None or not combine_bindings(given).holds(managing):
        raise Conflict(
            "own_access",
            "this change would remove your own permission access.manage",
            hint="ask another admin of the tenant to make the change",
        )
