"""Which rates of their own a tenant and its workspaces have, cached for a moment."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.call import Caller
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import TenantId
from shared.runtime.cache import Cache

CACHED_S = 2.0
"""A rate that was set counts everywhere after this long."""
_MAX_TENANTS = 4096
LoadRates = Callable[[AsyncConnection], Awaitable[Mapping[str, float]]]


class TenantRates:
    """Reads rates as the tenant itself.

    Args:
        load_rates: Requests a second by workspace; the empty one is the tenant as a whole.
    """

    def __init__(self, database: Database, load_rates: LoadRates, clock: Clock) -> None:
        self._load_rates = load_rates
        self._database = database
        self._rates = Cache[TenantId, Mapping[str, float]]("tenant_rates", _MAX_TENANTS, CACHED_S, clock)

    async def rates_of(self, caller: Caller) -> Mapping[str, float]:
        """Requests a second that this call counts against: of the tenant ("") and of the one workspace that the caller is of."""
        rates = await self._rates.load(caller.tenant, partial(self._load, caller.tenant))
        if not rates:
            return rates
        workspace = caller.grants.only_workspace
        return {name: rate for name, rate in rates.items() if name in ("", workspace)}

    async def _load(self, tenant: TenantId) -> Mapping[str, float]:
        async with self._database.read(tenant) as connection:
            return await self._load_rates(connection)
