"""Postgres: an engine with one connection pool per role (tenant under row-level security, system), and helpers for migrations.

`shared.bus.units` opens transactions for handlers; each service's `store` modules hold the tables; `shared.database.upgrading` runs the migrations.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Self, cast
from uuid import UUID

import asyncpg
from asyncpg import PostgresError
from pydantic import SecretStr
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import (
    DBAPIError,
    DisconnectionError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from shared.database.driver import AsyncpgDriver, driver_of
from shared.errors import Rejected, Transient
from shared.ids import SITE, TenantId
from shared.settings import PostgresSettings
from shared.telemetry import metrics

_CONNECT_TIMEOUT_S = 10
_POOL_TIMEOUT_S = 10
_PREPARED_STATEMENTS = 500
"""Per connection: more than a service has statements, since preparing one again costs a round trip."""
_SERVER_SETTINGS = {
    "jit": "off",
    # Bounds how long a process frozen in a transaction keeps its locks, such as a leader's lease.
    "idle_in_transaction_session_timeout": "10000",
    # Closes connections opened for a peak. The pool is LIFO, so that connections beyond the usual load stay idle.
    "idle_session_timeout": "600000",
}
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SETTING_NAME = re.compile(r"[a-z_]+")
_SETTING_VALUE = re.compile(r"[0-9a-f,/-]*")
_DISK_FULL = "53100"
_RETRIED_CLASSES = {"08", "40", "53", "57"}
"""Connection errors, rollbacks, insufficient resources and operator intervention: a retry may succeed."""
_UNSTORABLE_CLASSES = ("22", "23")
"""Errors caused by the data: a NUL in a text, a constraint violation."""
_RETRIED_STATES = {"25P03", "55P03"}
_NOT_SET_UP_STATES = {"28000", "28P01", "3D000"}
"""Missing role or database, or a wrong password: perhaps not set up yet, so the process keeps retrying."""
_LOST = (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Errors that the driver raises on a lost connection, or one lost in the middle of a reply."""
_READ_ONLY_STATE = "25006"
"""A standby, or a server made read-only by its operator or a full disk."""
_PROBE_ROWS = 10_000


class _Pool:
    """Engine of one role. Connections are in autocommit mode: transactions are begun explicitly, together with their settings in one message."""

    def __init__(self, url: SecretStr, service: str, role: str, size: int) -> None:
        self._engine = _make_engine(url.get_secret_value(), service, size)
        self._role, self._size = role, size
        # SQLAlchemy's queue does not wake waiters if a connection cannot be made.
        self._free = asyncio.Semaphore(size)
        pool = cast(QueuePool, self._engine.pool)
        self._wait_time = metrics.watch_connection_pool(
            f"{service}-{role}", size, pool.checkedout, pool.checkedin
        )

    @asynccontextmanager
    async def transaction(self, begin: str) -> AsyncIterator[AsyncConnection]:
        """Open a transaction with the statements `begin`: commit at the end, roll back on an error."""
        async with self.autocommit() as connection:
            driver = driver_of(connection)
            try:
                await driver.execute(begin)
                yield connection
                await driver.execute("COMMIT")
            except Exception:
                await _roll_back(driver)
                raise

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection without a transaction: each statement commits separately."""
        async with translated(), self._slot():
            connection = await self._engine.connect()
            driver = driver_of(connection)
            try:
                yield connection
            except Exception:
                raise
            except BaseException:
                # Cancelled, perhaps because Postgres hangs: do not wait, and return no open transaction to the pool.
                driver.terminate()
                raise
            finally:
                await connection.close()

    async def close(self) -> None:
        await self._engine.dispose()

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Wait for one of the pool's connections."""
        started_s = time.perf_counter()
        try:
            async with asyncio.timeout(_POOL_TIMEOUT_S):
                await self._free.acquire()
        except TimeoutError as error:
            raise Transient(
                f"no connection to Postgres became free within {_POOL_TIMEOUT_S} s: all {self._size} of the {self._role} role"
                " are in use; send fewer requests at once, or raise MUSTER_POSTGRES__POOL_SIZE",
                retry_after_s=1.0,
            ) from error
        finally:
            self._wait_time.observe(time.perf_counter() - started_s)
        try:
            yield
        finally:
            self._free.release()


