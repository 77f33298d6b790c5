"""Launches of machines, and what providers report. See `drivers/base.py`, which uses these types, and `plan`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.instance import Instance, IntentId, worker_of
from services.provisioner.core.instances.refusals import LaunchRefusal
from shared.ids import InstanceId, PoolName, WorkerId, derived_id, id_of

_LOW = (1 << 62) - 1
"""The bits of an id that encode neither its time nor its kind."""


class Presence(StrEnum):
    """State of a machine as its driver reports it. A machine that it does not list has no entry."""

    RUNNING = "running"
    STOPPED = "stopped"
    ENDED = "ended"
    """The provider reports the end. This is certain, while a missing entry may be a late listing."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One launch of machines of one offer.

    It is committed before the call and repeated unchanged until its outcome is recorded, so that `id` can serve as
    the provider's idempotency token.

    Attributes:
        instances: All machines of the launch, including those placed before, each `member(id, index)` at its index.
    """

    id: IntentId
    pool: PoolName
    offer: Offer
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Launched:
    """Outcome of a launch, which may be partial. Machines that are neither placed nor refused are requested again."""

    placed: Mapping[WorkerId, str | None] = field(default_factory=dict)
    """Maps each placed worker to the provider's machine id, if it has one."""
    refused: LaunchRefusal | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A machine of this deployment, found by its name or tag, whether recorded or not.

    Attributes:
        extras: Ids of further machines that claim the same worker.
        launched_at, ended_at: Period for which the provider bills the machine.
    """

    presence: Presence
    external_id: str | None = None
    intent: IntentId | None = None
    zone: str | None = None
    extras: tuple[str, ...] = ()
    launched_at: datetime | None = None
    ended_at: datetime | None = None


def own_sighting(instance: Instance, sightings: Mapping[WorkerId, Sighting]) -> Sighting | None:
    """Return what is reported of the recorded machine.

    A machine that only claims the same worker is not reported: the recorded one may not be listed yet or may have
    ended.
    """
    seen = sightings.get(instance.worker)
    if seen is None or instance.external_id in (None, seen.external_id):
        return seen
    if instance.external_id not in seen.extras:
        return None
    others = tuple(one for one in (seen.external_id, *seen.extras) if one not in (None, instance.external_id))
    return Sighting(seen.presence, instance.external_id, seen.intent, seen.zone, tuple(filter(None, others)))


def duplicates(instance: Instance, sightings: Mapping[WorkerId, Sighting]) -> list[str]:
    """Return machines that claim the instance's worker, besides the recorded one, or besides the first if none is recorded."""
    seen = sightings.get(instance.worker)
    if seen is None or seen.presence is Presence.ENDED:
        return []
    kept = instance.external_id or seen.external_id
    return [one for one in (seen.external_id, *seen.extras) if one not in (None, kept) and one is not None]


def instance_id_at(intent: IntentId, index: int) -> InstanceId:
    """Return the id of an intent's instance.

    It is derived, so that a machine that carries its intent and index determines its worker by itself and needs no
    further message after the launch. The id sorts by time like the intent's.
    """
    own = derived_id(intent, index).int & _LOW
    return InstanceId(id_of(intent.int & ~_LOW | own))


def worker_at(intent: IntentId, index: int) -> WorkerId:
    """Return the worker of an intent's instance."""
    return worker_of(instance_id_at(intent, index))


def offer_of(instance: Instance) -> Offer:
    """Return the offer that it was rented as, even if the catalogue has changed."""
    kind = MachineKind(instance.machine_kind, instance.driver, instance.slots, instance.kind)
    return Offer(kind, instance.zone, instance.purchase, instance.price_per_hour)
