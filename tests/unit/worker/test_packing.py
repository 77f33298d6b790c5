"""What a worker makes of what ranks have logged, whatever they wrote there."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from PIL import Image

from muster import wire
from shared.clock import SystemClock
from shared.ids import RunId
from shared.messages.files import FileLink
from shared.messages.media import CommitMedia, MediaCommitted, MediaTarget, SendMedia
from worker.sandbox.trial_files import TrialFile
from worker.transfer.media import events
from worker.transfer.media.packing import Folders, Packed, Positions, pack
from worker.transfer.media.sending import MediaDependencies, MediaSender

PACK = UUID(int=1)


def folders_in(root: Path) -> Folders:
    for name in ("spool", "events"):
        (root / name).mkdir()
    return Folders(root / "spool", ((root / "events", ""),))


def spool(folders: Folders, **about: wire.Json) -> None:
    """One more text of five bytes, as a rank appends it."""
    head = wire.MediaHead("text", "training", "notes", 1, 1, "text/plain", 5, dict(about))
    with (folders.spool / f"1-7{wire.SPOOL_SUFFIX}").open("ab") as file:
        file.write(wire.encode_head(head) + b"words")


def packed_of(folders: Folders, target: Path, on_refused: Callable[[str], None]) -> Packed:
    made = pack(folders, Positions(), target, PACK, on_refused)
    assert made is not None
    return Packed.model_validate_json(made.model_dump_json())


def test_what_json_cannot_say_is_left_out_and_the_rest_goes(tmp_path: Path) -> None:
    """A caption or a file's name that is no text: neither is in the pack, and what stands beside them is."""
    folders, refused = folders_in(tmp_path), list[str]()
    spool(folders, caption="\udcff")
    spool(folders, caption="a text")
    for name in (b"1.tfevents.\xff", b"2.tfevents"):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path / "events"), name))).write_bytes(b"event")
    made = packed_of(folders, tmp_path / "pack", refused.append)
    assert [(item.name, item.offset) for item in made.items] == [("notes", 0), ("2.tfevents", 5)]
    assert (tmp_path / "pack").read_bytes() == b"wordsevent" and made.size_bytes == 10
    assert len(refused) == 1 and "invalid media item" in refused[0]


def test_pixels_are_packed_as_the_file_that_they_are_to_be(tmp_path: Path) -> None:
    folders, refused = folders_in(tmp_path), list[str]()
    spool(folders)
    pixels = bytes(range(24))
    for width in (4, 5):
        about: dict[str, wire.Json] = {"width": width, "height": 2, "channels": 3}
        head = wire.MediaHead("image", "training", "sample", 1, 1, wire.PIXELS, len(pixels), about)
        with (folders.spool / f"1-7{wire.SPOOL_SUFFIX}").open("ab") as file:
            file.write(wire.encode_head(head) + pixels)
    spool(folders)
    made = packed_of(folders, tmp_path / "pack", refused.append)
    text, image, last = made.items
    body = (tmp_path / "pack").read_bytes()
    png = body[image.offset : image.offset + image.size_bytes]
    assert (image.content_type, image.about) == ("image/png", {"width": 4, "height": 2})
    assert Image.open(io.BytesIO(png)).tobytes() == pixels
    assert hashlib.sha256(png).hexdigest() == image.sha256
    assert hashlib.sha256(body).hexdigest() == made.sha256 and len(body) == made.size_bytes
    assert (text.offset, last.offset) == (0, image.offset + image.size_bytes)
    assert len(refused) == 1 and "not an image" in refused[0]


def test_a_head_that_nests_without_end_ends_its_file_alone(tmp_path: Path) -> None:
    folders, refused = folders_in(tmp_path), list[str]()
    spool(folders)
    deep = b"[" * 15_000
    (folders.spool / f"2-7{wire.SPOOL_SUFFIX}").write_bytes(len(deep).to_bytes(4) + deep)
    assert len(packed_of(folders, tmp_path / "pack", refused.append).items) == 1
    assert len(refused) == 1 and "was not written by Muster" in refused[0]


def test_of_very_many_event_files_the_first_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MAX_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.tfevents").write_bytes(b"")
    assert [found.path for found in events.event_files(tmp_path)] == ["0.tfevents", "1.tfevents"]


def test_a_folder_that_becomes_a_pipe_does_not_block(tmp_path: Path) -> None:
    """A trial exchanges its folder between the moment when it is listed and the one when it is opened."""
    (tmp_path / "0.tfevents").write_bytes(b"one")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/1.tfevents").write_bytes(b"two")
    found = events.event_files(tmp_path)
    assert next(found).path == "0.tfevents"
    (tmp_path / "inner").rename(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "inner")
    os.mkfifo(tmp_path / "elsewhere/pipe.tfevents")
    assert list(found) == []
    assert [one.path for one in events.event_files(tmp_path)] == ["0.tfevents", "elsewhere/1.tfevents"]


def test_event_files_are_found_down_to_a_depth_and_not_through_links(tmp_path: Path) -> None:
    shallow, deep = tmp_path / "run/a/b/c/d/e/f/g", tmp_path / "run/a/b/c/d/e/f/g/h"
    deep.mkdir(parents=True)
    (tmp_path / "secret.tfevents").write_bytes(b"secret")
    (tmp_path / "run/link.tfevents").symlink_to(tmp_path / "secret.tfevents")
    (shallow / "0.tfevents").write_bytes(b"")
    (deep / "1.tfevents").write_bytes(b"")
    assert [one.path for one in events.event_files(tmp_path / "run")] == ["a/b/c/d/e/f/g/0.tfevents"]
    assert list(events.event_files(tmp_path / "missing")) == []


class Kept:
    """A registry and a store that take what is whole."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def send_media(self, request: SendMedia) -> MediaTarget:
        return MediaTarget(url="somewhere")

    async def put(self, link: FileLink, source: TrialFile) -> None:
        with source.open() as file:
            body = file.read()
        assert len(body) == link.size_bytes, "a request that says more than comes would not end"
        self.bodies.append(body)

    async def commit_media(self, request: CommitMedia) -> MediaCommitted:
        return MediaCommitted()


async def test_a_pack_that_a_power_cut_has_emptied_is_made_anew(tmp_path: Path) -> None:
    folders, kept = folders_in(tmp_path), Kept()
    spool(folders)
    packed = packed_of(folders, tmp_path / "media.pack", lambda text: None)
    (tmp_path / "media.pack").write_bytes(b"")
    (tmp_path / "media.json").write_text(f'{{"taken": {{}}, "pack": {packed.model_dump_json()}}}')
    needs = MediaDependencies(kept.put, SystemClock(), lambda text: None)
    sender = MediaSender(RunId(UUID(int=2)), folders, tmp_path / "media", kept, needs)
    sender.finish()
    await sender.run()
    assert kept.bodies == [b"words"] and sender.is_drained
