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


def make_engine(url: str, size: int, service: str, more: Mapping[str, str] = NOTHING) -> AsyncEngine:
    """A pool of `size` connections, and as many again for a while; `more`: what else the server is told of each."""
    arguments = {
        "server_settings": {
            "application_name": f"muster-{service}",
            "jit": "off",
            "idle_in_transaction_session_timeout": str(_IDLE_MOST_MS),
            **more,
        },
        "timeout": 10,
    }
    engine = create_async_engine(
        driver_url(url),
        isolation_level="AUTOCOMMIT",
        pool_size=size,
        max_overflow=size,
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
