"""Rate limits that are set for a tenant and its workspaces, cached for two seconds."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.call_context import Caller
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import TenantId
from shared.runtime.cache import Cache

CACHED_S = 2.0
"""A new rate takes effect on all replicas within this time."""
_MAX_TENANTS = 4096
LoadRates = Callable[[AsyncConnection], Awaitable[Mapping[str, float]]]


class TenantRates:
    """Loads and caches the rates of tenants.

    Args:
        load_rates: returns requests per second by workspace; "" is the whole tenant.
    """

    def __init__(self, database: Database, load_rates: LoadRates, clock: Clock) -> None:
        self._load_rates = load_rates
        self._database = database
        self._rates = Cache[TenantId, Mapping[str, float]]("tenant_rates", _MAX_TENANTS, CACHED_S, clock)

    async def rates_of(self, caller: Caller) -> Mapping[str, float]:
        """Return the rates that a call counts against: of the tenant ("") and, if the caller's permissions are all in one workspace, of that."""
        rates = await self._rates.load(caller.tenant, partial(self._load, caller.tenant))
        if not rates:
            return rates
        workspace = caller.grants.only_workspace
        return {name: rate for name, rate in rates.items() if name in ("", workspace)}

    async def _load(self, tenant: TenantId) -> Mapping[str, float]:
        async with self._database.read(tenant) as connection:
            return await self._load_rates(connection)
