"""Which rates of their own a tenant and its workspaces have, cached for a moment."""

from collections.abc import Mapping
from functools import partial

from services.gateway.platform.call import Caller
from services.gateway.quotas import store as quotas
from shared.cache import Cache
from shared.clock import Clock
from shared.db import Database
from shared.ids import TenantId

CACHED_S = 2.0
"""A rate that was set counts everywhere after this long."""
_MAX_TENANTS = 4096


class Allowances:
    """Reads rates as the tenant itself."""

    def __init__(self, database: Database, clock: Clock) -> None:
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
            return await quotas.load_rates(connection)
