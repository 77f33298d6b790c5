"""Publishing to JetStream many at once, each message with an outcome of its own.

nats-py's `publish_async` fails a whole batch for one message, and never gives back the room of a publish that raised: after enough of
them it waits for ever. Here one refused message stands in nobody's way.

A stream that syncs each message stores two thousand a second. What many messages want of one stream is sent as a batch of the server's (ADR-50 of
NATS), which is stored with one sync, whole or not at all. One that is refused, be it for a single message that is there already, is sent again
message by message.
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
NO_STREAM = "no stream takes it"
"""Why a message is not stored whose stream is missing, or whose server has no JetStream."""
_BATCH, _BATCH_SEQUENCE, _BATCH_COMMIT = "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit"
_BATCH_FROM = 32
"""Fewer are sooner stored one by one: a batch costs the server some four milliseconds of its own."""
_BATCH_MOST = 1000
"""So many the server takes in one."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is to be stored."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PublishAck:
    """Where a message went; of a repeat, where the first one lies."""

    stream: str
    sequence: int


@dataclass(frozen=True, slots=True)
class NotStored:
    """Why a message is not known to be stored; it may be there nevertheless when nothing was heard in time."""

    why: str


Outcome = PublishAck | NotStored


class Pipeline:
    """One inbox for all acknowledgements of a connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = ""
        self._numbers = count()
        self._names = NUID()
        self._heard: dict[str, asyncio.Future[Outcome]] = {}
        self._subscribed = False

    async def publish(self, messages: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        """Publishes in this order and waits for all acknowledgements; outcomes in the order of `messages`. Raises nothing of NATS."""
        loop = asyncio.get_running_loop()
        sent = [_Sent(message, loop.create_future()) for message in messages]
        unheard = NotStored(f"JetStream said nothing within {timeout_s:g} s")
        try:
            async with asyncio.timeout(timeout_s):
                await self._subscribe()
                for batch in _batches(sent):
                    await self._store_together(batch)
                await self._store_each([one for one in sent if not one.outcome.done()])
        except TimeoutError:
            pass
        except NatsError as error:
            unheard = NotStored(repr(error))
        finally:
            for one in sent:
                one.outcome.cancel()
        return [unheard if one.outcome.cancelled() else one.outcome.result() for one in sent]

    async def _subscribe(self) -> None:
        if not self._subscribed:
            # Only a connected client knows its own prefix; another's inbox is refused.
            self._inbox = self._client.new_inbox()
            await self._client.subscribe(f"{self._inbox}.*", cb=self._receive)
            self._subscribed = True

    async def _store_together(self, batch: Sequence["_Sent"]) -> None:
        """Decides the outcomes of the messages if the server stores them all, and leaves them open if it does not."""
        name = self._names.next().decode()
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        try:
            for number, one in enumerate(batch, start=1):
                place = {_BATCH: name, _BATCH_SEQUENCE: str(number)}
                if number < len(batch):
                    await self._send(one.message, place)
                else:
                    await self._send(one.message, {**place, _BATCH_COMMIT: "1"}, answer)
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
        """Publishes; what the server says to it becomes the result of `answer`."""
        headers = {**message.headers, **more}
        reply = "" if answer is None else self._expect(answer)
        await self._client.publish(message.subject, message.payload, reply=reply, headers=headers)

    def _expect(self, answer: asyncio.Future[Outcome]) -> str:
        """Return the subject for an answer; nobody waits there any more once the future is done or cancelled."""
        token = str(next(self._numbers))
        self._heard[token] = answer
        answer.add_done_callback(lambda _: self._heard.pop(token))
        return f"{self._inbox}.{token}"

    async def _receive(self, message: Msg) -> None:
        future = self._heard.get(message.subject.rpartition(".")[2])
        if future is not None and not future.done():
            future.set_result(_outcome(message))


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message, and what becomes of it."""

    message: Outgoing
    outcome: asyncio.Future[Outcome]


def _batches(sent: Sequence[_Sent]) -> Iterator[Sequence[_Sent]]:
    """What is worth being stored together: of each stream that takes batches, in this order."""
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
        return NotStored(f"JetStream's answer cannot be read: {error!r}")
