"""Message delivery: at least once on the wire, exactly once in effect. The only package that uses NATS.

A transaction (`Units`) writes state, inbox and outbox together. The `Relay` publishes committed rows, a `Consumer` feeds handlers, a
`Responder` answers questions, and the `Bus` asks them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from shared.bus.connection import AUTHENTICATION, Bus, WorkerIdentity
from shared.bus.envelope import Delivery, Envelope
from shared.bus.responder import RequestContext, Responder

if TYPE_CHECKING:
    from shared.bus.consumer import Consumer
    from shared.bus.relay import Relay
    from shared.bus.units import Unit, Units

__all__ = [
    "AUTHENTICATION",
    "RequestContext",
    "Bus",
    "Consumer",
    "Delivery",
    "Envelope",
    "WorkerIdentity",
    "Relay",
    "Responder",
    "Unit",
    "Units",
]

_OVER_A_DATABASE = {
    "Consumer": "consumer",
    "Relay": "relay",
    "Unit": "units",
    "Units": "units",
}


def __getattr__(name: str) -> object:
    """Import modules that need a database on first use: workers and the simulator have no database, and the import takes 23 MiB."""
    if name not in _OVER_A_DATABASE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OVER_A_DATABASE[name]}"), name)
