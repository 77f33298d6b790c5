"""The relay: publishes what the outbox holds. Woken by the commit with the rows in hand; a slow poll stands behind it.

Postgres is the record: rows stay after publication with the stream's identity and their sequence in it, so that a stream that lost its
store (another creation, or fewer messages than we were promised) is filled again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
import structlog
from nats.errors import Error as NatsError
from sqlalchemy import Row, text

from shared import faults
from shared.bus import streams
from shared.bus.connection import Bus, StreamState
from shared.bus.units import OutboxRow
from shared.cancelling import leave_if_cancelled
from shared.clock import Clock
from shared.db import Database
from shared.errors import Transient
from shared.ids import TenantId
from shared.telemetry import metrics

BEFORE_PUBLISH = faults.register("relay.before_publish")
BEFORE_MARK = faults.register("relay.before_mark")

_BATCH = 500
_ACK_TIMEOUT_S = 5.0
_MARK_EVERY_S = 0.2
_POLL_S = 1.0
_STALE_S = 3.0
_INSPECT_S = 10.0
_KEEP_OUTBOX_DAYS = 7
_KEEP_INBOX_DAYS = 14
_CLEAN_S = 600.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Published:
    """Where a row went: a stream (by name and creation) and the sequence in it."""

    id: UUID
    stream: str
    sequence: int


class Relay:
    """One per process and schema. `hand_over` never blocks; `run` publishes until `flush` has emptied it at the end."""

    def __init__(self, bus: Bus, database: Database, schema: str, clock: Clock) -> None:
        self._bus = bus
        self._database = database
        self._schema = schema
        self._clock = clock
        self._waiting: asyncio.Queue[OutboxRow] = asyncio.Queue()
        self._unmarked: list[Published] = []
        self._in_hand: set[UUID] = set()
        self._created: dict[str, datetime] = {}
        self._flushed = asyncio.Event()
        bus.on_reconnect.append(self._forget_streams)

    def hand_over(self, rows: list[OutboxRow]) -> None:
        """Takes rows whose transaction has been committed; they are published in this order."""
        for row in rows:
            self._in_hand.add(row.id)
            self._waiting.put_nowait(row)

    async def run(self) -> None:
        """Publishes, marks, polls for what was left behind, refills lost streams, drops what is old; until `flush` ends it."""
        async with asyncio.TaskGroup() as group:
            loops = [
                group.create_task(self._publish_loop()),
                group.create_task(self._every(_MARK_EVERY_S, self._mark)),
                group.create_task(self._every(_POLL_S, self._poll)),
                group.create_task(self._every(_INSPECT_S, self._inspect)),
                group.create_task(self._every(_CLEAN_S, self._clean)),
            ]
            await self._flushed.wait()
            for loop in loops:
                loop.cancel()

    async def flush(self, timeout_s: float = 5.0) -> None:
        """Publishes and marks what is in hand, and ends `run`; what does not go now stays in the outbox for the next start."""
        try:
            async with asyncio.timeout(timeout_s):
                while not self._waiting.empty():
                    await self._publish(self._take())
                await self._mark()
        except (TimeoutError, Transient):
            _log.warning("the outbox could not be emptied before the end", rows=self._waiting.qsize())
        finally:
            self._flushed.set()

    async def _publish_loop(self) -> None:
        while True:
            rows = [await self._waiting.get(), *self._take(_BATCH - 1)]
            try:
                await self._publish(rows)
            except Transient as error:
                _log.warning("publishing was put off", error=str(error), rows=len(rows))
                self._in_hand.difference_update(row.id for row in rows)
                await asyncio.sleep(error.retry_after_s)
                with contextlib.suppress(Transient):
                    await self._bus.ensure_streams()
            leave_if_cancelled()

    def _take(self, most: int = _BATCH) -> list[OutboxRow]:
        rows: list[OutboxRow] = []
        while len(rows) < most and not self._waiting.empty():
            rows.append(self._waiting.get_nowait())
        return rows

    async def _publish(self, rows: Sequence[OutboxRow]) -> None:
        faults.point(BEFORE_PUBLISH)
        jetstream = self._bus.jetstream_publisher
        try:
            async with asyncio.timeout(_ACK_TIMEOUT_S):
                futures = [
                    await jetstream.publish_async(row.subject, row.payload, headers=dict(row.headers))
                    for row in rows
                ]
                acks = await asyncio.gather(*futures)
        except (TimeoutError, NatsError) as error:
            raise Transient(f"JetStream did not take {len(rows)} messages: {error!r}", 0.5) from error
        self._unmarked.extend(
            Published(row.id, ack.stream, ack.seq) for row, ack in zip(rows, acks, strict=True)
        )

    async def _mark(self) -> None:
        published, self._unmarked = self._unmarked, []
        if not published:
            return
        faults.point(BEFORE_MARK)
        try:
            await self._save_published(published)
        except Transient:
            self._unmarked.extend(published)
            raise
        self._in_hand.difference_update(row.id for row in published)

    async def _save_published(self, published: Sequence[Published]) -> None:
        created = {name: await self._stream_created(name) for name in {row.stream for row in published}}
        async with self._database.system() as connection:
            # Losing a mark costs one repetition, which the inbox absorbs; an fsync for it would cost more.
            await connection.execute(text("SET LOCAL synchronous_commit = off"))
            await connection.execute(
                text(
                    f"UPDATE {self._schema}.outbox AS o SET published_at = now(), stream = p.stream,"
                    " stream_created = p.created, stream_sequence = p.sequence FROM unnest(CAST(:ids AS uuid[]),"
                    " CAST(:streams AS text[]), CAST(:created AS timestamptz[]), CAST(:sequences AS bigint[]))"
                    " AS p(id, stream, created, sequence) WHERE o.id = p.id"
                ),
                {
                    "ids": [row.id for row in published],
                    "streams": [row.stream for row in published],
                    "created": [created[row.stream] for row in published],
                    "sequences": [row.sequence for row in published],
                },
            )

    async def _poll(self) -> None:
        """Finds rows that nobody has in hand: of a process that died between commit and publication, or put off above."""
        async with self._database.system() as connection:
            found = await connection.execute(
                text(
                    f"SELECT id, tenant, subject, headers, payload, created_at FROM {self._schema}.outbox"
                    " WHERE published_at IS NULL AND created_at < now() - make_interval(secs => :stale)"
                    " ORDER BY position LIMIT :most"
                ),
                {"stale": _STALE_S, "most": _BATCH},
            )
            rows = found.all()
        age_s = (self._clock.now() - rows[0].created_at).total_seconds() if rows else 0.0
        metrics.outbox_age(self._schema, age_s)
        self.hand_over([_row(row) for row in rows if row.id not in self._in_hand])

    async def _inspect(self) -> None:
        """Compares each stream with what the outbox was promised; publishes again what the stream has lost."""
        self._forget_streams()
        await self._bus.ensure_streams()
        since = self._clock.now()
        for stream in streams.ALL:
            state = await self._bus.stream_state(stream.name)
            self._created[stream.name] = state.created
            lost = await self._load_lost(stream.name, state, since)
            if lost:
                _log.warning(
                    "a stream lost messages; they are published again",
                    stream=stream.name,
                    rows=len(lost),
                )
                self.hand_over([row for row in lost if row.id not in self._in_hand])

    async def _load_lost(self, stream: str, state: StreamState, since: datetime) -> list[OutboxRow]:
        # Rows marked after the look at the stream may rightly lie beyond what it had then.
        async with self._database.system() as connection:
            found = await connection.execute(
                text(
                    f"SELECT id, tenant, subject, headers, payload FROM {self._schema}.outbox"
                    " WHERE stream = :stream AND published_at < :since"
                    " AND (stream_created <> :created OR stream_sequence > :last)"
                    " ORDER BY position LIMIT :most"
                ),
                {
                    "stream": stream,
                    "since": since,
                    "created": state.created,
                    "last": state.last_sequence,
                    "most": 20 * _BATCH,
                },
            )
            return [_row(row) for row in found.all()]

    async def _clean(self) -> None:
        async with self._database.system() as connection:
            await connection.execute(
                text(
                    f"DELETE FROM {self._schema}.outbox WHERE published_at IS NOT NULL"
                    " AND created_at < now() - make_interval(days => :days)"
                ),
                {"days": _KEEP_OUTBOX_DAYS},
            )
            await connection.execute(
                text(
                    f"DELETE FROM {self._schema}.inbox"
                    " WHERE received_at < now() - make_interval(days => :days)"
                ),
                {"days": _KEEP_INBOX_DAYS},
            )

    async def _stream_created(self, name: str) -> datetime:
        if name not in self._created:
            self._created[name] = (await self._bus.stream_state(name)).created
        return self._created[name]

    def _forget_streams(self) -> None:
        self._created.clear()

    async def _every(self, seconds: float, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except Transient as error:
                _log.warning(
                    "a step of the relay was put off",
                    step=getattr(step, "__name__", ""),
                    error=str(error),
                )
            leave_if_cancelled()
            await asyncio.sleep(seconds)


def _row(row: Row[tuple[UUID, UUID, str, str, bytes]]) -> OutboxRow:
    return OutboxRow(
        row.id,
        TenantId(row.tenant),
        row.subject,
        orjson.loads(row.headers),
        bytes(row.payload),
    )
