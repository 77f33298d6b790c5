"""The port to whatever brings machines. Neighbours: `reconcile/effects` and `reconcile/loop`, which alone call it; one module or package for each provider.

An intent is launched any number of times with the effect of once: its id is the provider's idempotency token, or the machines' names derive
from it. Every machine carries its intent and index, so that it is ours to be found again, whoever was killed when.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.intents import Intent, Launched, Sighting
from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class MachineRef:
    """Which machine is meant: this one, or where `external_id` is not known every one of the worker's."""

    worker: WorkerId
    external_id: str | None = None


class MachineIdentity(Protocol):
    """How machines of a provider prove which of its machines they are."""

    async def machine_of(self, document: str, signature: str) -> str:
        """The provider's own name of the machine. `signature` is empty where the document bears its own.

        Raises:
            Rejected: The provider has not signed that (`bad_identity`).
            Transient: By what it signs cannot be known now.
        """


class MachineDriver(Protocol):
    """Brings, watches and takes away machines with one worker each."""

    @property
    def name(self) -> str: ...

    @property
    def most_per_intent(self) -> int:
        """Machines that one call may ask for."""

    @property
    def lateness(self) -> timedelta:
        """How long after a change a look may still show what was before."""

    @property
    def ends_strangers(self) -> bool:
        """Whether machines that bear our mark, and that no record of ours knows, are to be ended."""

    @property
    def identity(self) -> MachineIdentity | None:
        """By what machines join; None: each by the token that its launch gave it."""

    def watch(self, notify: Callable[[], None]) -> None:
        """Has `notify` called, in the event loop, when something may have changed; a hint only."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """Makes the intent's machines, unless they were made; each starts its worker, which joins by its token. Who has no token was made before,
        and may have ended since.

        Raises:
            Transient: What came of it is not known; the same intent is launched again.
        """

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Starts the worker of a machine that is there and stands still, unless it runs. `token` None: it keeps its credentials.

        Raises:
            MusterError: It could not; the message says why.
        """

    async def kick(self, worker: WorkerId) -> None:
        """Kills the process of a worker that hangs; the machine, and what the worker had started, stay. It may be gone already."""

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        """Everything of ours that is there, also what nobody ordered, and what has ended for as long as the provider shows it.

        `awaited`: no more than the machines of these calls is asked for, where the provider shows them sooner than all.

        Raises:
            Transient: The provider does not say.
        """

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        """Ends the workers as gently as the provider can, then the machines; those that are not there are ended already.

        On return nothing that a look had shown is left, or it is bound to go without us.

        Raises:
            MusterError: Something is left.
        """