class Database:
    """Opens transactions as the tenant role or the system role. Errors that may pass become Transient.

    Each role has a pool of `pool_size` connections. Do not open a second session within one: callers that hold all connections would deadlock.
    """

    def __init__(self, settings: PostgresSettings, service: str) -> None:
        self._tenant = _Pool(settings.tenant_url, service, "tenant", settings.pool_size)
        self._system = _Pool(settings.system_url, service, "system", settings.pool_size)

    def tenant(
        self, tenant: TenantId | UUID, within: Mapping[str, str] | None = None, first: str = ""
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """Open a transaction that sees only one tenant's rows; commit at the end, roll back on an error.

        Args:
            within: Further settings for row-level security policies, by name: values of hexadecimal digits and `,/-`.
            first: A constant statement to run first, such as one that takes a lock.

        Raises:
            ValueError: A value of `within` has other characters.
        """
        return self._begin("BEGIN", tenant, within, first)

    def read(
        self, tenant: TenantId | UUID, within: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """Open a read session: a snapshot of what `tenant` sees. Statements that write fail."""
        return self._begin(_READ, tenant, within)

    def system(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Open a transaction over all tenants: for relay, scheduling cycle and reconcilers, and for the site's entities."""
        return self._system.transaction("BEGIN")

    def system_autocommit(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Open a connection over all tenants in autocommit mode: a process that freezes between statements holds no lock."""
        return self._system.autocommit()

    def _begin(
        self, begin: str, tenant: TenantId | UUID, within: Mapping[str, str] | None, first: str = ""
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """Send BEGIN, settings and `first` in one message: separate statements would each cost a round trip per transaction."""
        if tenant == SITE and not within:
            return self._system.transaction(f"{begin}; {first}")
        settings = _set_local({"tenant": tenant.hex, **(within or {})})
        return self._tenant.transaction(f"{begin}; {settings}; {first}")

    async def probe(self, schema: str) -> str | None:
        """Return None if the database accepts a write.

        Changes no row. A read-only server rejects an UPDATE of zero rows. Committing a WAL record waits for the disk and any synchronous standby. Rows
        that exceed `work_mem` create a temporary file, which a full disk rejects.

        Raises:
            Transient: The database accepts no writes; with the reason.
        """
        async with self._system.transaction("BEGIN; SET LOCAL work_mem = '64kB'") as connection:
            await AsyncpgDriver.of(connection).fetch(
                f"WITH written AS (UPDATE {schema}.outbox SET published_at = published_at WHERE false)"
                " SELECT pg_logical_emit_message(true, 'muster.health', ''),"
                f" (SELECT count(*) FROM generate_series(1, {_PROBE_ROWS}))"
            )
        return None

    async def close(self) -> None:
        await self._tenant.close()
        await self._system.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def protect(op: Any, schema: str, table: str) -> None:
    """In a migration: force row-level security on a tenant table, and grant it to the schema's tenant and system roles."""
    name = f'{schema}."{table}"'
    op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
    mine = "tenant = nullif(current_setting('muster.tenant', true), '')::uuid"
    op.execute(
        f"CREATE POLICY tenant_isolation ON {name} TO {schema}_tenant USING ({mine}) WITH CHECK ({mine})"
    )
    op.execute(f"CREATE POLICY system_access ON {name} TO {schema}_system USING (true) WITH CHECK (true)")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {schema}_tenant, {schema}_system")


def open_to_system(op: Any, schema: str, table: str) -> None:
    """In a migration: grant a table without tenants to the system role only."""
    op.execute(f'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}."{table}" TO {schema}_system')


def delivery_tables(op: Any, schema: str) -> None:
    """In a migration: create inbox and outbox for the delivery loop."""
    op.execute(
        f"CREATE TABLE {schema}.outbox ("
        " id uuid PRIMARY KEY, position bigint GENERATED ALWAYS AS IDENTITY, tenant uuid NOT NULL,"
        " subject text NOT NULL, headers text NOT NULL, payload bytea NOT NULL,"
        " created_at timestamptz NOT NULL DEFAULT now(), published_at timestamptz,"
        " stream text, stream_created timestamptz, stream_sequence bigint, entity text)"
    )
    op.execute(f"CREATE INDEX outbox_waiting ON {schema}.outbox (position) WHERE published_at IS NULL")
    op.execute(f"CREATE INDEX outbox_age ON {schema}.outbox (created_at)")
    remember_entities(op, schema)
    op.execute(
        f"CREATE TABLE {schema}.inbox ("
        " tenant uuid NOT NULL, consumer text NOT NULL, message_id uuid NOT NULL,"
        " received_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant, consumer, message_id))"
    )
    op.execute(f"CREATE INDEX inbox_age ON {schema}.inbox (received_at)")
    for table in ("outbox", "inbox"):
        protect(op, schema, table)


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Turn driver errors that may pass into Transient."""
    try:
        yield
    except (*_LOST, TimeoutError) as error:
        raise Transient(f"Postgres does not respond: {error}", retry_after_s=0.5) from error
    except (OperationalError, InterfaceError) as error:
        raise Transient(f"Postgres rejected the operation: {error.orig}", retry_after_s=0.2) from error
    except (DBAPIError, PostgresError) as error:
        # While a connection is made, driver errors are not yet wrapped by SQLAlchemy.
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None)
        if state == _DISK_FULL:
            raise Transient(
                "the database's disk is full; free some space, and operations resume automatically",
                retry_after_s=2.0,
            ) from error
        if state == _READ_ONLY_STATE:
            raise Transient(
                "the database is read-only; operations resume automatically once it accepts writes",
                retry_after_s=1.0,
            ) from error
        if state in _NOT_SET_UP_STATES:
            raise Transient(f"Postgres rejected the login: {cause}", retry_after_s=1.0) from error
        if _is_retried(state) or (isinstance(error, DBAPIError) and error.connection_invalidated):
            raise Transient(f"Postgres asks to retry: {cause}", retry_after_s=0.1) from error
        raise


def _is_retried(state: str | None) -> bool:
    return state is not None and (state[:2] in _RETRIED_CLASSES or state in _RETRIED_STATES)


def deletion_tables(op: Any, schema: str) -> None:
    """In a migration: create the tables of pending deletions, and of deleted ids, which outlive their tenant (`shared.bus.data_deletion`)."""
    op.execute(
        f"CREATE TABLE {schema}.tombstone (id uuid PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())"
    )
    op.execute(f"GRANT SELECT, INSERT ON {schema}.tombstone TO {schema}_tenant, {schema}_system")
    op.execute(
        f"CREATE TABLE {schema}.deletion_request (operation uuid PRIMARY KEY, tenant uuid NOT NULL, scope text NOT NULL,"
        " target uuid NOT NULL, workspace text, is_forced boolean NOT NULL, by text NOT NULL, asked_at timestamptz NOT NULL)"
    )
    protect(op, schema, "deletion_request")


def remember_entities(op: Any, schema: str) -> None:
    """In a migration: record which entity's state an outbox row holds, so that the newest of each is kept. Idempotent."""
    op.execute(f"ALTER TABLE {schema}.outbox ADD COLUMN IF NOT EXISTS entity text")
    op.execute(
        f"CREATE INDEX IF NOT EXISTS outbox_entity ON {schema}.outbox (entity, position) WHERE entity IS NOT NULL"
    )


def driver_url(url: str) -> str:
    """Return the URL in SQLAlchemy's format."""
    return url.replace("postgresql://", "postgresql+asyncpg://", 1)


def _make_engine(url: str, service: str, size: int) -> AsyncEngine:
    engine = create_async_engine(
        driver_url(url),
        isolation_level="AUTOCOMMIT",
        pool_size=size,
        max_overflow=0,
        pool_use_lifo=True,
        connect_args={
            "server_settings": {"application_name": f"muster-{service}", **_SERVER_SETTINGS},
            "timeout": _CONNECT_TIMEOUT_S,
            "prepared_statement_cache_size": _PREPARED_STATEMENTS,
        },
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    event.listen(engine.sync_engine, "handle_error", _reject_unstorable)
    return engine


def _reject_unstorable(context: ExceptionContext) -> None:
    """Raise Rejected at the statement for data that Postgres cannot store, so that a handler can answer within its transaction."""
    state = getattr(context.original_exception, "sqlstate", None)
    if state is not None and state.startswith(_UNSTORABLE_CLASSES):
        raise Rejected("unstorable", f"Postgres cannot store this: {context.original_exception}")


def _refuse_closed(connection: Any, *_: object) -> None:
    """Make the pool replace a closed connection. Unlike `pool_pre_ping` this needs no round trip."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError("this connection is closed")


def _set_local(settings: Mapping[str, str]) -> str:
    for name, value in settings.items():
        if not _SETTING_VALUE.fullmatch(value) or not _SETTING_NAME.fullmatch(name):
            raise ValueError(f"{name} = {value!r} is not allowed as a transaction setting")
    return "; ".join(f"SET LOCAL muster.{name} = '{value}'" for name, value in settings.items())


async def _roll_back(driver: Any) -> None:
    """Roll back; if that fails, terminate the connection."""
    ended = False
    try:
        with suppress(PostgresError, *_LOST):
            await driver.execute("ROLLBACK")
            ended = True
    finally:
        if not ended:
            driver.terminate()
