"""The secrets of one run: asked of the gateway when the run starts, and again after a restart of the daemon. Values are only in memory."""

import asyncio
from collections.abc import Mapping, Sequence

from muster.errors import MusterError, Rejected, Transient
from shared.ids import RunId
from shared.messages.secrets import GetRunSecret
from shared.messages.trial_specs import SecretReference
from shared.runtime.outages import Outages
from worker.connection.platform_connection import PlatformConnection
from worker.core.faults import CausedByTrial
from worker.core.masking import EVERYTHING, NO_SECRETS, Mask

MAX_RETRY_S = 5.0
_REQUEST_S = 10.0
_FETCHING = "fetching a run's secrets"


class SecretUnavailable(CausedByTrial):
    """The run references a secret that does not exist, or that it may not have: its config has to change."""


class RunSecrets:
    """The secrets that a run's config references. `mask` hides the values in its output; until the values are known it hides everything."""

    def __init__(
        self, run_id: RunId, references: Sequence[SecretReference], platform: PlatformConnection
    ) -> None:
        self._run_id = run_id
        self._references = references
        self._platform = platform
        self._values: dict[str, str] = {}
        self._loading = asyncio.Lock()
        self._settled = asyncio.Event()
        self.refusal: str | None = None
        """Why the values are unavailable; None if they are not."""
        self.mask = EVERYTHING if references else NO_SECRETS
        if not references:
            self._settled.set()

    @property
    def is_settled(self) -> bool:
        """Whether the values are known, or known to be unavailable. Until then no process is started, and no exit is judged."""
        return self._settled.is_set()

    @property
    def are_known(self) -> bool:
        """Whether processes can be started with the values."""
        return self.is_settled and self.refusal is None

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables of the run's processes."""
        return {
            one.name: self._values[one.name]
            for one in self._references
            if one.file is None and one.name in self._values
        }

    @property
    def files(self) -> Mapping[str, str]:
        """Contents of the files below the home directory, by path."""
        return {
            one.file: self._values[one.name]
            for one in self._references
            if one.file is not None and one.name in self._values
        }

    async def value(self, name: str) -> str:
        """Ask the gateway for one secret that the run's config references.

        Raises:
            SecretUnavailable: It does not exist, or the run may not have it.
            Transient: There is no answer.
        """
        try:
            answer = await self._platform.request(
                GetRunSecret(run_id=self._run_id, name=name), timeout_s=_REQUEST_S
            )
        except Rejected as error:
            raise SecretUnavailable(error.code, error.message, error.place, error.hint) from error
        return self._platform.open_sealed(answer.sealed).decode()

    async def load(self) -> None:
        """Ask for all values, unless they are known. Raises as `value`."""
        async with self._loading:
            if self._settled.is_set():
                return
            names = dict.fromkeys(one.name for one in self._references)
            values = await asyncio.gather(*map(self.value, names))
            self._values = dict(zip(names, values, strict=True))
            self._settle(Mask(values))

    async def load_again(self) -> None:
        """Ask for all values after a restart of the daemon, until the gateway answers. A refusal leaves all output hidden."""
        retry_s, outages = 0.1, Outages(run=str(self._run_id))
        while not self._settled.is_set():
            try:
                await self.load()
                outages.worked(_FETCHING)
            except Transient as error:
                outages.failed(_FETCHING, error)
                await asyncio.sleep(retry_s)
                retry_s = min(retry_s * 2, MAX_RETRY_S)
            except MusterError as error:
                self.refusal = error.message
                self._settle(EVERYTHING)

    async def settled(self) -> None:
        """Wait until `is_settled`."""
        await self._settled.wait()

    def _settle(self, mask: Mask) -> None:
        self.mask = mask
        self._settled.set()
