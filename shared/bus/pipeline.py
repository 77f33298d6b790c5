"""Publishing to JetStream many at once, each message with an outcome of its own.

nats-py's `publish_async` fails a whole batch for one message, and never gives back the room of a publish that raised: after enough of
them it waits for ever. Here one refused message stands in nobody's way.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

NO_RESPONDERS = "503"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is to be stored."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a message went; of a repeat, where the first one lies."""

    stream: str
    sequence: int


@dataclass(frozen=True, slots=True)
class NotStored:
    """Why a message is not known to be stored; it may be there nevertheless when nothing was heard in time."""

    why: str


Outcome = Stored | NotStored


class Pipeline:
    """One inbox for all acknowledgements of a connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = ""
        self._numbers = count()
        self._heard: dict[str, asyncio.Future[Outcome]] = {}
        self._subscribed = False

    async def publish(self, messages: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        """Publishes in this order and waits for all acknowledgements; outcomes in the order of `messages`. Raises nothing of NATS."""
        if not messages:
            return []
        futures: list[asyncio.Future[Outcome]] = []
        tokens: list[str] = []
        try:
            async with asyncio.timeout(timeout_s):
                await self._subscribe()
                for message in messages:
                    tokens.append(str(next(self._numbers)))
                    futures.append(await self._send(message, tokens[-1]))
                await asyncio.wait(futures)
        except TimeoutError:
            pass
        except NatsError as error:
            return [NotStored(repr(error))] * len(messages)
        finally:
            for token in tokens:
                self._heard.pop(token, None)
        silent = NotStored(f"JetStream said nothing within {timeout_s:g} s")
        outcomes = [future.result() if future.done() else silent for future in futures]
        return outcomes + [silent] * (len(messages) - len(outcomes))

    async def _subscribe(self) -> None:
        if not self._subscribed:
            # Only a connected client knows its own prefix; another's inbox is refused.
            self._inbox = self._client.new_inbox()
            await self._client.subscribe(f"{self._inbox}.*", cb=self._receive)
            self._subscribed = True

    async def _send(self, message: Outgoing, token: str) -> asyncio.Future[Outcome]:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._heard[token] = future
        try:
            await self._client.publish(
                message.subject,
                message.payload,
                reply=f"{self._inbox}.{token}",
                headers=dict(message.headers),
            )
        except (NatsError, ValueError) as error:
            future.set_result(NotStored(repr(error)))
        return future

    async def _receive(self, message: Msg) -> None:
        future = self._heard.get(message.subject.rpartition(".")[2])
        if future is not None and not future.done():
            future.set_result(_outcome(message))


def _outcome(message: Msg) -> Outcome:
    if (message.headers or {}).get("Status") == NO_RESPONDERS:
        return NotStored("no stream takes it")
    try:
        answer = orjson.loads(message.data)
        if "error" in answer:
            return NotStored(str(answer["error"].get("description", answer["error"])))
        return Stored(answer["stream"], answer["seq"])
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        return NotStored(f"JetStream's answer cannot be read: {error!r}")
