"""A simulated bus: core messages may be late, duplicated, reordered or lost; streams deliver at least once. All
simulated processes communicate through it; `faults` cuts it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from simulator.event_queue import Act, EventQueue

M = TypeVar("M")
ACK_WAIT_MS = 30_000
"""An unacknowledged message is redelivered after this time."""
RETRY_MS = 1000


@dataclass(frozen=True, slots=True)
class BusFaults:
    """Fault rates (fractions of all messages) and delays in milliseconds."""

    latency_ms: int = 1
    jitter_ms: int = 0
    late: float = 0.0
    late_ms: int = 0
    doubled: float = 0.0
    lost: float = 0.0


CALM = BusFaults()
ROUGH = BusFaults(latency_ms=1, jitter_ms=20, late=0.02, late_ms=900, doubled=0.05, lost=0.01)


class SimulatedBus:
    """Delivers callbacks from one named endpoint to another. Nothing passes while the bus is down, or to and
    from an endpoint that is cut off."""

    def __init__(self, agenda: EventQueue, weather: BusFaults, chance: Random) -> None:
        self.agenda = agenda
        self.weather = weather
        self.is_down = False
        self.deaf: set[str] = set()
        self.mute: set[str] = set()
        self._chance = chance

    def passes(self, source: str, target: str) -> bool:
        """Whether a message can get through now."""
        return not (self.is_down or source in self.mute or target in self.deaf)

    def send(self, source: str, target: str, act: Act) -> None:
        """Send a core message: at most once, unless it is duplicated."""
        if not self.passes(source, target):
            return
        weather, chance = self.weather, self._chance
        if weather.lost and chance.random() < weather.lost:
            return
        copies = 2 if weather.doubled and chance.random() < weather.doubled else 1
        for _ in range(copies):
            self.agenda.after(self.delay_ms(), lambda: act() if self.passes(source, target) else None)

    def delay_ms(self) -> int:
        weather, chance = self.weather, self._chance
        delay = weather.latency_ms
        if weather.jitter_ms:
            delay += chance.randrange(weather.jitter_ms + 1)
        if weather.late and chance.random() < weather.late:
            delay += chance.randrange(weather.late_ms + 1)
        return delay

    def doubles(self) -> bool:
        """Whether this publication is duplicated."""
        return bool(self.weather.doubled) and self._chance.random() < self.weather.doubled


Take = Callable[[M, Act], None]
"""A consumer: receives a message and a callback to acknowledge it once its effects are committed."""


class SimulatedStream(Generic[M]):
    """Messages that are kept until their one consumer has acknowledged them.

    Args:
        source: The publisher's endpoint.
    """

    def __init__(self, wire: SimulatedBus, source: str) -> None:
        self._wire = wire
        self._source = source
        self._pending: dict[int, M] = {}
        self._next = 0
        self._taker: tuple[str, Take[M]] | None = None

    def __len__(self) -> int:
        return len(self._pending)

    def publish(self, message: M) -> None:
        """Store a message until it is acknowledged; sometimes twice, like a publisher that retries after a lost
        acknowledgement."""
        for _ in range(2 if self._wire.doubles() else 1):
            self._next += 1
            self._pending[self._next] = message
            self._deliver_soon(self._next, self._wire.delay_ms())

    def consume(self, place: str, take: Take[M]) -> None:
        """Attach the consumer at `place`, and deliver pending messages to it."""
        self._taker = (place, take)
        for number in self._pending:
            self._deliver_soon(number, self._wire.delay_ms())

    def leave(self, place: str) -> None:
        """Detach the consumer at `place`, unless another has taken over."""
        if self._taker and self._taker[0] == place:
            self._taker = None

    def _deliver_soon(self, number: int, delay_ms: int) -> None:
        self._wire.agenda.after(delay_ms, lambda: self._deliver(number))

    def _deliver(self, number: int) -> None:
        if number not in self._pending or self._taker is None:
            return
        place, take = self._taker
        if not self._wire.passes(self._source, place):
            self._deliver_soon(number, RETRY_MS)
            return
        take(self._pending[number], lambda: self._acknowledge(number))
        if number in self._pending:
            self._deliver_soon(number, ACK_WAIT_MS)

    def _acknowledge(self, number: int) -> None:
        self._pending.pop(number, None)
