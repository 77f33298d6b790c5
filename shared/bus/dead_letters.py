"""Dead letters: the headers of a message that could not be handled, and how it is published again."""

from collections.abc import Mapping
from dataclasses import dataclass

from nats.aio.msg import Msg

from shared.bus import envelope

BECAUSE = "Muster-Dead-Because"
SUBJECT = "Muster-Dead-Subject"
CONSUMER = "Muster-Dead-Consumer"
MESSAGE = "Muster-Dead-Id"
_PREFIX = "Muster-Dead-"
_MAX_REASON_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class ReplayedMessage:
    """A message to publish again."""

    subject: str
    headers: dict[str, str]


def dead_letter(message: Msg, service: str, why: str) -> dict[str, str]:
    """Return the headers of a dead letter: the message's own, its consumer, and the reason. Repeating it for one delivery stores one dead letter."""
    headers = dict(message.headers or {})
    found = message.metadata
    headers[BECAUSE] = " ".join(why.split())[:_MAX_REASON_CHARACTERS]
    headers[SUBJECT] = message.subject
    headers[CONSUMER] = service
    headers[MESSAGE] = headers.get(envelope.REPLAYED_ID) or headers.get(envelope.ID, "")
    headers[envelope.ID] = f"dead:{service}:{found.stream}:{found.sequence.stream}"
    return headers


def replayed(headers: Mapping[str, str], position: int) -> ReplayedMessage:
    """Return the message to publish for another attempt at a dead letter.

    It keeps its Muster id, so that consumers that handled it ignore it. Its deduplication id for the stream is derived from the dead letter,
    so that the stream accepts it once per dead letter. Raises KeyError if the dead letter has no subject.
    """
    kept = {key: value for key, value in headers.items() if not key.startswith((_PREFIX, "Nats-"))}
    if headers.get(MESSAGE):
        kept[envelope.REPLAYED_ID] = headers[MESSAGE]
    kept[envelope.ID] = f"replay:{position}:{headers.get(MESSAGE, '')}"
    return ReplayedMessage(headers[SUBJECT], kept)
