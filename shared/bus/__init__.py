"""Delivery: nothing lost, nothing done twice. The only package that knows NATS.

A transaction (`Units`) writes state, inbox and outbox together; the `Relay` publishes what was committed; a `Consumer` feeds handlers;
a `Responder` answers questions; the `Bus` asks them.
"""

from shared.bus.connection import Bus, Identity
from shared.bus.consumer import Consumer
from shared.bus.envelope import Delivery, Envelope
from shared.bus.relay import Relay
from shared.bus.responder import Ask, Responder
from shared.bus.units import Unit, Units

__all__ = [
    "Ask",
    "Bus",
    "Consumer",
    "Delivery",
    "Envelope",
    "Identity",
    "Relay",
    "Responder",
    "Unit",
    "Units",
]
