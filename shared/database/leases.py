"""Leases in Postgres: one holder at a time, with an epoch that increases with each new holder and guards every write.

Expiry is decided by Postgres' clock. The holder measures its time with its monotonic clock from before the request, so it stops before the
row expires. A holder that was frozen fails at its next write, because the write checks the epoch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from sqlalchemy import Update, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.clock import Clock
from shared.database.engine import Database, open_to_system
from shared.database.tables import tables_of
from shared.errors import Conflict, Transient
from shared.runtime.outages import Outages
from shared.telemetry import metrics

NOT_LEADER = "not_leader"
_ASKING = "acquiring a lease"
_GRACE_S = 3.0
"""How long the jobs of a term may take to finish. A failed term also takes this long, so that terms do not restart at once."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Held:
    """A held lease: valid while the monotonic clock is before `until`."""

    name: str
    epoch: int
    until: float


class Lease:
    """Acquires, renews and releases one named lease of a service's schema.

    Args:
        life_s: Time from the last renewal until another process may acquire it. Renewed at a third of it.
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
        self._table = tables_of(schema).lease
        self._name = name
        self._holder = holder
        self._clock = clock
        self._life_s = life_s
        self._held: Held | None = None
        self._outages = Outages(lease=name)

    @property
    def epoch(self) -> int:
        """Epoch of the held lease. Raises Conflict (`not_leader`) if there is none or it has expired."""
        if self._held is None or self._clock.monotonic() >= self._held.until:
            raise Conflict(NOT_LEADER, f"this process does not hold the lease {self._name}")
        return self._held.epoch

    @property
    def held(self) -> bool:
        return self._held is not None and self._clock.monotonic() < self._held.until

    async def vacancy(self) -> str | None:
        """Return why there is no leader; None while this process or another holds the lease. For health checks.

        Raises:
            Transient: The database does not respond.
        """
        if self.held:
            return None
        here = self._table.c
        query = select(here.holder, here.expires_at, (here.expires_at >= func.now()).label("is_valid"))
        async with self._database.system_autocommit() as connection:
            found = (await connection.execute(query.where(here.name == self._name))).one_or_none()
        if found is None:
            return f"no process has acquired the lease {self._name} yet"
        if found.is_valid:
            return None
        return (
            f"there is no leader: the lease {self._name} of {found.holder} expired at"
            f" {found.expires_at:%H:%M:%S} UTC"
        )

    async def lead(
        self,
        term: Callable[[int, asyncio.Event], Awaitable[None]],
        stopping: asyncio.Event,
    ) -> None:
        """Acquire the lease, run `term(epoch, ended)` while it is held, and repeat until `stopping`.

        `ended` is set when the lease is lost or the process stops; the term must return soon after, and the lease is released. A term may end with
        Conflict (`not_leader`) if it has a successor; any other exception ends `lead` too.
        """
        while not stopping.is_set():
            if await self._take():
                await self._run_term(term, stopping)
            else:
                await _wait(stopping, self._life_s / 3)

    async def guard(self, connection: AsyncConnection) -> None:
        """Check within the leader's transaction that the row still has this epoch, and lock it until the commit.

        The lock blocks other processes from acquiring the lease, but not this process from renewing it, however long the transaction lasts.

        Raises:
            Conflict: Another process holds the lease (`not_leader`).
        """
        query = select(self._table.c.epoch).where(self._table.c.name == self._name)
        if await connection.scalar(query.with_for_update(read=True, key_share=True)) != self.epoch:
            raise Conflict(NOT_LEADER, f"another process holds the lease {self._name}")

    async def _run_term(
        self,
        term: Callable[[int, asyncio.Event], Awaitable[None]],
        stopping: asyncio.Event,
    ) -> None:
        ended = asyncio.Event()
        epoch = self.epoch
        _log.info("a lease was acquired", lease=self._name, epoch=epoch)
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
                _log.warning(
                    "a term ended because another process holds the lease", lease=self._name, epoch=epoch
                )
            finally:
                keep.cancel()
                await asyncio.gather(keep, return_exceptions=True)
                await self._give_back()

    async def _keep(self) -> None:
        """Renew the lease, sooner after a failure; return when it has expired or another process holds it."""
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
        here = self._table.c
        free = select(here.name).where(here.name == self._name, here.expires_at < func.now())
        until = func.clock_timestamp() + timedelta(seconds=self._life_s)
        take = (
            insert(self._table)
            .values(name=self._name, holder=self._holder, epoch=1, expires_at=until)
            .on_conflict_do_update(
                index_elements=["name"],
                set_={"holder": self._holder, "epoch": here.epoch + 1, "expires_at": until},
                where=here.expires_at < func.now(),
            )
            .returning(here.epoch)
        )
        try:
            async with asyncio.timeout(self._life_s), self._database.system() as connection:
                # The lock waits for a leader's transaction under `guard`.
                await connection.execute(free.with_for_update())
                # Both clocks start here: time spent waiting for the lock must not shorten the lease.
                asked = self._clock.monotonic()
                epoch = await connection.scalar(take)
        except (Transient, TimeoutError) as error:
            self._outages.failed(_ASKING, error)
            return False
        self._outages.worked(_ASKING)
        self._held = Held(self._name, epoch, asked + self._life_s) if epoch is not None else None
        return self._held is not None

    async def _renew(self, timeout_s: float) -> bool:
        """Extend the held lease. False if that failed, and the lease will expire, or another process holds it."""
        held, asked = self._held, self._clock.monotonic()
        if held is None:
            return False
        metrics.lease_age(self._name, asked - (held.until - self._life_s))
        try:
            async with asyncio.timeout(timeout_s), self._database.system_autocommit() as connection:
                renewed = (await connection.execute(self._ending_in(self._life_s, held.epoch))).rowcount > 0
        except (Transient, TimeoutError) as error:
            self._outages.failed(_ASKING, error)
            return False
        self._outages.worked(_ASKING)
        self._held = Held(held.name, held.epoch, asked + self._life_s) if renewed else None
        return renewed

    async def _give_back(self) -> None:
        held, self._held = self._held, None
        metrics.lease_age(self._name, 0.0)
        if held is None:
            return
        try:
            async with asyncio.timeout(self._life_s), self._database.system() as connection:
                await connection.execute(self._ending_in(-1.0, held.epoch))
        except (Transient, TimeoutError) as error:
            _log.warning("a lease was not released and will expire", lease=self._name, error=repr(error))

    def _ending_in(self, seconds: float, epoch: int) -> Update:
        """Set when the lease expires, if this process holds it."""
        here = self._table.c
        mine = (here.name == self._name, here.holder == self._holder, here.epoch == epoch)
        return update(self._table).where(*mine).values(expires_at=func.now() + timedelta(seconds=seconds))


def lease_table(op: Any, schema: str) -> None:
    """In a migration: create the schema's lease table."""
    op.execute(
        f"CREATE TABLE {schema}.lease (name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL,"
        " expires_at timestamptz NOT NULL)"
    )
    open_to_system(op, schema, "lease")


async def run_term(
    jobs: Sequence[Coroutine[object, object, None]], ended: asyncio.Event, over: asyncio.Event
) -> None:
    """Run the jobs of a leader's term until it has `ended`, or one of them ends or fails.

    Sets `over` to stop the other jobs: they finish their current work and are cancelled after a grace period. Raises a job's failure.
    """
    tasks = [asyncio.create_task(job) for job in (*jobs, ended.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        over.set()
        _, slow = await asyncio.wait(tasks, timeout=_GRACE_S)
        for task in slow:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
