"""The code of a run: fetched once per machine and tenant, checked by hash, copied for each run."""

import asyncio
import tempfile
from collections import defaultdict
from pathlib import Path
from uuid import UUID

import structlog

from muster import archive
from muster.errors import Rejected
from shared.ids import RunId
from shared.messages.files import GetCode
from worker.files.copying import copy_folder
from worker.files.transfer import Transfer
from worker.line import Line

_log = structlog.get_logger()


class CodeCache:
    """Extracted snapshots by tenant and hash; whoever asks second waits for the first."""

    def __init__(self, directory: Path, line: Line, transfer: Transfer) -> None:
        self._directory = directory
        self._line = line
        self._transfer = transfer
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def copy(self, run_id: RunId, tenant: UUID, sha256: str, target: Path) -> None:
        """Fill `target` with the run's code.

        Raises:
            Transient: Registry or store are away.
            Rejected: The archive is not acceptable, or the registry will not give it.
            OSError: The disk is full or broken; nothing half-made stays.
        """
        cached = self._directory / str(tenant) / sha256
        if not cached.is_dir():
            async with self._locks[sha256]:
                if not cached.is_dir():
                    await self._fetch(run_id, cached)
        await asyncio.to_thread(copy_folder, cached, target)

    async def _fetch(self, run_id: RunId, cached: Path) -> None:
        link = await self._line.request(GetCode(run_id=run_id))
        if link.sha256 != cached.name:
            raise Rejected(
                "code_mismatch", f"the registry has code {link.sha256}, the run names {cached.name}"
            )
        with tempfile.TemporaryDirectory(dir=self._directory, prefix="fetch-") as folder:
            packed = Path(folder, "packed")
            await self._transfer.get(link.url, packed, link.sha256, link.size_bytes)
            await asyncio.to_thread(_extract, packed, Path(folder, "content"), cached)
        _log.info("code was fetched", sha256=link.sha256, bytes=link.size_bytes)


def _extract(packed: Path, content: Path, cached: Path) -> None:
    content.mkdir()
    with packed.open("rb") as source:
        archive.extract(source, content)
    cached.parent.mkdir(parents=True, exist_ok=True)
    content.replace(cached)
