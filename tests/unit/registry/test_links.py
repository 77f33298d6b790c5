"""The files of a checkpoint are told in answers that the bus takes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

from services.registry.storage.links import INCOMING, LINKS_BYTES, PresignedUrls, is_upload, plan_parts
from services.registry.storage.store.files import File
from shared.messages.files import FileLink
from shared.objects import ObjectStore

FILES = [File(f"{'deep/' * 180}{place:04}", "w", f"key-{place}", 1, "a" * 64) for place in range(1_000)]


class Signing:
    """A store that signs, as long as S3 does."""

    def presign_get(self, key: str, life: timedelta) -> str:
        return f"https://store/{key}?{'s' * 450}"

    def presign_put(self, key: str, life: timedelta) -> str:
        return self.presign_get(key, life)


LINKS = PresignedUrls(cast(ObjectStore, Signing()), timedelta(hours=1), 1024**3)


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


SENT = [
    *[File(f"{'deep/' * 80}{place}", "w", f"{INCOMING}{place}", 7, "a" * 64) for place in range(1_000)],
    File("terabytes", "w", f"{INCOMING}large", 3 * 1024**4 + 5, "b" * 64),
    File("parts", "w", f"{INCOMING}parts", 4 * 1024**3, "c" * 64),
]


def _asked(files: Sequence[FileLink]) -> list[tuple[str, int]]:
    return [(one.path, part) for one in files for part in [part.first for part in one.parts] or [0]]


def test_every_request_of_an_upload_is_in_one_answer_and_no_answer_is_too_large() -> None:
    asked: list[tuple[str, int]] = []
    first: int | None = 0
    while first is not None:
        files, first = LINKS.write_files(SENT, lambda _: True, first)
        assert files and sum(len(one.model_dump_json()) for one in files) < LINKS_BYTES + 4_096
        asked += _asked(files)
    assert asked == [
        (file.path, part.first)
        for file in SENT
        for part in plan_parts(file.key, file.size_bytes, LINKS.part_bytes)
    ]
    assert _asked(LINKS.write_files(SENT, lambda _: True)[0]) == asked, (
        "who knows no pages is told all at once"
    )


def test_a_file_that_came_by_another_way_between_two_answers_moves_none_of_the_others() -> None:
    before, first = LINKS.write_files(SENT, lambda _: True, 0)
    known = [replace(file, key=f"kept-{file.key}") for file in SENT[:100]]
    after, _ = LINKS.write_files([*known, *SENT[100:]], lambda file: is_upload(file.key), first)
    assert [one.path for one in (*before, *after)][:700] == [file.path for file in SENT[:700]]
    large = replace(SENT[-2], key="kept-large")
    rest, _ = LINKS.write_files(
        [*SENT[:-2], large, SENT[-1]], lambda file: is_upload(file.key), 1_000 + 3_073
    )
    assert [one.path for one in rest] == ["parts"]
