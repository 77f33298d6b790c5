"""A lease in Postgres: one holder at a time, with an epoch that rises at each change of holder and stands in the guard of every write.

Judged by Postgres' clock alone. The holder counts its own time by its monotonic clock from before it asked, so it stops before the
row's deadline; a holder that was frozen finds its epoch passed, because its writes carry it.
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
_ASKING = "asking for a lease"
_GRACE_S = 3.0
"""How long the jobs of a term may take to finish. A term that fails takes as long too, so that terms do not follow each other at once."""
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
        self._table = tables_of(schema).lease
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
        here = self._table.c
        query = select(here.holder, here.expires_at, (here.expires_at >= func.now()).label("lasts"))
        async with self._database.system_autocommit() as connection:
            found = (await connection.execute(query.where(here.name == self._name))).one_or_none()
        if found is None:
            return f"no process has taken the lease {self._name} yet"
        if found.lasts:
            return None
        return (
            f"no process leads: the lease {self._name} of {found.holder} ended at"
            f" {found.expires_at:%H:%M:%S} UTC"
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
        query = select(self._table.c.epoch).where(self._table.c.name == self._name)
        if await connection.scalar(query.with_for_update(read=True, key_share=True)) != self.epoch:
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
                # The lock waits for a leader's transaction under `guard`; one that is not over yet is not looked at.
                await connection.execute(free.with_for_update())
                # Counted from here, by both clocks: a lease that was waited for is not spent when it comes.
                asked = self._clock.monotonic()
                epoch = await connection.scalar(take)
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
            _log.warning("a lease was left to run out", lease=self._name, error=repr(error))

    def _ending_in(self, seconds: float, epoch: int) -> Update:
        """Changes when the lease ends, as long as this process holds it."""
        here = self._table.c
        mine = (here.name == self._name, here.holder == self._holder, here.epoch == epoch)
        return update(self._table).where(*mine).values(expires_at=func.now() + timedelta(seconds=seconds))


def lease_table(op: Any, schema: str) -> None:
    """In a migration: the table of the schema's leases."""
    op.execute(
        f"CREATE TABLE {schema}.lease (name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL,"
        " expires_at timestamptz NOT NULL)"
    )
    open_to_system(op, schema, "lease")


async def run_term(
    jobs: Sequence[Coroutine[object, object, None]], ended: asyncio.Event, over: asyncio.Event
) -> None:
    """Run the jobs of a leader's term until it has `ended`, or one of them ends or fails.

    The others are told by `over` then: they finish what is in hand, and are cancelled after a grace. A job's failure is raised.
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
