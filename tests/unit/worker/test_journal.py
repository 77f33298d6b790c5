"""The journal: gapless, trimmed to the mark only, and whole after any crash."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from muster.errors import Broken
from worker.journal import journal as journals
from worker.journal.journal import Journal


def _payloads(first: int, count: int) -> list[tuple[bytes, int]]:
    return [(f"record {number}".encode(), number * 2) for number in range(first, first + count)]


def _all(journal: Journal) -> list[bytes]:
    return list(journal.read_after(journal.next_unsent - 1))


def test_what_is_appended_is_read_in_order_and_survives(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert (journal.last, journal.tag, journal.is_drained) == (0, 0, True)
    assert journal.append(_payloads(1, 3)) == 3
    assert journal.append(_payloads(4, 1)) == 4
    again = Journal(tmp_path)
    assert (again.last, again.tag) == (4, 8)
    assert again.read_batch() == (1, [f"record {number}".encode() for number in range(1, 5)])
    assert again.last_payload() == b"record 4"


def test_a_batch_is_at_most_the_limit_but_never_empty(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([(b"x" * 100, 0)] * 10)
    assert len(journal.read_batch(250)[1]) == 2
    assert len(journal.read_batch(1)[1]) == 1


def test_only_the_mark_trims_and_the_numbering_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 100)
    journal = Journal(tmp_path)
    for number in range(1, 21):
        journal.append(_payloads(number, 1))
    segments = len(list(tmp_path.glob("*.seg")))
    assert segments > 3
    journal.commit(11)
    assert journal.read_batch()[0] == 11
    assert len(list(tmp_path.glob("*.seg"))) < segments
    journal.commit(21)
    assert journal.is_drained
    again = Journal(tmp_path)
    assert (again.last, again.tag, again.is_drained) == (20, 40, True)
    assert again.append(_payloads(21, 1)) == 21
    assert again.read_batch() == (21, [b"record 21"])


@pytest.mark.parametrize("segment_bytes", [1, 60, 100])
def test_no_mark_trims_a_record_that_is_still_to_be_sent(
    segment_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the mark stands in a segment, its last record and the next one's first among them."""
    monkeypatch.setattr(journals, "SEGMENT_BYTES", segment_bytes)
    journal = Journal(tmp_path)
    for number in range(1, 13):
        journal.append(_payloads(number, 1))
    for mark in range(1, 13):
        journal.commit(mark)
        unsent = [f"record {number}".encode() for number in range(mark, 13)]
        assert journal.read_batch() == (mark, unsent)
        assert Journal(tmp_path).read_batch() == (mark, unsent)


def test_a_mark_beyond_the_end_is_an_error_and_a_lower_one_is_old(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(_payloads(1, 5))
    journal.commit(4)
    journal.commit(2)
    assert journal.next_unsent == 4
    with pytest.raises(Broken):
        journal.commit(7)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.data())
def test_a_torn_tail_is_cut_off(
    tmp_path_factory: pytest.TempPathFactory, count: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    Journal(folder).append(_payloads(1, count))
    segment = next(folder.glob("*.seg"))
    size = segment.stat().st_size
    cut = data.draw(st.integers(0, size))
    os.truncate(segment, cut)
    journal = Journal(folder)
    whole = journal.last
    assert [b"record %d" % number for number in range(1, whole + 1)] == _all(journal)
    journal.append(_payloads(whole + 1, 2))
    assert Journal(folder).last == whole + 2
    assert len(_all(Journal(folder))) == whole + 2


def test_a_flipped_byte_in_the_tail_is_found(tmp_path: Path) -> None:
    Journal(tmp_path).append(_payloads(1, 3))
    segment = next(tmp_path.glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[-2] ^= 1
    segment.write_bytes(content)
    assert Journal(tmp_path).last == 2


def test_a_full_disk_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    journal.append(_payloads(1, 2))
    written = os.write

    def full(descriptor: int, content: bytes) -> int:
        if len(content) > 10:
            return written(descriptor, bytes(content)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            journal.append(_payloads(3, 2))
    assert journal.append(_payloads(3, 1)) == 3
    assert _all(Journal(tmp_path)) == [b"record 1", b"record 2", b"record 3"]


def test_the_numbering_outlives_a_segment_that_got_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 60)
    journal = Journal(tmp_path)
    journal.append(_payloads(1, 3))
    with monkeypatch.context() as patched:

        def full(descriptor: int, content: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            journal.append(_payloads(4, 1))
    journal.commit(4)
    found = Journal(tmp_path)
    assert (found.last, found.tag, found.is_drained) == (3, journal.tag, True)
    assert found.append(_payloads(4, 1)) == 4


def test_a_lost_segment_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 60)
    journal = Journal(tmp_path)
    for number in range(1, 10):
        journal.append(_payloads(number, 1))
    sorted(tmp_path.glob("*.seg"))[1].unlink()
    with pytest.raises(Broken):
        Journal(tmp_path)


def test_a_folder_with_nothing_but_the_mark_goes_on_from_it(tmp_path: Path) -> None:
    before = Journal(tmp_path / "before")
    before.append(_payloads(1, 3))
    before.commit(4)
    (tmp_path / "after").mkdir()
    (tmp_path / "before" / "mark").rename(tmp_path / "after" / "mark")
    after = Journal(tmp_path / "after")
    assert (after.last, after.is_drained) == (3, True)
    after.append(_payloads(4, 2))
    assert after.read_batch() == (4, [b"record 4", b"record 5"])
    assert Journal(tmp_path / "after").last == 5
