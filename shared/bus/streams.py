"""Definitions of the streams. The bus keeper creates them (`keeping`); services wait until they exist."""

from dataclasses import dataclass

from nats.js import api

from shared.ids import SITE

_DAY_S = 86_400.0
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """A stream of the platform. A full stream rejects messages (DiscardNew) and never drops them silently.

    Attributes:
        takes_batches: Accepts atomic batches, stored with one disk sync. Only for streams that services alone publish to: a client may leave
            batches open, and a stream allows fifty.
    """

    name: str
    subjects: tuple[str, ...]
    retention: api.RetentionPolicy
    max_bytes: int
    max_age_s: float
    duplicate_window_s: float = 120.0
    deletable: bool = False
    takes_batches: bool = False
    replicas: int = 1

    def keeps(self, subject: str) -> bool:
        """Return whether the stream stores messages published on `subject`."""
        return any(subject.startswith(pattern.removesuffix(">")) for pattern in self.subjects)


EVENTS = StreamConfig(
    "EVT", ("evt.v1.>",), api.RetentionPolicy.LIMITS, 2048 * _MIB, _DAY_S, takes_batches=True
)
COMMANDS = StreamConfig("CMD", ("cmd.v1.>",), api.RetentionPolicy.WORK_QUEUE, 256 * _MIB, 7 * _DAY_S)
DEAD_LETTERS = StreamConfig(
    "DLQ", ("dlq.v1.>",), api.RetentionPolicy.LIMITS, 256 * _MIB, 30 * _DAY_S, deletable=True
)
"""Operators delete its messages one by one; no service has the permission."""
ALL = (EVENTS, COMMANDS, DEAD_LETTERS)

WAIT_FOR_BUS_KEEPER = (
    "the bus keeper creates it within seconds; if this lasts, check that it runs: part bus-keeper of `muster status`,"
    " or `python -m deploy.bus_keeper` with a bus of your own"
)
"""What to do while a stream or consumer does not exist."""

HEALTH = f"evt.v1.{SITE}.health"
"""Subject prefix of health probes, before a service's name. No consumer reads them, and the stream drops them after a day."""


def stream_of(subject: str) -> StreamConfig:
    """Return the stream that stores messages published on `subject`."""
    for stream in ALL:
        if stream.keeps(subject):
            return stream
    raise ValueError(f"no stream stores {subject}")


def filters_of(config: api.ConsumerConfig) -> set[str]:
    """Return the subjects that a consumer receives."""
    return set(config.filter_subjects or ([config.filter_subject] if config.filter_subject else []))
