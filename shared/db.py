"""Postgres: two pools for each service (tenant role under row-level security, system role for its loops), and the words of its migrations.

Neighbours: shared.bus.units opens transactions for handlers; `store.py` of each service holds the tables; shared.upgrading runs the migrations.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Self
from uuid import UUID

import asyncpg
from asyncpg import PostgresError
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.driver import Driver, driver_of
from shared.engines import make_engine
from shared.errors import Rejected, Transient
from shared.ids import SITE, TenantId
from shared.looks import READ_ONLY, Looks, settings_of
from shared.pool import Pool
from shared.settings import PostgresSettings

_DISK_FULL = "53100"
_RETRIED_CLASSES = {"08", "40", "53", "57"}
"""Connection, rollback, resources and an operator's intervention: what Postgres may do the next time."""
_UNSTORABLE_CLASS = "22"
"""What the data itself is to blame for, such as a NUL in a text."""
_RETRIED_STATES = {"25P03", "55P03"}
_NOT_SET_UP_STATES = {"28000", "28P01", "3D000"}
"""Role or database are missing, or the password is another: set up later, perhaps, but never an end to a process."""
_LOST = (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What the driver raises on a connection that is gone or was torn in the middle of an answer."""
_READ_ONLY_STATE = "25006"
"""A standby, or a server that its operator or a full disk has made read-only."""
_PROBE_ROWS = 10_000


class Database:
    """Opens transactions as the tenant's role or as the system role. Driver trouble becomes Transient."""

    def __init__(self, settings: PostgresSettings, service: str) -> None:
        tenant, system = settings.tenant_url.get_secret_value(), settings.system_url.get_secret_value()
        self._tenant = Pool(make_engine(tenant, service), settings.pool_size)
        self._system = Pool(make_engine(system, service), settings.pool_size)
        self._looks = Looks(Pool(make_engine(tenant, service, READ_ONLY), settings.pool_size))
        self._sayings = Looks(Pool(make_engine(tenant, service), settings.pool_size))

    @asynccontextmanager
    async def tenant(
        self, tenant: TenantId | UUID, within: Mapping[str, str] | None = None, first: str = ""
    ) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one tenant's rows only; commits at the end, rolls back on an error.

        Args:
            within: what further narrows the rows, by the setting that policies of the service's tables read: hexadecimal digits and `,/-`.
            first: a statement of ours without arguments, such as a lock that is taken before anything is looked at.
        """
        # In one message with the BEGIN: a statement of its own would be a round trip of every transaction.
        if tenant == SITE and not within:
            async with _transaction(self._system, f"BEGIN; {first}") as connection:
                yield connection
            return
        view = settings_of({"tenant": tenant.hex, **(within or {})}, "LOCAL")
        async with _transaction(self._tenant, f"BEGIN; {view}; {first}") as connection:
            yield connection

    def looking(
        self, tenant: TenantId | UUID, within: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """What `tenant` sees, without a transaction around, at a third of its round trips: each statement is one, and none may change anything."""
        return self._statements(self._looks, tenant, within)

    def saying(
        self, tenant: TenantId | UUID, within: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """What `tenant` may change, for what is written in one statement: it is a transaction by itself, at a third of the round trips."""
        return self._statements(self._sayings, tenant, within)

    @asynccontextmanager
    async def _statements(
        self, sessions: Looks, tenant: TenantId | UUID, within: Mapping[str, str] | None
    ) -> AsyncIterator[AsyncConnection]:
        if tenant == SITE and not within:
            async with self.system_statements() as connection:
                yield connection
            return
        writes = sessions is not self._looks
        async with (
            translated(writes=writes),
            sessions.of({"tenant": tenant.hex, **(within or {})}) as connection,
        ):
            yield connection

    @asynccontextmanager
    async def system(self) -> AsyncIterator[AsyncConnection]:
        """A transaction over all tenants: for relay, cycle and reconcile modules, and for the site's own entities."""
        async with _transaction(self._system, "BEGIN") as connection:
            yield connection

    @asynccontextmanager
    async def system_statements(self) -> AsyncIterator[AsyncConnection]:
        """The system role without a transaction around: each statement is one, at a third of the round trips of `system`."""
        async with translated(), self._system.lent() as connection:
            yield connection

    async def probe(self, schema: str) -> str | None:
        """Return None where the database takes a write.

        It changes no row: an update of none is refused by a server that is read-only, the commit of a WAL record waits for the disk
        (and for a synchronous standby), and rows that do not fit into `work_mem` make a temporary file, which a full disk refuses.

        Raises:
            Transient: it takes none, with the reason.
        """
        async with _transaction(self._system, "BEGIN; SET LOCAL work_mem = '64kB'") as connection:
            await Driver.of(connection).fetch(
                f"WITH written AS (UPDATE {schema}.outbox SET published_at = published_at WHERE false)"
                " SELECT pg_logical_emit_message(true, 'muster.health', ''),"
                f" (SELECT count(*) FROM generate_series(1, {_PROBE_ROWS}))"
            )
        return None

    async def close(self) -> None:
        for kind in (self._tenant, self._looks, self._sayings, self._system):
            await kind.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def protect(op: Any, schema: str, table: str) -> None:
    """In a migration: forces row-level security on a tenant table, and grants it to the schema's tenant and system roles."""
    name = f'{schema}."{table}"'
    op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
    mine = "tenant = nullif(current_setting('muster.tenant', true), '')::uuid"
    op.execute(f"CREATE POLICY own ON {name} TO {schema}_tenant USING ({mine}) WITH CHECK ({mine})")
    op.execute(f"CREATE POLICY every ON {name} TO {schema}_system USING (true) WITH CHECK (true)")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {schema}_tenant, {schema}_system")


def open_to_system(op: Any, schema: str, table: str) -> None:
    """In a migration: grants a table without tenants to the system role alone."""
    op.execute(f'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}."{table}" TO {schema}_system')


def delivery_tables(op: Any, schema: str) -> None:
    """In a migration: the inbox and outbox that the delivery loop uses."""
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
async def translated(*, writes: bool = True) -> AsyncIterator[None]:
    """Turn driver trouble that may pass into Transient. Without `writes`, a refused write is a fault of the caller, which does not pass."""
    try:
        yield
    except (*_LOST, TimeoutError) as error:
        raise Transient(f"Postgres does not answer: {error}", retry_after_s=0.5) from error
    except (OperationalError, InterfaceError) as error:
        raise Transient(f"Postgres refused: {error.orig}", retry_after_s=0.2) from error
    except (DBAPIError, PostgresError) as error:
        # The driver's own error comes while a connection is made, before SQLAlchemy has it.
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None)
        if state == _DISK_FULL:
            raise Transient(
                "the database's disk is full; free some space there, it goes on by itself", retry_after_s=2.0
            ) from error
        if state == _READ_ONLY_STATE and writes:
            raise Transient(
                "the database is read-only; it goes on by itself once it takes writes again",
                retry_after_s=1.0,
            ) from error
        if state in _NOT_SET_UP_STATES:
            raise Transient(f"Postgres does not let us in: {cause}", retry_after_s=1.0) from error
        if state is not None and state.startswith(_UNSTORABLE_CLASS):
            raise Rejected("unstorable", f"Postgres cannot store this: {cause}") from error
        if _is_retried(state) or (isinstance(error, DBAPIError) and error.connection_invalidated):
            raise Transient(f"Postgres asked to try again: {cause}", retry_after_s=0.1) from error
        raise


