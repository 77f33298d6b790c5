"""Queries of the relay on outbox and inbox: unpublished, published, lost and expired rows.

Hot path on the raw driver: marking published rows, once per batch of messages.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import orjson
from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Delete,
    Double,
    Row,
    Select,
    Table,
    Uuid,
    all_,
    and_,
    cast,
    delete,
    exists,
    extract,
    func,
    literal,
    or_,
    select,
    true,
)

from shared.bus import envelope
from shared.bus.connection import StreamState
from shared.bus.units import OutboxRow
from shared.database.driver import AsyncpgDriver
from shared.database.engine import Database
from shared.database.statements import ctid, listed
from shared.database.tables import tables_of
from shared.ids import TenantId

_KEEP_OUTBOX = timedelta(days=7)
_KEEP_INBOX = timedelta(days=14)
_NO_FSYNC = select(func.set_config("synchronous_commit", "off", True))
_OLD_BATCH = 2000
_OLD_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Published:
    """Where a row was published: the stream's name, its creation time as known before publishing, and the sequence."""

    id: UUID
    stream: str
    created: datetime
    sequence: int


class Outbox:
    """Queries of one service's relay."""

    def __init__(self, database: Database, schema: str) -> None:
        self._database = database
        self._save = (
            f"UPDATE {schema}.outbox AS o SET published_at = now(), stream = p.stream,"
            " stream_created = p.created, stream_sequence = p.sequence"
            " FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::bigint[])"
            " AS p(id, stream, created, sequence) WHERE o.id = p.id"
        )
        self._outbox, self._inbox = tables_of(schema).outbox, tables_of(schema).inbox

    async def save_published(self, published: Sequence[Published]) -> None:
        async with self._database.system() as connection:
            # A lost mark costs one repeated publish, which the inbox absorbs; an fsync would cost more.
            await connection.execute(_NO_FSYNC)
            await AsyncpgDriver.of(connection).fetch(
                self._save,
                [row.id for row in published],
                [row.stream for row in published],
                [row.created for row in published],
                [row.sequence for row in published],
            )

    async def load_waiting(
        self, stale_s: float, left_alone: Sequence[UUID], most: int
    ) -> tuple[list[OutboxRow], float]:
        """Return the oldest unpublished rows of at least age `stale_s`, in order, and the age in seconds of the oldest of all."""
        here = self._outbox.c
        async with self._database.system_autocommit() as connection:
            age_s = await connection.scalar(self._age()) or 0.0
            # The common case: every process polls this, and most are idle.
            if age_s < stale_s:
                return [], age_s
            waiting = self._rows().where(
                here.published_at.is_(None),
                here.created_at < func.now() - timedelta(seconds=stale_s),
                here.id != all_(literal(list(left_alone), ARRAY(Uuid))),
            )
            rows = (await connection.execute(waiting.limit(most))).all()
        return [_row(row) for row in rows], age_s

    async def load_age_s(self) -> float:
        """Return the age in seconds of the oldest unpublished row; 0 if there is none."""
        async with self._database.system_autocommit() as connection:
            return float(await connection.scalar(self._age()) or 0.0)

    async def load_lost(self, stream: str, state: StreamState, since: datetime, most: int) -> list[OutboxRow]:
        """Return rows that were published to an earlier incarnation of the stream, or beyond its end."""
        here = self._outbox.c
        # Rows marked after `state` was read may be beyond its end and still be stored.
        lost = self._rows().where(
            here.stream == stream,
            here.published_at < since,
            or_(here.stream_created != state.created, here.stream_sequence > state.last_sequence),
        )
        async with self._database.system() as connection:
            return [_row(row) for row in (await connection.execute(lost.limit(most))).all()]

    async def drop_old(self) -> None:
        """Delete expired rows in small transactions, so that nothing waits behind them."""
        outbox, inbox = self._outbox.c, self._inbox.c
        is_past = and_(outbox.published_at.is_not(None), ~newest(self._outbox))
        for statement in (
            _deletion(self._outbox, outbox.created_at, _KEEP_OUTBOX, is_past),
            _deletion(self._inbox, inbox.received_at, _KEEP_INBOX, true()),
        ):
            deleted = _OLD_BATCH
            while deleted == _OLD_BATCH:
                async with self._database.system() as connection:
                    await connection.execute(_NO_FSYNC)
                    deleted = (await connection.execute(statement)).rowcount
                await asyncio.sleep(_OLD_PAUSE_S)

    def _age(self) -> Select[float]:
        here = self._outbox.c
        age = cast(extract("epoch", func.now() - here.created_at), Double)
        return select(age).where(here.published_at.is_(None)).order_by(here.position).limit(1)

    def _rows(self) -> Select[UUID, UUID, str, str, bytes, bool]:
        here = self._outbox.c
        is_old = (here.created_at < func.now() - _KEEP_INBOX).label("is_old")
        columns = (here.id, here.tenant, here.subject, here.headers, here.payload)
        return select(*columns, is_old).order_by(here.position)


def newest(outbox: Table) -> ColumnElement[bool]:
    """Return the condition that a row holds the newest state of its entity, and is therefore kept at any age."""
    later = outbox.alias("later")
    is_passed = exists().where(later.c.entity == outbox.c.entity, later.c.position > outbox.c.position)
    return and_(outbox.c.entity.is_not(None), ~is_passed)


def _deletion(table: Table, age: Column[datetime], keep: timedelta, only: ColumnElement[bool]) -> Delete:
    old = select(ctid).select_from(table).where(age < func.now() - keep, only).order_by(age)
    return delete(table).where(listed(old.limit(_OLD_BATCH).with_for_update(skip_locked=True)))


def _row(row: Row[UUID, UUID, str, str, bytes, bool]) -> OutboxRow:
    headers = orjson.loads(row.headers)
    if row.is_old:
        headers[envelope.OLD] = "1"
    return OutboxRow(row.id, TenantId(row.tenant), row.subject, headers, bytes(row.payload))
