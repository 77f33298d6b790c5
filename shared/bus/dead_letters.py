"""Dead letters: what a message that nobody can handle is stored with, and what it becomes when it is sent again."""

from collections.abc import Mapping
from dataclasses import dataclass

from nats.aio.msg import Msg

from shared.bus import envelope

BECAUSE = "Muster-Dead-Because"
SUBJECT = "Muster-Dead-Subject"
CONSUMER = "Muster-Dead-Consumer"
MESSAGE = "Muster-Dead-Id"
_PREFIX = "Muster-Dead-"
_MOST_WORDS = 2000


@dataclass(frozen=True, slots=True)
class ReplayedMessage:
    """A message as it is published again."""

    subject: str
    headers: dict[str, str]


def dead_letter(message: Msg, service: str, why: str) -> dict[str, str]:
    """The headers under which the message is buried: its own, whose it was, and why. One delivery is buried once, however often tried."""
    headers = dict(message.headers or {})
    found = message.metadata
    headers[BECAUSE] = " ".join(why.split())[:_MOST_WORDS]
    headers[SUBJECT] = message.subject
    headers[CONSUMER] = service
    headers[MESSAGE] = headers.get(envelope.REPLAYED_ID) or headers.get(envelope.ID, "")
    headers[envelope.ID] = f"dead:{service}:{found.stream}:{found.sequence.stream}"
    return headers


def replayed(headers: Mapping[str, str], position: int) -> ReplayedMessage:
    """What is published to try a dead letter again.

    It keeps its Muster id, so that whoever has handled it ignores it; the id that the stream judges repeats by is the letter's, so
    that the stream takes it, once for each letter. Raises KeyError where the letter has no subject.
    """
    kept = {key: value for key, value in headers.items() if not key.startswith((_PREFIX, "Nats-"))}
    if headers.get(MESSAGE):
        kept[envelope.REPLAYED_ID] = headers[MESSAGE]
    kept[envelope.ID] = f"replay:{position}:{headers.get(MESSAGE, '')}"
    return ReplayedMessage(headers[SUBJECT], kept)
