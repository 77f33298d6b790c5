"""The port to whatever brings machines. Neighbours: `reconcile`, which alone calls it; one module for each kind of machine.

Every effect is idempotent by the worker's id, which derives from the instance: it is repeated until its outcome is on record.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from services.provisioner.core.intents import Presence
from shared.ids import PoolName, WorkerId
from shared.messages.specs import SlotKind


@dataclass(frozen=True, slots=True)
class Order:
    """What is to run. `join_token` None: the worker has joined before and keeps its credentials."""

    worker: WorkerId
    pool: PoolName
    seat: int
    slots: int
    kind: SlotKind
    join_token: str | None


class Driver(Protocol):
    """Brings, watches and takes away machines with one worker each."""

    @property
    def name(self) -> str: ...

    def watch(self, notify: Callable[[], None]) -> None:
        """Has `notify` called, in the event loop, when something may have changed; a hint only."""

    async def launch(self, order: Order) -> None:
        """Makes the machine if it is not there, and starts its worker unless it runs.

        Raises:
            MusterError: It could not; the message says why. Nothing, or a part, may have been done.
        """

    async def kick(self, worker: WorkerId) -> None:
        """Kills the process of a worker that hangs; the machine, and what the worker had started, stay. It may be gone already."""

    async def observe(self) -> Mapping[WorkerId, Presence]:
        """Everything that is there, also what nobody ordered.

        Raises:
            Transient: The provider does not say.
        """

    async def terminate(self, worker: WorkerId) -> None:
        """Ends the worker gently, then the machine; nothing of it is left on return, nor if there was nothing before.

        Raises:
            MusterError: Something is left.
        """
