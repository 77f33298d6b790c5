"""The connection to the platform. The platform may be unreachable for any time: runs continue, and requests are retried."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import structlog
from pydantic import BaseModel

from muster.errors import MusterError, Transient
from shared.auth.sealed_box import open_sealed
from shared.bus import Bus
from shared.clock import Clock
from shared.ids import WorkerId
from shared.messages.base import WorkerRequest
from shared.runtime.outages import Outages
from worker.connection.identity import StoredIdentity, join, renew
from worker.settings import Settings

R = TypeVar("R", bound=BaseModel)

MAX_WAIT_S = 2.0
RENEW_RETRY_S = 30.0
CONNECTED = "the worker connected to the platform"
_REACHING = "reaching the platform"
_log = structlog.get_logger()


class PlatformConnection:
    """Joins, connects and renews credentials; until then every request raises Transient."""

    def __init__(self, settings: Settings, identity: StoredIdentity, clock: Clock) -> None:
        self._settings = settings
        self._identity = identity
        self._clock = clock
        self._worker = WorkerId(settings.worker.id)
        self._bus: Bus | None = None
        self._renewing = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """Whether NATS is connected."""
        return self._bus is not None and self._bus.connected

    async def request(self, request: WorkerRequest[R], timeout_s: float = 5.0) -> R:
        """Send a request to its service. Raises as `Bus.request`; Transient before the first connection."""
        return await self.send(type(request), request.to_bytes(), timeout_s)

    async def send(self, kind: type[WorkerRequest[R]], payload: bytes, timeout_s: float = 5.0) -> R:
        """Send a request that is already encoded as JSON; raises as `request`."""
        if self._bus is None:
            raise Transient("the worker is not connected yet", retry_after_s=0.2)
        return await self._bus.send(kind, payload, self._worker, timeout_s)

    def renew_soon(self) -> None:
        """Renew the credentials now; at most once in `RENEW_RETRY_S`."""
        self._renewing.set()

    def open_sealed(self, sealed: str) -> bytes:
        """Decrypt content that was sealed for this worker's key. Raises Broken if it was sealed for another one."""
        return open_sealed(self._identity.seed, sealed)

    async def run(self, on_connected: Callable[[Bus], Awaitable[None]]) -> None:
        """Connect, call `on_connected`, and renew the credentials until cancelled.

        Raises:
            Rejected: The platform refuses this worker.
        """
        self._bus = await self._connect()
        await on_connected(self._bus)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    max(1.0, self._identity.renewal_in(self._clock.now()).total_seconds())
                ):
                    await self._renewing.wait()
            was_asked = self._renewing.is_set()
            try:
                await renew(self._identity, self._bus, self._worker)
            except MusterError as error:
                _log.warning("the credentials could not be renewed", error=str(error))
                was_asked = True
            if was_asked:
                # A set with a foreign key must not make the worker renew all the time.
                await asyncio.sleep(RENEW_RETRY_S)
                self._renewing.clear()

    async def close(self) -> None:
        """Disconnect."""
        if self._bus is not None:
            with suppress(MusterError):
                await self._bus.close()

    async def _connect(self) -> Bus:
        outages = Outages()
        while True:
            try:
                await join(self._identity, self._settings.worker, self._clock)
                advertised_url = self._identity.credentials.nats_url if self._identity.credentials else ""
                url = self._settings.nats_url(advertised_url)
                bus = await Bus.connect(url, self._worker, identity=self._identity.identity())
            except Transient as error:
                outages.failed(_REACHING, error)
                await asyncio.sleep(min(error.retry_after_s, MAX_WAIT_S))
                continue
            outages.worked(_REACHING)
            _log.info(CONNECTED)
            return bus
