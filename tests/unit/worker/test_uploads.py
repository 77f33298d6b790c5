"""How a checkpoint is announced, however many files it has."""

from pathlib import Path
from uuid import UUID

from shared.ids import CheckpointId, RunId, WorkerId
from shared.messages.files import FileEntry
from worker.files.upload import PAGE_BYTES, Announced, announcements_of

FEW, MANY = 3, 1_000


def _announced(count: int) -> Announced:
    files = [
        FileEntry(path=f"{place:04d}/{'p' * 950}", size_bytes=place, sha256="0" * 64)
        for place in range(count)
    ]
    return Announced(
        run_id=RunId(UUID(int=1)),
        checkpoint_id=CheckpointId(UUID(int=2)),
        number=1,
        step=10,
        directory=Path("/nowhere"),
        after_report=0,
        parts=(WorkerId("w1"), WorkerId("w2")),
        files=tuple(files),
    )


def test_every_file_is_announced_once_and_no_message_is_too_large() -> None:
    record = _announced(MANY)
    pages = announcements_of(record)
    assert all(len(page.to_bytes()) < PAGE_BYTES + 4_096 for page in pages)
    assert [entry for page in pages if page.page for entry in page.page.files] == list(record.files or ())
    assert all(page.page and page.page.parts == record.parts for page in pages)
    assert not any(page.files or page.parts for page in pages), "who knows no pages must not take one for all"


def test_few_files_are_announced_as_ever() -> None:
    [only] = announcements_of(_announced(FEW))
    assert (len(only.files), only.parts, only.page) == (FEW, ("w1", "w2"), None)
    [empty] = announcements_of(_announced(0))
    assert empty.files == () and empty.page is None
