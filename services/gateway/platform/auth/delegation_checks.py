"""Nobody hands out or takes back what they have not, nor takes from themselves what would leave a tenant without anybody to manage it."""

from collections.abc import Sequence
from difflib import get_close_matches

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Rejected
from services.gateway.platform.auth.grants import Grants, combine_bindings
from services.gateway.platform.auth.permissions import Permission, Permissions
from services.gateway.platform.auth.store import accounts as people, roles
from services.gateway.platform.call import Call


def read_permissions(names: Sequence[str], place: str) -> Permissions:
    """Raises Rejected for a name that is no permission."""
    known = [str(permission) for permission in Permission]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise Rejected("unknown_permission", f"there is no permission {name!r}", place, hint)
    return frozenset(map(Permission, names))


def check_caller_holds(call: Call, handed_out: Grants, what: str, place: str | None = None) -> None:
    """Raises Rejected where the caller would hand out, or take back, more than the caller has."""
    if call.caller.grants.covers(handed_out):
        return
    lacking = sorted(
        permission
        for permission, places in handed_out.held.items()
        if not all(call.caller.grants.holds(permission, one) for one in places)
    )
    raise Rejected(
        "forbidden",
        f"{what} holds more than you have yourself: {', '.join(lacking)}",
        place,
        "let somebody do it who has all of it",
    )


async def check_no_self_lockout(call: Call, connection: AsyncConnection) -> None:
    """Raises Conflict where what was just changed takes the caller's own management of access away: so that one who has it always stays."""
    managing, user = Permission.ACCESS_MANAGE, call.caller.user
    if user is None or not call.caller.grants.holds(managing):
        return
    # Two who take the other's access at once would each find their own still there.
    await roles.lock_access(connection, call.tenant)
    account = await people.load_account(connection, user)
    given = await roles.load_account_bindings(connection, call.tenant, user)
    if account is None or account.disabled_at is not None or not combine_bindings(given).holds(managing):
        raise Conflict(
            "own_access",
            "this would take the management of access from yourself",
            hint="let another admin of the tenant do it",
        )
