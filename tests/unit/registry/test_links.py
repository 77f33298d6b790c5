"""The files of a checkpoint are told in answers that the bus takes."""

from datetime import timedelta
from typing import cast

from services.registry.links import LINKS_BYTES, Links
from services.registry.store.manifests import File
from shared.objects import ObjectStore

FILES = [File(f"{'deep/' * 180}{place:04}", "w", f"key-{place}", 1, "a" * 64) for place in range(1_000)]


class Signing:
    """A store that signs, as long as S3 does."""

    def presign_get(self, key: str, life: timedelta) -> str:
        return f"https://store/{key}?{'s' * 450}"


LINKS = Links(cast(ObjectStore, Signing()), timedelta(hours=1), 1024**3)


def test_every_file_is_in_one_answer_and_no_answer_is_too_large() -> None:
    paths: list[str] = []
    first: int | None = 0
    while first is not None:
        files, first = LINKS.read_files(FILES, first)
        assert sum(len(one.model_dump_json()) for one in files) < LINKS_BYTES + 4_096
        paths += [one.path for one in files]
    assert paths == [file.path for file in FILES]


def test_who_knows_no_pages_is_told_all_at_once() -> None:
    files, following = LINKS.read_files(FILES)
    assert (len(files), following) == (1_000, None)
    assert LINKS.read_files([], 0) == ((), None)
