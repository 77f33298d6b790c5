"""Handles messages from the platform: the desired set, answered by the observed set, and verdicts of the fast path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog
from pydantic import ValidationError

from muster.errors import MusterError, Rejected
from shared import telemetry
from shared.messages.allocations import DesiredSet, ObservedSet
from shared.messages.experiments import TrialVerdict
from worker.connection.signed_sets import SignedSets
from worker.core.desired_set import DEPOSED
from worker.runs.run_table import Runs

_log = structlog.get_logger()


class Received(Protocol):
    """The parts of a NATS message that the handlers use."""

    @property
    def data(self) -> bytes: ...

    @property
    def reply(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str] | None: ...

    async def respond(self, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Handlers:
    """Handlers for core NATS messages to this worker."""

    runs: Runs
    signed_sets: SignedSets
    observe: Callable[[], ObservedSet]
    on_contact: Callable[[], None]

    async def on_desired(self, message: Received) -> None:
        """Apply a desired set that the scheduler signed, and reply; a deposed leader learns the epoch from the reply. Nobody else gets one."""
        try:
            key = self.signed_sets.check(message.data, message.headers or {})
        except Rejected as error:
            self.signed_sets.refuse(error)
            return
        try:
            desired = DesiredSet.from_bytes(message.data)
            with telemetry.span(
                "apply desired set", parent=message.headers or {}, count=len(desired.allocations)
            ):
                self.runs.apply(desired, key)
                self.on_contact()
        except Rejected as error:
            if error.code == DEPOSED:
                _log.warning("a desired set was refused", error=error.message)
            else:
                self.signed_sets.refuse(error)
        except (ValidationError, MusterError, OSError) as error:
            _log.error("a desired set could not be applied", error=str(error))
        if message.reply:
            await message.respond(self.observe().to_bytes())

    async def on_verdict(self, message: Received) -> None:
        """Relay a verdict at once.

        A verdict asks for no reply. The bus adds one where it delivers from a stream, as a service could make it do without permission to
        publish verdicts.
        """
        if message.reply:
            _log.error("a verdict was refused: it was delivered from a stream", reply=message.reply)
            return
        try:
            self.runs.on_verdict(TrialVerdict.from_bytes(message.data))
        except ValidationError as error:
            _log.error("a verdict could not be read", error=str(error))
