"""Engines: how many connections a service has to Postgres, and what is said on each of them when it is made."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

NOTHING: Mapping[str, str] = MappingProxyType({})
_IDLE_MOST_MS = 10_000
"""A process that is frozen or cut off in a transaction keeps its locks no longer, a leader's lease among them."""
_UNUSED_MOST_MS = 600_000
"""Who was needed at a peak alone goes after so long; the pool gives out the one that was used last, so that the others can rest."""


def make_engine(url: str, size: int, service: str, more: Mapping[str, str] = NOTHING) -> AsyncEngine:
    """A pool of at most `size` connections, made as they are needed; `more`: what else the server is told of each.

    One that was made is kept: to sign in, to learn the types and to prepare the statements anew costs more than a hundred requests, and what comes above
    a smaller number comes while there is most to do (decision 0174).
    """
    arguments = {
        "server_settings": {
            "application_name": f"muster-{service}",
            "jit": "off",
            "idle_in_transaction_session_timeout": str(_IDLE_MOST_MS),
            "idle_session_timeout": str(_UNUSED_MOST_MS),
            **more,
        },
        "timeout": 10,
    }
    engine = create_async_engine(
        driver_url(url),
        isolation_level="AUTOCOMMIT",
        pool_size=size,
        max_overflow=0,
        pool_use_lifo=True,
        connect_args=arguments,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    return engine


def driver_url(url: str) -> str:
    """The address as SQLAlchemy is given it."""
    return url.replace("postgresql://", "postgresql+asyncpg://", 1)


def _refuse_closed(connection: Any, *_: object) -> None:
    """The pool then makes a new one: what was closed while nobody used it fails nobody."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError("it was closed")
