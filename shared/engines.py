"""Engines: what is said to Postgres on each connection when it is made."""

from collections.abc import Mapping
from types import MappingProxyType

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

NOTHING: Mapping[str, str] = MappingProxyType({})
_IDLE_MOST_MS = 10_000
"""A process that is frozen or cut off in a transaction keeps its locks no longer, a leader's lease among them."""
_UNUSED_MOST_MS = 600_000
"""Who was needed at a peak alone goes after so long; the pool gives out the one that was used last, so that the others can rest."""


def make_engine(url: str, service: str, more: Mapping[str, str] = NOTHING) -> AsyncEngine:
    """Makes connections, of which `shared.pool` keeps some; `more`: what else the server is told of each."""
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
    return create_async_engine(
        driver_url(url), isolation_level="AUTOCOMMIT", poolclass=NullPool, connect_args=arguments
    )


def driver_url(url: str) -> str:
    """The address as SQLAlchemy is given it."""
    return url.replace("postgresql://", "postgresql+asyncpg://", 1)
