"""The registry client for uploads of checkpoints and media."""

from collections.abc import Sequence

from shared.messages.checkpoints import (
    CommitCheckpoint,
    CommitMany,
    Committed,
    Upload,
    UploadLinks,
    UploadMany,
)
from shared.messages.media import CommitMedia, MediaCommitted, MediaTarget, SendMedia
from worker.connection.platform_connection import PlatformConnection

REQUEST_S = 10.0


class RegistryClient:
    """Registry requests with their timeouts."""

    def __init__(self, platform: PlatformConnection) -> None:
        self._platform = platform

    async def announce(self, upload: Upload) -> UploadLinks:
        return await self._platform.request(upload, timeout_s=REQUEST_S)

    async def commit(self, commit: CommitCheckpoint) -> Committed:
        # The registry reads every object to verify it: large checkpoints take long.
        return await self._platform.request(commit, timeout_s=6 * REQUEST_S)

    async def announce_many(self, request: UploadMany) -> Sequence[UploadLinks]:
        return (await self._platform.request(request, timeout_s=REQUEST_S)).answers

    async def commit_many(self, request: CommitMany) -> Sequence[Committed]:
        return (await self._platform.request(request, timeout_s=6 * REQUEST_S)).answers

    async def send_media(self, request: SendMedia) -> MediaTarget:
        return await self._platform.request(request, timeout_s=REQUEST_S)

    async def commit_media(self, request: CommitMedia) -> MediaCommitted:
        return await self._platform.request(request, timeout_s=3 * REQUEST_S)
