"""The relay: publishes what the outbox holds. Woken by the commit with the rows in hand; a slow poll stands behind it.

Postgres is the record: rows stay after publication with the stream's identity and their sequence in it, so that a stream that lost its
store (another creation, or fewer messages than we were promised) is filled again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from shared.bus import streams
from shared.bus.connection import Bus, StreamState
from shared.bus.outbox import Outbox, Published
from shared.bus.pipeline import Outgoing, PublishAck
from shared.bus.units import OutboxRow
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import Transient
from shared.runtime import faults
from shared.runtime.cancelling import raise_if_cancelled
from shared.runtime.loops import repeat
from shared.runtime.outages import Outages
from shared.telemetry import metrics

BEFORE_PUBLISH = faults.register("relay.before_publish")
BEFORE_MARK = faults.register("relay.before_mark")

_BATCH = 500
_REFILL = 20 * _BATCH
_ACK_TIMEOUT_S = 5.0
_MARK_AFTER_S = 1.0
_POLL_EVERY = timedelta(seconds=15)
_POLL_AGAIN_S = 2.0
_STALE_S = 3.0
_INSPECT_EVERY = timedelta(seconds=30)
_CLEAN_EVERY = timedelta(minutes=10)
_FAILED_REST_S = 1.0
_REFUSED_MOST_S = 15.0
_REFUSED_OFTEN = 5
_ROOM = 20_000
_RECONNECT_LOOK_S = 0.05
_log = structlog.get_logger()


@dataclass(slots=True)
class _Refused:
    """A row that could not be published: how often in a row, and until when it is left alone."""

    times: int = 0
    until: float = 0.0


class Relay:
    """One per process and schema. `hand_over` never blocks; `run` publishes until `flush` has emptied it at the end."""

    def __init__(self, bus: Bus, database: Database, schema: str, clock: Clock) -> None:
        self._bus = bus
        self._outbox = Outbox(database, schema)
        self._schema = schema
        self._clock = clock
        self._waiting: asyncio.Queue[OutboxRow] = asyncio.Queue()
        self._unmarked: list[Published] = []
        self._in_hand: set[UUID] = set()
        self._refused: dict[UUID, _Refused] = {}
        self._unsent: dict[UUID, float] = {}
        self.refusal: str | None = None
        """Why the last batch was not published; None when it was."""
        self._outages = Outages()
        self._created: dict[str, datetime] = {}
        self._whole: dict[str, StreamState] = {}
        self._top: dict[str, int] = {}
        self._publishing = asyncio.Lock()
        self._marking = asyncio.Lock()
        self._reconnected = asyncio.Event()
        self._to_mark = asyncio.Event()
        self._flushed = asyncio.Event()
        self._poll_sooner = asyncio.Event()
        bus.on_reconnect.append(self._on_reconnect)

    def hand_over(self, rows: list[OutboxRow]) -> None:
        """Takes rows whose transaction has been committed; they are published in this order. Beyond the room, the poll finds them."""
        if self._waiting.qsize() > _ROOM:
            return
        now = self._clock.monotonic()
        for row in rows:
            self._in_hand.add(row.id)
            self._unsent.setdefault(row.id, now)
            self._waiting.put_nowait(row)

    def unsent_s(self) -> float | None:
        """How long the oldest message of this process has waited for JetStream's acknowledgement; None where none waits."""
        oldest = next(iter(self._unsent.values()), None)
        return None if oldest is None else self._clock.monotonic() - oldest

    def try_again(self) -> None:
        """JetStream takes messages again: publish those that it refused now, not when their pause is over."""
        self._refused.clear()
        self._poll_sooner.set()

    async def age_s(self) -> float:
        """How long the oldest message of the service, of whatever process, has waited to be published."""
        age_s = await self._outbox.load_age_s()
        metrics.outbox_age(self._schema, age_s)
        return age_s

    async def run(self) -> None:
        """Publishes, marks, polls for what was left behind, refills lost streams, drops what is old; until `flush` ends it."""
        async with asyncio.TaskGroup() as group:
            loops = [
                group.create_task(self._publish_loop()),
                group.create_task(self._mark_loop()),
                group.create_task(repeat(self._poll, _POLL_EVERY, self._poll_sooner)),
                group.create_task(repeat(self._inspect, _INSPECT_EVERY, self._reconnected)),
                group.create_task(repeat(self._outbox.drop_old, _CLEAN_EVERY)),
            ]
            await self._flushed.wait()
            for loop in loops:
                loop.cancel()

    async def flush(self, timeout_s: float = 5.0) -> None:
        """Publishes and marks what is in hand, and ends `run`; what does not go now stays in the outbox for the next start."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty()
                await self._mark()
        except (TimeoutError, Transient):
            _log.warning("the outbox could not be emptied before the end", rows=self._waiting.qsize())
        finally:
            self._flushed.set()

    async def _empty(self) -> None:
        """Publishes the rest; the lock is also waited for when nothing is left, because the loop may have the last rows."""
        while True:
            async with self._publishing:
                rows = self._take()
                if not rows:
                    return
                await self._publish(rows)

    async def _publish_loop(self) -> None:
        while True:
            rows = [await self._waiting.get(), *self._take(_BATCH - 1)]
            try:
                async with self._publishing:
                    await self._connected()
                    await self._publish(rows)
                self.refusal = None
                self._outages.worked("publishing")
            except Transient as error:
                self.refusal = str(error)
                self._outages.failed("publishing", error)
                self._poll_soon()
                await asyncio.sleep(error.retry_after_s)
            except Exception:  # noqa: BLE001 - the loop outlives any one batch
                # Whatever it was, the rows lie in the outbox: the poll brings them again.
                _log.exception("publishing failed", rows=len(rows))
                self._in_hand.difference_update(row.id for row in rows)
                self._poll_soon()
                await asyncio.sleep(_FAILED_REST_S)
            raise_if_cancelled()

    async def _connected(self) -> None:
        while not self._bus.connected:  # noqa: ASYNC110 - nothing tells when a state of nats-py changes
            await asyncio.sleep(_RECONNECT_LOOK_S)

    def _take(self, most: int = _BATCH) -> list[OutboxRow]:
        rows: list[OutboxRow] = []
        while len(rows) < most and not self._waiting.empty():
            rows.append(self._waiting.get_nowait())
        return rows

    async def _publish(self, rows: Sequence[OutboxRow]) -> None:
        """Publishes the rows; those not taken go out of hand, and the poll brings them again. Raises Transient when any was not."""
        faults.point(BEFORE_PUBLISH)
        try:
            # Known before, so that a stream that is made anew in between is not credited with what the old one took.
            created = await self._creations(rows)
        except Transient:
            self._in_hand.difference_update(row.id for row in rows)
            raise
        outgoing = [Outgoing(row.subject, row.payload, row.headers) for row in rows]
        outcomes = await self._bus.pipeline.publish(outgoing, _ACK_TIMEOUT_S)
        refused: list[str] = []
        for row, outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, PublishAck):
                self._refused.pop(row.id, None)
                self._unsent.pop(row.id, None)
                stream = created[streams.stream_of(row.subject).name]
                if outcome.sequence < self._top.get(outcome.stream, 0):
                    self._reconnected.set()  # it counts anew: another stream has taken its place
                self._top[outcome.stream] = max(self._top.get(outcome.stream, 0), outcome.sequence)
                self._unmarked.append(Published(row.id, outcome.stream, stream, outcome.sequence))
            else:
                refused.append(outcome.why)
                self._refuse(row, outcome.why)
        self._to_mark.set()
        if refused:
            raise Transient(f"JetStream did not take {len(refused)} messages: {refused[0]}", 0.5)

    async def _creations(self, rows: Sequence[OutboxRow]) -> dict[str, datetime]:
        names = {streams.stream_of(row.subject).name for row in rows}
        return {name: await self._stream_created(name) for name in names}

    def _refuse(self, row: OutboxRow, why: str) -> None:
        """Leaves the row alone for a while, longer each time, so that what is never taken holds up nobody."""
        self._in_hand.discard(row.id)
        if not self._bus.connected:
            return
        refused = self._refused.setdefault(row.id, _Refused())
        refused.times += 1
        refused.until = self._clock.monotonic() + min(0.5 * 2**refused.times, _REFUSED_MOST_S)
        if refused.times == _REFUSED_OFTEN:
            _log.error("a message is refused again and again", id=str(row.id), subject=row.subject, why=why)

    async def _mark_loop(self) -> None:
        """Marks what was published, a second's worth at a time; rests while there is nothing."""
        while True:
            await self._to_mark.wait()
            self._to_mark.clear()
            await asyncio.sleep(_MARK_AFTER_S)
            try:
                await self._mark()
                self._outages.worked("marking")
            except Transient as error:
                self._outages.failed("marking", error)
                self._to_mark.set()
            except Exception:  # noqa: BLE001 - the loop outlives any one batch
                _log.exception("marking failed", rows=len(self._unmarked))
                self._to_mark.set()
            raise_if_cancelled()

    async def _mark(self) -> None:
        async with self._marking:
            published, self._unmarked = self._unmarked, []
            if not published:
                return
            faults.point(BEFORE_MARK)
            try:
                await self._outbox.save_published(published)
            except Exception:
                self._unmarked.extend(published)
                raise
            self._in_hand.difference_update(row.id for row in published)
            for row in published:
                whole = self._whole.get(row.stream)
                if whole is not None and whole.created != row.created:
                    # Promised by a stream that is gone, and marked after the look at its successor.
                    del self._whole[row.stream]

    async def _poll(self) -> None:
        """Finds rows that nobody has in hand: of a process that died between commit and publication, or put off above."""
        now = self._clock.monotonic()
        left_alone = [row for row, refused in self._refused.items() if refused.until > now]
        rows, age_s = await self._outbox.load_waiting(_STALE_S, left_alone, _BATCH)
        metrics.outbox_age(self._schema, age_s)
        if age_s < _STALE_S:
            # What was refused here was published by another replica.
            self._unsent = {row: since for row, since in self._unsent.items() if row in self._in_hand}
        self.hand_over([row for row in rows if row.id not in self._in_hand])
        if age_s:
            self._poll_soon()

    def _poll_soon(self) -> None:
        """Something waits: the next poll comes sooner than at rest."""
        asyncio.get_running_loop().call_later(_POLL_AGAIN_S, self._poll_sooner.set)

    async def _inspect(self) -> None:
        """Compares each stream with what the outbox was promised; publishes again what the stream has lost."""
        since = self._clock.now()
        for stream in streams.ALL:
            promised = self._top.get(stream.name, 0)
            state = await self._stream_state(stream.name)
            self._created[stream.name] = state.created
            if not self._may_have_lost(stream.name, state, promised):
                continue
            self._top.pop(stream.name, None)
            lost = await self._outbox.load_lost(stream.name, state, since, _REFILL)
            if lost:
                _log.warning(
                    "a stream lost messages; they are published again", stream=stream.name, rows=len(lost)
                )
                self.hand_over([row for row in lost if row.id not in self._in_hand])
                self._whole.pop(stream.name, None)
            else:
                self._whole[stream.name] = state

    def _may_have_lost(self, stream: str, state: StreamState, promised: int) -> bool:
        """Whether the outbox must be asked, which reads all of it: at the start, and when the stream is another or shorter."""
        whole = self._whole.get(stream)
        if whole is None or whole.created != state.created:
            return True
        return state.last_sequence < max(whole.last_sequence, promised)

    async def _stream_created(self, name: str) -> datetime:
        if name not in self._created:
            self._created[name] = (await self._stream_state(name)).created
        return self._created[name]

    async def _stream_state(self, name: str) -> StreamState:
        """Asks first: a stream is hardly ever missing, and is made then."""
        try:
            return await self._bus.stream_state(name)
        except Transient:
            await self._bus.ensure_streams()
            return await self._bus.stream_state(name)

    def _on_reconnect(self) -> None:
        """The server may have come back with another store: looked at now, not at the next turn."""
        self._created.clear()
        self.try_again()
        self._reconnected.set()
