"""The object store contract on a real S3 server, and what only a server can do wrong."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import urllib3

from deploy.embedded.servers import S3Server
from muster.errors import Transient
from shared.clock import SystemClock
from shared.objects import ObjectStore
from shared.objects.s3 import S3Objects
from tests.contract.object_store import ObjectStoreContract
from tests.integration.servers import BUCKET, Servers
from tests.support.waiting import eventually

HTTP = urllib3.PoolManager(retries=False)


@pytest.fixture(scope="module")
async def bucket(s3_server: S3Server) -> AsyncIterator[S3Objects]:
    store = S3Objects(s3_server.url, *s3_server.platform, BUCKET, clock=SystemClock())
    yield store
    await store.close()


class TestS3(ObjectStoreContract):
    @pytest.fixture
    def store(self, bucket: S3Objects) -> ObjectStore:
        return bucket

    async def send(self, store: ObjectStore, url: str, content: bytes) -> int:
        return (await asyncio.to_thread(HTTP.request, "PUT", url, body=content)).status

    async def fetch(self, store: ObjectStore, url: str) -> tuple[int, bytes]:
        response = await asyncio.to_thread(HTTP.request, "GET", url)
        return response.status, response.data

    async def test_a_url_ends(self, store: ObjectStore) -> None:
        await store.put("short", b"x")
        url = store.presign_get("short", timedelta(seconds=1))

        async def ended() -> bool:
            return (await self.fetch(store, url))[0] == 403

        await eventually(ended)

    async def test_signing_asks_no_server(self) -> None:
        away = S3Objects("http://127.0.0.1:9", "key", "secret", BUCKET, clock=SystemClock())
        assert "X-Amz-Signature" in away.presign_put("a", timedelta(minutes=1))
        await away.close()


async def test_wrong_keys_are_refused(s3_server: S3Server) -> None:
    stranger = S3Objects(s3_server.url, "nobody", "wrong-secret", BUCKET, clock=SystemClock())
    with pytest.raises(Exception, match="refused"):
        await stranger.put("a", b"x")
    await stranger.close()


async def test_a_server_that_is_away_comes_again(
    s3_server: S3Server, servers: Servers, bucket: S3Objects
) -> None:
    await bucket.put("before", b"kept")
    await asyncio.to_thread(s3_server.kill)
    with pytest.raises(Transient):
        await bucket.put("while", b"x")
    await asyncio.to_thread(servers.restart, s3_server)

    async def reads() -> bool:
        try:
            return await bucket.digest("before") is not None
        except Transient:
            return False

    await eventually(reads)
