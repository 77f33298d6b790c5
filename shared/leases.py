"""A lease in Postgres: one holder at a time, with an epoch that rises at each change of holder and stands in the guard of every write.

Judged by Postgres' clock alone. The holder counts its own time by its monotonic clock from before it asked, so it stops before the
row's deadline; a holder that was frozen finds its epoch passed, because its writes carry it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.clock import Clock
from shared.db import Database, open_to_system
from shared.driver import Driver
from shared.errors import Conflict, Transient
from shared.outages import Outages
from shared.telemetry import metrics

NOT_LEADER = "not_leader"
_ASKING = "asking for a lease"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Held:
    """A lease in hand: valid while the monotonic clock is before `until`."""

    name: str
    epoch: int
    until: float


class Lease:
    """Takes, renews and gives back one named lease of a service's schema.

    Args:
        life_s: from the last renewal until another may take it; renewed at a third of it.
    """

    def __init__(
        self,
        database: Database,
        schema: str,
        name: str,
        holder: str,
        clock: Clock,
        life_s: float = 3.0,
    ) -> None:
        self._database = database
        self._schema = schema
        self._name = name
        self._holder = holder
        self._clock = clock
        self._life_s = life_s
        self._held: Held | None = None
        self._outages = Outages(lease=name)

    @property
    def epoch(self) -> int:
        """Of the lease in hand; raises Conflict (`not_leader`) when there is none or it has run out."""
        if self._held is None or self._clock.monotonic() >= self._held.until:
            raise Conflict(NOT_LEADER, f"the lease {self._name} is not held here")
        return self._held.epoch

    @property
    def held(self) -> bool:
        return self._held is not None and self._clock.monotonic() < self._held.until

    async def vacancy(self) -> str | None:
        """Return why nobody leads; None while this process or another holds the lease. For health checks.

        Raises:
            Transient: the database does not answer.
        """
        if self.held:
            return None
        async with self._database.system_autocommit() as connection:
            found = await Driver.of(connection).fetch(
                f"SELECT holder, expires_at, expires_at >= now() AS lasts FROM {self._schema}.lease WHERE name = $1",
                self._name,
            )
        if not found:
            return f"no process has taken the lease {self._name} yet"
        if found[0]["lasts"]:
            return None
        return (
            f"no process leads: the lease {self._name} of {found[0]['holder']} ended at"
            f" {found[0]['expires_at']:%H:%M:%S} UTC"
        )

    async def lead(
        self,
        term: Callable[[int, asyncio.Event], Awaitable[None]],
        stopping: asyncio.Event,
    ) -> None:
        """Waits for the lease, runs `term(epoch, ended)` while it is held, and so on until `stopping`.

        `ended` is set when the lease is lost or the process stops; the term must return soon after. The lease is given back then.
        A term that ends with Conflict (`not_leader`) has met its successor; anything else that it raises ends `lead` too.
        """
        while not stopping.is_set():
            if await self._take():
                await self._run_term(term, stopping)
            else:
                await _wait(stopping, self._life_s / 3)

    async def guard(self, connection: AsyncConnection) -> None:
        """In the leader's transaction: raises Conflict (`not_leader`) unless the row still has this epoch; holds it until the commit.

        The lock stands in the way of another who takes the lease, and not of our own renewing, however long the transaction lasts.
        """
        found = await connection.execute(
            text(f"SELECT epoch FROM {self._schema}.lease WHERE name = :name FOR KEY SHARE"),
            {"name": self._name},
        )
        if found.scalar_one_or_none() != self.epoch:
            raise Conflict(NOT_LEADER, f"the lease {self._name} has passed to another")

    async def _run_term(
        self,
        term: Callable[[int, asyncio.Event], Awaitable[None]],
        stopping: asyncio.Event,
    ) -> None:
        ended = asyncio.Event()
        epoch = self.epoch
        _log.info("a lease was taken", lease=self._name, epoch=epoch)
        work = asyncio.ensure_future(term(epoch, ended))
        stop = asyncio.ensure_future(stopping.wait())
        keep = asyncio.ensure_future(self._keep())
        try:
            await asyncio.wait({work, stop, keep}, return_when=asyncio.FIRST_COMPLETED)
            if keep.done() and (failure := keep.exception()) is not None:
                _log.error("renewing a lease failed", lease=self._name, exc_info=failure)
        finally:
            ended.set()
            stop.cancel()
            try:
                await work
            except Conflict as error:
                if error.code != NOT_LEADER:
                    raise
                _log.warning("a term met its successor", lease=self._name, epoch=epoch)
            finally:
                keep.cancel()
                await asyncio.gather(keep, return_exceptions=True)
                await self._give_back()

    async def _keep(self) -> None:
        """Renews, sooner again after a failure, and returns when the lease has run out or passed on."""
        pause_s = self._life_s / 3
        while (left_s := self._left_s()) > 0:
            await asyncio.sleep(min(pause_s, left_s))
            left_s = self._left_s()
            if left_s <= 0:
                break
            renewed = await self._renew(min(self._life_s / 3, left_s))
            pause_s = self._life_s / 3 if renewed else self._life_s / 15
        _log.warning("a lease was lost", lease=self._name)

    def _left_s(self) -> float:
        return self._held.until - self._clock.monotonic() if self._held is not None else 0.0

    async def _take(self) -> bool:
        parameters = {"name": self._name, "holder": self._holder, "life": self._life_s}
        try:
            async with asyncio.timeout(self._life_s), self._database.system() as connection:
                # The lock waits for a leader's transaction under `guard`; one that is not over yet is not looked at.
                await connection.execute(
                    text(
                        f"SELECT 1 FROM {self._schema}.lease WHERE name = :name AND expires_at < now() FOR UPDATE"
                    ),
                    {"name": self._name},
                )
                # Counted from here, by both clocks: a lease that was waited for is not spent when it comes.
                asked = self._clock.monotonic()
                found = await connection.execute(
                    text(
                        f"INSERT INTO {self._schema}.lease AS l (name, holder, epoch, expires_at)"
                        " VALUES (:name, :holder, 1, clock_timestamp() + make_interval(secs => :life))"
                        " ON CONFLICT (name) DO UPDATE SET holder = :holder, epoch = l.epoch + 1,"
                        " expires_at = clock_timestamp() + make_interval(secs => :life)"
                        " WHERE l.expires_at < now() RETURNING epoch"
                    ),
                    parameters,
                )
                epoch = found.scalar_one_or_none()
        except (Transient, TimeoutError) as error:
            self._outages.failed(_ASKING, error)
            return False
        self._outages.worked(_ASKING)
        self._held = Held(self._name, epoch, asked + self._life_s) if epoch is not None else None
        return self._held is not None

    async def _renew(self, timeout_s: float) -> bool:
        """Extends the lease in hand. False: that failed, and it is left to run out, or has passed to another."""
        held, asked = self._held, self._clock.monotonic()
        if held is None:
            return False
        metrics.lease_age(self._name, asked - (held.until - self._life_s))
        try:
            async with asyncio.timeout(timeout_s), self._database.system_autocommit() as connection:
                # Past SQLAlchemy: it is asked each second as long as the platform lives.
                found = await Driver.of(connection).fetch(
                    f"UPDATE {self._schema}.lease SET expires_at = now() + make_interval(secs => $1)"
                    " WHERE name = $2 AND holder = $3 AND epoch = $4 RETURNING epoch",
                    *(self._life_s, self._name, self._holder, held.epoch),
                )
                renewed = bool(found)
        except (Transient, TimeoutError) as error:
            self._outages.failed(_ASKING, error)
            return False
        self._outages.worked(_ASKING)
        self._held = Held(held.name, held.epoch, asked + self._life_s) if renewed else None
        return renewed

    async def _give_back(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        try:
            async with asyncio.timeout(self._life_s), self._database.system() as connection:
                await connection.execute(
                    text(
                        f"UPDATE {self._schema}.lease SET expires_at = now() - interval '1 second'"
                        " WHERE name = :name AND holder = :holder AND epoch = :epoch"
                    ),
                    {"name": self._name, "holder": self._holder, "epoch": held.epoch},
                )
        except (Transient, TimeoutError) as error:
            _log.warning("a lease was left to run out", lease=self._name, error=repr(error))


def lease_table(op: Any, schema: str) -> None:
    """In a migration: the table of the schema's leases."""
    op.execute(
        f"CREATE TABLE {schema}.lease (name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL,"
        " expires_at timestamptz NOT NULL)"
    )
    open_to_system(op, schema, "lease")


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
