"""Code of runs: fetched once per machine and tenant, verified by hash, copied for each run."""

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
from worker.connection.platform_connection import PlatformConnection
from worker.core.faults import CausedByTrial
from worker.transfer.cache_space import UNFINISHED, CacheSpace
from worker.transfer.copying import copy_folder
from worker.transfer.disk_usage import used_bytes
from worker.transfer.http import Transfer

_log = structlog.get_logger()


class CodeCache:
    """Extracted code snapshots by tenant and hash; concurrent requests share one download."""

    def __init__(
        self, directory: Path, space: CacheSpace, platform: PlatformConnection, transfer: Transfer
    ) -> None:
        self._directory = directory
        self._space = space
        self._platform = platform
        self._transfer = transfer
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def copy(self, run_id: RunId, tenant: UUID, sha256: str, target: Path) -> None:
        """Copy the run's code into `target`.

        Raises:
            Transient: Registry or store are unreachable.
            CausedByTrial: The archive is invalid.
            Rejected: The registry refuses the request.
            OSError: The disk is full or broken; `target` is empty then.
        """
        cached = self._directory / str(tenant) / sha256
        if await asyncio.to_thread(self._copy_known, cached, target):
            return
        async with self._locks[sha256]:
            if not await asyncio.to_thread(self._copy_known, cached, target):
                await self._fetch(run_id, cached, target)

    def _copy_known(self, cached: Path, target: Path) -> bool:
        with self._space.holding(cached) as is_here:
            if not is_here or not cached.is_dir():
                return False
            copy_folder(cached, target)
        return True

    async def _fetch(self, run_id: RunId, cached: Path, target: Path) -> None:
        link = await self._platform.request(GetCode(run_id=run_id))
        if link.sha256 != cached.name:
            raise Rejected(
                "code_mismatch", f"the registry has code {link.sha256}, the run names {cached.name}"
            )
        with tempfile.TemporaryDirectory(dir=self._directory, prefix=UNFINISHED) as folder:
            packed, content = Path(folder, "packed"), Path(folder, "content")
            await self._transfer.get(link.url, packed, link.sha256, link.size_bytes)
            await asyncio.to_thread(_extract, packed, content)
            await asyncio.to_thread(self._take_over, content, cached, target)
        _log.info("code was fetched", sha256=link.sha256, bytes=link.size_bytes)

    def _take_over(self, content: Path, cached: Path, target: Path) -> None:
        """Cache the fetched code if it fits, and copy it for the run in any case."""
        self._space.admit(cached, used_bytes(content))
        with self._space.holding(cached) as is_admitted:
            if is_admitted:
                content.replace(cached)
            copy_folder(cached if is_admitted else content, target)


def _extract(packed: Path, content: Path) -> None:
    content.mkdir()
    try:
        with packed.open("rb") as source:
            archive.extract(source, content)
    except Rejected as error:
        # By its hash it is what the user has submitted.
        raise CausedByTrial(error.code, error.message, error.place, error.hint) from error
