"""The dead-letter stream: read, replay, delete. Uses the operator's identity, which alone may delete."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError, NotFoundError
from pydantic import JsonValue

from muster.errors import Broken, Conflict, NotFound, Rejected, Transient
from shared.bus import dead_letters, envelope
from shared.bus.streams import DEAD_LETTERS

_MOST_PAYLOAD_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter.

    Attributes:
        position: its sequence number in the stream.
        message: the Muster id of the message; empty if its headers are unreadable.
        consumer: the service that could not handle it.
        error: the error of the last attempt.
        died_at: when it became a dead letter.
    """

    position: int
    message: str
    type: str
    consumer: str
    tenant: str
    subject: str
    error: str
    died_at: datetime | None
    headers: dict[str, str]
    payload: bytes

    def summary(self) -> dict[str, JsonValue]:
        return {
            "position": self.position,
            "message": self.message,
            "type": self.type,
            "consumer": self.consumer,
            "tenant": self.tenant,
            "subject": self.subject,
            "error": self.error,
            "died_at": self.died_at.isoformat() if self.died_at else None,
        }

    def whole(self) -> dict[str, JsonValue]:
        """Return the summary with headers and body; a body that is not JSON is returned as text."""
        headers: dict[str, JsonValue] = dict(self.headers)
        return {**self.summary(), "headers": headers, "body": self.body()}

    def body(self) -> JsonValue:
        try:
            found: JsonValue = json.loads(self.payload)
        except ValueError:
            return self.payload.decode("utf-8", "replace")[:_MOST_PAYLOAD_CHARACTERS]
        return found


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay.

    Attributes:
        repeated: the stream already contained this replay; nothing was sent twice.
        removed: the dead letter was deleted.
    """

    position: int
    message: str
    subject: str
    stream: str
    sequence: int
    repeated: bool
    removed: bool


async def load_dead_letters(
    jetstream: JetStreamContext, consumer: str | None, limit: int
) -> list[DeadLetter]:
    """Return at most `limit` dead letters of one consumer or of all, oldest first. Raises Transient while JetStream is away."""
    subject = f"dlq.v1.{consumer}" if consumer else DEAD_LETTERS.subjects[0]
    result: list[DeadLetter] = []
    position = 1
    while len(result) < limit:
        message = await _next(jetstream, position, subject)
        if message is None:
            break
        result.append(_letter(message))
        position = result[-1].position + 1
    return result


async def load_dead_letter(jetstream: JetStreamContext, position: int) -> DeadLetter:
    """Return one dead letter. Raises NotFound; Transient if JetStream does not answer."""
    try:
        return _letter(await jetstream.get_msg(DEAD_LETTERS.name, seq=position))
    except NotFoundError as error:
        raise NotFound(f"dead letter {position}") from error
    except (NatsError, TimeoutError) as error:
        raise _away(error) from error


async def replay(jetstream: JetStreamContext, dead_letter: DeadLetter) -> Replayed:
    """Publish the message again on its subject with its Muster id, and delete the dead letter.

    Consumers that handled the message ignore it; the one that failed tries again. A crash in between leaves the
    dead letter, and the stream deduplicates a second replay.

    Raises:
        Rejected: the dead letter has no origin.
        Transient: JetStream did not accept it; the dead letter stays.
    """
    try:
        again = dead_letters.replayed(dead_letter.headers, dead_letter.position)
    except KeyError as error:
        raise Rejected(
            "not_replayable",
            f"dead letter {dead_letter.position} has no {error} header, so its origin is unknown",
            hint=f"inspect it with `muster deadletters show {dead_letter.position}`, then drop it",
        ) from error
    try:
        stored = await jetstream.publish(again.subject, dead_letter.payload, headers=again.headers)
    except (NatsError, TimeoutError) as error:
        raise _away(error) from error
    return Replayed(
        dead_letter.position,
        dead_letter.message,
        again.subject,
        stored.stream,
        stored.seq,
        bool(stored.duplicate),
        await _removed(jetstream, dead_letter.position),
    )


async def drop(jetstream: JetStreamContext, position: int) -> None:
    """Delete a dead letter. Raises NotFound; Conflict if the stream does not allow deletion."""
    await load_dead_letter(jetstream, position)
    if not await _removed(jetstream, position):
        raise Conflict(
            "not_deletable",
            f"the stream {DEAD_LETTERS.name} was created by an earlier version and does not allow deletion",
            hint="dead letters expire after 30 days",
        )


def select(found: Sequence[DeadLetter], positions: Sequence[int]) -> list[DeadLetter]:
    """Return the dead letters at these positions. Raises NotFound for the first that is missing."""
    by_position = {dead_letter.position: dead_letter for dead_letter in found}
    missing = [position for position in positions if position not in by_position]
    if missing:
        raise NotFound(f"dead letter {missing[0]}")
    return [by_position[position] for position in positions]


async def _next(jetstream: JetStreamContext, position: int, subject: str) -> RawStreamMsg | None:
    try:
        return await jetstream.get_msg(DEAD_LETTERS.name, seq=position, subject=subject, next=True)
    except NotFoundError:
        return None
    except (NatsError, TimeoutError) as error:
        raise _away(error) from error


async def _removed(jetstream: JetStreamContext, position: int) -> bool:
    try:
        return await jetstream.delete_msg(DEAD_LETTERS.name, position)
    except NotFoundError:
        return True
    except APIError:
        return False
    except (NatsError, TimeoutError) as error:
        raise _away(error) from error


def _letter(found: RawStreamMsg) -> DeadLetter:
    if found.seq is None:
        raise Broken("JetStream gave a message without its sequence")
    headers = dict(found.headers or {})
    consumer = headers.get(dead_letters.CONSUMER) or (found.subject or "").rpartition(".")[2]
    return DeadLetter(
        position=found.seq,
        message=headers.get(dead_letters.MESSAGE, ""),
        type=headers.get(envelope.TYPE, ""),
        consumer=consumer,
        tenant=headers.get(envelope.TENANT, ""),
        subject=headers.get(dead_letters.SUBJECT, ""),
        error=headers.get(dead_letters.BECAUSE, ""),
        died_at=found.time,
        headers=headers,
        payload=found.data or b"",
    )


def _away(error: Exception) -> Transient:
    return Transient(f"JetStream did not answer: {error!r}", retry_after_s=1.0)
