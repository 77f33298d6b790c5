"""The outbox and inbox tables as the relay sees them: what waits, what went where, what a stream has lost, what is old."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
from sqlalchemy import Row, TextClause, text

from shared.bus import envelope
from shared.bus.connection import StreamState
from shared.bus.units import OutboxRow
from shared.db import Database
from shared.driver import Driver
from shared.ids import TenantId

_KEEP_OUTBOX_DAYS = 7
_KEEP_INBOX_DAYS = 14
_ROW = (
    "id, tenant, subject, headers, payload,"
    f" created_at < now() - make_interval(days => {_KEEP_INBOX_DAYS}) AS is_old"
)
_OLD_BATCH = 2000
_OLD_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Published:
    """Where a row went: a stream (by name and the creation that was known before publishing) and the sequence in it."""

    id: UUID
    stream: str
    created: datetime
    sequence: int


class Outbox:
    """The queries of one service's relay."""

    def __init__(self, database: Database, schema: str) -> None:
        self._database = database
        self._save = (
            f"UPDATE {schema}.outbox AS o SET published_at = now(), stream = p.stream,"
            " stream_created = p.created, stream_sequence = p.sequence"
            " FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::bigint[])"
            " AS p(id, stream, created, sequence) WHERE o.id = p.id"
        )
        self._waiting = text(
            f"SELECT {_ROW} FROM {schema}.outbox WHERE published_at IS NULL"
            " AND created_at < now() - make_interval(secs => :stale)"
            " AND id <> ALL(CAST(:left_alone AS uuid[])) ORDER BY position LIMIT :most"
        )
        self._age = text(
            "SELECT CAST(extract(epoch FROM now() - created_at) AS float)"
            f" FROM {schema}.outbox WHERE published_at IS NULL ORDER BY position LIMIT 1"
        )
        # Rows marked after the look at the stream may rightly lie beyond what it had then.
        self._lost = text(
            f"SELECT {_ROW} FROM {schema}.outbox"
            " WHERE stream = :stream AND published_at < :since"
            " AND (stream_created <> :created OR stream_sequence > :last)"
            " ORDER BY position LIMIT :most"
        )
        self._old = (
            (
                _deletion(
                    f"{schema}.outbox", "created_at", f"AND published_at IS NOT NULL AND NOT {newest(schema)}"
                ),
                _KEEP_OUTBOX_DAYS,
            ),
            (_deletion(f"{schema}.inbox", "received_at"), _KEEP_INBOX_DAYS),
        )

    async def save_published(self, published: Sequence[Published]) -> None:
        async with self._database.system() as connection:
            # Losing a mark costs one repetition, which the inbox absorbs; an fsync for it would cost more.
            await connection.execute(text("SET LOCAL synchronous_commit = off"))
            await Driver.of(connection).fetch(
                self._save,
                [row.id for row in published],
                [row.stream for row in published],
                [row.created for row in published],
                [row.sequence for row in published],
            )

    async def load_waiting(
        self, stale_s: float, left_alone: Sequence[UUID], most: int
    ) -> tuple[list[OutboxRow], float]:
        """The oldest unpublished rows of at least `stale_s`, in order, and the age in seconds of the oldest of all."""
        parameters = {"stale": stale_s, "left_alone": list(left_alone), "most": most}
        async with self._database.system_autocommit() as connection:
            age_s = await connection.scalar(self._age) or 0.0
            # Nearly always: this is asked for as long as the process lives, and mostly by one that is idle.
            if age_s < stale_s:
                return [], age_s
            rows = (await connection.execute(self._waiting, parameters)).all()
        return [_row(row) for row in rows], age_s

    async def load_age_s(self) -> float:
        """The age in seconds of the oldest unpublished row; 0 where there is none."""
        async with self._database.system_autocommit() as connection:
            return float(await connection.scalar(self._age) or 0.0)

    async def load_lost(self, stream: str, state: StreamState, since: datetime, most: int) -> list[OutboxRow]:
        """Rows that were published to an earlier creation of the stream, or beyond its end."""
        parameters = {
            "stream": stream,
            "since": since,
            "created": state.created,
            "last": state.last_sequence,
            "most": most,
        }
        async with self._database.system() as connection:
            return [_row(row) for row in (await connection.execute(self._lost, parameters)).all()]

    async def drop_old(self) -> None:
        """Deletes what is older than its time in small transactions, so that nobody waits behind them."""
        for statement, days in self._old:
            deleted = _OLD_BATCH
            while deleted == _OLD_BATCH:
                async with self._database.system() as connection:
                    await connection.execute(text("SET LOCAL synchronous_commit = off"))
                    found = await connection.execute(statement, {"days": days, "most": _OLD_BATCH})
                    deleted = found.rowcount
                await asyncio.sleep(_OLD_PAUSE_S)


def newest(schema: str) -> str:
    """SQL on a row `one` of the outbox: it holds the newest state of its entity, and so is kept whatever its age."""
    return (
        f"(one.entity IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {schema}.outbox AS later"
        " WHERE later.entity = one.entity AND later.position > one.position))"
    )


def _deletion(table: str, age: str, only: str = "") -> TextClause:
    return text(
        f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} AS one"
        f" WHERE {age} < now() - make_interval(days => :days) {only}"
        f" ORDER BY {age} LIMIT :most FOR UPDATE SKIP LOCKED))"
    )


def _row(row: Row[tuple[UUID, UUID, str, str, bytes, bool]]) -> OutboxRow:
    headers = orjson.loads(row.headers)
    if row.is_old:
        headers[envelope.OLD] = "1"
    return OutboxRow(row.id, TenantId(row.tenant), row.subject, headers, bytes(row.payload))
