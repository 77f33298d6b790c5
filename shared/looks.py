"""Statements without a transaction around: what a connection may see stands in its session, and is said anew only where the last was another's.

Neighbours: `pool`, which prefers a connection that was told the same; `db`. Those for looks are told by Postgres itself to change nothing.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy.ext.asyncio import AsyncConnection

from shared.driver import driver_of
from shared.pool import Pool

READ_ONLY = {"default_transaction_read_only": "on"}
_VALUE = re.compile(r"[0-9a-f,/-]*")
_NAME = re.compile(r"[a-z_]+")


def settings_of(view: Mapping[str, str], scope: str) -> str:
    """The statements that set what policies of row-level security read; `scope`: LOCAL for a transaction, SESSION for a session.

    Raises:
        ValueError: A value is more than hexadecimal digits and `,/-`.
    """
    for name, value in view.items():
        if not _VALUE.fullmatch(value) or not _NAME.fullmatch(name):
            raise ValueError(f"{name} = {value!r} cannot stand in a setting of a transaction")
    return "; ".join(f"SET {scope} muster.{name} = '{value}'" for name, value in view.items())


class Looks:
    """Opens connections that see one view each, and remembers of each which."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._views: WeakKeyDictionary[Any, Mapping[str, str]] = WeakKeyDictionary()

    @asynccontextmanager
    async def of(self, view: Mapping[str, str]) -> AsyncIterator[AsyncConnection]:
        """A connection on which each statement is a transaction by itself that sees `view` (settings by name)."""
        async with self._pool.lent(lambda one: self._views.get(driver_of(one)) == view) as connection:
            await self._show(driver_of(connection), view)
            yield connection

    async def close(self) -> None:
        await self._pool.close()

    async def _show(self, driver: Any, view: Mapping[str, str]) -> None:
        # Taken out before it is set: of what fails in between nothing is known, and all is said again.
        before = self._views.pop(driver, {})
        if before != view:
            await driver.execute(settings_of(dict.fromkeys(before, "") | dict(view), "SESSION"))
        self._views[driver] = view
