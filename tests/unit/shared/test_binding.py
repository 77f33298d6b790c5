"""A store is believed to hold senders to what was signed only where nothing else got in."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.errors import Transient
from shared.clock import SystemClock
from shared.objects import Digest, ObjectStat, SignedPut
from shared.objects.directory import DirectoryObjects
from shared.objects.signed_upload_check import Binding, binds_content
from shared.objects.signing import CHECKSUM, Signer, read_checksum


class Trusting(DirectoryObjects):
    """Checks who sends, and not what."""

    async def send(self, put: SignedPut, content: bytes) -> int:
        key = self._key(put.url, f"PUT {put.headers.get(CHECKSUM)}")
        if key is None:
            return 403
        await self.put(key, content)
        return 200


class Credulous(DirectoryObjects):
    """Takes a weaker checksum for the one that was signed, as servers may that look at the algorithm's header first."""

    async def send(self, put: SignedPut, content: bytes) -> int:
        if "x-amz-checksum-algorithm" not in put.headers:
            return await super().send(put, content)
        return await Trusting.send(self, put, content)  # type: ignore[arg-type]


class Copying(DirectoryObjects):
    """Takes a header that nobody signed for a request to copy."""

    async def send(self, put: SignedPut, content: bytes) -> int:
        source = put.headers.get("x-amz-copy-source")
        key = self._key(put.url, f"PUT {put.headers.get(CHECKSUM)}")
        if source is None or key is None:
            return await super().send(put, content)
        await self.copy(source.removeprefix("/b/"), key)
        return 200


class Silent(DirectoryObjects):
    """Verifies, and does not tell what it found."""

    async def stat(self, key: str) -> ObjectStat | None:
        found = await super().stat(key)
        return ObjectStat(key, found.size_bytes, found.modified) if found else None


class Troubled(DirectoryObjects):
    """Has trouble, once."""

    is_well = False

    async def send(self, put: SignedPut, content: bytes) -> int:
        if self.is_well:
            return await super().send(put, content)
        self.is_well = True
        return 503


@pytest.mark.parametrize("kind", [Trusting, Credulous, Copying, Silent])
async def test_a_store_that_lets_anything_else_in_or_tells_nothing_does_not_hold(
    kind: type[DirectoryObjects], tmp_path: Path
) -> None:
    store = kind(tmp_path, SystemClock())
    assert not await binds_content(store, "b", "trial/a")
    assert [found.key async for found in store.list("")] == []


async def test_trouble_is_no_answer_and_an_answer_is_kept(tmp_path: Path) -> None:
    store = Troubled(tmp_path, SystemClock())
    binding = Binding(store, "b", "trial/", SystemClock(), is_wanted=True)
    with pytest.raises(Transient):
        await binding.holds()
    assert await binding.holds()
    store.is_well = False
    assert await binding.holds(), "the store is not asked again"
    assert not await Binding(store, "b", "trial/", SystemClock(), is_wanted=False).holds()


def test_a_signature_is_that_of_aws_s_own_example() -> None:
    """ "Authenticating Requests: Using Query Parameters", with its key and date; a GET without other headers."""
    signer = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
    address = "https://examplebucket.s3.amazonaws.com/test.txt"
    url = signer.presign("GET", address, {}, datetime(2013, 5, 24, tzinfo=UTC), timedelta(days=1))
    assert url.endswith("=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


def test_what_a_store_tells_of_parts_is_not_taken_for_the_whole() -> None:
    assert (
        read_checksum("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        == Digest(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855").sha256
    )
    assert read_checksum("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=-3") is None
    assert read_checksum(None) is None
