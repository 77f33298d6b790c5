"""The checkpoint that a run goes on from: what the registry names, from the machine's cache or the store, verified."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

import structlog

from muster.errors import Rejected, Transient
from shared.ids import RunId
from shared.messages.checkpoints import Restore
from shared.messages.files import FileEntry, FileLink
from worker.files.copying import copy_folder
from worker.files.transfer import Transfer, hash_file
from worker.line import Line

_log = structlog.get_logger()


class CheckpointCache:
    """Whole checkpoints by id. What stands there was complete once; it is verified again before use, since user code could reach it."""

    def __init__(self, directory: Path, line: Line, transfer: Transfer) -> None:
        self._directory = directory
        self._line = line
        self._transfer = transfer

    async def restore(self, run_id: RunId, target: Path) -> Path | None:
        """Put the newest good checkpoint of the run's trial into `target` and return it; None when there is none.

        Raises:
            Transient: Registry or store are away; ask again.
            OSError: The disk is full or broken; nothing half-made stays.
        """
        restored = await self._line.request(Restore(run_id=run_id))
        if restored.checkpoint_id is None:
            return None
        for entry in restored.files:
            check_path(entry.path)
        cached = self._directory / str(restored.checkpoint_id)
        if not await asyncio.to_thread(_matches, cached, restored.files):
            await self._fetch(cached, restored.files)
        await asyncio.to_thread(copy_folder, cached, target)
        _log.info("a checkpoint was restored", checkpoint=str(restored.checkpoint_id), step=restored.step)
        return target

    def keep(self, checkpoint_id: UUID, folder: Path) -> None:
        """Take over a folder that was uploaded: a run that resumes here needs no download."""
        target = self._directory / str(checkpoint_id)
        if target.exists():
            shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            folder.replace(target)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)

    def trim(self, limit_bytes: int) -> None:
        """Drop the checkpoints not used for longest until the rest is below the limit."""
        kept = sorted(self._directory.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for folder in kept:
            total += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            if total > limit_bytes:
                shutil.rmtree(folder, ignore_errors=True)

    async def _fetch(self, cached: Path, files: Iterable[FileLink]) -> None:
        with tempfile.TemporaryDirectory(dir=self._directory.parent, prefix="fetch-") as folder:
            content = Path(folder, "content")
            for entry in files:
                target = _make_room(content / entry.path)
                try:
                    await self._transfer.get(entry.url, target, entry.sha256, entry.size_bytes)
                except Rejected as error:  # the URL grew old: the next request brings a fresh one
                    raise Transient(str(error)) from error
            _publish(content, cached)


def check_path(path: str) -> None:
    """Refuse a file name that could leave its folder."""
    parts = path.split("/")
    if not path or path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise Rejected("file_path", f"{path!r} is no path below a checkpoint", place=path)


def _make_room(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _publish(content: Path, cached: Path) -> None:
    shutil.rmtree(cached, ignore_errors=True)
    content.replace(cached)


def _matches(folder: Path, files: Iterable[FileEntry]) -> bool:
    if not folder.is_dir():
        return False
    expected = {entry.path: (entry.sha256, entry.size_bytes) for entry in files}
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    return found == set(expected) and all(
        not (folder / path).is_symlink() and hash_file(folder / path) == expected[path] for path in expected
    )
