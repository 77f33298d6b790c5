"""The interface of machine drivers, one for each provider. Only `reconcile/driver_calls` and `reconcile/loop` call it.

Launching an intent repeatedly has the effect of launching it once: its id is the provider's idempotency token, or the
machines' names derive from it. Every machine carries its intent and index, so that it can be found again after any
crash.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Sighting
from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class MachineRef:
    """A machine of a worker; without `external_id`, every machine of the worker."""

    worker: WorkerId
    external_id: str | None = None


class MachineIdentity(Protocol):
    """How machines of a provider prove their identity."""

    async def machine_of(self, document: str, signature: str) -> str:
        """Return the provider's id of the machine. `signature` is empty if the document includes it.

        Raises:
            Rejected: The provider did not sign the document (`bad_identity`).
            Transient: The provider's keys are not available now.
        """


class MachineDriver(Protocol):
    """Launches, lists and terminates machines with one worker each."""

    @property
    def name(self) -> str: ...

    @property
    def most_per_intent(self) -> int:
        """Most machines of one launch."""

    @property
    def lateness(self) -> timedelta:
        """Maximum delay after which a change appears in a listing."""

    @property
    def terminates_orphans(self) -> bool:
        """Whether to terminate machines that carry our mark but have no record."""

    @property
    def identity(self) -> MachineIdentity | None:
        """How machines join; None: with the token from their launch."""

    def watch(self, notify: Callable[[], None]) -> None:
        """Call `notify` in the event loop when something may have changed; a hint only."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """Create the intent's machines unless they exist; each starts its worker, which joins with its token.

        Machines without a token were created before and may have ended since.

        Raises:
            Transient: The outcome is unknown; the same intent is launched again.
        """

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Start the worker of a stopped machine unless it runs. Without a `token` it keeps its credentials.

        Raises:
            MusterError: The worker was not started; the message contains the reason.
        """

    async def kick(self, worker: WorkerId) -> None:
        """Kill the process of a hung worker. The machine and the worker's child processes stay. The process may already have ended."""

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        """List all machines of this deployment, with or without a record.

        Ended machines are included while the provider lists them. `awaited` limits the listing to the machines of
        these launches, if the provider lists them sooner than all machines.

        Raises:
            Transient: The provider did not return a listing.
        """

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        """Stop the workers as gently as the provider can, then terminate the machines.

        Missing machines count as terminated. On return, every listed machine is gone or will end without further
        calls.

        Raises:
            MusterError: A machine is left.
        """
