"""What every object store must do: one suite, run on each adapter."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from muster.errors import NotFound, Rejected
from shared.objects import LEAST_PART_BYTES, Digest, ObjectStore, SignedPut, read_all
from shared.objects.signed_upload_check import binds_content

MINUTE = timedelta(minutes=1)
PAYLOAD = bytes(range(256)) * 8192 + b"end"


class ObjectStoreContract:
    """Subclasses give `store`, and `fetch`: what an HTTP client without credentials does with a URL."""

    @pytest.fixture
    def store(self) -> ObjectStore:
        raise NotImplementedError

    async def fetch(self, store: ObjectStore, url: str) -> tuple[int, bytes]:
        raise NotImplementedError

    async def test_the_bucket_is_made_once(self, store: ObjectStore) -> None:
        await store.ensure_bucket()
        await store.ensure_bucket()

    async def test_what_was_put_is_read_in_place_of_what_was_there(self, store: ObjectStore) -> None:
        await store.put("a/large", b"older")
        await store.put("a/large", PAYLOAD)
        assert await read_all(store, "a/large", len(PAYLOAD)) == PAYLOAD
        found = await store.stat("a/large")
        assert found is not None
        assert (found.key, found.size_bytes) == ("a/large", len(PAYLOAD))

    async def test_an_empty_object_is_an_object(self, store: ObjectStore) -> None:
        await store.put("a/empty", b"")
        assert await read_all(store, "a/empty", 10) == b""
        assert await store.digest("a/empty") == Digest(0, hashlib.sha256(b"").hexdigest())

    async def test_a_digest_is_of_all_bytes(self, store: ObjectStore) -> None:
        await store.put("a/digest", PAYLOAD)
        assert await store.digest("a/digest") == Digest(len(PAYLOAD), hashlib.sha256(PAYLOAD).hexdigest())

    async def test_what_is_not_there_is_told_apart(self, store: ObjectStore) -> None:
        assert await store.stat("nothing") is None
        assert await store.digest("nothing") is None
        await store.delete("nothing")
        with pytest.raises(NotFound):
            await read_all(store, "nothing", 10)
        with pytest.raises(NotFound):
            await store.copy("nothing", "something")

    async def test_more_than_allowed_is_refused(self, store: ObjectStore) -> None:
        await store.put("a/long", b"12345")
        with pytest.raises(Rejected, match="4 bytes"):
            await read_all(store, "a/long", 4)

    async def test_a_reader_that_stops_harms_no_other(self, store: ObjectStore) -> None:
        await store.put("a/half", PAYLOAD)
        stream = store.get("a/half")
        assert isinstance(stream, AsyncIterator)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        assert await read_all(store, "a/half", len(PAYLOAD)) == PAYLOAD

    async def test_the_first_of_two_wins(self, store: ObjectStore) -> None:
        assert await store.put_if_absent("once/a", b"first")
        assert not await store.put_if_absent("once/a", b"second")
        assert await read_all(store, "once/a", 10) == b"first"

    async def test_a_deleted_object_is_gone_and_can_come_again(self, store: ObjectStore) -> None:
        await store.put("a/gone", b"x")
        await store.delete("a/gone")
        assert await store.stat("a/gone") is None
        assert await store.put_if_absent("a/gone", b"y")

    async def test_many_are_deleted_at_once_and_no_other(self, store: ObjectStore) -> None:
        keys = [f"many/{number}" for number in range(20)]
        await asyncio.gather(*[store.put(key, b"x") for key in [*keys, "many/stays"]])
        await store.delete_many([*keys, "many/never was"])
        assert [found.key async for found in store.list("many/")] == ["many/stays"]
        await store.delete_many(keys)
        await store.delete_many([])

    async def test_a_part_of_an_object_is_read(self, store: ObjectStore) -> None:
        await store.put("a/part", PAYLOAD)

        async def read(first: int, most: int | None) -> bytes:
            return b"".join([piece async for piece in store.get("a/part", first, most)])

        assert await read(256, 3) == PAYLOAD[256:259]
        assert await read(len(PAYLOAD) - 3, None) == b"end"
        assert await read(len(PAYLOAD) - 3, 10) == b"end"

    async def test_a_copy_is_an_object_of_its_own(self, store: ObjectStore) -> None:
        await store.put("a/source", b"copied")
        await store.copy("a/source", "b/target")
        await store.delete("a/source")
        assert await read_all(store, "b/target", 10) == b"copied"

    async def test_parts_are_joined_in_the_order_that_is_given(self, store: ObjectStore) -> None:
        first, last = b"1" * LEAST_PART_BYTES, b"the rest"
        await store.put("join/b", first)
        await store.put("join/a", last)
        for sources, content in ((["join/b", "join/a"], first + last), (["join/a"], last)):
            await store.join(sources, "join/whole")
            assert await store.digest("join/whole") == Digest(
                len(content), hashlib.sha256(content).hexdigest()
            )
        with pytest.raises(NotFound):
            await store.join(["join/b", "join/none"], "join/whole")

    async def test_a_copy_stays_what_it_was_when_a_url_writes_its_source_again(
        self, store: ObjectStore
    ) -> None:
        put = SignedPut(store.presign_put("incoming/a", MINUTE))
        assert await store.send(put, PAYLOAD) == 200
        await store.copy("incoming/a", "kept/a")
        assert await store.send(put, b"written again: a signed URL is good until it ends") == 200
        assert await store.digest("kept/a") == Digest(len(PAYLOAD), hashlib.sha256(PAYLOAD).hexdigest())

    async def test_a_prefix_lists_its_keys_in_order(self, store: ObjectStore) -> None:
        keys = [f"list/{number:02d}/file" for number in range(12)]
        await asyncio.gather(*[store.put(key, b"x") for key in reversed(keys)])
        await store.put("other/file", b"x")
        assert [found.key async for found in store.list("list/")] == keys
        assert [found.key async for found in store.list("none/")] == []

    async def test_a_signed_url_is_for_one_key_and_one_method(self, store: ObjectStore) -> None:
        write, read = store.presign_put("signed/a", MINUTE), store.presign_get("signed/a", MINUTE)
        assert await store.send(SignedPut(write), b"by url") == 200
        assert await self.fetch(store, read) == (200, b"by url")
        assert await store.send(SignedPut(read), b"no") == 403
        assert (await self.fetch(store, write))[0] == 403
        assert await store.send(SignedPut(write.replace("signed/a", "signed/b")), b"no") == 403
        assert await store.stat("signed/b") is None
        assert await read_all(store, "signed/a", 10) == b"by url"

    async def test_what_is_signed_for_its_content_writes_that_and_nothing_else(
        self, store: ObjectStore
    ) -> None:
        content = Digest(len(PAYLOAD), hashlib.sha256(PAYLOAD).hexdigest())
        put = store.presign_content("bound/a", content, MINUTE)
        assert await store.send(put, PAYLOAD[:-1] + b"x") == 400
        assert await store.send(SignedPut(put.url), PAYLOAD) == 403
        assert await store.stat("bound/a") is None
        for _ in range(2):
            assert await store.send(put, PAYLOAD) == 200
        assert await store.send(put, b"evil") == 400
        found = await store.stat("bound/a")
        assert found is not None and (found.size_bytes, found.sha256) == (len(PAYLOAD), content.sha256)
        assert await store.digest("bound/a") == content

    async def test_the_trial_finds_that_it_holds(self, store: ObjectStore) -> None:
        assert await binds_content(store, "muster", "trial/a")
        assert [found.key async for found in store.list("trial/")] == []
