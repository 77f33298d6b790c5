"""The object store contract on a directory; on a real S3 server: tests/integration/registry/test_objects.py."""

from datetime import timedelta
from pathlib import Path

import pytest

from shared.clock import SystemClock
from shared.objects import ObjectStore
from shared.objects.directory import DirectoryObjects
from tests.contract.object_store import ObjectStoreContract


class TestDirectory(ObjectStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return DirectoryObjects(tmp_path, SystemClock())

    async def fetch(self, store: ObjectStore, url: str) -> tuple[int, bytes]:
        assert isinstance(store, DirectoryObjects)
        return await store.fetch(url)

    async def test_a_url_outlives_its_life_not(self, store: ObjectStore) -> None:
        await store.put("a", b"x")
        assert (await self.fetch(store, store.presign_get("a", timedelta(seconds=-1))))[0] == 403
