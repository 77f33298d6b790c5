"""The object store contract on the bucket in memory; on a real S3 server: tests/integration/registry/test_objects.py."""

from datetime import timedelta

import pytest

from shared.clock import SystemClock
from shared.objects import ObjectStore
from shared.objects.memory import MemoryObjects
from tests.contract.object_store import ObjectStoreContract


class TestMemory(ObjectStoreContract):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryObjects(SystemClock())

    async def send(self, store: ObjectStore, url: str, content: bytes) -> int:
        assert isinstance(store, MemoryObjects)
        return await store.send(url, content)

    async def fetch(self, store: ObjectStore, url: str) -> tuple[int, bytes]:
        assert isinstance(store, MemoryObjects)
        return await store.fetch(url)

    async def test_a_url_outlives_its_life_not(self, store: ObjectStore) -> None:
        await store.put("a", b"x")
        assert (await self.fetch(store, store.presign_get("a", timedelta(seconds=-1))))[0] == 403