def _is_retried(state: str | None) -> bool:
    return state is not None and (state[:2] in _RETRIED_CLASSES or state in _RETRIED_STATES)


def deletion_tables(op: Any, schema: str) -> None:
    """In a migration: what is being deleted, and the ids of what was, which outlive their tenant (`shared.deleting`)."""
    op.execute(f"CREATE TABLE {schema}.gone (id uuid PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())")
    op.execute(f"GRANT SELECT, INSERT ON {schema}.gone TO {schema}_tenant, {schema}_system")
    op.execute(
        f"CREATE TABLE {schema}.doomed (operation uuid PRIMARY KEY, tenant uuid NOT NULL, scope text NOT NULL,"
        " target uuid NOT NULL, workspace text, is_forced boolean NOT NULL, by text NOT NULL, asked_at timestamptz NOT NULL)"
    )
    protect(op, schema, "doomed")


def remember_entities(op: Any, schema: str) -> None:
    """In a migration: which entity's state an outbox row holds, so that the newest of each can be kept. Repeating it changes nothing."""
    op.execute(f"ALTER TABLE {schema}.outbox ADD COLUMN IF NOT EXISTS entity text")
    op.execute(
        f"CREATE INDEX IF NOT EXISTS outbox_entity ON {schema}.outbox (entity, position) WHERE entity IS NOT NULL"
    )


@asynccontextmanager
async def _transaction(pool: Pool, begin: str) -> AsyncIterator[AsyncConnection]:
    """A transaction begun with these words; SQLAlchemy itself begins none."""
    async with translated(), pool.lent() as connection:
        driver = driver_of(connection)
        try:
            await driver.execute(begin)
            yield connection
            await driver.execute("COMMIT")
        except Exception:
            await _roll_back(driver)
            raise


async def _roll_back(driver: Any) -> None:
    """Ends the transaction; where that fails, the connection too."""
    ended = False
    try:
        with suppress(PostgresError, *_LOST):
            await driver.execute("ROLLBACK")
            ended = True
    finally:
        if not ended:
            driver.terminate()
