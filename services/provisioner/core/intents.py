"""Calls for machines, and what providers show and answer. Neighbours: `drivers/base.py`, the port that speaks in these words; `plan`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instance import Instance, IntentId, worker_of
from services.provisioner.core.refusals import Refusal
from shared.ids import InstanceId, PoolName, WorkerId, derived_id


class Presence(StrEnum):
    """What a driver sees of an instance; nothing at all where it is not named."""

    RUNNING = "running"
    STOPPED = "stopped"
    ENDED = "ended"
    """The provider says that it is over: a fact, where not being named is none yet."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One call for machines of one offer: committed before the call, and repeated unchanged until its outcome is on record, so that the
    provider's idempotency token can derive from `id`. `instances`: all of the call, also those that were placed before, each `member(id, index)`
    at its index.
    """

    id: IntentId
    pool: PoolName
    offer: Offer
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Launched:
    """What became of an intent: some machines may have come and others not. What is neither placed nor refused is asked for again."""

    placed: Mapping[WorkerId, str | None] = field(default_factory=dict)
    """Each with the provider's own id, where it has one."""
    refused: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A machine of ours, found by its name or tag; also one that no record knows.

    `extras`: ids of further machines that say they are the same worker. `launched_at`, `ended_at`: between which the provider bills it.
    """

    presence: Presence
    external_id: str | None = None
    intent: IntentId | None = None
    zone: str | None = None
    extras: tuple[str, ...] = ()
    launched_at: datetime | None = None
    ended_at: datetime | None = None


def member(intent: IntentId, index: int) -> InstanceId:
    """The id of an intent's instance. So a machine that carries its intent and its index says by itself which worker it is, to whoever looks at
    it and to what runs on it: neither has to be told after the launch."""
    return InstanceId(derived_id(intent, index))


def worker_at(intent: IntentId, index: int) -> WorkerId:
    """The worker of an intent's instance."""
    return worker_of(member(intent, index))
