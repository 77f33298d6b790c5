"""The relay: publishes outbox rows. A commit hands its rows over directly; a slow poll finds the others.

Postgres is the source of truth: published rows stay, with the stream's identity and their sequence in it. If a stream lost its store (a new
incarnation, or fewer messages than it acknowledged), the relay publishes them again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from shared.bus import streams
from shared.bus.batch_publish import Outgoing, PublishAck
from shared.bus.connection import Bus, StreamState
from shared.bus.outbox import Outbox, Published
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
_FAILED_PAUSE_S = 1.0
_MAX_RETRY_S = 15.0
_LOG_AFTER_FAILURES = 5
_MAX_WAITING = 20_000
_RECONNECT_POLL_S = 0.05
_log = structlog.get_logger()


@dataclass(slots=True)
class _Refused:
    """A row that was not published: consecutive failures, and when to retry."""

    times: int = 0
    until: float = 0.0


class Relay:
    """Publishes the outbox of a schema; one per process. `hand_over` never blocks; `run` publishes until `flush` has emptied the queue."""

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
        """Why the last batch was not published; None if it was."""
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
        """Take committed rows to publish in this order. If the queue is full, the poll finds them later."""
        if self._waiting.qsize() > _MAX_WAITING:
            return
        now = self._clock.monotonic()
        for row in rows:
            self._in_hand.add(row.id)
            self._unsent.setdefault(row.id, now)
            self._waiting.put_nowait(row)

    def unsent_s(self) -> float | None:
        """Return how long the oldest message of this process has waited for JetStream's acknowledgement; None if none waits."""
        oldest = next(iter(self._unsent.values()), None)
        return None if oldest is None else self._clock.monotonic() - oldest

    def try_again(self) -> None:
        """Retry failed rows now: JetStream accepts messages again."""
        self._refused.clear()
        self._poll_sooner.set()

    async def age_s(self) -> float:
        """Return how long the oldest message of the service, from any process, has waited to be published."""
        age_s = await self._outbox.load_age_s()
        metrics.outbox_age(self._schema, age_s)
        return age_s

    async def run(self) -> None:
        """Publish, mark published rows, poll for remaining rows, refill lost streams and delete expired rows, until `flush` ends it."""
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
        """Publish and mark queued rows, and end `run`; rows that fail now stay in the outbox for the next start."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty()
                await self._mark()
        except (TimeoutError, Transient):
            _log.warning("the outbox could not be emptied before the end", rows=self._waiting.qsize())
        finally:
            self._flushed.set()

    async def _empty(self) -> None:
        """Publish all queued rows. Takes the lock even if none is left, because the loop may hold the last rows."""
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
                # The rows are still in the outbox: the poll finds them again.
                _log.exception("publishing failed", rows=len(rows))
                self._in_hand.difference_update(row.id for row in rows)
                self._poll_soon()
                await asyncio.sleep(_FAILED_PAUSE_S)
            raise_if_cancelled()

    async def _connected(self) -> None:
        while not self._bus.connected:  # noqa: ASYNC110 - nats-py has no event for its state
            await asyncio.sleep(_RECONNECT_POLL_S)

    def _take(self, most: int = _BATCH) -> list[OutboxRow]:
        rows: list[OutboxRow] = []
        while len(rows) < most and not self._waiting.empty():
            rows.append(self._waiting.get_nowait())
        return rows

    async def _publish(self, rows: Sequence[OutboxRow]) -> None:
        """Publish the rows. Rejected ones are released, and the poll finds them again. Raises Transient if any was rejected."""
        faults.point(BEFORE_PUBLISH)
        try:
            # Read before publishing: a stream recreated meanwhile must not be credited with the old one's messages.
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
                    self._reconnected.set()  # sequences restarted: the stream was recreated
                self._top[outcome.stream] = max(self._top.get(outcome.stream, 0), outcome.sequence)
                self._unmarked.append(Published(row.id, outcome.stream, stream, outcome.sequence))
            else:
                refused.append(outcome.why)
                self._refuse(row, outcome.why)
        self._to_mark.set()
        if refused:
            raise Transient(f"JetStream rejected {len(refused)} messages: {refused[0]}", 0.5)

    async def _creations(self, rows: Sequence[OutboxRow]) -> dict[str, datetime]:
        names = {streams.stream_of(row.subject).name for row in rows}
        return {name: await self._stream_created(name) for name in names}

    def _refuse(self, row: OutboxRow, why: str) -> None:
        """Delay the row, longer each time, so that a row that is never accepted blocks no others."""
        self._in_hand.discard(row.id)
        if not self._bus.connected:
            return
        refused = self._refused.setdefault(row.id, _Refused())
        refused.times += 1
        refused.until = self._clock.monotonic() + min(0.5 * 2**refused.times, _MAX_RETRY_S)
        if refused.times == _LOG_AFTER_FAILURES:
            _log.error("a message is rejected repeatedly", id=str(row.id), subject=row.subject, why=why)

    async def _mark_loop(self) -> None:
        """Mark published rows, once a second while there are any."""
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
                    # Acknowledged by a lost stream, and marked after its successor was inspected.
                    del self._whole[row.stream]

    async def _poll(self) -> None:
        """Find rows that this process does not hold: of a process that died after its commit, or delayed above."""
        now = self._clock.monotonic()
        left_alone = [row for row, refused in self._refused.items() if refused.until > now]
        rows, age_s = await self._outbox.load_waiting(_STALE_S, left_alone, _BATCH)
        metrics.outbox_age(self._schema, age_s)
        if age_s < _STALE_S:
            # Another replica published what was rejected here.
            self._unsent = {row: since for row, since in self._unsent.items() if row in self._in_hand}
        self.hand_over([row for row in rows if row.id not in self._in_hand])
        if age_s:
            self._poll_soon()

    def _poll_soon(self) -> None:
        """Schedule the next poll earlier, because rows wait."""
        asyncio.get_running_loop().call_later(_POLL_AGAIN_S, self._poll_sooner.set)

    async def _inspect(self) -> None:
        """Compare each stream with the acknowledged rows; publish again what the stream has lost."""
        since = self._clock.now()
        for stream in streams.ALL:
            promised = self._top.get(stream.name, 0)
            state = await self._bus.stream_state(stream.name)
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
        """Return whether the outbox must be scanned, which is expensive: at the start, or if the stream was recreated or is shorter."""
        whole = self._whole.get(stream)
        if whole is None or whole.created != state.created:
            return True
        return state.last_sequence < max(whole.last_sequence, promised)

    async def _stream_created(self, name: str) -> datetime:
        if name not in self._created:
            self._created[name] = (await self._bus.stream_state(name)).created
        return self._created[name]

    def _on_reconnect(self) -> None:
        """Inspect at once: the server may have returned with another store."""
        self._created.clear()
        self.try_again()
        self._reconnected.set()
