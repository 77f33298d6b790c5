"""Connections of the provisioner, and the pool that it manages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import WorkerId
from simulator.control.scheduler_process import SchedulerMessage as Message
from simulator.event_queue import EventQueue
from simulator.observers.observer import Observer
from simulator.provisioning.cloud import CloudBehavior


@dataclass(slots=True)
class ProvisionerLinks:
    """Connections of the provisioner.

    Attributes:
        send: Sends a command to the scheduler, or publishes that a machine was removed.
        is_up: Whether the database answers.
        loads: The load of each worker from the scheduler; None: no answer.
    """

    agenda: EventQueue
    send: Callable[[Message], None]
    watch: Observer
    is_up: Callable[[], bool]
    loads: Callable[[], Mapping[WorkerId, WorkerLoad] | None]


@dataclass(frozen=True, slots=True)
class Rented:
    """A pool with a provider, and the provider's behavior."""

    spec: PoolSpec
    manners: CloudBehavior
