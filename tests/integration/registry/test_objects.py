"""The object store contract on a real S3 server, and what only a server can do wrong: `tests/support/faulty_store.py`."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import urllib3
from prometheus_client import REGISTRY

from deploy.embedded.servers import S3Server
from muster.errors import Transient
from shared.clock import SystemClock
from shared.objects import Digest, ObjectStore, read_all
from shared.objects.s3 import S3Objects
from tests.contract.object_store import PAYLOAD, ObjectStoreContract
from tests.integration.servers import BUCKET, Servers
from tests.support.faulty_store import Door, break_off, cut_short, door, list_late, lose_reply, slow_down
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


@pytest.fixture
async def faulty(s3_server: S3Server) -> AsyncIterator[tuple[Door, S3Objects]]:
    """The bucket behind a door that answers wrongly on demand."""
    async with door(s3_server.url) as before:
        store = S3Objects(before.url, *s3_server.platform, BUCKET, clock=SystemClock())
        yield before, store
        await store.close()


async def test_an_object_whose_write_was_not_answered_is_there_once(faulty: tuple[Door, S3Objects]) -> None:
    before, store = faulty
    before.then("PUT", lose_reply)
    await store.put("lost/put", PAYLOAD)
    before.then("PUT", lose_reply)
    await store.copy("lost/put", "lost/copy")
    assert await store.digest("lost/copy") == Digest(len(PAYLOAD), hashlib.sha256(PAYLOAD).hexdigest())
    before.then("PUT", lose_reply)
    assert not await store.put_if_absent("lost/once", b"mine"), "the second try finds what the first has put"
    assert await read_all(store, "lost/once", 10) == b"mine"
    before.then("POST", lose_reply)
    with pytest.raises(Transient):
        await store.delete_many(["lost/put", "lost/copy"])
    await store.delete_many(["lost/put", "lost/copy"])
    assert await store.stat("lost/put") is None and before.is_spent


async def test_a_body_that_breaks_off_is_never_taken_for_the_whole(faulty: tuple[Door, S3Objects]) -> None:
    before, store = faulty
    await store.put("broken/off", PAYLOAD)
    for read in (store.digest("broken/off"), read_all(store, "broken/off", len(PAYLOAD))):
        before.then("GET", break_off)
        with pytest.raises(Transient):
            await read
    assert before.is_spent and await read_all(store, "broken/off", len(PAYLOAD)) == PAYLOAD


async def test_a_body_that_was_cut_short_has_another_hash(faulty: tuple[Door, S3Objects]) -> None:
    before, store = faulty
    await store.put("cut/short", PAYLOAD)
    before.then("GET", cut_short)
    half = PAYLOAD[: len(PAYLOAD) // 2]
    assert await store.digest("cut/short") == Digest(len(half), hashlib.sha256(half).hexdigest())


async def test_a_store_that_asks_to_slow_down_is_asked_again_and_then_given_up_for_now(
    faulty: tuple[Door, S3Objects],
) -> None:
    before, store = faulty
    before.then("PUT", slow_down, times=2)
    await store.put("slow/a", b"x")
    assert before.is_spent
    before.then("PUT", slow_down, times=3)
    shown = _errors("put", "MaxRetryError")
    with pytest.raises(Transient):
        await store.put("slow/b", b"x")
    assert _errors("put", "MaxRetryError") == shown + 1
    assert await store.stat("slow/b") is None


async def test_a_listing_may_be_late_and_what_it_misses_can_be_read(faulty: tuple[Door, S3Objects]) -> None:
    before, store = faulty
    await store.put("late/a", b"x")
    before.then("GET", list_late)
    assert [found.key async for found in store.list("late/")] == []
    assert await store.stat("late/a") is not None
    assert [found.key async for found in store.list("late/")] == ["late/a"]


async def test_wrong_keys_are_refused(s3_server: S3Server) -> None:
    stranger = S3Objects(s3_server.url, "nobody", "wrong-secret", BUCKET, clock=SystemClock())
    with pytest.raises(Exception, match="rejected"):
        await stranger.put("a", b"x")
    assert _errors("put", "InvalidAccessKeyId") == 1
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


def _errors(operation: str, error_type: str) -> float:
    """So many the metrics show."""
    labels = {"operation": operation, "error_type": error_type}
    return REGISTRY.get_sample_value("muster_object_store_errors_total", labels) or 0.0
