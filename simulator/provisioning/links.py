"""Where a provisioner is joined to the world, and what it rents."""

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
    """Where the provisioner is joined to the world.

    Attributes:
        tell: Sends the scheduler a command, or says that a machine is gone.
        is_up: Whether the database answers.
        loads: What the scheduler says runs on each worker; None: it does not answer.
    """

    agenda: EventQueue
    tell: Callable[[Message], None]
    watch: Observer
    is_up: Callable[[], bool]
    loads: Callable[[], Mapping[WorkerId, WorkerLoad] | None]


@dataclass(frozen=True, slots=True)
class Rented:
    """A pool whose machines come and go, and where from."""

    spec: PoolSpec
    manners: CloudBehavior
