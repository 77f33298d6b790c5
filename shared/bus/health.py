"""Health checks of every service with an outbox (bus, database, outbox), and the check of a service with a leader."""

from datetime import datetime, timedelta

from shared.bus.connection import Bus
from shared.bus.relay import Relay
from shared.bus.responder import Answer, Question, RequestContext
from shared.clock import Clock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.messages.base import Query
from shared.messages.health import BY_OWNER, HealthReport
from shared.runtime.health import HealthChecks
from shared.runtime.process import ServiceProcess

BUS, DATABASE, OUTBOX, LEADER = "bus", "database", "outbox", "leader"
OUTBOX_AGE_S = 15.0
"""A message that waits longer is an outage. The failover of a stream leader takes about six seconds."""
UNSENT_S = 1.5
"""A message not acknowledged by JetStream within this time waits for the bus; an acknowledgement usually takes milliseconds."""


def add_delivery_checks(process: ServiceProcess, bus: Bus, database: Database, relay: Relay) -> None:
    """Make `/ready` depend on a publish, a database write, and the age of the outbox."""

    async def stores() -> str | None:
        reason = await bus.probe(process.name)
        if reason is None and process.health.failing_since(BUS) is not None:
            relay.try_again()
        return reason

    async def outbox() -> str | None:
        age_s = await relay.age_s()
        if age_s <= OUTBOX_AGE_S:
            return None
        why = f": {relay.refusal}" if relay.refusal else ""
        return f"the oldest message has waited {age_s:.0f} s to be published{why}"

    process.check(BUS, stores)
    process.check(DATABASE, lambda: database.probe(process.name))
    process.check(OUTBOX, outbox)


def check_leader(process: ServiceProcess, lease: Lease) -> None:
    """Make `/ready` depend on a live leader: this process or another."""
    process.check(LEADER, lease.vacancy)


def health_answers(process: ServiceProcess) -> dict[Question, Answer]:
    """Answer the gateway's query for this process's health."""

    async def answer(_: RequestContext, __: Query[HealthReport]) -> HealthReport:
        return process.health.report()

    return {BY_OWNER[process.name]: answer}


class BusOutage:
    """Whether messages of this process wait for the bus, and since when."""

    def __init__(self, health: HealthChecks, relay: Relay, clock: Clock) -> None:
        self._health = health
        self._relay = relay
        self._clock = clock

    def since(self) -> datetime | None:
        """Return since when JetStream has accepted no message; None while it accepts them.

        The relay notices first if a message was sent; the health check notices if none was.
        """
        waiting_s = self._relay.unsent_s()
        failing_since = self._health.failing_since(BUS)
        if waiting_s is None or waiting_s < UNSENT_S:
            return failing_since
        sent = self._clock.now() - timedelta(seconds=waiting_s)
        return min(sent, failing_since) if failing_since is not None else sent
