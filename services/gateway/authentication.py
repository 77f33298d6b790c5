"""From a bearer token to a caller and what they may do: looked up by its keyed hash, remembered for a moment, refused the same way whatever is wrong."""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from muster.errors import Rejected
from services.gateway.core.grants import Binding, Held, add_up
from services.gateway.core.permissions import ROLES, parse_permissions
from services.gateway.core.tokens import hash_token, is_token
from services.gateway.operations.call import Caller
from services.gateway.store import access as tokens, roles
from shared.clock import Clock
from shared.db import Database
from shared.ids import SITE, TenantId

REMEMBERED_S = 2.0
"""A revoked token is refused everywhere after this long at the latest, and roles that were given or taken count."""
_MOST = 4096


@dataclass(frozen=True, slots=True)
class _Remembered:
    caller: Caller
    until_s: float


class Authenticator:
    """Knows who a token belongs to. The look-up needs the system role: its tenant is what it finds out."""

    def __init__(self, database: Database, pepper: bytes, clock: Clock) -> None:
        self._database = database
        self._pepper = pepper
        self._clock = clock
        self._known: OrderedDict[bytes, _Remembered] = OrderedDict()

    async def caller_of(self, bearer: str | None) -> Caller:
        """Raises Unauthenticated for a missing, unknown, expired or revoked token."""
        if bearer is None or not is_token(bearer):
            raise Unauthenticated("no_token" if bearer is None else "no_such_token")
        hashed = hash_token(self._pepper, bearer)
        known = self._known.get(hashed)
        if known is None or known.until_s <= self._clock.monotonic():
            known = _Remembered(await self._look_up(hashed), self._clock.monotonic() + REMEMBERED_S)
            self._remember(hashed, known)
        expires_at = known.caller.expires_at
        if expires_at is not None and expires_at <= self._clock.now():
            caller = known.caller
            raise Unauthenticated("token_expired", caller.tenant, caller.token_id, caller.user, caller.name)
        return known.caller

    async def _look_up(self, hashed: bytes) -> Caller:
        async with self._database.system() as connection:
            row = await tokens.find_token(connection, hashed)
            if row is None:
                raise Unauthenticated("no_such_token")
            if row.revoked_at is not None or row.disabled_at is not None:
                why = "token_revoked" if row.revoked_at is not None else "user_disabled"
                name = row.account_name or row.name
                raise Unauthenticated(why, TenantId(row.tenant), row.id, row.account, name)
            if row.account is None:
                given = [Binding(row.role, ROLES[row.role])]
            else:
                given = await roles.load_given(connection, row.tenant, row.account)
        scope = None if row.scope is None else parse_permissions(row.scope)
        return Caller(
            tenant=TenantId(row.tenant),
            tenant_name=row.tenant_name,
            token_id=row.id,
            name=row.account_name or row.name,
            grants=add_up(given, scope),
            roles=tuple(Held(one.role, one.place) for one in given),
            user=row.account,
            expires_at=row.expires_at,
        )

    def _remember(self, hashed: bytes, known: _Remembered) -> None:
        self._known[hashed] = known
        self._known.move_to_end(hashed)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)


class Unauthenticated(Rejected):
    """The one answer to whatever is wrong with a token; what it was, and whose, is for the audit log alone."""

    def __init__(
        self,
        why: str,
        tenant: TenantId = SITE,
        token: UUID | None = None,
        user: UUID | None = None,
        name: str = "",
    ) -> None:
        super().__init__(
            "unauthenticated",
            "a valid access token is needed",
            hint="send `Authorization: Bearer mst_…`; the admin token stands in the file that the first start wrote",
        )
        self.why = why
        self.tenant = tenant
        self.token = token
        self.user = user
        self.name = name
