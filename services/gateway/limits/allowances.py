"""Which rates of their own a tenant and its workspaces have, remembered for a moment."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from muster.errors import Transient
from services.gateway.operations.call import Caller
from services.gateway.remembered.together import AHEAD_S, Together
from services.gateway.store import quotas
from shared.clock import Clock
from shared.db import Database
from shared.ids import TenantId

REMEMBERED_S = 2.0
"""A rate that was set counts everywhere after this long."""
_MOST = 4096


@dataclass(frozen=True, slots=True)
class _Remembered:
    rates: Mapping[str, float]
    until_s: float


class Allowances:
    """Reads rates as the tenant itself. While Postgres is away, what was last known goes on counting."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known: OrderedDict[TenantId, _Remembered] = OrderedDict()
        self._reading: Together[TenantId, Mapping[str, float]] = Together()

    async def rates_of(self, caller: Caller) -> Mapping[str, float]:
        """Requests a second that this call counts against: of the tenant ("") and of the one workspace that the caller is of."""
        rates = await self._rates(caller.tenant)
        if not rates:
            return rates
        workspace = caller.grants.only_workspace
        return {name: rate for name, rate in rates.items() if name in ("", workspace)}

    async def _rates(self, tenant: TenantId) -> Mapping[str, float]:
        known, now_s = self._known.get(tenant), self._clock.monotonic()
        if known is None or known.until_s <= now_s:
            return await self._reading.once(tenant, lambda: self._read(tenant))
        if known.until_s <= now_s + AHEAD_S:
            self._reading.begin(tenant, lambda: self._read(tenant))
        return known.rates

    async def _read(self, tenant: TenantId) -> Mapping[str, float]:
        known = self._known.get(tenant)
        try:
            async with self._database.read(tenant) as connection:
                rates: Mapping[str, float] = await quotas.load_rates(connection)
        except Transient:
            rates = known.rates if known is not None else {}
        self._known[tenant] = _Remembered(rates, self._clock.monotonic() + REMEMBERED_S)
        self._known.move_to_end(tenant)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return rates
