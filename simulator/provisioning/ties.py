"""Where a provisioner is joined to the world, and what it rents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from services.provisioner.core.planning.loads import Load
from services.provisioner.core.renting.spec import PoolSpec
from shared.ids import WorkerId
from simulator.agenda import Agenda
from simulator.control.node import Told as Message
from simulator.provisioning.cloud import Manners
from simulator.watching.watch import Watch


@dataclass(slots=True)
class Ties:
    """Where the provisioner is joined to the world.

    Attributes:
        tell: Sends the scheduler a command, or says that a machine is gone.
        is_up: Whether the database answers.
        loads: What the scheduler says runs on each worker; None: it does not answer.
    """

    agenda: Agenda
    tell: Callable[[Message], None]
    watch: Watch
    is_up: Callable[[], bool]
    loads: Callable[[], Mapping[WorkerId, Load] | None]


@dataclass(frozen=True, slots=True)
class Rented:
    """A pool whose machines come and go, and where from."""

    spec: PoolSpec
    manners: Manners
