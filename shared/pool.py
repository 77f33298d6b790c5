"""Connections to Postgres that are kept, and lent to one user at a time.

SQLAlchemy's own pool takes 0.15 ms of a processor for each loan, where a statement takes 0.06 (decision 0244). Neighbours: `engines` says what is
told to the server on each connection; `db` and `looks` borrow them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from shared.driver import driver_of

_PATIENCE_S = 30.0
"""So long a place is waited for."""


class Pool:
    """At most `most` connections of an engine, made as they are needed and kept, since making one costs more than a hundred requests (decision 0174); the server
    ends what nobody has used for long (`engines`)."""

    def __init__(self, engine: AsyncEngine, most: int) -> None:
        self._engine = engine
        self._most = most
        self._made = 0
        self._places = asyncio.Semaphore(most)
        self._resting: list[AsyncConnection] = []
        """The one that was used last is the last."""
        self._is_closed = False

    @asynccontextmanager
    async def lent(
        self, is_apt: Callable[[AsyncConnection], bool] | None = None
    ) -> AsyncIterator[AsyncConnection]:
        """A connection without a transaction. One on which something was given up is not used again.

        Args:
            is_apt: which of those that rest is preferred; where none is, one more is made, and where there are as many as there may be, the one that has
                rested longest is lent. None: the one that was used last, so that the others can be ended.

        Raises:
            TimeoutError: All were lent for half a minute.
        """
        await self._take_place()
        try:
            connection = await self._rested(is_apt) or await self._make()
            driver = driver_of(connection)
            try:
                yield connection
            except Exception:
                raise
            except BaseException:
                # Cancelled, perhaps because Postgres hangs: nothing more is waited for, and nothing left half done.
                driver.terminate()
                raise
            finally:
                await self._take_back(connection, driver)
        finally:
            self._places.release()

    async def close(self) -> None:
        """Ends those that rest, and each that is lent when it comes back."""
        self._is_closed = True
        while self._resting:
            await self._end(self._resting.pop())
        await self._engine.dispose()

    async def _take_place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        async with asyncio.timeout(_PATIENCE_S):
            await self._places.acquire()

    async def _rested(self, is_apt: Callable[[AsyncConnection], bool] | None) -> AsyncConnection | None:
        while (place := self._place_of_next(is_apt)) is not None:
            connection = self._resting.pop(place)
            if not driver_of(connection).is_closed():
                return connection
            await self._end(connection)
        return None

    def _place_of_next(self, is_apt: Callable[[AsyncConnection], bool] | None) -> int | None:
        if not self._resting:
            return None
        if is_apt is None:
            return -1
        for place in reversed(range(len(self._resting))):
            if is_apt(self._resting[place]):
                return place
        return 0 if self._made >= self._most else None

    async def _make(self) -> AsyncConnection:
        self._made += 1  # before: others may make one meanwhile
        try:
            return await self._engine.connect()
        except BaseException:
            self._made -= 1
            raise

    async def _end(self, connection: AsyncConnection) -> None:
        self._made -= 1
        await connection.close()

    async def _take_back(self, connection: AsyncConnection, driver: Any) -> None:
        if self._is_closed or connection.invalidated or driver.is_closed():
            driver.terminate()
            await self._end(connection)
            return
        if connection.in_transaction():
            # SQLAlchemy's own, of which the server knows nothing: it begins one with its first statement.
            await connection.rollback()
        self._resting.append(connection)
