"""Publishes many messages to JetStream at once, with one outcome per message.

nats-py's `publish_async` fails a whole batch for one message, and never frees the slot of a publish that raised: after enough failures it
waits forever. Here a rejected message does not affect the others.

A stream that syncs each message stores two thousand per second. Many messages for one stream are sent as an atomic batch (NATS ADR-50), which is
stored with one sync, completely or not at all. A rejected batch, even if only because one message was stored before, is sent again message by message.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.nuid import NUID

from shared.bus import streams

NO_RESPONDERS = "503"
NO_STREAM = "no stream accepts the subject"
"""Outcome if the message's stream is missing, or the server has no JetStream."""
_BATCH, _BATCH_SEQUENCE, _BATCH_COMMIT = "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit"
_BATCH_FROM = 32
"""Smaller groups are faster one by one: a batch costs the server about four milliseconds."""
_BATCH_MOST = 1000
"""The server's limit per batch."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to store."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PublishAck:
    """Where a message was stored; for a duplicate, where the first one is."""

    stream: str
    sequence: int


@dataclass(frozen=True, slots=True)
class NotStored:
    """Why a message is not known to be stored. After a timeout it may be stored nevertheless."""

    why: str


Outcome = PublishAck | NotStored


class Pipeline:
    """Publishes with one inbox for all acknowledgements of a connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = ""
        self._numbers = count()
        self._names = NUID()
        self._pending: dict[str, asyncio.Future[Outcome]] = {}
        self._subscribed = False

    async def publish(self, messages: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        """Publish in order and wait for all acknowledgements; return outcomes in the order of `messages`. Raises no NATS errors."""
        loop = asyncio.get_running_loop()
        sent = [_Sent(message, loop.create_future()) for message in messages]
        missing = NotStored(f"JetStream did not acknowledge within {timeout_s:g} s")
        try:
            async with asyncio.timeout(timeout_s):
                await self._subscribe()
                for batch in _batches(sent):
                    await self._store_batch(batch)
                await self._store_each([one for one in sent if not one.outcome.done()])
        except TimeoutError:
            pass
        except NatsError as error:
            missing = NotStored(repr(error))
        finally:
            for one in sent:
                one.outcome.cancel()
        return [missing if one.outcome.cancelled() else one.outcome.result() for one in sent]

    async def _subscribe(self) -> None:
        if not self._subscribed:
            # Only a connected client knows its inbox prefix; the server rejects others.
            self._inbox = self._client.new_inbox()
            await self._client.subscribe(f"{self._inbox}.*", cb=self._receive)
            self._subscribed = True

    async def _store_batch(self, batch: Sequence["_Sent"]) -> None:
        """Set the outcomes if the server stores the whole batch; leave them open if not."""
        name = self._names.next().decode()
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        try:
            for number, one in enumerate(batch, start=1):
                position = {_BATCH: name, _BATCH_SEQUENCE: str(number)}
                if number < len(batch):
                    await self._send(one.message, position)
                else:
                    await self._send(one.message, {**position, _BATCH_COMMIT: "1"}, answer)
        except (NatsError, ValueError):
            answer.cancel()
            return
        last = await answer
        if isinstance(last, PublishAck):
            first = last.sequence - len(batch) + 1
            for sequence, one in enumerate(batch, start=first):
                one.outcome.set_result(PublishAck(last.stream, sequence))

    async def _store_each(self, rest: Sequence["_Sent"]) -> None:
        for one in rest:
            try:
                await self._send(one.message, {}, one.outcome)
            except (NatsError, ValueError) as error:
                one.outcome.set_result(NotStored(repr(error)))
        if rest:
            await asyncio.wait([one.outcome for one in rest])

    async def _send(
        self, message: Outgoing, more: Mapping[str, str], answer: asyncio.Future[Outcome] | None = None
    ) -> None:
        """Publish a message; the server's reply becomes the result of `answer`."""
        headers = {**message.headers, **more}
        reply = "" if answer is None else self._expect(answer)
        await self._client.publish(message.subject, message.payload, reply=reply, headers=headers)

    def _expect(self, answer: asyncio.Future[Outcome]) -> str:
        """Return the subject for a reply. It is unregistered once the future is done or cancelled."""
        token = str(next(self._numbers))
        self._pending[token] = answer
        answer.add_done_callback(lambda _: self._pending.pop(token))
        return f"{self._inbox}.{token}"

    async def _receive(self, message: Msg) -> None:
        future = self._pending.get(message.subject.rpartition(".")[2])
        if future is not None and not future.done():
            future.set_result(_outcome(message))


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message and its outcome."""

    message: Outgoing
    outcome: asyncio.Future[Outcome]


def _batches(sent: Sequence[_Sent]) -> Iterator[Sequence[_Sent]]:
    """Yield groups worth storing as a batch: per stream that accepts batches, in order."""
    for stream in streams.ALL:
        if stream.takes_batches and len(sent) >= _BATCH_FROM:
            of_stream = [one for one in sent if stream.keeps(one.message.subject)]
            batches = (of_stream[at : at + _BATCH_MOST] for at in range(0, len(of_stream), _BATCH_MOST))
            yield from (batch for batch in batches if len(batch) >= _BATCH_FROM)


def _outcome(message: Msg) -> Outcome:
    if (message.headers or {}).get("Status") == NO_RESPONDERS:
        return NotStored(NO_STREAM)
    try:
        answer = orjson.loads(message.data)
        if "error" in answer:
            return NotStored(str(answer["error"].get("description", answer["error"])))
        return PublishAck(answer["stream"], answer["seq"])
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        return NotStored(f"JetStream's reply cannot be parsed: {error!r}")
