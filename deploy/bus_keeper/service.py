"""Compares the bus with its definition every second, and creates missing streams and consumers: at the first start, and after the store was lost."""

import asyncio
from datetime import timedelta

import structlog
from nats.errors import Error as NatsError

from deploy.bus_keeper.settings import Settings
from muster.errors import Transient
from shared.bus import Bus
from shared.bus.keeping import ensure_bus
from shared.runtime.loops import repeat
from shared.runtime.process import ServiceProcess

NAME = "bus-keeper"
ANSWER_S = 2.0
"""Time for each answer: a request that was lost with a server must not delay the next check."""
_log = structlog.get_logger()


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Connect to the bus, and keep its streams and consumers."""
    own, nats = settings.bus_keeper, settings.nats
    bus = await process.enter(
        await process.reach("nats", lambda: Bus.connect(nats.url, NAME, nats.credentials))
    )
    bus_keeper = BusKeeper(bus, own.replicas)
    bus.on_reconnect.append(bus_keeper.wake)
    process.check("bus", bus_keeper.trouble)
    process.start("keep", lambda: repeat(bus_keeper.keep, timedelta(seconds=own.every_s), bus_keeper.woken))
    process.mark_ready()


class BusKeeper:
    """Creates what is missing. A second keeper beside it does no harm."""

    def __init__(self, bus: Bus, replicas: int) -> None:
        self._bus = bus
        self._replicas = replicas
        self._trouble: str | None = "the streams were not checked yet"
        self.woken = asyncio.Event()

    def wake(self) -> None:
        """Check now: after a reconnect, the server may have lost its store."""
        self.woken.set()

    async def keep(self) -> timedelta | None:
        """Create what is missing. Raises Transient while JetStream does not respond."""
        try:
            created = await ensure_bus(self._bus.client.jetstream(timeout=ANSWER_S), self._replicas)
        except (NatsError, OSError, TimeoutError) as error:
            self._trouble = f"the streams cannot be checked: {error!r}"
            raise Transient(self._trouble) from error
        self._trouble = None
        if created:
            _log.info("missing streams and consumers were created", names=created)
        return None

    async def trouble(self) -> str | None:
        """Return why streams or consumers may be missing; None if none is."""
        return self._trouble
