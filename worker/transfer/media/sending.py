"""Sends media to the registry in the background: pack, upload, commit; one pack at a time per run, retried until it is settled."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog
from pydantic import BaseModel, ValidationError

from muster import wire
from muster.errors import MusterError, Rejected, Transient
from shared.clock import Clock
from shared.ids import RunId, new_id
from shared.messages.files import FileLink
from shared.messages.media import CommitMedia, MediaCommitted, MediaTarget, SendMedia
from shared.runtime import faults
from shared.runtime.outages import Outages
from worker.sandbox.trial_files import TrialFile
from worker.store.store import write_whole
from worker.transfer.media.packing import Folders, Packed, Positions, pack

AFTER_COMMIT = faults.register("media.after_commit")
LOOK_S = 1.0
LINGER_S = 5.0
"""Minimum time between packs of a run that logs little and often; the first one is sent at the next check."""
SOON_BYTES = 1024 * 1024
"""Waiting data of this size is sent without delay."""
ATTEMPTS = 5
"""Number of mismatches between stored and sent bytes before a pack is dropped."""
MAX_RETRY_S = 10.0
_SENDING = "sending media; they wait on the worker's disk"
_log = structlog.get_logger()


class _State(BaseModel):
    """The record on disk: positions of settled data, and the pack being sent."""

    taken: Positions = Positions()
    pack: Packed | None = None


class Registry(Protocol):
    """The registry, as media uploads use it."""

    async def send_media(self, request: SendMedia) -> MediaTarget: ...

    async def commit_media(self, request: CommitMedia) -> MediaCommitted: ...


@dataclass(frozen=True, slots=True)
class MediaDependencies:
    """Dependencies of the sender: PUT requests, the clock, and a callback for refused media."""

    put: Callable[[FileLink, TrialFile], Awaitable[None]]
    clock: Clock
    on_refused: Callable[[str], None]


class MediaSender:
    """Sends the media of one run. Its record and the current pack are stored at `path`."""

    def __init__(
        self, run_id: RunId, folders: Folders, path: Path, registry: Registry, needs: MediaDependencies
    ) -> None:
        self._run_id = run_id
        self._folders = folders
        self._record, self._target = path.with_suffix(".json"), path.with_suffix(".pack")
        self._registry = registry
        self._needs = needs
        self._state = self._load()
        self._over = asyncio.Event()
        self._outages = Outages()
        self._sent_at = -LINGER_S
        self.is_drained = False

    def finish(self) -> None:
        """Send the remaining media at once; the run's ranks have ended."""
        self._over.set()

    async def run(self) -> None:
        """Send until the run is over and the registry has everything."""
        while not self.is_drained:
            await self._wait()
            is_over = self._over.is_set()
            try:
                if self._state.pack or is_over or await self._is_due():
                    await self._send_all(is_over=is_over)
                    self.is_drained = is_over
            except OSError as error:
                self._outages.failed(_SENDING, error)
                if is_over and not wire.is_disk_full(error):
                    self._needs.on_refused(f"the worker's disk: {error.strerror or error}")
                    self.is_drained = True
                await asyncio.sleep(LOOK_S)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(LOOK_S):
                await self._over.wait()
        except TimeoutError:
            return

    async def _is_due(self) -> bool:
        waiting = await asyncio.to_thread(self._folders.waiting_bytes, self._state.taken)
        lingered = asyncio.get_running_loop().time() - self._sent_at >= LINGER_S
        return waiting >= SOON_BYTES or (waiting > 0 and lingered)

    async def _send_all(self, *, is_over: bool) -> None:
        """Pack and send until no complete item is left."""
        while packed := self._state.pack or await self._pack():
            if packed.items:
                refused = await self._settle(packed)
                faults.point(AFTER_COMMIT)
                if refused:
                    self._needs.on_refused(refused)
            self._state = _State(taken=packed.after)
            self._save()
            self._target.unlink(missing_ok=True)
        self._state.taken = await asyncio.to_thread(
            self._folders.forget_taken, self._state.taken, is_over=is_over
        )
        self._sent_at = asyncio.get_running_loop().time()

    async def _pack(self) -> Packed | None:
        refusals: list[str] = []
        pack_id = new_id(self._needs.clock)
        packed = await asyncio.to_thread(
            pack, self._folders, self._state.taken, self._target, pack_id, refusals.append
        )
        for refusal in refusals:
            self._needs.on_refused(refusal)
        if packed is not None:
            self._state.pack = packed
            self._save()
        return packed

    async def _settle(self, packed: Packed) -> str | None:
        """Retry until the registry has the pack; return what it refused."""
        retry_s, mismatches = 0.25, 0
        while True:
            try:
                state = await self._attempt(packed)
                self._outages.worked(_SENDING)
                mismatches += state.is_missing
                if not state.is_missing:
                    return state.refused
                if mismatches >= ATTEMPTS:
                    return "the store's content does not match what was sent"
            except Rejected as error:
                return f"{error.code}: {error}"
            except MusterError as error:
                asked_s = error.retry_after_s if isinstance(error, Transient) else MAX_RETRY_S
                retry_s = max(retry_s, min(asked_s, MAX_RETRY_S))
                if retry_s >= 1:
                    self._outages.failed(_SENDING, error)
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, MAX_RETRY_S)

    async def _attempt(self, packed: Packed) -> MediaCommitted:
        known = {"run_id": self._run_id, "pack_id": packed.pack_id}
        size, sha256 = packed.size_bytes, packed.sha256
        request = SendMedia(**known, size_bytes=size, sha256=sha256, takes_headers=True)
        target = await self._registry.send_media(request)
        if target.refused:
            return MediaCommitted(refused=target.refused)
        if target.url:
            try:
                file = {"path": self._target.name, "size_bytes": size, "sha256": sha256}
                link = FileLink(**file, url=target.url, headers=target.headers)
                await self._needs.put(link, TrialFile(self._target.parent, self._target.name))
            except Rejected as error:
                if error.code != "content_refused":  # the URL expired: the next attempt brings a fresh one
                    raise Transient(str(error)) from error
        return await self._registry.commit_media(CommitMedia(**known, items=packed.items))

    def _load(self) -> _State:
        try:
            state = _State.model_validate_json(self._record.read_text())
        except FileNotFoundError:
            return _State()
        except (OSError, ValidationError) as error:
            _log.error("a record of media could not be read", path=str(self._record), error=str(error))
            return _State()
        # After a power failure the record may exist without the pack's bytes: the pack is then created again.
        is_whole = (
            state.pack and self._target.exists() and self._target.stat().st_size == state.pack.size_bytes
        )
        return state if is_whole else _State(taken=state.taken)

    def _save(self) -> None:
        write_whole(self._record, self._state.model_dump_json(), sync=False)
