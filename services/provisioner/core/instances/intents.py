"""Calls for machines, and what providers show and answer. Neighbours: `drivers/base.py`, the port that speaks in these words; `plan`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.instance import Instance, IntentId, worker_of
from services.provisioner.core.instances.refusals import LaunchRefusal
from shared.ids import InstanceId, PoolName, WorkerId, derived_id, id_of

_LOW = (1 << 62) - 1
"""What of an id tells neither its time nor its kind."""


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
    refused: LaunchRefusal | None = None


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


def own_sighting(instance: Instance, sightings: Mapping[WorkerId, Sighting]) -> Sighting | None:
    """What is seen of the machine on record. One that only says it is the same worker is none of it: that of the record may not be shown yet, or be
    gone."""
    seen = sightings.get(instance.worker)
    if seen is None or instance.external_id in (None, seen.external_id):
        return seen
    if instance.external_id not in seen.extras:
        return None
    others = tuple(one for one in (seen.external_id, *seen.extras) if one not in (None, instance.external_id))
    return Sighting(seen.presence, instance.external_id, seen.intent, seen.zone, tuple(filter(None, others)))


def duplicates(instance: Instance, sightings: Mapping[WorkerId, Sighting]) -> list[str]:
    """Machines that say they are the instance's worker, beside the one on record, or beside the first where none is."""
    seen = sightings.get(instance.worker)
    if seen is None or seen.presence is Presence.ENDED:
        return []
    kept = instance.external_id or seen.external_id
    return [one for one in (seen.external_id, *seen.extras) if one not in (None, kept) and one is not None]


def instance_id_at(intent: IntentId, index: int) -> InstanceId:
    """The id of an intent's instance. So a machine that carries its intent and its index says by itself which worker it is, to whoever looks at
    it and to what runs on it: neither has to be told after the launch. It sorts by time as the intent's does."""
    own = derived_id(intent, index).int & _LOW
    return InstanceId(id_of(intent.int & ~_LOW | own))


def worker_at(intent: IntentId, index: int) -> WorkerId:
    """The worker of an intent's instance."""
    return worker_of(instance_id_at(intent, index))


def offer_of(instance: Instance) -> Offer:
    """As what it was rented; also after the catalogue has changed."""
    kind = MachineKind(instance.machine_kind, instance.driver, instance.slots, instance.kind)
    return Offer(kind, instance.zone, instance.purchase, instance.price_per_hour)
