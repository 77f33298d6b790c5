"""Restores the checkpoint that a run resumes from: named by the registry, fetched from the machine's cache or the store, verified."""

import errno
from asyncio import to_thread
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import structlog

from muster.errors import Rejected, Transient
from shared.ids import RunId
from shared.messages.checkpoints import DamagedFile, Restore, Restored
from shared.messages.files import FileEntry, FileLink
from shared.runtime.cancelling import run_all
from worker.connection.platform_connection import PlatformConnection
from worker.sandbox.trial_files import TrialFile, remove_tree
from worker.transfer.cache import FileCache
from worker.transfer.http import FILES_AT_ONCE, Transfer

ATTEMPTS = 2
"""Number of damaged downloads before the registry is asked to check the file."""
ASK_S = 5.0
LOOK_S = 60.0
"""Timeout for the registry to read a file that is reported as damaged."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Latest:
    """The checkpoint that a run resumes from: its directory, and the searcher's metric at its best so far."""

    folder: Path
    best: float | None = None


class Restorer:
    """Restores checkpoints, and caches those that are saved here."""

    def __init__(self, cache: FileCache, platform: PlatformConnection, transfer: Transfer) -> None:
        self._cache = cache
        self._platform = platform
        self._transfer = transfer

    async def restore(
        self, run_id: RunId, tenant: UUID, target: Path, *, is_gang: bool, log: Callable[[str], None]
    ) -> Latest | None:
        """Restore the newest intact checkpoint of the run's trial into `target` and return it; None if there is none.

        A checkpoint damaged in the store is reported to the registry, which names the one before it.

        Args:
            run_id: The run.
            tenant: The run's tenant.
            target: An empty or missing directory.
            is_gang: Whether other machines restore too: their caches may hold intact files of the damaged checkpoint, so the run
                ends here and restarts, on all machines from the same checkpoint.
            log: Gets messages for the user.

        Raises:
            Transient: Registry or store are unreachable; retry.
            OSError: The disk is full or broken, and `target` is empty; or a gang must restart.
        """
        restored = await self._ask(Restore(run_id=run_id))
        while restored.checkpoint_id is not None:
            damaged = await self._fill(target, tenant, restored)
            if damaged is None:
                _log.info(
                    "a checkpoint was restored", checkpoint=str(restored.checkpoint_id), step=restored.step
                )
                return Latest(target, restored.best)
            before, asked = restored, Restore(run_id=run_id, damaged=damaged)
            restored = await self._ask(asked, timeout_s=LOOK_S)
            if restored.checkpoint_id == before.checkpoint_id:
                raise Transient(
                    f"{damaged.path} was damaged in transfer, but is intact in the store", code="bad_bytes"
                )
            text = f"the checkpoint of step {before.step} is damaged in the store ({damaged.path})"
            log(f"{text}: the trial resumes from {_describe(restored)}")
            if is_gang:
                raise OSError(errno.EIO, f"{text}: the gang restarts from {_describe(restored)}")
        return None

    def keep(self, tenant: UUID, folder: Path, files: tuple[FileEntry, ...]) -> None:
        """Cache the files of an uploaded directory and remove it: a run that resumes here does not fetch them."""
        for entry in files:
            self._cache.link_in(tenant, entry, file_of(folder, entry.path))
        remove_tree(folder)

    async def _ask(self, asked: Restore, timeout_s: float = ASK_S) -> Restored:
        """Return the checkpoint to resume from with all its files, which may take several answers."""
        restored = await self._platform.request(asked.model_copy(update={"first": 0}), timeout_s=timeout_s)
        while restored.next is not None:
            page = await self._platform.request(Restore(run_id=asked.run_id, first=restored.next))
            if page.checkpoint_id != restored.checkpoint_id:
                raise Transient(
                    "the checkpoint to resume from changed during the request", code="another_checkpoint"
                )
            restored = page.model_copy(update={"files": (*restored.files, *page.files)})
        return restored

    async def _fill(self, target: Path, tenant: UUID, restored: Restored) -> DamagedFile | None:
        """Restore the files into `target`; return the first file damaged in the store, with `target` emptied."""
        for link in restored.files:
            check_path(link.path)
        waiting = iter(restored.files)
        broken: list[str] = []
        failures: list[OSError | Transient] = []

        async def bring() -> None:
            # No task is cancelled for another's failure: its thread would keep writing into the emptied directory.
            for link in waiting:
                if broken or failures:
                    return
                try:
                    if not await self._bring(tenant, link, target / link.path):
                        broken.append(link.path)
                except (OSError, Transient) as error:
                    failures.append(error)

        await run_all(*(bring() for _ in range(FILES_AT_ONCE)))
        if broken or failures:
            _empty(target)
        if failures:
            raise failures[0]
        if broken:
            assert restored.checkpoint_id is not None
            return DamagedFile(checkpoint_id=restored.checkpoint_id, path=broken[0])
        return None

    async def _bring(self, tenant: UUID, link: FileLink, target: Path) -> bool:
        """Whether the file was restored intact, from the cache or the store."""
        target.parent.mkdir(parents=True, exist_ok=True)
        if await to_thread(self._cache.take, tenant, link, target):
            return True
        for _ in range(ATTEMPTS):
            try:
                await self._transfer.get(link.url, target, link.sha256, link.size_bytes)
            except Transient as error:
                if error.code != "bad_bytes":
                    raise
            except Rejected as error:
                if error.code == "object_gone":
                    return False
                raise Transient(str(error)) from error  # the URL expired: the next request brings a fresh one
            else:
                await to_thread(self._cache.copy_in, tenant, link, target)
                return True
        return False


def file_of(checkpoint: Path, path: str) -> TrialFile:
    """Return a file of a checkpoint's directory, which the trial may exchange: only the directory above it is the worker's."""
    return TrialFile(checkpoint.parent, f"{checkpoint.name}/{path}")


def check_path(path: str) -> None:
    """Reject a file name that leaves its directory or is not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise Rejected(
            "file_path", f"the file name {path!r} is not valid UTF-8; rename it", place=repr(path)
        ) from error
    parts = path.split("/")
    if not path or path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise Rejected("file_path", f"{path!r} must be a relative path inside the checkpoint", place=path)


def _describe(restored: Restored) -> str:
    return (
        f"the checkpoint of step {restored.step}"
        if restored.checkpoint_id
        else "the beginning, because no earlier checkpoint exists"
    )


def _empty(folder: Path) -> None:
    remove_tree(folder)
    folder.mkdir(parents=True, exist_ok=True)
