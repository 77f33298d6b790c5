"""Delivery: nothing lost, nothing done twice. The only package that knows NATS.

A transaction (`Units`) writes state, inbox and outbox together; the `Relay` publishes what was committed; a `Consumer` feeds handlers;
a `Responder` answers questions; the `Bus` asks them.
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
    """Import what stands over a database when it is asked for: workers and the simulator have none, and it takes 23 MiB."""
    if name not in _OVER_A_DATABASE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OVER_A_DATABASE[name]}"), name)
