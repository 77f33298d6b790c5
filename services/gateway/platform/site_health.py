"""The health of all services: this replica's own checks, and the cached reports of the other services."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial

from muster.errors import MusterError, Transient
from shared.bus import Bus
from shared.clock import Clock
from shared.ids import SITE
from shared.messages.base import Query
from shared.messages.health import BY_OWNER, CheckResult, HealthReport
from shared.runtime.cache import Cache

ANSWERS = "answers"
"""Name of the check that some replica of a service answers."""
_TIMEOUT_S = 1.0
_CACHED_S = 2.0
_NAME = "gateway"
_UNANSWERED = f"no replica answered within {_TIMEOUT_S:g} s"


class SiteHealth:
    """Asks the services for their health reports. A service that does not answer counts as failed since its first missed answer."""

    def __init__(self, own: Callable[[], HealthReport], bus: Bus, clock: Clock) -> None:
        self._own = own
        self._bus = bus
        self._clock = clock
        self._reports = Cache[str, HealthReport]("health_reports", len(BY_OWNER), _CACHED_S, clock)
        self._silent: dict[str, datetime] = {}

    async def reports(self) -> dict[str, HealthReport]:
        """Return the health report of each service by name, at most two seconds old."""
        asked = await asyncio.gather(*(self._ask(name, question()) for name, question in BY_OWNER.items()))
        return {_NAME: self._own(), **dict(zip(BY_OWNER, asked, strict=True))}

    async def _ask(self, service: str, question: Query[HealthReport]) -> HealthReport:
        try:
            report = await self._reports.load(service, partial(self._bus.ask, question, SITE, _TIMEOUT_S))
        except MusterError as error:
            why = _UNANSWERED if isinstance(error, Transient) else str(error)
            since = self._silent.setdefault(service, self._clock.now())
            return HealthReport(checks=(CheckResult(name=ANSWERS, ok=False, reason=why, since=since),))
        self._silent.pop(service, None)
        return report
