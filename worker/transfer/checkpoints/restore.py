"""The checkpoint that a run goes on from: what the registry names, from the machine's cache or the store, verified."""

import errno
import shutil
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
from worker.transfer.cache import FileCache
from worker.transfer.http import FILES_AT_ONCE, Transfer

ATTEMPTS = 2
"""So often wrong bytes may come before the registry is asked to look itself."""
ASK_S = 5.0
LOOK_S = 60.0
"""The registry reads a file that is said to be damaged."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Latest:
    """What a run goes on from: the checkpoint's folder, and the searcher's metric at its best until then."""

    folder: Path
    best: float | None = None


class Restorer:
    """Brings checkpoints to this machine, and takes over those that are made here."""

    def __init__(self, cache: FileCache, platform: PlatformConnection, transfer: Transfer) -> None:
        self._cache = cache
        self._platform = platform
        self._transfer = transfer

    async def restore(
        self, run_id: RunId, tenant: UUID, target: Path, *, is_gang: bool, log: Callable[[str], None]
    ) -> Latest | None:
        """Put the newest good checkpoint of the run's trial into `target` and return it; None when there is none.

        One that is damaged in the store is told to the registry, which names the one before it.

        Args:
            run_id: The run.
            tenant: Whose it is.
            target: An empty folder, or none yet.
            is_gang: Whether other machines restore too: they may have whole files of the damaged one in their caches, so the run
                ends here and begins anew, on all machines from the same.
            say: Told in words what the user should know.

        Raises:
            Transient: Registry or store are away; ask again.
            OSError: The disk is full or broken, nothing half-made stays; or a gang has to begin anew.
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
                raise Transient(f"{damaged.path} came damaged, and is whole in the store", code="bad_bytes")
            text = f"the checkpoint of step {before.step} is damaged in the store ({damaged.path})"
            log(f"{text}: the trial goes on from {_describe(restored)}")
            if is_gang:
                raise OSError(errno.EIO, f"{text}: the gang begins anew from {_describe(restored)}")
        return None

    def keep(self, tenant: UUID, folder: Path, files: tuple[FileEntry, ...]) -> None:
        """Take over the files of a folder that was uploaded: a run that resumes here fetches none of them."""
        for entry in files:
            self._cache.move_in(tenant, entry, folder / entry.path)
        shutil.rmtree(folder, ignore_errors=True)

    async def _ask(self, asked: Restore, timeout_s: float = ASK_S) -> Restored:
        """The checkpoint to go on from with all its files, which may take several answers."""
        restored = await self._platform.request(asked.model_copy(update={"first": 0}), timeout_s=timeout_s)
        while restored.next is not None:
            page = await self._platform.request(Restore(run_id=asked.run_id, first=restored.next))
            if page.checkpoint_id != restored.checkpoint_id:
                raise Transient("another checkpoint is restored from meanwhile", code="another_checkpoint")
            restored = page.model_copy(update={"files": (*restored.files, *page.files)})
        return restored

    async def _fill(self, target: Path, tenant: UUID, restored: Restored) -> DamagedFile | None:
        """Put its files into `target`; return the first that the store does not give as it was saved, with `target` empty again."""
        for link in restored.files:
            check_path(link.path)
        waiting = iter(restored.files)
        spoilt: list[str] = []
        failures: list[OSError | Transient] = []

        async def bring() -> None:
            # None is cancelled for another's failure: its thread would go on writing into a folder that is emptied.
            for link in waiting:
                if spoilt or failures:
                    return
                try:
                    if not await self._bring(tenant, link, target / link.path):
                        spoilt.append(link.path)
                except (OSError, Transient) as error:
                    failures.append(error)

        await run_all(*(bring() for _ in range(FILES_AT_ONCE)))
        if spoilt or failures:
            _empty(target)
        if failures:
            raise failures[0]
        if spoilt:
            assert restored.checkpoint_id is not None
            return DamagedFile(checkpoint_id=restored.checkpoint_id, path=spoilt[0])
        return None

    async def _bring(self, tenant: UUID, link: FileLink, target: Path) -> bool:
        """Whether the file came whole, from the cache or from the store."""
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
                raise Transient(
                    str(error)
                ) from error  # the URL grew old: the next request brings a fresh one
            else:
                await to_thread(self._cache.copy_in, tenant, link, target)
                return True
        return False


def check_path(path: str) -> None:
    """Refuse a file name that could leave its folder, or that no message can hold."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise Rejected(
            "file_path", f"the file name {path!r} is no UTF-8; rename it", place=repr(path)
        ) from error
    parts = path.split("/")
    if not path or path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise Rejected("file_path", f"{path!r} is no path below a checkpoint", place=path)


def _describe(restored: Restored) -> str:
    return (
        f"that of step {restored.step}"
        if restored.checkpoint_id
        else "the beginning, since there is none before it"
    )


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
